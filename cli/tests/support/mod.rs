//! Files made for one test, and the command run on them.

// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

pub mod page;
pub mod service;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use vtprof_profile::builder::{ProfileBuilder, ValueType};
use vtprof_profile::gzip;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::otlp::trace::TracesData;
use vtprof_profile::pprof;
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus};

/// ns one sample stands for.
pub const PERIOD: i64 = 10_000_000;
pub const START: i64 = 1_700_000_000_000_000_000;
pub const WINDOW: i64 = 60_000_000_000;

const TYPES: [ValueType<'static>; 2] = [
    ValueType {
        kind: "samples",
        unit: "count",
    },
    ValueType {
        kind: "cpu",
        unit: "nanoseconds",
    },
];

/// A CPU profile as the agent writes it.
pub struct CpuProfile(ProfileBuilder);

impl CpuProfile {
    /// The window with that number, from 0.
    pub fn window(number: i64) -> Self {
        let mut builder = ProfileBuilder::new(&TYPES, TYPES[1], PERIOD);
        builder.set_time(START + number * WINDOW, WINDOW);
        CpuProfile(builder)
    }

    /// `samples` samples in these functions, leaf first. A function is `name` or `name@file`.
    pub fn burn(mut self, samples: i64, stack: &[&str], labels: &[(&str, &str)]) -> Self {
        let stack: Vec<_> = stack
            .iter()
            .zip(1..)
            .map(|(function, line)| {
                let (name, file) = function.split_once('@').unwrap_or((function, ""));
                let function = self.0.function(name, "", file, 0);
                self.0.location(function, line)
            })
            .collect();
        self.0
            .sample(&stack, &[samples, samples * PERIOD], labels)
            .expect("a good sample");
        self
    }

    pub fn build(self) -> pprof::Profile {
        self.0.finish()
    }

    pub fn write(self, path: &Path) {
        write(&self.build(), path);
    }
}

/// The labels of a sample in that local root span itself.
pub fn tags<'a>(root: &'a str, name: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("trace_id", TRACE),
        ("span_id", root),
        ("local_root_span_id", root),
        ("span_name", name),
    ]
}

pub const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A local root span that lasted so many ms.
pub fn local_root(id: &str, name: &str, millis: u64) -> SpanRecord {
    let span: SpanId = id.parse().expect("an id");
    let trace: TraceId = TRACE.parse().expect("an id");
    SpanRecord {
        trace,
        span,
        parent: None,
        local_root: span,
        name: name.to_owned(),
        kind: SpanKind::Server,
        start_unix_nanos: START as u64,
        end_unix_nanos: START as u64 + millis * 1_000_000,
        status: SpanStatus::Unset,
    }
}

pub fn write(message: &impl vtprof_profile::Message, path: &Path) {
    let file = fs::File::create(path).expect("a temporary file");
    gzip::write_gz(message, file).expect("a temporary file");
}

pub fn write_spans(traces: &TracesData, path: &Path) {
    write(traces, path);
}

/// A folder that goes with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vtprof"));
    command.env_remove("NO_COLOR");
    command
}

pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    command()
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("vtprof starts")
}

pub fn run_with_input<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Output {
    let mut child = command()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("vtprof starts");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(input)
        .expect("vtprof reads");
    child.wait_with_output().expect("vtprof ends")
}

pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// The one line of a failed command.
pub fn failure(output: &Output) -> String {
    let error = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(output.stdout, b"", "{output:?}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error.trim_end().to_owned()
}

pub fn json<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Value {
    let args: Vec<_> = args
        .into_iter()
        .map(|arg| arg.as_ref().to_owned())
        .collect();
    let output = command()
        .args(&args)
        .arg("--json")
        .output()
        .expect("vtprof starts");
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// The words of each line that ends in `end`.
pub fn row(text: &str, end: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().filter(|line| line.ends_with(end)).collect();
    assert_eq!(lines.len(), 1, "lines ending in '{end}' in\n{text}");
    lines[0].split_whitespace().map(str::to_owned).collect()
}

pub fn int(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no whole number"))
}
