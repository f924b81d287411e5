//! The pages in a real browser: `make browser-test`, which needs Chromium and Node.js.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::service::{write_deep, write_service, write_wide};
use support::{CpuProfile, Folder, run, stdout, tags};

/// What a name may not do on a page, nor a megabyte of it.
fn write_hostile(path: &Path) {
    let endless = format!("begin{}end", "x".repeat(1 << 20));
    let names = [
        "</script><script>window.owned = 1</script>",
        "<img src=x onerror='window.owned = 2'>",
        "\"'`><svg/onload=window.owned=3>",
        "a\u{202e}dlrow\u{2066}b",
        "&lt;b&gt; {{data}} ${1} \\u0041",
        "]]>--><!--",
        &endless,
        "__proto__",
        "日本語の関数",
    ];
    let mut profile = CpuProfile::window(0);
    for (number, name) in (1..).zip(names) {
        let root = format!("{number:016x}");
        profile = profile.burn(40, &[name, "com.shop.Main.run"], &tags(&root, name));
    }
    profile.write(path);
}

fn flame(out: &Path, args: &[&Path], more: &[&str]) {
    let mut all = vec!["flame".as_ref()];
    all.extend(args.iter().map(|path| path.as_os_str()));
    all.extend(["-o".as_ref(), out.as_os_str()]);
    all.extend(more.iter().map(std::ffi::OsStr::new));
    stdout(&run(all));
}

/// Writes all pages into a folder; that of `VTPROF_BROWSER_DATA` stays.
fn write_pages(folder: &Path) {
    let file = |name: &str| folder.join(name);
    for name in ["shop", "before", "live"] {
        std::fs::create_dir_all(file(name)).expect("a folder");
    }
    write_service(&file("shop"), 1, true);
    write_service(&file("before"), 2, false);
    write_wide(&file("wide.pb.gz"), 50_000);
    write_deep(&file("deep.pb.gz"), 3_000);
    write_hostile(&file("hostile.pb.gz"));
    flame(&file("shop.html"), &[&file("shop")], &[]);
    let before = file("before").display().to_string();
    flame(
        &file("differential.html"),
        &[&file("shop")],
        &["--base", &before],
    );
    flame(&file("wide.html"), &[&file("wide.pb.gz")], &[]);
    flame(&file("deep.html"), &[&file("deep.pb.gz")], &[]);
    flame(
        &file("hostile.html"),
        &[&file("hostile.pb.gz")],
        &["--title", "</title><script>window.owned = 9</script>"],
    );
}

#[test]
#[ignore = "needs Chromium and Node.js: make browser-test"]
fn pages_do_in_a_browser_what_they_are_for() {
    let temporary = Folder::new();
    let kept = std::env::var_os("VTPROF_BROWSER_DATA").map(PathBuf::from);
    let folder = kept.as_deref().unwrap_or(temporary.path());
    write_pages(folder);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut node = Command::new("node");
    node.arg("--test")
        .arg("--test-concurrency=1")
        .args(
            [
                "colours",
                "graph",
                "selection",
                "comparison",
                "hostile",
                "size",
                "view",
            ]
            .map(|name| tests.join(format!("{name}.test.mjs"))),
        )
        .env("VTPROF_PAGES", folder)
        .env("VTPROF", env!("CARGO_BIN_EXE_vtprof"));
    let status = node.status().expect("Node.js starts");
    assert!(status.success(), "see above; {status}");
}
