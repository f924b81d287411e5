//! Profiles of what is in use: each is of a moment, so of one process the last counts, and they are not added.

mod support;

use support::{Folder, int, json, row, run, stderr, stdout, tags};
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::comments;
use vtprof_profile::kind::Kind;

const A: &str = "00000000000000aa";

fn write(folder: &Folder, process: &str, window: i64, bytes: i64) -> String {
    write_of(folder, process, window, bytes, None)
}

/// The same, of a session that began then.
fn write_of(
    folder: &Folder,
    process: &str,
    window: i64,
    bytes: i64,
    session: Option<i64>,
) -> String {
    let kind = Kind::Live;
    let types = [kind.count(), kind.amount()];
    let mut builder = ProfileBuilder::new(&types, kind.period(), 524_288);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(support::START + window * support::WINDOW, support::WINDOW);
    let function = builder.function("Cache.put", "", "", 0);
    let location = builder.location(function, 1);
    builder
        .sample(&[location], &[1, bytes], &tags(A, "GET /"))
        .expect("a good sample");
    if let Some(session) = session {
        builder.comment(&format!(
            "{}{}={session} other=1",
            comments::WINDOW,
            comments::SESSION_START
        ));
    }
    let name = format!("{process}-live-20231114T22132{window}Z.pb.gz");
    let name = session.map_or(name.clone(), |session| {
        name.replace("Z.pb", &format!("{}Z.pb", session % 10))
    });
    support::write(&builder.finish(), &folder.file(&name));
    folder.file(&name).to_str().expect("a path").to_owned()
}

#[test]
fn of_each_process_the_last_moment_is_shown_in_both_commands() {
    let folder = Folder::new();
    for (process, window, bytes) in [
        ("shop-1", 0, 1_000),
        ("shop-1", 1, 3_000),
        ("shop-1", 2, 2_000),
        ("shop-2", 0, 500),
    ] {
        write(&folder, process, window, bytes);
    }
    let path = folder.path().to_str().expect("a path");
    let top = json(["top", path]);
    assert_eq!(int(&top["whole"]["value"]), 2_500);
    assert_eq!(int(&top["profiles"]), 2);
    let spans = json(["spans", path]);
    assert_eq!(int(&spans["whole"]["kinds"]["live"]["value"]), 2_500);
    let output = run(["spans", path]);
    assert_eq!(stderr(&output), "");
    let text = stdout(&output);
    assert_eq!(row(&text, "ENDPOINT")[0], "LIVE", "{text}");
}

#[test]
fn files_that_were_named_and_are_left_out_are_said_whatever_their_order() {
    let folder = Folder::new();
    let early = write(&folder, "shop-1", 0, 1_000);
    let late = write(&folder, "shop-1", 1, 3_000);
    for files in [[&early, &late], [&late, &early]] {
        let top = json(["top", files[0], files[1]]);
        assert_eq!(int(&top["whole"]["value"]), 3_000);
        let output = run(["top", files[0], files[1]]);
        assert_eq!(
            stderr(&output),
            format!(
                "vtprof: {early}: left out, what is in use later is shown and not both added\n"
            )
        );
    }
    assert_eq!(int(&json(["top", &early])["whole"]["value"]), 1_000);
}

#[test]
fn processes_of_one_name_and_id_are_told_apart_by_their_sessions() {
    let folder = Folder::new();
    for (window, bytes, session) in [(0, 1_000, 71), (1, 3_000, 71), (0, 50, 72), (1, 40, 72)] {
        write_of(&folder, "shop-1", window, bytes, Some(session));
    }
    let path = folder.path().to_str().expect("a path");
    let top = json(["top", path]);
    assert_eq!(int(&top["whole"]["value"]), 3_040);
    assert_eq!(int(&top["profiles"]), 2);
    assert_eq!(stderr(&run(["top", path])), "");
}

#[test]
fn where_nothing_tells_them_apart_that_one_is_left_out_is_said() {
    let folder = Folder::new();
    let first = write(&folder, "shop-1", 0, 1_000);
    let second = folder.file("shop-1-live-20231114T221321Z.pb.gz");
    std::fs::copy(&first, &second).expect("a copy");
    let path = folder.path().to_str().expect("a path");
    assert_eq!(
        stderr(&run(["top", path])),
        format!(
            "vtprof: {first}: left out for {}, though of the same time: of two processes, give each a folder and name both\n",
            second.display()
        )
    );
}
