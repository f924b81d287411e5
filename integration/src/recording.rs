//! What was recorded: all CPU profiles of one run, as samples with frames and tags.
//!
//! Reading is strict: half a tag, a label that is not in the contract or an id that is none fails
//! here, before any comparison.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use vtprof_profile::gzip;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{LabelValue, Profile};

/// The labels that say whose a sample is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// `trace_id`.
    pub trace: TraceId,
    /// `span_id`, the current span.
    pub span: SpanId,
    /// `local_root_span_id`.
    pub local_root: SpanId,
    /// `span_name`, the local root's.
    pub name: String,
}

/// Samples of one stack under one set of labels in one window.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Functions, leaf first, as `package.Class.method`.
    pub frames: Vec<Arc<str>>,
    /// The line of each, 0 where it is unknown.
    pub lines: Vec<i64>,
    /// Source file, or library, of the leaf; empty where there is none.
    pub leaf_file: Arc<str>,
    /// Whose it is, by its labels.
    pub tag: Option<Tag>,
    /// The `thread` label.
    pub thread: Option<Arc<str>>,
    /// `samples/count`.
    pub count: u64,
    /// `cpu/nanoseconds`; of another kind of profile its second value.
    pub nanos: u64,
    /// Start and end of the time its window's samples are of, ns of the monotonic clock: the first may be older
    /// than the window.
    pub window: (i64, i64),
}

/// One file's head.
#[derive(Debug, Clone)]
pub struct Window {
    /// The file.
    pub path: PathBuf,
    /// Start, ns since 1970.
    pub start: i64,
    /// Start, ns of the monotonic clock, which no step of the wall clock touches.
    pub monotonic: i64,
    /// Length, ns.
    pub duration: i64,
    /// CPU time between two samples, ns; of another kind of profile in the unit of its period.
    pub period: i64,
    /// `key=value` comments.
    pub facts: HashMap<String, String>,
}

/// All samples of a run.
#[derive(Debug, Default)]
pub struct Recording {
    /// One entry a file, in the order of their names.
    pub windows: Vec<Window>,
    /// The samples of all files.
    pub samples: Vec<Sample>,
}

impl Recording {
    /// Reads every CPU profile in `dir`.
    ///
    /// # Errors
    /// There is none, or one breaks the format or the contract.
    pub fn read(dir: &Path) -> Result<Recording> {
        Recording::read_kind(dir, Kind::Cpu)
    }

    /// Reads every profile of that kind in `dir`.
    ///
    /// # Errors
    /// There is none, or one breaks the format or the contract.
    pub fn read_kind(dir: &Path, kind: Kind) -> Result<Recording> {
        let mut recording = Recording::default();
        let mut names = Names::default();
        for path in files(dir, &format!("-{}-", kind.name()))? {
            recording
                .add(&path, kind, &mut names)
                .with_context(|| path.display().to_string())?;
        }
        ensure!(
            !recording.windows.is_empty(),
            "no profile of {} in {}",
            kind.name(),
            dir.display()
        );
        Ok(recording)
    }

    /// Reads one CPU profile. Those of hours together are too large for memory.
    ///
    /// # Errors
    /// It breaks the format or the contract.
    pub fn read_file(path: &Path) -> Result<Recording> {
        Recording::read_one(path, Kind::Cpu)
    }

    /// Reads one profile of that kind.
    ///
    /// # Errors
    /// It breaks the format or the contract.
    pub fn read_one(path: &Path, kind: Kind) -> Result<Recording> {
        let mut recording = Recording::default();
        recording
            .add(path, kind, &mut Names::default())
            .with_context(|| path.display().to_string())?;
        Ok(recording)
    }

    fn add(&mut self, path: &Path, kind: Kind, names: &mut Names) -> Result<()> {
        let bytes = gzip::read_bytes(File::open(path)?, gzip::DEFAULT_LIMIT)?;
        let profile = Profile::from_bytes(&bytes)?;
        let count = value_index(&profile, kind.count().kind, kind.count().unit)?;
        let nanos = value_index(&profile, kind.amount().kind, kind.amount().unit)?;
        let facts = facts(&profile.comments);
        let fact = |key: &str| -> Result<i64> {
            let value = facts.get(key).with_context(|| format!("no {key}"))?;
            Ok(value.parse()?)
        };
        let monotonic = fact("start.monotonic_ns")?;
        let window = (
            monotonic - fact("samples.late_ns")?,
            monotonic + profile.duration_nanos,
        );
        ensure!(
            profile.period > 0 && profile.time_nanos > 0 && profile.duration_nanos >= 0,
            "period {}, time {}, duration {}",
            profile.period,
            profile.time_nanos,
            profile.duration_nanos
        );
        for sample in profile.samples.iter() {
            let frames: Vec<Arc<str>> = profile
                .frames(&sample)
                .map(|frame| {
                    let function = profile.functions.get(frame.function);
                    names.intern(profile.strings.get(function.name))
                })
                .collect();
            ensure!(!frames.is_empty(), "a sample without a frame");
            let lines = profile.frames(&sample).map(|frame| frame.line).collect();
            let leaf = profile.frames(&sample).next();
            let leaf_file = leaf.map_or("", |frame| {
                let function = profile.functions.get(frame.function);
                profile.strings.get(function.file)
            });
            let mut labels = HashMap::new();
            for label in sample.labels {
                let key = profile.strings.get(label.key);
                let LabelValue::Text(text) = label.value else {
                    bail!("label {key} is a number");
                };
                if labels.insert(key, profile.strings.get(text)).is_some() {
                    bail!("label {key} twice in a sample");
                }
            }
            if let Some(own) = kind.label() {
                labels
                    .remove(own)
                    .with_context(|| format!("a sample without a {own}"))?;
            }
            let thread = labels.remove("thread").map(|name| names.intern(name));
            self.samples.push(Sample {
                frames,
                lines,
                leaf_file: names.intern(leaf_file),
                tag: tag(labels)?,
                thread,
                count: u64::try_from(sample.values[count])?,
                nanos: u64::try_from(sample.values[nanos])?,
                window,
            });
        }
        self.windows.push(Window {
            path: path.to_owned(),
            start: profile.time_nanos,
            monotonic,
            duration: profile.duration_nanos,
            period: profile.period,
            facts,
        });
        Ok(())
    }

    /// Sum over the windows of a counter in the comments, which leave out what is 0; `None` where there is no
    /// window.
    pub fn counter(&self, key: &str) -> Option<u64> {
        self.windows
            .iter()
            .map(|window| window.facts.get(key).and_then(|value| value.parse().ok()))
            .map(Option::unwrap_or_default)
            .reduce(|sum: u64, value| sum + value)
    }

    /// What the last window says under that key.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.windows.last()?.facts.get(key).map(String::as_str)
    }

    /// Sum of `cpu/nanoseconds`.
    pub fn nanos(&self) -> u64 {
        self.samples.iter().map(|sample| sample.nanos).sum()
    }

    /// Sum of `samples/count`.
    pub fn count(&self) -> u64 {
        self.samples.iter().map(|sample| sample.count).sum()
    }

    /// The least time between two samples of one thread, ns, on average: the period, or a tick of the kernel where that
    /// is longer and timers of CPU time are in use, since those fire at ticks.
    pub fn grain(&self) -> u64 {
        let period = self
            .windows
            .iter()
            .filter_map(|window| u64::try_from(window.period).ok())
            .max()
            .unwrap_or(0);
        let is_perf = self.fact("engine").is_some_and(|it| it.starts_with("perf"));
        let has_timers = !is_perf || self.counter("perf.refused").unwrap_or(0) > 0;
        if has_timers {
            period.max(kernel_tick())
        } else {
            period
        }
    }
}

/// The kernel's tick, ns: the resolution of its coarse clock.
fn kernel_tick() -> u64 {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `tick` is valid for the call, and the clock exists since Linux 2.6.32.
    let code = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    assert_eq!(code, 0, "no coarse clock");
    u64::try_from(tick.tv_nsec).unwrap_or(0)
}

/// The files of a kind (`-cpu-` or `-spans-`) in `dir`, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn files(dir: &Path, kind: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(dir).with_context(|| format!("no folder {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.contains(kind) && name.ends_with(".pb.gz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn value_index(profile: &Profile, kind: &str, unit: &str) -> Result<usize> {
    let index = profile
        .sample_type(kind)
        .with_context(|| format!("no sample type {kind}"))?;
    let found = &profile.sample_types[index].unit;
    ensure!(found == unit, "{kind} is in {found}");
    Ok(index)
}

/// All labels of a tag or none of them; nothing else.
fn tag(mut labels: HashMap<&str, &str>) -> Result<Option<Tag>> {
    if labels.is_empty() {
        return Ok(None);
    }
    let mut take = |key: &str| {
        labels
            .remove(key)
            .with_context(|| format!("a tag without {key}"))
    };
    let tag = Tag {
        trace: take("trace_id")?.parse()?,
        span: take("span_id")?.parse()?,
        local_root: take("local_root_span_id")?.parse()?,
        name: take("span_name")?.to_owned(),
    };
    ensure!(labels.is_empty(), "labels out of the contract: {labels:?}");
    Ok(Some(tag))
}

/// `key=value` a line, or several after a heading that ends in `: `.
fn facts(comments: &[String]) -> HashMap<String, String> {
    let pair = |text: &str| {
        let (key, value) = text.split_once('=')?;
        Some((key.trim().to_owned(), value.trim().to_owned()))
    };
    comments
        .iter()
        .flat_map(|comment| match comment.split_once(": ") {
            Some((heading, pairs)) if !heading.contains('=') => {
                pairs.split(' ').filter_map(pair).collect()
            }
            _ => pair(comment).into_iter().collect::<Vec<_>>(),
        })
        .collect()
}

/// One copy of each function's name.
#[derive(Default)]
struct Names {
    known: HashMap<String, Arc<str>>,
}

impl Names {
    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.known.insert(name.to_owned(), Arc::clone(&new));
        new
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "span {} of {} in trace {} ({})",
            self.span, self.local_root, self.trace, self.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_tag_and_a_foreign_label_are_refused() {
        let whole = [
            ("trace_id", "000000000000000000000000000000ab"),
            ("span_id", "00000000000000cd"),
            ("local_root_span_id", "00000000000000cd"),
            ("span_name", "GET /"),
        ];
        assert!(tag(HashMap::from(whole)).expect("a tag").is_some());
        assert!(tag(HashMap::new()).expect("no tag").is_none());
        assert!(tag(whole[..3].iter().copied().collect()).is_err());
        let mut foreign = HashMap::from(whole);
        foreign.insert("thread_id", "1");
        assert!(tag(foreign).is_err());
    }
}
