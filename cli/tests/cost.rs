//! `vtprof top --cost` and `--by package`.

mod support;

use support::{CpuProfile, Folder, failure, json, row, run, stdout};
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::kind::Kind;

/// Two windows of a minute: half a vCPU in the first, a quarter of it in Cart.
fn service() -> Folder {
    let folder = Folder::new();
    CpuProfile::window(0)
        .burn(750, &["com.shop.Cart.get"], &[])
        .burn(
            2250,
            &["com.shop.json.Writer.write", "com.shop.Cart.get"],
            &[],
        )
        .write(&folder.file("a.pb.gz"));
    CpuProfile::window(1).write(&folder.file("b.pb.gz"));
    folder
}

#[test]
fn a_function_costs_the_vcpus_that_its_self_time_takes_on_average() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    // 30 s in two minutes.
    let answer = json(["top", path, "--cost"]);
    assert_eq!(answer["vcpus"], 0.25);
    assert_eq!(answer["vcpu_hours_a_month"], 182.5);
    let rows = answer["rows"].as_array().expect("rows");
    let costs: Vec<_> = rows
        .iter()
        .map(|row| (row["name"].as_str(), row["vcpus"].as_f64()))
        .collect();
    assert_eq!(
        costs,
        [
            (Some("com.shop.json.Writer.write"), Some(0.1875)),
            (Some("com.shop.Cart.get"), Some(0.0625)),
        ]
    );
    let text = stdout(&run(["top", path, "--cost"]));
    assert!(
        text.contains("\n0.250 vCPU on average, 182.5 vCPU-hours a month\n"),
        "{text}"
    );
    assert_eq!(
        row(&text, "Cart.get").join(" "),
        "7.50 s 25.0 % ±3.7 % 750 0.062 45.6 30.0 s 100.0 % ±1.8 % com.shop.Cart.get"
    );
    assert!(json(["top", path]).get("vcpus").is_none());
}

#[test]
fn a_sum_of_several_processes_costs_what_its_files_do_and_is_of_the_same_time() {
    let folder = Folder::new();
    let file = |name: &str| folder.file(name).to_str().expect("a path").to_owned();
    let paths = ["a0", "a1", "a3", "b0", "b1"].map(|name| file(&format!("{name}.pb.gz")));
    for path in &paths {
        let number = i64::from(path.as_bytes()[path.len() - 7] - b'0');
        CpuProfile::window(number)
            .burn(600, &["f"], &[])
            .write(path.as_ref());
    }
    let told = |files: &[String]| {
        let files = files.iter().map(String::as_str);
        let answer = json(["top", "--cost"].into_iter().chain(files));
        let time = |key: &str| answer[key].as_i64().expect("ns");
        let length = time("window_end_unix_nanos") - time("window_start_unix_nanos");
        (answer["vcpus"].as_f64(), length)
    };
    // 30 s in the three minutes of four in which something was profiled.
    let expected = (Some(30.0 / 180.0), 4 * support::WINDOW);
    assert_eq!(told(&paths), expected);
    let (all, day, night) = (file("all.pb.gz"), file("day.pb.gz"), file("night.pb.gz"));
    let merge = |files: &[String], out: &String| {
        let files = files.iter().map(String::as_str);
        let output = run(["merge"].into_iter().chain(files).chain(["-o", out]));
        assert!(output.status.success(), "{output:?}");
    };
    merge(&paths, &all);
    assert_eq!(told(std::slice::from_ref(&all)), expected);
    // Sums of sums, whichever files are in which.
    for split in 1..paths.len() {
        merge(&paths[..split], &day);
        merge(&paths[split..], &night);
        assert_eq!(told(&[day.clone(), night.clone()]).1, expected.1, "{split}");
        merge(&[day.clone(), night.clone()], &all);
        let once = told(std::slice::from_ref(&all));
        assert_eq!(once, told(&[day.clone(), night.clone()]), "{split}");
    }
    merge(&paths[..3], &day);
    merge(&paths[3..], &night);
    merge(&[day, night], &all);
    // Of time with gaps it is known how long they are and not where.
    let vcpus = told(&[all]).0.expect("a cost");
    assert!((30.0 / 240.0..=30.0 / 180.0).contains(&vcpus), "{vcpus}");
}

#[test]
fn cpu_time_costs_the_same_in_whatever_unit_of_time_it_is() {
    for (unit, value) in [
        ("microseconds", 30_000_000),
        ("milliseconds", 30_000),
        ("seconds", 30),
    ] {
        let folder = Folder::new();
        let cpu = ValueType { kind: "cpu", unit };
        let mut builder = ProfileBuilder::new(&[cpu], cpu, 1);
        builder.set_time(support::START, support::WINDOW);
        let function = builder.function("f", "", "", 0);
        let location = builder.location(function, 0);
        builder
            .sample(&[location], &[value], &[])
            .expect("a good sample");
        support::write(&builder.finish(), &folder.file("x.pb.gz"));
        let path = folder.path().to_str().expect("a path");
        assert_eq!(json(["top", path, "--cost"])["vcpus"], 0.5, "{unit}");
    }
}

#[test]
fn packages_add_up_to_the_whole() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    let answer = json(["top", path, "--by", "package"]);
    let rows = answer["rows"].as_array().expect("rows");
    let samples: Vec<_> = rows
        .iter()
        .map(|row| (row["name"].as_str(), row["self"]["samples"].as_i64()))
        .collect();
    assert_eq!(
        samples,
        [
            (Some("com.shop.json"), Some(2250)),
            (Some("com.shop"), Some(750))
        ]
    );
}

#[test]
fn waiting_memory_and_locks_have_no_cost() {
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Cpu) {
        let folder = Folder::new();
        let types = [kind.count(), kind.amount()];
        let mut builder = ProfileBuilder::new(&types, kind.period(), 1);
        builder.default_sample_type(kind.amount().kind);
        builder.set_time(support::START, support::WINDOW);
        support::write(&builder.finish(), &folder.file("x.pb.gz"));
        let path = folder.path().to_str().expect("a path");
        let refused = failure(&run(["top", path, "--cost"]));
        assert!(
            refused.contains(&format!(
                "--cost of {}: only CPU time is paid for",
                kind.amount().kind
            )),
            "{refused}"
        );
    }
}

#[test]
fn samples_are_no_cpu_time_and_without_a_length_there_is_no_cost() {
    let folder = service();
    let path = folder.path().to_str().expect("a path");
    let refused = failure(&run(["top", path, "--cost", "--sample-type", "samples"]));
    assert!(refused.contains("--cost of samples"), "{refused}");

    let folder = Folder::new();
    let mut profile = CpuProfile::window(0).burn(1, &["a"], &[]).build();
    profile.duration_nanos = 0;
    support::write(&profile, &folder.file("x.pb.gz"));
    let path = folder.path().to_str().expect("a path");
    let refused = failure(&run(["top", path, "--cost"]));
    assert!(
        refused.contains("1 of 1 profiles do not say when"),
        "{refused}"
    );
}

#[test]
fn a_sum_of_which_a_part_does_not_say_when_it_was_has_no_cost_however_often_it_is_added() {
    let folder = Folder::new();
    let file = |name: &str| {
        let path = folder.file(name);
        path.to_str().expect("a path").to_owned()
    };
    let (known, unknown) = (file("known.pb.gz"), file("unknown.pb.gz"));
    let window = |number| CpuProfile::window(number).burn(1, &["a"], &[]);
    window(0).write(known.as_ref());
    let mut profile = window(1).build();
    (profile.time_nanos, profile.duration_nanos) = (0, 0);
    support::write(&profile, unknown.as_ref());
    let (once, twice) = (file("once.pb.gz"), file("twice.pb.gz"));
    for (one, other, out) in [(&known, &unknown, &once), (&once, &known, &twice)] {
        let merged = run(["merge", one, other, "-o", out]);
        assert!(merged.status.success(), "{merged:?}");
        let refused = failure(&run(["top", out, "--cost"]));
        assert!(
            refused.contains("1 of 1 profiles do not say when"),
            "{refused}"
        );
    }
    let answer = json(["top", &known, "--cost"]);
    assert!(answer["vcpus"].as_f64().is_some_and(|vcpus| vcpus > 0.0));
}
