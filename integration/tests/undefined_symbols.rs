//! What runs in the signal handler reaches no allocator, lock, thread-local getter, `dl*` or panic
//! path: the release build of its crate leaves undefined only what is on a short list.
//!
//! Over symbols and not over sources: an index with a bounds check, a `Drop` or a formatted message
//! looks harmless in the source, and shows here.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use vtprof_integration::artifacts::repository;
use vtprof_integration::workdir::WorkDir;

/// Async-signal-safe calls of the C library, and the memory functions that the compiler inserts.
/// `ioctl` is a bare system call; the handler makes it once for each perf event.
const ALLOWED: [&str; 10] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "clock_gettime",
    "gettid",
    "ioctl",
    "syscall",
    "__errno_location",
];

fn build(target: &Path) {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args([
            "build",
            "--release",
            "--package",
            "vtprof-signal",
            "--target-dir",
        ])
        .arg(target)
        // One object: what is called across two of them is defined, and would look undefined.
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Undefined (less those that it defines itself), thread-local and defined symbols of an archive.
fn symbols(rlib: &Path) -> [BTreeSet<String>; 3] {
    let data = std::fs::read(rlib).expect("the library");
    let archive = ArchiveFile::parse(&*data).expect("an archive");
    let (mut undefined, mut defined, mut local) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for member in archive.members() {
        let member = member.expect("a member");
        if !member.name().ends_with(b".o") {
            continue;
        }
        // A copy, since a member may lie anywhere in the archive, and an object is read where it is aligned.
        let bytes = member.data(&*data).expect("its bytes").to_vec();
        let object = object::File::parse(&*bytes).expect("an object");
        for symbol in object.symbols() {
            let name = symbol.name().expect("a name").to_owned();
            if symbol.kind() == object::SymbolKind::Tls {
                local.insert(name.clone());
            }
            if symbol.is_undefined() && !name.is_empty() {
                undefined.insert(name);
            } else if symbol.is_global() {
                defined.insert(name);
            }
        }
    }
    [&undefined - &defined, local, defined]
}

#[test]
fn the_signal_crate_leaves_nothing_undefined_but_what_a_handler_may_call() {
    let target = WorkDir::new("symbols").expect("a folder");
    build(target.path());
    let [undefined, thread_local, defined] =
        symbols(&target.path().join("release/libvtprof_signal.rlib"));
    let handler = defined
        .iter()
        .any(|name| name.contains("handler") && name.contains("on_signal"));
    assert!(handler, "the handler is not in there: {defined:#?}");
    assert_eq!(thread_local, BTreeSet::new());
    let allowed: BTreeSet<String> = ALLOWED.map(str::to_owned).into();
    let forbidden: Vec<&String> = undefined.difference(&allowed).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
}
