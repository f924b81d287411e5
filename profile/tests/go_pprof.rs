//! `go tool pprof` takes our files, and we read Go's. Skipped, with a message, where Go is absent.

use std::path::{Path, PathBuf};
use std::process::Command;

use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::gzip;
use vtprof_profile::model::Profile;

/// The Go command: on the path, or where its installer puts it.
fn go() -> Option<Command> {
    ["go", "/usr/local/go/bin/go"].into_iter().find_map(|go| {
        let found = Command::new(go)
            .arg("version")
            .output()
            .is_ok_and(|output| output.status.success());
        if !found {
            return None;
        }
        let mut command = Command::new(go);
        // No tool chain may be downloaded in a test.
        command
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off");
        Some(command)
    })
}

fn skipped() {
    eprintln!("skipped: no 'go' on the path nor in /usr/local/go");
}

fn run(mut command: Command) -> (String, String) {
    let output = command.output().expect("go starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{err}");
    (out, err)
}

fn pprof(go: Command, args: &[&str], file: &Path) -> (String, String) {
    let mut command = go;
    command.args(["tool", "pprof"]).args(args).arg(file);
    run(command)
}

fn write_ours(dir: &Path) -> PathBuf {
    let types = [
        ValueType {
            kind: "samples",
            unit: "count",
        },
        ValueType {
            kind: "cpu",
            unit: "nanoseconds",
        },
    ];
    let mut b = ProfileBuilder::new(&types, types[1], 10_000_000);
    b.set_time(1_700_000_000_000_000_000, 60_000_000_000);
    b.default_sample_type("cpu");
    b.comment("vtprof: a comment");
    let burn = b.function(
        "io.shop.Cart.burn",
        "io.shop.Cart.burn(I)V",
        "Cart.java",
        10,
    );
    let main = b.function("io.shop.Main.main", "io.shop.Main.main()V", "Main.java", 1);
    let gc = b.function("[gc]", "", "", 0);
    let (burn, main, gc) = (b.location(burn, 12), b.location(main, 3), b.location(gc, 0));
    let slow = [("span_id", "4bf92f3577b34da6"), ("span_name", "GET /cart")];
    let digits = [("span_id", "1234567890123456"), ("span_name", "GET /item")];
    b.sample(&[burn, main], &[30, 300_000_000], &slow)
        .expect("good");
    b.sample(&[burn, main], &[9, 90_000_000], &digits)
        .expect("good");
    b.sample(&[gc], &[10, 100_000_000], &[("thread", "GC Thread#N")])
        .expect("good");
    let file = dir.join("ours.pb.gz");
    b.write_gz(std::fs::File::create(&file).expect("temporary folder"))
        .expect("temporary folder");
    file
}

#[test]
fn go_tool_pprof_takes_our_file_whole_and_does_not_look_for_symbols() {
    let Some(command) = go() else {
        return skipped();
    };
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = write_ours(dir.path());

    let (raw, err) = pprof(command, &["-raw"], &file);
    assert_eq!(err, "", "pprof complains");
    for line in [
        "PeriodType: cpu nanoseconds",
        "Period: 10000000",
        "Duration: 1m0s",
        "samples/count cpu/nanoseconds[dflt]",
        "         30  300000000: 1 2",
        "span_id:[4bf92f3577b34da6] span_name:[GET /cart]",
        "1: 0x0 M=1 io.shop.Cart.burn Cart.java:12:0 s=10(io.shop.Cart.burn(I)V)",
        "1: 0x0/0x0/0x0   [FN][FL][LN][IN]",
    ] {
        assert!(raw.contains(line), "no '{line}' in\n{raw}");
    }

    let (top, _) = pprof(go().expect("found before"), &["-top"], &file);
    assert!(top.contains("Total samples = 490ms"), "{top}");
    assert!(
        top.contains("390ms 79.59% 79.59%      390ms 79.59%  io.shop.Cart.burn"),
        "{top}"
    );
}

#[test]
fn go_tool_pprof_finds_one_span_by_its_tag() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = write_ours(dir.path());
    // An id of digits only reads as a number to pprof, not as a text; an anchor prevents that.
    for (focus, millis) in [
        ("span_id=4bf92f3577b34da6", 300),
        ("span_id=^1234567890123456$", 90),
    ] {
        let Some(command) = go() else {
            return skipped();
        };
        let (top, err) = pprof(command, &["-top", &format!("-tagfocus={focus}")], &file);
        assert_eq!(err, "", "{focus}");
        let total = format!("Showing nodes accounting for {millis}ms");
        assert!(top.contains(&total), "{focus}: {top}");
    }
}

#[test]
fn a_profile_that_go_wrote_is_read_to_the_same_sums() {
    const BURN: &str = r#"package main

import (
	"context"
	"os"
	"runtime/pprof"
)

var sink int

// Work and not time, so that a busy machine takes no samples away.
func burn(rounds int) {
	for i := range rounds {
		sink = sink*31 + i
	}
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(file)
	pprof.Do(context.Background(), pprof.Labels("span_id", "4bf92f3577b34da6"), func(context.Context) {
		burn(300_000_000)
	})
	burn(100_000_000)
	pprof.StopCPUProfile()
	file.Close()
}
"#;
    let Some(mut command) = go() else {
        return skipped();
    };
    let dir = tempfile::tempdir().expect("temporary folder");
    let (source, file) = (dir.path().join("burn.go"), dir.path().join("go.pb.gz"));
    std::fs::write(&source, BURN).expect("temporary folder");
    command.arg("run").arg(&source).arg(&file);
    run(command);

    let bytes =
        gzip::read_bytes(std::fs::File::open(&file).expect("written"), 1 << 26).expect("gzip");
    let profile = Profile::from_bytes(&bytes).expect("Go's own format");
    let kinds: Vec<_> = profile
        .sample_types
        .iter()
        .map(|t| format!("{}/{}", t.kind, t.unit))
        .collect();
    assert_eq!(kinds, ["samples/count", "cpu/nanoseconds"]);

    let (raw, _) = pprof(go().expect("found before"), &["-raw"], &file);
    let rows = raw
        .lines()
        .skip_while(|line| *line != "Samples:")
        .take_while(|line| *line != "Locations");
    // A row of values is "count nanos: locations"; rows of labels have words before the colon.
    let sums = rows
        .filter_map(|row| row.split_once(": "))
        .fold((0, 0), |sums, (values, _)| {
            let numbers: Vec<i64> = values
                .split_whitespace()
                .filter_map(|v| v.parse().ok())
                .collect();
            match numbers[..] {
                [count, nanos] => (sums.0 + count, sums.1 + nanos),
                _ => sums,
            }
        });
    let ours = profile.samples.iter().fold((0, 0), |s, sample| {
        (s.0 + sample.values[0], s.1 + sample.values[1])
    });
    assert_eq!(ours, sums);
    assert!(ours.0 > 0, "no sample in {raw}");

    let keys = profile.strings.find("span_id");
    let tagged = profile.samples.iter().filter(|sample| {
        sample
            .text(&keys)
            .is_some_and(|text| profile.strings.get(text) == "4bf92f3577b34da6")
    });
    assert!(tagged.count() > 0, "no sample carries the label");
}
