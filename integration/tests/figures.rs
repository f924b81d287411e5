//! What the agent says of its own CPU time against what the kernel says, and what `metrics=` serves.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use vtprof_integration::artifacts;
use vtprof_integration::jdk::{self, Jdk};
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::Recording;
use vtprof_integration::report::say;
use vtprof_integration::scale;
use vtprof_integration::workdir::WorkDir;
use vtprof_integration::wrote::monotonic_now;

const LIMIT: Duration = Duration::from_secs(120);
/// What self-measured CPU time and the kernel's may differ by.
const WITHIN: f64 = 0.10;
/// The kernel brings the sum of a thread that runs up to date at its ticks.
const TICKS_NS: u64 = 20_000_000;
/// Windows of a second to compare over.
const WINDOWS: usize = 8;

/// CPU time of the agent's threads by the kernel, ns, by the name that figures have for each.
fn kernels_view(running: &Running) -> Result<HashMap<String, u64>> {
    let mut used = HashMap::new();
    for task in fs::read_dir(format!("/proc/{}/task", running.pid()))? {
        let task = task?.path();
        let read = |file: &str| fs::read_to_string(task.join(file));
        // One that ends meanwhile is none.
        let (Ok(name), Ok(schedstat)) = (read("comm"), read("schedstat")) else {
            continue;
        };
        if let Some(name) = name.trim_end().strip_prefix("vtprof-") {
            let cpu = schedstat.split(' ').next().context("no time")?;
            *used.entry(name.replace('-', "_")).or_insert(0) += cpu.parse::<u64>()?;
        }
    }
    Ok(used)
}

/// Address of the metrics, as the agent says it once it listens.
fn served_at(running: &mut Running) -> Result<String> {
    let stderr = |running: &Running| running.stderr().unwrap_or_default();
    let find = |text: &str| {
        let line = text
            .lines()
            .find_map(|line| line.split_once("metrics on http://"));
        line.and_then(|(_, rest)| Some(rest.split_once('/')?.0.to_owned()))
    };
    // Said before the first window.
    running.until_wrote("a window", |wrote| !wrote.is_empty())?;
    find(&stderr(running)).context("no address in what the agent said")
}

/// A scrape: each line of the text format is read by the format's own rules, and nothing else may stand there.
fn scrape(address: &str) -> Result<HashMap<String, f64>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let length = format!("Content-Length: {}", body.len());
    ensure!(head.lines().any(|line| line == length), "{head}");
    read_text_format(body)
}

fn read_text_format(body: &str) -> Result<HashMap<String, f64>> {
    ensure!(body.ends_with('\n'), "the last line is not ended");
    let is_name = |name: &str| {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
        name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
    };
    let (mut samples, mut types, mut helps) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut family = String::new();
    for line in body.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').context("a help without a text")?;
            ensure!(
                helps.insert(name, text).is_none(),
                "{name} is explained twice"
            );
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').context("a type without a name")?;
            ensure!(["counter", "gauge"].contains(&kind), "{line}");
            ensure!(types.insert(name, kind).is_none(), "{name} begins twice");
            family = name.to_owned();
            continue;
        }
        let (series, value) = line.rsplit_once(' ').context("a sample without a value")?;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        ensure!(is_name(name) && name == family, "{line} within {family}");
        let labels = labels.strip_suffix('}').context("labels do not end")?;
        if !labels.is_empty() {
            let (label, text) = labels
                .split_once("=\"")
                .context("a label without a value")?;
            let text = text.strip_suffix('"').context("a label does not end")?;
            ensure!(is_name(label) && !text.contains(['"', '\\']), "{line}");
        }
        let value: f64 = value.parse()?;
        let is_counter = types.get(name).context("no type")? == &"counter";
        ensure!(is_counter == name.ends_with("_total"), "{line}");
        ensure!(
            value.is_finite() && value >= 0.0 && helps.contains_key(name),
            "{line}"
        );
        ensure!(
            samples.insert(series.to_owned(), value).is_none(),
            "{line} twice"
        );
    }
    Ok(samples)
}

fn burning(jdk: &Jdk, dir: &Path, options: &str) -> Result<Running> {
    let launch = Launch::new(jdk)
        .agent(options)?
        .flags(["-XX:+UseG1GC", "-Xmx256m"])
        .flag("-Dtruth.steps=40")
        .plain_program("DeepStacks", ["600", "8", "monitors"])?;
    Running::start(&launch, dir, LIMIT)
}

#[test]
fn each_thread_s_own_cpu_is_the_kernel_s_within_a_tenth_in_comments_and_metrics() {
    let Some(jdk) = jdk::newest_virtual("figures") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("figures").expect("a folder");
    let options = "cpu=1000hz,wall=10ms,wall_scope=all,blocked=1ms,lock=1ms,alloc=64k,metrics=0,out=out,every=1s,service=figures,shim=off,log=debug";
    let mut running = burning(&jdk, dir.path(), options).expect("a JVM");
    let address = served_at(&mut running).expect("metrics");
    // What the kernel said when, and the metrics between two such looks.
    let mut looks: Vec<(i64, HashMap<String, u64>)> = Vec::new();
    let mut last_scrape = 0;
    while running.wrote().expect("lines").len() < WINDOWS {
        running.check_limit().expect("windows in time");
        looks.push((monotonic_now(), kernels_view(&running).expect("threads")));
        if looks.len() - last_scrape >= 20 {
            last_scrape = looks.len();
            let scraped = scrape(&address).expect("a scrape");
            let after = kernels_view(&running).expect("threads");
            for (thread, before) in &looks[last_scrape - 1].1 {
                let series =
                    format!("vtprof_agent_thread_cpu_seconds_total{{thread=\"{thread}\"}}");
                let told = (scraped.get(&series).expect("the thread") * 1e9).round() as u64;
                assert!(
                    (*before..=after[thread] + TICKS_NS).contains(&told),
                    "{thread}: {told} between {before} and {}",
                    after[thread]
                );
            }
        }
        std::thread::sleep(Duration::from_millis(15));
    }
    let threads: Vec<String> = looks.last().expect("looks").1.keys().cloned().collect();
    for thread in ["drain", "wall", "owners", "delays", "metrics"] {
        assert!(threads.iter().any(|name| name == thread), "{threads:?}");
    }
    running.terminate().expect("a signal");
    running.wait().expect("an end");

    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let last = looks.last().expect("looks").0;
    let ended = |window: &&vtprof_integration::recording::Window| {
        window.monotonic + window.duration <= last
    };
    let windows: Vec<_> = recording.windows.iter().filter(ended).collect();
    assert!(windows.len() + 1 >= WINDOWS, "{} windows", windows.len());
    let end = windows.last().expect("windows");
    let end = end.monotonic + end.duration;
    let after = looks.partition_point(|(at, _)| *at < end);
    let (before, after) = (&looks[after - 1].1, &looks[after].1);
    let mut of_all = 0;
    for thread in &threads {
        let key = format!("agent.{thread}_cpu_ns");
        let of_window = |window: &&vtprof_integration::recording::Window| -> u64 {
            let value = window.facts.get(&key).and_then(|value| value.parse().ok());
            value.unwrap_or(0)
        };
        let told: u64 = windows.iter().map(of_window).sum();
        of_all += told;
        let (least, most) = (before[thread], after[thread]);
        say(&format!(
            "{thread} on {}: {:.1} ms in the comments of {} windows, the kernel says {:.1} to {:.1} ms",
            jdk.version,
            told as f64 / 1e6,
            windows.len(),
            least as f64 / 1e6,
            most as f64 / 1e6
        ));
        assert!(
            told as f64 >= least as f64 * (1.0 - WITHIN)
                && told as f64 <= most as f64 * (1.0 + WITHIN),
            "{thread}: {told} ns in the comments, {least} to {most} by the kernel"
        );
    }
    let sum = |key: &str| -> u64 {
        let of = windows
            .iter()
            .filter_map(|window| window.facts.get(key)?.parse::<u64>().ok());
        of.sum()
    };
    assert_eq!(sum("agent.thread_cpu_ns"), of_all);
    // What the drain takes to write is a part of it.
    assert!((1..sum("agent.drain_cpu_ns")).contains(&sum("agent.export_ns")));
    assert!(sum("agent.event_capture_ns") > 0 && sum("agent.wall_handler_ns") > 0);
    assert!(sum("names.asked") > 100 * sum("names.unresolved").max(1));
    assert_eq!(
        sum("samples.wanted"),
        sum("signals.received") + sum("signals.overruns")
    );
}

/// The same work on a stack, with and without sampling: how much longer a signal makes it by the kernel's clock of the thread
/// that does it, and what the agent says of a signal, ns.
#[derive(Clone, Copy)]
struct Cost {
    longer: f64,
    told: f64,
}

/// A median, and its standard error, by the median of distances, which the few cycles that met other load do not move.
fn median(values: &[f64]) -> (f64, f64) {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let median = middle(values.to_vec());
    let distance = middle(values.iter().map(|value| (value - median).abs()).collect());
    // Of a normal distribution: 1.4826 distances are one deviation, and a median's error is 1.2533 times a mean's.
    let error = 1.4826 * 1.2533 * distance / (values.len() as f64).sqrt();
    (median, error)
}

/// Costs of each cycle, on a shallow stack and on a deep one.
fn costs(finished: &Finished, recording: &Recording) -> Vec<[Cost; 2]> {
    let cycle = |line: &str| -> Option<Vec<f64>> {
        let times = line.strip_prefix("cycle=")?.split(' ');
        times.map(|time| time.parse().ok()).collect()
    };
    let cycles: Vec<_> = finished.stdout.lines().filter_map(cycle).collect();
    // What begins before the first stop is one more.
    let first = recording.windows.len() - 2 * cycles.len();
    let windows = recording.windows[first..].chunks(2);
    let of = |times: &[f64], window: &vtprof_integration::recording::Window| {
        let figure = |key: &str| -> f64 {
            let value = window.facts.get(key).and_then(|value| value.parse().ok());
            value.unwrap_or(0.0)
        };
        // A signal each millisecond of the thread's CPU time, as long as it was sampled.
        Cost {
            longer: (times[1] - times[0]) / (times[1] / 1e6),
            told: figure("agent.handler_ns") / figure("samples.wanted"),
        }
    };
    let both = cycles.iter().zip(windows);
    both.map(|(times, windows)| [of(&times[..2], &windows[0]), of(&times[2..], &windows[1])])
        .collect()
}

#[test]
fn what_a_deep_stack_costs_the_handler_by_its_own_figure_is_what_work_takes_longer_by_the_kernel_s()
{
    let cycles = scale::handler_cycles();
    let Some(jdk) = jdk::newest_virtual("figures of the handler") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("handler").expect("a folder");
    let agent = artifacts::agent().expect("the agent");
    let launch = Launch::new(&jdk)
        .agent("cpu=1000hz,engine=perf,out=out,every=60s,service=handler,shim=off,log=warn")
        .expect("the agent")
        .flags(["-XX:+UseSerialGC", "-Xmx64m", "-Xss8m"])
        .flag(format!("-Dtruth.agent={}", agent.display()))
        .plain_program(
            "HandlerCost",
            [cycles.to_string(), "1000".to_owned(), "150".to_owned()],
        )
        .expect("the program");
    let finished = Running::start(&launch, dir.path(), LIMIT)
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run");
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    if !recording
        .fact("engine")
        .is_some_and(|engine| engine.starts_with("perf"))
    {
        say("SKIPPED: the handler's share is too small to be told without perf events");
        return;
    }
    let costs = costs(&finished, &recording);
    assert_eq!(costs.len() as u64, cycles);
    // What the kernel takes for a signal, which is in no figure, is the same on both stacks.
    let over = |of: fn(&Cost) -> f64| -> Vec<f64> {
        costs
            .iter()
            .map(|[shallow, deep]| of(deep) - of(shallow))
            .collect()
    };
    let (longer, error) = median(&over(|cost| cost.longer));
    let (told, told_error) = median(&over(|cost| cost.told));
    let shallow = |of: fn(&Cost) -> f64| {
        let all: Vec<_> = costs.iter().map(|[shallow, _]| of(shallow)).collect();
        median(&all).0
    };
    say(&format!(
        "handler on {}: a stack 1,000 frames deeper makes a signal {:.1} ± {:.1} µs dearer by the kernel's clock, {:.1} by the figures; on the shallow one it takes {:.1} µs, {:.1} of them in the handler",
        jdk.version,
        longer / 1e3,
        error / 1e3,
        told / 1e3,
        shallow(|cost| cost.longer) / 1e3,
        shallow(|cost| cost.told) / 1e3,
    ));
    // Two errors of the measurement come on top of the bound.
    let error = (error + told_error) / longer;
    // Of a quarter of the cycles it is twice as large. What a restless machine measures judges as finely as it can, and says so.
    let most = WITHIN * (60.0 / cycles as f64).sqrt().max(1.0);
    if error >= most {
        say(&format!(
            "the machine is restless: the figures are judged within {:.2} and not {WITHIN}",
            WITHIN + 2.0 * error
        ));
    }
    let off = told / longer - 1.0;
    assert!(
        off.abs() <= WITHIN + 2.0 * error,
        "{told} ns by the figures, {longer} by the kernel's clock"
    );
}

#[test]
fn a_port_that_is_taken_is_one_line_and_profiles_are_written() {
    let Some(jdk) = jdk::newest_virtual("a taken port") else {
        return;
    };
    let _machine = Machine::turn();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let dir = WorkDir::new("taken").expect("a folder");
    let options = format!("metrics={address},out=out,service=taken,shim=off");
    let finished = vtprof_integration::quiet::hello(&jdk, dir.path(), &options).expect("a run");
    let about: Vec<_> = finished
        .agent_lines()
        .into_iter()
        .filter(|line| line.contains("metrics"))
        .collect();
    assert_eq!(about.len(), 1, "{about:?}");
    let line = about[0];
    assert!(
        line.contains(&address.to_string()) && line.contains("metrics=off"),
        "{line}"
    );
    Recording::read(&dir.path().join("out")).expect("profiles");
}

#[test]
fn the_javaagent_exports_them_with_its_own_metrics() {
    let Some(jdk) = jdk::newest_virtual("figures as metrics") else {
        return;
    };
    let _machine = Machine::turn();
    let dir = WorkDir::new("otel").expect("a folder");
    let agent = artifacts::install(dir.path()).expect("agent and shim");
    let launch = Launch::new(&jdk)
        .agent_at(&agent, "cpu=1000hz,out=out,every=60s,service=truth")
        .javaagent()
        .expect("the javaagent")
        .flag("-Dotel.metrics.exporter=logging")
        .flag("-Dotel.metric.export.interval=1000")
        .jar(artifacts::truth_program().expect("the program"))
        .bare_truth_program([
            "mix",
            "--seconds=4",
            "--work=2000",
            "--otel=agent",
            "--log=truth.log",
        ]);
    let finished = Running::start(&launch, dir.path(), LIMIT)
        .and_then(Running::wait)
        .and_then(Finished::success)
        .expect("a run");
    // As its exporter logs them, a line a metric; they only grow.
    let values = |name: &str, thread: &str| -> Vec<f64> {
        let lines = finished.stderr.lines();
        let of_name = lines.filter(|line| line.contains(&format!("name={name},")));
        let points = of_name.flat_map(|line| line.split("DoublePointData{").skip(1));
        let of_thread = points.filter(|point| point.contains(thread));
        let value = |point: &str| {
            let (_, rest) = point.split_once("value=")?;
            rest.split([',', '}']).next()?.parse().ok()
        };
        of_thread.filter_map(value).collect()
    };
    let recording = Recording::read(&dir.path().join("out")).expect("profiles");
    let whole_run = |key: &str| recording.counter(key).expect("windows") as f64;
    for (name, thread, key, unit) in [
        ("vtprof.samples.taken", "", "samples.taken", 1.0),
        ("vtprof.samples.tagged", "", "samples.tagged", 1.0),
        (
            "vtprof.agent.thread_cpu",
            "drain",
            "agent.drain_cpu_ns",
            1e9,
        ),
    ] {
        let exported = values(name, thread);
        assert!(
            exported.len() >= 3,
            "{name}: {exported:?}\n{}",
            finished.stderr
        );
        assert!(exported.is_sorted(), "{name}: {exported:?}");
        let (first, last) = (exported[0], exported[exported.len() - 1]);
        assert!(first < last, "{name}: {exported:?}");
        // The last export comes before the agent's end, whose window is not over then.
        let whole = whole_run(key) / unit;
        say(&format!(
            "{name} {thread}: {exported:?}, {whole} in the profiles"
        ));
        assert!(
            last <= whole * 1.1 && last >= whole * 0.5,
            "{last} of {whole}"
        );
    }
}
