//! How things stand in an agent, for people and as JSON.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use vtprof_profile::kind::Kind;

use super::answer::Answer;
use crate::attach::options::OFF;
use crate::attach::process::Process;
use crate::text::printable;

/// Words of an answer that stand in the JSON object as they are.
const TEXTS: [&str; 6] = ["version", "state", "service", "jvm", "engine", "context"];
const NUMBERS: [&str; 4] = ["every_ns", "halvings", "threads", "timers"];

/// A kind of profile that is on, or can be set.
struct Rate<'a> {
    kind: &'a str,
    /// ns or bytes; 0 while it is off.
    period: u64,
    /// What was asked for, where a budget has made it longer.
    asked: Option<u64>,
}

fn rates(answer: &Answer) -> Vec<Rate<'_>> {
    let periods = answer.below("period.");
    periods
        .filter_map(|(kind, period)| {
            let asked = answer.value(&format!("asked.{kind}"));
            Some(Rate {
                kind,
                period: period.parse().ok()?,
                asked: asked.and_then(|asked| asked.parse().ok()),
            })
        })
        .collect()
}

fn is_in_bytes(kind: &str) -> bool {
    matches!(Kind::from_name(kind), Some(Kind::Alloc | Kind::Live))
}

/// As one object.
pub fn json(answer: &Answer, process: &Process, out: &mut impl Write) -> Result<()> {
    let mut object = Map::new();
    object.insert("pid".to_owned(), json!(process.number()));
    for key in TEXTS {
        object.insert(key.to_owned(), json!(answer.value(key)));
    }
    // None where the agent writes none.
    object.insert("out".to_owned(), json!(answer.out()));
    for key in NUMBERS {
        let number = answer.value(key).and_then(|text| text.parse::<u64>().ok());
        object.insert(key.to_owned(), json!(number));
    }
    let kinds: Vec<_> = rates(answer)
        .into_iter()
        .map(|rate| {
            json!({
                "kind": rate.kind,
                "unit": if is_in_bytes(rate.kind) { "bytes" } else { "nanoseconds" },
                "period": (rate.period > 0).then_some(rate.period),
                "asked": rate.asked.or(Some(rate.period)).filter(|asked| *asked > 0),
            })
        })
        .collect();
    object.insert("kinds".to_owned(), json!(kinds));
    for (key, prefix) in [("counters", "counter."), ("gauges", "gauge.")] {
        let figures: Map<_, _> = answer
            .below(prefix)
            .map(|(name, text)| (name.to_owned(), number(text)))
            .collect();
        object.insert(key.to_owned(), Value::Object(figures));
    }
    serde_json::to_writer_pretty(&mut *out, &object)?;
    writeln!(out)?;
    Ok(())
}

/// A whole number where it is one; null where it is none.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().ok().map(Value::from);
    whole.unwrap_or_else(|| text.parse::<f64>().map_or(Value::Null, Value::from))
}

/// In lines.
pub fn print(answer: &Answer, process: &Process, out: &mut impl Write) -> Result<()> {
    let value = |key| printable(answer.value(key).unwrap_or("?"));
    writeln!(
        out,
        "vtprof {} in {}: {}, {} threads, {} of them under a timer",
        value("version"),
        printable(&process.named()),
        value("state"),
        value("threads"),
        value("timers")
    )?;
    let files = answer.out().map_or_else(
        || if answer.has_no_files() { OFF } else { "?" }.to_owned(),
        |files| process.seen_if_other(files).display().to_string(),
    );
    for (key, text) in [
        ("service", value("service")),
        ("jvm", value("jvm")),
        ("context", value("context")),
        ("engine", value("engine")),
        ("out", printable(&files)),
    ] {
        writeln!(out, "{key:<12}{text}")?;
    }
    let every = answer.value("every_ns").and_then(|ns| ns.parse().ok());
    if let Some(every) = every.map(Duration::from_nanos) {
        writeln!(out, "{:<12}{every:?}", "every")?;
    }
    for rate in rates(answer) {
        let spelled = |amount: u64| match (amount, is_in_bytes(rate.kind)) {
            (0, _) => "off".to_owned(),
            (bytes, true) => format!("each {bytes} bytes"),
            (ns, false) => format!("each {:?}", Duration::from_nanos(ns)),
        };
        let asked = rate.asked.map_or_else(String::new, |asked| {
            format!(", {} asked for, less to keep max_overhead", spelled(asked))
        });
        let kind = printable(rate.kind);
        writeln!(out, "{kind:<12}{}{asked}", spelled(rate.period))?;
    }
    let counters = || answer.below("counter.");
    let of = |name: &str| answer.value(&format!("counter.{name}")).unwrap_or("0");
    writeln!(
        out,
        "{:<12}{} taken, {} with a tag, {} in no context, {} periods lost",
        "cpu samples",
        printable(of("samples.taken")),
        printable(of("samples.tagged")),
        printable(of("samples.untagged")),
        // The agent's own sum: what is called dropped.store_full is in a frame of its own, and stale signals are lost, too.
        printable(of("samples.dropped"))
    )?;
    writeln!(out)?;
    for (name, text) in counters().chain(answer.below("gauge.")) {
        if text != "0" {
            writeln!(out, "{}={}", printable(name), printable(text))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "ok\nversion=0.1.0\nstate=running\nservice=shop\nout=/tmp/x\nevery_ns=60000000000\nhalvings=1\nthreads=9\ntimers=8\nperiod.cpu=20000000\nasked.cpu=10000000\nperiod.alloc=0\ncounter.samples.taken=7\ncounter.dropped.ring_full=2\ncounter.dropped.nested=1\ncounter.dropped.store_full=7\ncounter.samples.dropped=3\ncounter.faults=0\ngauge.agent.heap_bytes=1.5\n";

    fn written(write: impl Fn(&Answer, &Process, &mut Vec<u8>) -> Result<()>) -> String {
        of(ANSWER, write)
    }

    fn of(answer: &str, write: impl Fn(&Answer, &Process, &mut Vec<u8>) -> Result<()>) -> String {
        let answer = Answer::parse(answer).expect("an answer");
        let own = Process::find(std::process::id()).expect("this one");
        let mut text = Vec::new();
        write(&answer, &own, &mut text).expect("a text");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn people_read_what_is_sampled_how_often_and_figures_that_are_not_zero() {
        let text = written(print);
        for part in [
            "running, 9 threads, 8 of them",
            "each 20ms, each 10ms asked for",
            "alloc       off",
            "7 taken, 0 with a tag, 0 in no context, 3 periods lost",
            "agent.heap_bytes=1.5",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("faults"), "{text}");
    }

    #[test]
    fn without_files_people_read_off_and_programs_find_no_folder() {
        let answer = ANSWER.replace("out=/tmp/x", "out=off");
        let text = of(&answer, print);
        assert!(text.contains("out         off\n"), "{text}");
        let value: Value = serde_json::from_str(&of(&answer, json)).expect("JSON");
        assert_eq!(value["out"], Value::Null);
    }

    #[test]
    fn programs_read_all_of_it_with_numbers_as_numbers() {
        let text = written(json);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["pid"], std::process::id());
        assert_eq!(value["kinds"][0]["period"], 20_000_000);
        assert_eq!(value["kinds"][0]["asked"], 10_000_000);
        assert_eq!(value["kinds"][1]["unit"], "bytes");
        assert_eq!(value["kinds"][1]["period"], Value::Null);
        assert_eq!(value["counters"]["faults"], 0);
        assert_eq!(value["gauges"]["agent.heap_bytes"], 1.5);
        assert_eq!(value["jvm"], Value::Null, "an agent that does not say");
        assert_eq!(value["out"], "/tmp/x");
    }
}
