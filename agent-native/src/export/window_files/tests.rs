use std::fs;
use std::path::PathBuf;

use vtprof_profile::gzip;
use vtprof_profile::model::Profile;
use vtprof_signal::tag::Tag;

use super::*;
use crate::aggregate::frames::Location;
use crate::aggregate::weight::Weight;
use crate::aggregate::window::Bounds;

fn fresh(name: &str) -> Directory {
    let path: PathBuf =
        std::env::temp_dir().join(format!("vtprof-window-{}-{name}", std::process::id()));
    let _absent = fs::remove_dir_all(&path);
    Directory::open(&path).unwrap()
}

fn function(name: &str) -> Arc<Function> {
    Arc::new(Function {
        name: name.into(),
        file: String::new(),
    })
}

/// Windows in which these kinds have a sample.
fn windows(with: &[Kind]) -> ByKind<Window> {
    ByKind::new(|kind| {
        let mut window = Window::new(Bounds::of(kind));
        if with.contains(&kind) {
            let stack = [Location {
                function: function("a"),
                line: 0,
            }];
            let main = Arc::from("main");
            window.add(&stack, &main, Tag::EMPTY, None, Weight::of_periods(3));
        }
        window
    })
}

fn write(directory: &Directory, windows: &ByKind<Window>) -> Result<(), String> {
    write_with(directory, windows, |kind| 100 + kind as u64)
}

fn write_with(
    directory: &Directory,
    windows: &ByKind<Window>,
    period: impl Fn(Kind) -> u64,
) -> Result<(), String> {
    let files = WindowFiles {
        directory,
        service: "shop",
        named_unix_ns: 1_795_965_551_042_000_000,
        when: Span {
            start_unix_ns: 1_795_965_551_042_000_000,
            duration_ns: 1,
        },
        comments: &["signals.received=3".to_owned()],
    };
    files.write(
        windows,
        period,
        &function("[full]"),
        |_| Arc::from(""),
        None,
    )
}

fn names(directory: &Directory) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn name(kind: &str) -> String {
    format!(
        "shop-{}-{kind}-20261129T151911.042Z.pb.gz",
        std::process::id()
    )
}

#[test]
fn two_kinds_in_one_window_are_two_files_under_one_time_each_with_its_types_and_the_counters() {
    let directory = fresh("two");
    write(&directory, &windows(&[Kind::Cpu, Kind::Alloc])).unwrap();
    assert_eq!(names(&directory), [name("alloc"), name("cpu")]);
    for kind in [Kind::Cpu, Kind::Alloc] {
        let file = fs::File::open(directory.path().join(name(kind.name()))).unwrap();
        let bytes = gzip::read_bytes(file, 1 << 20).unwrap();
        let profile = Profile::from_bytes(&bytes).unwrap();
        assert_eq!(Kind::of(&profile), Some(kind));
        assert_eq!(profile.sample_types[0].kind, kind.count().kind);
        assert_eq!(profile.period, 100 + kind as i64);
        assert_eq!(profile.comments, ["signals.received=3"]);
        let values: Vec<_> = profile.samples.iter().map(|s| s.values.to_vec()).collect();
        let unit = if kind == Kind::Cpu { 100 } else { 1 };
        assert_eq!(values, [vec![1, 3 * unit]]);
    }
}

#[test]
fn a_window_without_samples_is_a_file_of_cpu_time_alone() {
    let directory = fresh("none");
    write(&directory, &windows(&[])).unwrap();
    assert_eq!(names(&directory), [name("cpu")]);
}

#[test]
fn without_cpu_time_the_first_kind_that_is_on_has_a_file_in_any_case() {
    let directory = fresh("off");
    let period = |kind| u64::from([Kind::Alloc, Kind::Blocked].contains(&kind));
    write_with(&directory, &windows(&[]), period).unwrap();
    assert_eq!(names(&directory), [name("alloc")]);
    write_with(&directory, &windows(&[Kind::Blocked]), period).unwrap();
    assert_eq!(names(&directory), [name("alloc"), name("blocked")]);
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_keeps_no_other_back() {
    let directory = fresh("failed");
    fs::create_dir(directory.path().join(name("alloc"))).unwrap();
    let error = write(&directory, &windows(&Kind::ALL)).unwrap_err();
    assert!(error.starts_with(&name("alloc")), "{error}");
    // The folder that was in the way is there under its name.
    let mut all = Kind::ALL.map(|kind| name(kind.name()));
    all.sort_unstable();
    assert_eq!(names(&directory), all);
}
