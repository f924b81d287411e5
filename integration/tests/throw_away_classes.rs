//! Classes that are sampled and unloaded by the thousand: the JVM lives, no name is another's, and the agent
//! does not grow.
//!
//! `VTPROF_CLASSES` says how many; each burns 200 µs under signals each millisecond.

use std::collections::BTreeSet;
use std::time::Duration;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, Window};
use vtprof_integration::report::say;
use vtprof_integration::scale::throw_away_classes;
use vtprof_integration::workdir::WorkDir;

/// JDKs and collectors: unloading at a safepoint, and while the program runs.
const CONFIGURATIONS: [(u32, &str); 5] = [
    (17, "-XX:+UseG1GC"),
    (17, "-XX:+UseZGC"),
    (21, "-XX:+UseG1GC"),
    (25, "-XX:+UseG1GC"),
    (25, "-XX:+UseZGC"),
];

const PREFIX: &str = "io.vtprof.truth.Passing";
/// What the agent may hold at the end beyond what it held after a third, both without load, bytes.
const GROWTH: u64 = 2 << 20;

/// The number of a throw-away class, where the name is one's; `Err` where class and method do not fit.
fn number(name: &str) -> Result<Option<u32>, String> {
    let Some(rest) = name.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let (class, method) = rest.split_once('.').ok_or(name)?;
    let fits = match method.strip_prefix("burn") {
        Some(digits) => digits == class,
        None => ["applyAsLong", "<init>"].contains(&method),
    };
    match class.parse() {
        Ok(number) if fits && class.len() == 7 => Ok(Some(number)),
        _ => Err(name.to_owned()),
    }
}

/// What is wrong about a stack.
fn fault(frames: &[&str], lines: &[i64]) -> Option<String> {
    let mut seen = BTreeSet::new();
    for (at, name) in frames.iter().enumerate() {
        match number(name) {
            Err(garbage) => return Some(garbage),
            Ok(None) => {}
            Ok(Some(number)) => {
                seen.insert(number);
                // The lines of the pattern's source.
                if !(6..=24).contains(&lines[at]) {
                    return Some(format!("{name} at line {}", lines[at]));
                }
                let caller = frames.get(at + 1).copied().unwrap_or("none");
                if name.contains(".burn")
                    && !caller.starts_with(PREFIX)
                    && caller != "[unloaded method]"
                {
                    return Some(format!("{name} called by {caller}"));
                }
            }
        }
    }
    (seen.len() > 1).then(|| format!("of {seen:?} at once"))
}

#[test]
fn classes_that_go_keep_their_names_and_leave_nothing_behind() {
    let classes = throw_away_classes();
    for (feature, collector) in CONFIGURATIONS {
        let Some(jdk) = jdk::of_feature(feature, "throw-away classes") else {
            continue;
        };
        let _machine = Machine::turn();
        let dir = WorkDir::new("throw-away").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("stress=1000hz,out=out,every=1s,service=throw-away")
            .expect("the agent")
            .flags([collector, "-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch"])
            .jar(artifacts::truth_program().expect("the program"))
            .program([
                "io.vtprof.truth.ThrowAway".to_owned(),
                classes.to_string(),
                "200".to_owned(),
                "out".to_owned(),
            ]);
        let limit = Duration::from_secs(180 + u64::from(classes) / 40);
        let finished = Running::start(&launch, dir.path(), limit)
            .and_then(Running::wait)
            .and_then(Finished::success)
            .unwrap_or_else(|error| panic!("{feature} {collector}: {error:#}"));
        let said = |start: &str| -> u64 {
            let line = finished.stdout.lines().find_map(|l| l.strip_prefix(start));
            line.and_then(|rest| rest.trim().parse().ok())
                .unwrap_or_else(|| panic!("no {start}: {}", finished.stdout))
        };
        let recording = Recording::read(&dir.path().join("out")).expect("profiles");

        let (mut sampled, mut wrong) = (BTreeSet::new(), Vec::new());
        for sample in &recording.samples {
            let frames: Vec<&str> = sample.frames.iter().map(|name| &**name).collect();
            wrong.extend(fault(&frames, &sample.lines));
            let numbers = frames.iter().filter_map(|name| number(name).ok().flatten());
            sampled.extend(numbers);
        }
        let quiet = |when: &str| {
            let start = format!("window {when} ");
            let name = finished.stdout.lines().find_map(|l| l.strip_prefix(&start));
            let name = name.unwrap_or_else(|| panic!("no {start}: {}", finished.stdout));
            let window = recording.windows.iter().find(|w| w.path.ends_with(name));
            window.unwrap_or_else(|| panic!("no {name}"))
        };
        let (third, end) = (quiet("third"), quiet("end"));
        let fact = |window: &Window, key: &str| -> u64 {
            let value = window.facts.get(key).and_then(|value| value.parse().ok());
            value.unwrap_or_else(|| panic!("no {key} in {:?}", window.facts))
        };
        let unnamed = recording.counter("names.unresolved").unwrap_or(0);
        say(&format!(
            "{classes} throw-away classes on {} {collector}: {} named, {unnamed} frames unnamed, {} unloaded; agent holds {} KiB after a third, {} KiB at the end, methods noted {} and {}; resident {} and {} KiB",
            jdk.version,
            sampled.len(),
            said("unloaded "),
            fact(third, "agent.heap_bytes") >> 10,
            fact(end, "agent.heap_bytes") >> 10,
            fact(third, "agent.methods_noted"),
            fact(end, "agent.methods_noted"),
            said("resident third "),
            said("resident end "),
        ));
        assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(5)]);
        assert!(said("unloaded ") > u64::from(classes) * 8 / 10);
        assert!(
            sampled.len() as u64 + unnamed > u64::from(classes) / 50,
            "hardly any was sampled"
        );
        assert!(sampled.iter().all(|number| (1..=classes).contains(number)));
        assert!(
            fact(end, "agent.heap_bytes") < fact(third, "agent.heap_bytes") + GROWTH,
            "{feature} {collector}"
        );
    }
}
