//! `publish_context=on`: a reader in another process, which shares no code with the agent, finds process context and
//! thread contexts as OTEP 4719 and OTEP 4947 say, stops threads at any moment, and sees the span that the thread itself
//! says it is in, or none.

mod ledger;
mod message;
mod outside;
mod stopped;
mod variable;

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use vtprof_integration::attach::attach;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::report::say;
use vtprof_integration::scale::looks;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::workdir::WorkDir;

use ledger::{Ledger, Says};
use message::Attributes;
use outside::Process;
use stopped::Stopped;
use variable::Variable;

/// At the most so many of 1,000 that are in a span may show none.
const UNTAGGED_PER_MILLE: u64 = 10;

/// What looks have found.
#[derive(Default, Debug)]
struct Found {
    right: u64,
    wrong: u64,
    missing: u64,
    none: u64,
    /// Looks at threads that said nothing of themselves: any answer will do, if it is one.
    elsewhere: u64,
}

impl Found {
    fn judged(&self) -> u64 {
        self.right + self.wrong + self.missing + self.none
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "in a span: {} right, {} wrong or in none, {} untagged; in no span: {} untagged; {} other looks",
            self.right, self.wrong, self.missing, self.none, self.elsewhere
        )
    }
}

/// Trace id and span id of a thread that is stopped; `None` where it shows none.
fn shown(process: Process, variable: Variable, thread: &Stopped) -> Result<Option<[u8; 24]>> {
    let record = variable.of_thread(process, thread.thread_pointer()?)?;
    if record == 0 {
        return Ok(None);
    }
    ensure!(record % 2 == 0, "a record at {record:#x}");
    let bytes = process.read(record, 28)?;
    if bytes[24] != 1 {
        return Ok(None);
    }
    // Sampled, and without attributes. Newer SDKs say beside that that the trace id is random.
    ensure!(
        bytes[25] & !2 == 1 && bytes[26..28] == [0, 0],
        "a record {bytes:x?}"
    );
    Ok(Some(bytes[..24].try_into()?))
}

fn look(process: Process, variable: Variable, ledger: &Ledger, found: &mut Found) -> Result<()> {
    for (place, thread) in ledger.threads()? {
        // Half of the looks are at threads that are known to be of interest, the other half at any moment.
        let is_any = found.elsewhere < found.judged();
        if !is_any && ledger.says(place)? == Says::Nothing {
            continue;
        }
        let Some(stopped) = Stopped::stop(thread)? else {
            continue;
        };
        let (says, shown) = (ledger.says(place)?, shown(process, variable, &stopped)?);
        drop(stopped);
        match (says, shown) {
            (Says::Nothing, _) => found.elsewhere += 1,
            (Says::Span(span), Some(shown)) if span == shown => found.right += 1,
            (Says::Span(_), None) => found.missing += 1,
            (Says::NoSpan, None) => found.none += 1,
            (says, Some(shown)) => {
                say(&format!(
                    "thread {thread} says {says:x?} and shows {shown:x?}"
                ));
                found.wrong += 1;
            }
        }
    }
    Ok(())
}

/// Runs the program, looks at it, and lets it end.
fn run(jdk: &Jdk, strategy: Strategy, kind: &str, flags: &[&str]) -> Result<Found> {
    let _machine = Machine::turn();
    let dir = WorkDir::new("thread-context")?;
    let path = dir.path().join("ledger");
    let launch = TruthRun::new(jdk, "published", strategy)
        .seconds(3_600)
        .carriers(2)
        .argument(format!("--kind={kind}"))
        // OS threads that all want a CPU would keep it from this process.
        .argument(if kind == "virtual" && flags.is_empty() {
            "--threads=48"
        } else {
            "--threads=4"
        })
        .option("publish_context=on")
        .flag(format!("-Dtruth.ledger={}", path.display()))
        .flags(flags.iter().copied())
        .launch()?;
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(120))?;
    let found = judge(&mut running, &path)?;
    say(&format!(
        "{} by {strategy}, {kind} threads {flags:?}: {found}",
        jdk.version
    ));
    Ok(found)
}

/// As many looks at the program as are wanted; then it is to end.
fn judge(running: &mut Running, path: &Path) -> Result<Found> {
    running.line("truth: published")?;
    running.until("it had mapped its ledger", || {
        fs::metadata(path).is_ok_and(|file| file.len() > 0)
    })?;
    let process = Process(running.pid());
    let variable = Variable::find(process)?;
    let ledger = Ledger::open(path)?;
    let mut found = Found::default();
    while found.judged() < looks() {
        running.check_limit()?;
        look(process, variable, &ledger, &mut found)?;
    }
    running.terminate()?;
    Ok(found)
}

fn assert_right(found: &Found) {
    assert_eq!(found.wrong, 0, "{found}");
    assert!(
        found.missing * 1_000 <= UNTAGGED_PER_MILLE * (found.right + found.missing),
        "{found}"
    );
    // So that a wrong one would have been seen.
    assert!(
        found.right > looks() / 2 && found.none > looks() / 20,
        "{found}"
    );
}

#[test]
fn a_reader_outside_sees_the_span_of_the_virtual_thread_that_a_carrier_runs() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "thread_context") {
        let strategies: &[Strategy] = if jdk.feature >= 24 {
            &[Strategy::Mount, Strategy::Sample]
        } else {
            &[Strategy::Mount]
        };
        for strategy in strategies {
            let found = run(&jdk, *strategy, "virtual", &[]).expect("a run");
            assert_right(&found);
        }
    }
}

#[test]
fn a_reader_outside_sees_the_span_of_a_thread_that_keeps_its_os_thread() {
    for jdk in jdk::each("thread_context") {
        let found = run(&jdk, Strategy::Auto, "platform", &[]).expect("a run");
        assert_right(&found);
        if jdk.feature < jdk::VIRTUAL_THREADS {
            continue;
        }
        let flags = ["-XX:+UnlockExperimentalVMOptions", "-XX:-VMContinuations"];
        let found = run(&jdk, Strategy::Auto, "virtual", &flags).expect("a run");
        assert_right(&found);
    }
}

#[test]
fn a_reader_outside_sees_no_wrong_span_of_a_jvm_that_the_agent_came_late_to() {
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, "thread_context") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("thread-context").expect("a folder");
        let path = dir.path().join("ledger");
        let launch = Launch::new(&jdk)
            .carriers(2)
            .flag(format!("-Dtruth.ledger={}", path.display()))
            .truth_program(["published", "--seconds=3600"])
            .expect("the program");
        let limit = Duration::from_secs(120);
        let mut running = Running::start(&launch, dir.path(), limit).expect("a JVM");
        running.line("truth: published").expect("the load");
        attach(&jdk, running.pid(), "out=out,publish_context=on,log=debug");
        let found = judge(&mut running, &path).expect("looks");
        say(&format!("attached to {}: {found}", jdk.version));
        // Spans that are older than the agent stay unknown to it.
        assert_eq!(found.wrong, 0, "{found}");
        assert!(
            found.right > looks() / 4 && found.none > looks() / 20,
            "{found}"
        );
    }
}

#[test]
fn a_reader_outside_finds_what_is_said_of_the_process() {
    for jdk in jdk::each("thread_context") {
        let (resource, own) = process_context(&jdk, "publish_context=on").expect("a run");
        let resource = resource.expect("a process context");
        let value = |key: &str| {
            let found = resource.iter().find(|(its, _)| its == key);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("service.name"), Some("truth"), "{resource:?}");
        assert_eq!(value("deployment.environment.name"), Some("a, b"));
        assert!(value("process.pid").is_some_and(|pid| pid.parse::<u32>().is_ok()));
        assert!(value("process.runtime.version").is_some_and(|version| !version.is_empty()));
        let expected = [
            ("threadlocal.schema_version", "tlsdesc_v1_dev"),
            ("threadlocal.attribute_key_map", "[]"),
        ];
        assert_eq!(
            own,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }
}

#[test]
fn without_the_option_there_is_nothing_to_read() {
    let jdk = jdk::each("thread_context").remove(0);
    let (resource, _) = process_context(&jdk, "publish_context=off").expect("a run");
    assert!(resource.is_none(), "{resource:?}");
}

/// What a JVM says of itself by the reading protocol of OTEP 4719: its resource, and its own attributes.
fn process_context(jdk: &Jdk, option: &str) -> Result<(Option<Attributes>, Attributes)> {
    let _machine = Machine::turn();
    let dir = WorkDir::new("process-context")?;
    let launch = TruthRun::new(jdk, "platform-pool", Strategy::Auto)
        .seconds(3_600)
        .option(option)
        .launch()?
        .env(
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=a%2C%20b",
        );
    let mut running = Running::start(&launch, dir.path(), Duration::from_secs(120))?;
    running.line("truth: platform-pool")?;
    let process = Process(running.pid());
    let names = [
        "[anon_shmem:OTEL_CTX]",
        "[anon:OTEL_CTX]",
        "/memfd:OTEL_CTX",
    ];
    let mut mappings = process.mappings()?;
    mappings.retain(|mapping| names.iter().any(|name| mapping.name.starts_with(name)));
    ensure!(mappings.len() <= 1, "{} of them", mappings.len());
    let Some(mapping) = mappings.first() else {
        return Ok((None, Vec::new()));
    };
    let header = process.read(mapping.start, 32)?;
    ensure!(header[..8] == *b"OTEL_CTX", "{header:x?}");
    let word = |at: usize| header[at..at + 8].try_into().map(u64::from_ne_bytes);
    let half = |at: usize| header[at..at + 4].try_into().map(u32::from_ne_bytes);
    ensure!(half(8)? == 2, "version {}", half(8)?);
    ensure!(word(16)? != 0, "it is being written");
    let payload = process.read(word(24)?, usize::try_from(half(12)?)?)?;
    let (resource, own) = message::process_context(&payload).context("the payload")?;
    ensure!(
        resource.contains(&("process.pid".to_owned(), running.pid().to_string())),
        "{resource:?} of {}",
        running.pid()
    );
    running.terminate()?;
    running.wait()?;
    Ok((Some(resource), own))
}
