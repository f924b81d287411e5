//! `vtprof flame`: pages, pictures and lines of the same samples.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use support::page::document;
use support::service::write_service;
use support::{
    CpuProfile, Folder, PERIOD, failure, int, json, local_root, run, stderr, stdout, tags,
};
use vtprof_profile::spans::spans_to_traces;

const A: &str = "00000000000000aa";
const B: &str = "00000000000000bb";
const C: &str = "00000000000000cc";

/// A is slow, B fast, C of another endpoint and still running; 5 samples are nobody's.
fn shop(folder: &Folder) -> PathBuf {
    CpuProfile::window(0)
        .burn(
            30,
            &["Json.write@Json.java", "Cart.get", "Main.run"],
            &tags(A, "GET"),
        )
        .burn(10, &["Cart.get", "Main.run"], &tags(B, "GET /cart"))
        .burn(8, &["Poll.run", "Main.run"], &tags(C, "poll"))
        .burn(5, &["GC Thread"], &[])
        .write(&folder.file("shop-1-cpu-20231114T221320Z.pb.gz"));
    let spans = [
        local_root(A, "GET /cart", 700),
        local_root(B, "GET /cart", 20),
    ];
    support::write_spans(
        &spans_to_traces("shop", spans),
        &folder.file("shop-1-spans-20231114T221320Z.pb.gz"),
    );
    folder.path().to_owned()
}

fn flame(path: &Path, args: &[&str]) -> String {
    let args = args.iter().map(std::ffi::OsStr::new);
    stdout(&run(["flame".as_ref(), path.as_os_str()]
        .into_iter()
        .chain(args)))
}

/// Values by stack.
fn collapsed(path: &Path, args: &[&str]) -> BTreeMap<String, i64> {
    let all: Vec<_> = ["--format", "collapsed"]
        .iter()
        .chain(args)
        .copied()
        .collect();
    flame(path, &all)
        .lines()
        .map(|line| {
            let (stack, value) = line.rsplit_once(' ').expect("a value");
            (stack.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().expect("a list").iter().map(int).collect()
}

/// Values of a side by stack, root first, as the page adds them up: of all groups or of one.
fn stacks(
    document: &Value,
    profile: usize,
    side: usize,
    group: Option<i64>,
) -> BTreeMap<String, i64> {
    let text = |index: &Value| {
        document["texts"][int(index) as usize]
            .as_str()
            .expect("a text")
    };
    let up = ints(&document["nodes"]["up"]);
    let frame = ints(&document["nodes"]["frame"]);
    let profile = &document["profiles"][profile];
    let rows = &profile["sides"][side];
    let values = ints(&rows["values"][int(&profile["default"]) as usize]);
    let groups = ints(&rows["group"]);
    let mut sums = BTreeMap::new();
    let mut node = 0;
    for (row, step) in ints(&rows["node"]).into_iter().enumerate() {
        node += step;
        if group.is_some_and(|group| groups[row] != group) {
            continue;
        }
        let mut stack = Vec::new();
        let mut at = node;
        while at > 0 {
            stack.push(text(
                &document["frames"]["name"][frame[at as usize] as usize],
            ));
            at -= up[at as usize];
        }
        stack.reverse();
        *sums.entry(stack.join(";")).or_default() += values[row];
    }
    sums
}

fn group_of(document: &Value, id: &str) -> i64 {
    let ids = document["groups"]["id"].as_array().expect("ids");
    let at = ids
        .iter()
        .position(|found| found == id)
        .unwrap_or_else(|| panic!("no {id}"));
    int(&document["groups"]["single"][at])
}

#[test]
fn lines_have_the_stacks_from_the_root_on_and_add_up_to_what_top_shows() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let lines = collapsed(&shop, &[]);
    let expected = [
        ("GC Thread", 5),
        ("Main.run;Cart.get", 10),
        ("Main.run;Cart.get;Json.write", 30),
        ("Main.run;Poll.run", 8),
    ];
    let expected: BTreeMap<_, _> = expected
        .map(|(stack, n)| (stack.to_owned(), n * PERIOD))
        .into();
    assert_eq!(lines, expected);
    let top = json(["top".as_ref(), shop.as_os_str()]);
    assert_eq!(lines.values().sum::<i64>(), int(&top["whole"]["value"]));
}

#[test]
fn a_page_has_the_same_stacks_as_the_lines_for_every_kind() {
    let folder = Folder::new();
    write_service(folder.path(), 1, false);
    let page = document(&flame(folder.path(), &[]));
    for (number, kind) in ["cpu", "alloc", "blocked"].into_iter().enumerate() {
        assert_eq!(page["profiles"][number]["name"], kind);
        let lines = collapsed(folder.path(), &["--kind", kind]);
        assert_eq!(stacks(&page, number, 0, None), lines, "{kind}");
    }
}

#[test]
fn a_span_of_a_page_costs_what_top_says_with_its_focus() {
    let folder = Folder::new();
    write_service(folder.path(), 1, false);
    let page = document(&flame(folder.path(), &[]));
    let ids = page["groups"]["id"].as_array().expect("ids");
    assert_eq!(ids.len(), 550);
    for id in ids.iter().step_by(97) {
        let id = id.as_str().expect("an id");
        let of_page: i64 = stacks(&page, 0, 0, Some(group_of(&page, id)))
            .values()
            .sum();
        let focus = format!("root={id}");
        let path = folder.path().as_os_str();
        let top = json(["top".as_ref(), path, "--focus".as_ref(), focus.as_ref()]);
        assert_eq!(of_page, int(&top["in_focus"]["value"]), "{id}");
    }
}

#[test]
fn endpoints_of_a_page_have_the_quantiles_of_the_spans_listing() {
    let folder = Folder::new();
    write_service(folder.path(), 3, false);
    let page = document(&flame(folder.path(), &[]));
    let spans = json(["spans".as_ref(), folder.path().as_os_str()]);
    let rows = spans["endpoints"]["rows"].as_array().expect("rows");
    let endpoints = &page["endpoints"];
    assert_eq!(ints(&endpoints["name"]).len(), rows.len());
    for (at, row) in rows.iter().enumerate() {
        let name = int(&endpoints["name"][at]) as usize;
        let name = int(&page["endpoint_names"][name]) as usize;
        assert_eq!(page["texts"][name], row["name"]);
        assert_eq!(endpoints["ended"][at], row["spans"]);
        assert_eq!(endpoints["p50"][at], row["duration_p50_nanos"]);
        assert_eq!(endpoints["max"][at], row["duration_max_nanos"]);
    }
}

#[test]
fn focus_and_roots_take_samples_by_the_final_name_and_leave_out_the_other_spans() {
    let folder = Folder::new();
    let shop = shop(&folder);
    // A's window closed when it was still "GET".
    let cart = collapsed(&shop, &["--focus", "name=GET /cart"]);
    assert_eq!(cart.values().sum::<i64>(), 40 * PERIOD);
    let two = collapsed(&shop, &["--roots", &format!("{A},{C}")]);
    assert_eq!(two.values().sum::<i64>(), 38 * PERIOD);
    let page = document(&flame(&shop, &["--roots", &format!("{A},{C}")]));
    assert_eq!(page["groups"]["id"], serde_json::json!([A, C]));
    assert_eq!(stacks(&page, 0, 0, None), two);
}

#[test]
fn a_comparison_of_two_spans_has_both_values_of_each_stack() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let args = ["--roots", A, "--base-roots", B];
    let lines = flame(&shop, &[&args[..], &["--format", "collapsed"]].concat());
    let lines: Vec<_> = lines.lines().collect();
    assert_eq!(
        lines,
        [
            format!("Main.run;Cart.get {} 0", 10 * PERIOD),
            format!("Main.run;Cart.get;Json.write 0 {}", 30 * PERIOD),
        ]
    );
    let page = document(&flame(&shop, &args));
    assert_eq!(page["compares"], true);
    assert_eq!(
        stacks(&page, 0, 0, None)["Main.run;Cart.get;Json.write"],
        30 * PERIOD
    );
    assert_eq!(stacks(&page, 0, 1, None)["Main.run;Cart.get"], 10 * PERIOD);
    assert_eq!(ints(&page["groups"]["side"]), [0, 1]);
}

#[test]
fn a_comparison_with_other_files_keeps_the_sides_apart() {
    let (now, before) = (Folder::new(), Folder::new());
    write_service(now.path(), 1, true);
    write_service(before.path(), 2, false);
    let base = before.path().to_str().expect("a path");
    let page = document(&flame(now.path(), &["--base", base]));
    for (number, kind) in ["cpu", "alloc", "blocked"].into_iter().enumerate() {
        let kind = ["--kind", kind];
        assert_eq!(stacks(&page, number, 0, None), collapsed(now.path(), &kind));
        assert_eq!(
            stacks(&page, number, 1, None),
            collapsed(before.path(), &kind)
        );
    }
}

#[test]
fn a_picture_says_what_grew_and_an_empty_one_is_refused() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let svg = folder.file("out.svg");
    let out = svg.to_str().expect("a path");
    assert_eq!(
        flame(&shop, &["-o", out, "--roots", A, "--base-roots", B]),
        ""
    );
    let picture = std::fs::read_to_string(&svg).expect("written");
    assert!(
        picture.starts_with("<?xml") && picture.contains("Json.write"),
        "{picture}"
    );
    assert!(picture.contains("nanoseconds"));
    let none = [
        "flame".as_ref(),
        shop.as_os_str(),
        "--format".as_ref(),
        "svg".as_ref(),
        "--focus".as_ref(),
        "name=none".as_ref(),
    ];
    assert!(failure(&run(none)).ends_with("no stack to draw: no sample matches"));
}

#[test]
fn other_kinds_are_said_to_be_left_out_where_one_is_shown() {
    let folder = Folder::new();
    write_service(folder.path(), 1, false);
    let output = run([
        "flame".as_ref(),
        folder.path().as_os_str(),
        "--format".as_ref(),
        "collapsed".as_ref(),
    ]);
    assert_eq!(
        stderr(&output),
        "vtprof: 1 alloc profile, 1 blocked profile left out, cpu is shown: kinds are not added up, --kind names another\n"
    );
    let refused = run([
        "flame".as_ref(),
        folder.path().as_os_str(),
        "--kind".as_ref(),
        "wall".as_ref(),
    ]);
    assert_eq!(
        failure(&refused),
        "vtprof: error: no wall profile among the inputs"
    );
}

#[test]
fn a_file_that_cannot_be_written_is_one_line() {
    let folder = Folder::new();
    let shop = shop(&folder);
    let refused = run([
        "flame".as_ref(),
        shop.as_os_str(),
        "-o".as_ref(),
        "/no/such/place.html".as_ref(),
    ]);
    let error = failure(&refused);
    assert!(
        error.starts_with("vtprof: error: /no/such/place.html: cannot write: "),
        "{error}"
    );
}

#[test]
fn a_frame_that_ends_in_a_number_is_no_value() {
    let folder = Folder::new();
    let file = folder.file("cpu.pb.gz");
    CpuProfile::window(0)
        .burn(3, &["GET /item 7", "Main.run"], &[])
        .burn(1, &["GET /item", "Main.run"], &[])
        .write(&file);
    let lines = flame(&file, &["--format", "collapsed"]);
    assert_eq!(
        lines,
        format!(
            "Main.run;GET /item {PERIOD}\nMain.run;GET /item_7 {}\n",
            3 * PERIOD
        )
    );
    let picture = flame(&file, &["--format", "svg"]);
    assert!(
        picture.contains("GET /item_7 (30,000,000 nanoseconds, 75.00%)"),
        "{picture}"
    );
}

#[test]
fn hostile_names_do_not_break_out_of_pages_pictures_and_lines() {
    let folder = Folder::new();
    let file = folder.file("hostile.pb.gz");
    let name = "</script><script>alert(1)</script>;\u{202e}\n\u{1b}[2J";
    CpuProfile::window(0)
        .burn(3, &[name, "Main.run"], &tags(A, name))
        .write(&file);
    let page = flame(&file, &["--title", name]);
    assert_eq!(page.matches("</script>").count(), 2, "data and script");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    let lines = flame(&file, &["--format", "collapsed"]);
    assert_eq!(
        lines,
        format!(
            "Main.run;</script><script>alert(1)</script>:\\u{{202e}}\\u{{a}}\\u{{1b}}[2J {}\n",
            3 * PERIOD
        )
    );
    let picture = flame(&file, &["--format", "svg"]);
    assert!(!picture.contains("<script>alert") && picture.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_name_without_end_is_cut_in_a_page_and_stays_another_than_its_like() {
    let folder = Folder::new();
    let file = folder.file("endless.pb.gz");
    let endless = |middle: char| {
        format!(
            "begin{}{middle}{}end",
            "x".repeat(1 << 19),
            "x".repeat(1 << 19)
        )
    };
    CpuProfile::window(0)
        .burn(3, &[&endless('a')], &[])
        .burn(4, &[&endless('b')], &[])
        .write(&file);
    let page = document(&flame(&file, &[]));
    assert_eq!(ints(&page["nodes"]["up"]).len(), 3);
    let longest = page["texts"]
        .as_array()
        .expect("texts")
        .iter()
        .map(|text| text.as_str().expect("text").len());
    assert!(longest.max() < Some(2_100));
}

#[test]
fn a_policy_names_style_and_script_by_their_hashes() {
    use sha2::Digest as _;
    let folder = Folder::new();
    let page = flame(&shop(&folder), &[]);
    let between = |from: &str, to: &str| {
        let (_, rest) = page.split_once(from).expect(from);
        rest.split_once(to).expect(to).0
    };
    let policy = between("Content-Security-Policy\" content=\"", "\"");
    for (from, to) in [
        ("<style>", "</style>"),
        ("<script type=\"module\">", "</script>"),
    ] {
        let hash = STANDARD.encode(sha2::Sha256::digest(between(from, to)));
        assert!(
            policy.contains(&format!("'sha256-{hash}'")),
            "{from} {policy}"
        );
    }
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
        "{policy}"
    );
    let links = page
        .split(['"', '\''])
        .filter(|part| part.starts_with("http"));
    let links: Vec<_> = links
        .filter(|part| *part != "http://www.w3.org/2000/svg")
        .collect();
    assert!(links.is_empty(), "{links:?}");
}

#[test]
fn that_no_sample_matches_is_said_of_a_page_as_of_lines() {
    let folder = Folder::new();
    let path = shop(&folder);
    let path = path.to_str().expect("a path");
    for form in ["html", "collapsed"] {
        let args = ["flame", path, "--format", form, "--focus"];
        for (focus, said) in [
            (
                "name=GET /nothing",
                "vtprof: no sample matches; `vtprof spans` lists names and ids\n",
            ),
            ("name=GET /cart", ""),
        ] {
            let output = run(args.iter().chain(&[focus]));
            assert!(output.status.success(), "{form}");
            assert_eq!(stderr(&output), said, "{form} {focus}");
        }
    }
}
