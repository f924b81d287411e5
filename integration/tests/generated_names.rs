//! Lambdas, proxies, hidden classes, method handles and reflection have the same names in two runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const BURN: &str = "io.vtprof.truth.Generated.burn";
/// Of `burn` by each way: most of a second of CPU.
const CALLS: u32 = 20_000;
/// What stacks of each way have in them.
const WAYS: [&str; 5] = [
    "Generated.lambda$lambda$",
    "Generated.lambda$proxy$",
    "Generated$Hidden.",
    "Generated.lambda$handle$",
    "Generated.lambda$reflected$",
];
const MAIN: &str = "io.vtprof.truth.Generated.main";

/// Samples of each stack between `main` and `burn`, and all names.
fn run(jdk: &Jdk, made_before: u32) -> (BTreeMap<String, u64>, BTreeSet<String>) {
    let _machine = Machine::turn();
    let dir = WorkDir::new("generated").expect("a folder");
    let launch = Launch::new(jdk)
        .agent("stress=1000hz,out=out,service=generated")
        .expect("the agent")
        .flag("-XX:CompileCommand=quiet")
        .flag(format!("-XX:CompileCommand=dontinline,{BURN}").replace(".burn", "::burn"))
        .jar(artifacts::truth_program().expect("the program"))
        .program([
            "io.vtprof.truth.Generated".to_owned(),
            CALLS.to_string(),
            made_before.to_string(),
        ]);
    Running::start(&launch, dir.path(), Duration::from_secs(120))
        .and_then(Running::wait)
        .and_then(Finished::success)
        .unwrap_or_else(|error| panic!("{}: {error:#}", jdk.version));
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let mut stacks = BTreeMap::<String, u64>::new();
    let mut names = BTreeSet::new();
    for sample in &recording.samples {
        names.extend(sample.frames.iter().map(|name| name.to_string()));
        let frames: Vec<&str> = sample.frames.iter().map(|name| &**name).collect();
        if frames.first() == Some(&BURN) && frames.last() == Some(&MAIN) {
            *stacks.entry(frames.join(" < ")).or_default() += sample.count;
        }
    }
    for way in WAYS {
        let samples: u64 = stacks
            .iter()
            .filter(|(stack, _)| stack.contains(way))
            .map(|(_, count)| count)
            .sum();
        assert!(samples >= 50, "{}: {samples} samples of {way}", jdk.version);
    }
    (stacks, names)
}

/// The stacks that are frequent in `one` and do not occur in `other`.
fn missing<'a>(one: &'a BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> Vec<&'a String> {
    let all: u64 = one.values().sum();
    let often = one.iter().filter(|(_, count)| **count * 20 >= all);
    often
        .map(|(stack, _)| stack)
        .filter(|stack| !other.contains_key(*stack))
        .collect()
}

/// A number of the run in a name: an address, or a serial number of a generated class.
fn is_of_one_run(name: &str) -> bool {
    name.contains("0x")
        || ["$$Lambda$", "$Proxy", "Accessor"].iter().any(|mark| {
            name.split_once(mark)
                .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
}

#[test]
fn generated_classes_have_the_same_names_in_two_runs() {
    for jdk in jdk::ends("generated names") {
        let (first, names) = run(&jdk, 0);
        let (second, _) = run(&jdk, 40);
        let odd: Vec<_> = names.iter().filter(|name| is_of_one_run(name)).collect();
        assert!(odd.is_empty(), "{}: {odd:#?}", jdk.version);
        let alike = first.keys().filter(|stack| second.contains_key(*stack));
        say(&format!(
            "generated names on {}: {} stacks alike of {} and {}",
            jdk.version,
            alike.count(),
            first.len(),
            second.len()
        ));
        let none: Vec<&String> = Vec::new();
        assert_eq!(missing(&first, &second), none, "{}", jdk.version);
        assert_eq!(missing(&second, &first), none, "{}", jdk.version);
        for mark in ["Generated$$Lambda.", "$ProxyN.", "Generated$Hidden."] {
            assert!(
                first.keys().any(|stack| stack.contains(mark)),
                "{}: no {mark} in {first:#?}",
                jdk.version
            );
        }
    }
}
