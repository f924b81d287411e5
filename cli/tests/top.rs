//! `vtprof top`: self, total, focus, order, and that the listing adds up.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{CpuProfile, Folder, PERIOD, failure, int, json, row, run, stderr, stdout, tags};

const SLOW: &str = "4bf92f3577b34da6";
const FAST: &str = "1234567890123456";

fn shop() -> CpuProfile {
    CpuProfile::window(0)
        .burn(
            30,
            &[
                "Json.write@Json.java",
                "Cart.get@Cart.java",
                "Main.run@Main.java",
            ],
            &tags(SLOW, "GET /cart"),
        )
        .burn(
            16,
            &["Cart.get@Cart.java", "Main.run@Main.java"],
            &tags(FAST, "GET /cart"),
        )
        .burn(3, &["[gc]"], &[("thread", "GC Thread#N")])
}

fn write_shop(folder: &Folder) -> std::path::PathBuf {
    let file = folder.file("shop-1-cpu-20231114T221320Z.pb.gz");
    shop().write(&file);
    file
}

fn top(file: &Path, args: &[&str]) -> Value {
    json(
        ["top".as_ref(), file.as_os_str()]
            .into_iter()
            .chain(args.iter().map(std::ffi::OsStr::new)),
    )
}

fn names(answer: &Value) -> Vec<&str> {
    answer["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["name"].as_str().expect("name"))
        .collect()
}

fn find<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[test]
fn functions_are_listed_by_self_with_total_samples_and_error() {
    let folder = Folder::new();
    let text = stdout(&run(["top".as_ref(), write_shop(&folder).as_os_str()]));
    assert!(
        text.starts_with("cpu: 490 ms, 49 samples, 1 profile over 60.0 s\n"),
        "{text}"
    );
    assert_eq!(
        row(&text, "Json.write")[..],
        words("300 ms 61.2 % ±18 % 30 300 ms 61.2 % ±18 % Json.write")
    );
    assert_eq!(
        row(&text, "Cart.get")[..],
        words("160 ms 32.7 % ±25 % 16 460 ms 93.9 % ±15 % Cart.get")
    );
    assert_eq!(
        row(&text, "Main.run")[..],
        words("0 0.0 % - 0 460 ms 93.9 % ±15 % Main.run")
    );
    assert_eq!(
        row(&text, "[gc]")[..],
        words("30.0 ms 6.1 % ±58 % 3 30.0 ms 6.1 % ±58 % [gc]")
    );
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn self_values_add_up_to_the_file_with_and_without_a_limit() {
    let folder = Folder::new();
    let file = write_shop(&folder);
    for args in [
        &[][..],
        &["--limit", "1"],
        &["--limit", "0"],
        &["--by", "file"],
        &["--sort", "total"],
    ] {
        let answer = top(&file, args);
        let rows = answer["rows"].as_array().expect("rows");
        let listed: i64 = rows.iter().map(|row| int(&row["self"]["value"])).sum();
        assert_eq!(
            listed + int(&answer["left_out_self"]["value"]),
            49 * PERIOD,
            "{args:?}"
        );
        assert_eq!(int(&answer["whole"]["value"]), 49 * PERIOD);
        assert_eq!(int(&answer["whole"]["samples"]), 49);
    }
    let text = stdout(&run([
        "top".as_ref(),
        file.as_os_str(),
        "--limit".as_ref(),
        "1".as_ref(),
    ]));
    assert_eq!(
        row(&text, "(3 more, --limit 0 for all)")[..4],
        ["190", "ms", "38.8", "%"]
    );
}

#[test]
fn recursion_counts_once_for_total_and_once_for_self() {
    let folder = Folder::new();
    let file = folder.file("recursive.pb.gz");
    CpuProfile::window(0)
        .burn(5, &["fib", "fib", "main", "fib"], &[])
        .burn(2, &["main", "fib"], &[])
        .write(&file);
    let answer = top(&file, &[]);
    assert_eq!(int(&find(&answer, "fib")["self"]["samples"]), 5);
    assert_eq!(int(&find(&answer, "fib")["total"]["samples"]), 7);
    assert_eq!(int(&find(&answer, "main")["total"]["value"]), 7 * PERIOD);
}

#[test]
fn order_is_by_self_or_total_and_then_by_name() {
    let folder = Folder::new();
    let file = folder.file("order.pb.gz");
    CpuProfile::window(0)
        .burn(2, &["b", "main"], &[])
        .burn(2, &["a", "main"], &[])
        .burn(3, &["c"], &[])
        .write(&file);
    assert_eq!(names(&top(&file, &[])), ["c", "a", "b", "main"]);
    assert_eq!(
        names(&top(&file, &["--sort", "total"])),
        ["main", "c", "a", "b"]
    );
}

#[test]
fn rows_can_be_files() {
    let folder = Folder::new();
    let answer = top(&write_shop(&folder), &["--by", "file"]);
    assert_eq!(
        names(&answer),
        ["Json.java", "Cart.java", "[no file]", "Main.java"]
    );
    assert_eq!(int(&find(&answer, "Cart.java")["total"]["samples"]), 46);
}

#[test]
fn focus_keeps_the_samples_of_one_span_root_trace_or_endpoint() {
    let folder = Folder::new();
    let file = write_shop(&folder);
    let root = format!("root={SLOW}");
    let span = format!("span={FAST}");
    let trace = format!("trace={}", support::TRACE);
    for (focus, samples) in [
        (&[root.as_str()][..], 30),
        (&[&span], 16),
        (&[&trace], 46),
        (&["name=GET /cart"], 46),
        (&["name=GET /cart", &root], 30),
        (&[&span, &root], 0),
    ] {
        let args: Vec<_> = focus.iter().flat_map(|focus| ["--focus", focus]).collect();
        let answer = top(&file, &args);
        assert_eq!(int(&answer["in_focus"]["samples"]), samples, "{focus:?}");
        let rows = answer["rows"].as_array().expect("rows");
        assert_eq!(
            rows.iter()
                .map(|row| int(&row["self"]["samples"]))
                .sum::<i64>(),
            samples
        );
        assert_eq!(int(&answer["whole"]["samples"]), 49);
    }
    let text = stdout(&run([
        "top".as_ref(),
        file.as_os_str(),
        "--focus".as_ref(),
        root.as_ref(),
    ]));
    assert!(
        text.contains("\nin focus: 300 ms (61.2 %), samples 30\n"),
        "{text}"
    );
    assert_eq!(row(&text, "Cart.get")[..3], ["0", "0.0", "%"]);
}

#[test]
fn windows_add_up_over_files() {
    let folder = Folder::new();
    let (one, two) = (folder.file("1.pb.gz"), folder.file("2.pb.gz"));
    CpuProfile::window(0)
        .burn(4, &["a", "main"], &[])
        .write(&one);
    // Another table order: names must meet, not indices.
    CpuProfile::window(1)
        .burn(1, &["main"], &[])
        .burn(2, &["a"], &[])
        .write(&two);
    let answer = json(["top".as_ref(), one.as_os_str(), two.as_os_str()]);
    assert_eq!(int(&find(&answer, "a")["self"]["samples"]), 6);
    assert_eq!(int(&find(&answer, "main")["total"]["samples"]), 5);
    assert_eq!(int(&answer["profiles"]), 2);
    let window = int(&answer["window_end_unix_nanos"]) - int(&answer["window_start_unix_nanos"]);
    assert_eq!(window, 2 * support::WINDOW);
}

#[test]
fn another_sample_type_can_be_shown_and_an_unknown_one_is_refused() {
    let folder = Folder::new();
    let file = write_shop(&folder);
    let answer = top(&file, &["--sample-type", "samples"]);
    assert_eq!(int(&find(&answer, "Json.write")["self"]["value"]), 30);
    let refused = run([
        "top".as_ref(),
        file.as_os_str(),
        "--sample-type".as_ref(),
        "heat".as_ref(),
    ]);
    assert_eq!(
        failure(&refused),
        format!(
            "vtprof: error: {}: no sample type heat; it has samples/count, cpu/nanoseconds",
            file.display()
        )
    );
}

#[test]
fn files_of_another_sample_type_are_not_added_up() {
    let folder = Folder::new();
    let (cpu, alloc) = (write_shop(&folder), folder.file("alloc.pb.gz"));
    let bytes = vtprof_profile::builder::ValueType {
        kind: "alloc",
        unit: "bytes",
    };
    let builder = vtprof_profile::builder::ProfileBuilder::new(&[bytes], bytes, 524_288);
    support::write(&builder.finish(), &alloc);
    let refused = failure(&run(["top".as_ref(), cpu.as_os_str(), alloc.as_os_str()]));
    assert!(
        refused.ends_with("alloc.pb.gz: no sample type cpu/nanoseconds, which the files before have; it has alloc/bytes"),
        "{refused}"
    );
}

#[test]
fn number_of_samples_comes_from_the_period_or_is_said_to_be_unknown() {
    let folder = Folder::new();
    let file = folder.file("foreign.pb.gz");
    let mut profile = CpuProfile::window(0).burn(7, &["a"], &[]).build();
    // As a profiler that writes nanoseconds only.
    profile.sample_type.remove(0);
    profile.sample[0].value.remove(0);
    support::write(&profile, &file);
    assert_eq!(int(&find(&top(&file, &[]), "a")["self"]["samples"]), 7);

    profile.period = 0;
    support::write(&profile, &file);
    let answer = top(&file, &[]);
    assert!(find(&answer, "a")["self"]["samples"].is_null());
    assert!(find(&answer, "a")["self"]["relative_error"].is_null());
    let text = stdout(&run(["top".as_ref(), file.as_os_str()]));
    assert_eq!(
        row(&text, "a")[..],
        words("70.0 ms 100.0 % - - 70.0 ms 100.0 % - a")
    );
}

#[test]
fn samples_without_a_stack_have_a_row_of_their_own() {
    let folder = Folder::new();
    let file = folder.file("foreign.pb.gz");
    let mut profile = CpuProfile::window(0).burn(7, &["a"], &[]).build();
    profile.sample[0].location_id.clear();
    support::write(&profile, &file);
    assert_eq!(
        int(&find(&top(&file, &[]), "[no stack]")["self"]["samples"]),
        7
    );
}

#[test]
fn a_hostile_name_stays_text() {
    let folder = Folder::new();
    let file = folder.file("hostile.pb.gz");
    CpuProfile::window(0)
        .burn(1, &["\x1b]0;owned\x07\nfake row"], &[])
        .write(&file);
    let text = stdout(&run(["top".as_ref(), file.as_os_str()]));
    assert!(
        text.ends_with("\\u{1b}]0;owned\\u{7}\\u{a}fake row\n"),
        "{text:?}"
    );
}

#[test]
fn long_names_are_printed_whole_and_endless_ones_lose_their_middle() {
    let folder = Folder::new();
    let file = folder.file("long.pb.gz");
    let long = "x".repeat(2_000);
    let endless = format!("begin{}end", "日本".repeat(40_000));
    CpuProfile::window(0)
        .burn(1, &[&long], &[])
        .burn(2, &[&endless], &[])
        .write(&file);
    let text = stdout(&run(["top".as_ref(), file.as_os_str()]));
    assert!(
        text.ends_with(&format!(" {long}\n")),
        "{} bytes",
        text.len()
    );
    let cut = text
        .lines()
        .find(|line| line.ends_with("日本end"))
        .expect("its end is kept");
    assert!(cut.contains(" begin日本") && cut.contains("(78,008 more)"));
    assert_eq!(names(&top(&file, &[])), [endless, long]);
}

#[test]
fn without_a_terminal_there_are_no_escape_sequences() {
    let folder = Folder::new();
    let output = run(["top".as_ref(), write_shop(&folder).as_os_str()]);
    assert!(!stdout(&output).contains('\x1b'));
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).lines().all(|line| line == line.trim_end()));
}

#[test]
fn a_bad_focus_is_a_usage_error_that_shows_the_form() {
    let output = run(["top", "x.pb.gz", "--focus", "span=12"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("'12' has 2 characters, an id of this kind has 16 hex digits")
    );
}
