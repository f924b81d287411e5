//! What was recorded of blocked time, and whether each sample is tagged as its frames say.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use vtprof_profile::gzip;
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{LabelValue, Profile};

use crate::recording::files;
use crate::truth::TruthLog;
use crate::verdict::{UNKNOWN_NAME, burner_frame};

/// The one frame of a wait that went on when its window ended.
const STILL_BLOCKED: &str = "[still blocked]";
/// What makes a span current, and that no longer; and what mounts a virtual thread, which is it by then.
const AROUND: [&str; 2] = [
    "io.vtprof.truth.Traced.",
    "java.lang.VirtualThread.runContinuation",
];

/// Samples of one stack under one set of labels in one window.
#[derive(Debug, Clone)]
pub struct Wait {
    /// Functions, leaf first, as `package.Class.method`.
    pub frames: Vec<String>,
    /// The `state` label.
    pub state: String,
    /// The `span_id` label.
    pub span: Option<SpanId>,
    /// The `span_name` label.
    pub span_name: Option<String>,
    /// `events/count`.
    pub events: u64,
    /// `blocked/nanoseconds`.
    pub nanos: u64,
}

/// All samples of blocked time in `dir`.
///
/// # Errors
/// There is no profile of it, or one breaks the format or the contract.
pub fn read(dir: &Path) -> Result<Vec<Wait>> {
    let paths = files(dir, "-blocked-")?;
    ensure!(!paths.is_empty(), "no blocked time in {}", dir.display());
    let mut waits = Vec::new();
    for path in paths {
        add(&path, &mut waits).with_context(|| path.display().to_string())?;
    }
    Ok(waits)
}

fn add(path: &Path, waits: &mut Vec<Wait>) -> Result<()> {
    let bytes = gzip::read_bytes(File::open(path)?, gzip::DEFAULT_LIMIT)?;
    let profile = Profile::from_bytes(&bytes)?;
    ensure!(
        Kind::of(&profile) == Some(Kind::Blocked),
        "it is another kind"
    );
    let index = |name| {
        profile
            .sample_type(name)
            .context("a sample type is missing")
    };
    let (events, nanos) = (index("events")?, index("blocked")?);
    for sample in profile.samples.iter() {
        let label = |key: &str| {
            sample.labels.iter().find_map(|label| match label.value {
                LabelValue::Text(text) if profile.strings.get(label.key) == key => {
                    Some(profile.strings.get(text).to_owned())
                }
                _ => None,
            })
        };
        let frames = profile
            .frames(&sample)
            .map(|frame| {
                let function = profile.functions.get(frame.function);
                profile.strings.get(function.name).to_owned()
            })
            .collect();
        waits.push(Wait {
            frames,
            state: label("state").context("a sample without a state")?,
            span: label("span_id").map(|id| id.parse()).transpose()?,
            span_name: label("span_name"),
            events: u64::try_from(sample.values[events])?,
            nanos: u64::try_from(sample.values[nanos])?,
        });
    }
    Ok(())
}

impl Wait {
    /// What the program calls the span it is tagged with.
    pub fn name_in<'a>(&self, log: &'a TruthLog) -> Option<&'a str> {
        Some(&log.spans.get(&self.span?)?.name)
    }

    /// Whether it was in that method of a class of the truth program.
    pub fn is_in(&self, class: &str, method: &str) -> bool {
        let name = format!("io.vtprof.truth.{class}.{method}");
        self.frames.contains(&name)
    }

    /// Whether it is of a wait in that state: that, or for a carrier after it.
    pub fn is_of(&self, state: &str) -> bool {
        self.state == state || self.state == "runnable"
    }

    /// Whether it went on when its window ended, so that its stack is not known yet.
    pub fn is_open(&self) -> bool {
        self.frames == [STILL_BLOCKED]
    }

    /// Whether its stack lacks frames, and says so.
    pub fn is_partial(&self) -> bool {
        self.frames.iter().any(|frame| frame.starts_with('['))
    }

    /// What is wrong with its tag: a span that the program does not know, or one whose class is not on the stack. Of a
    /// stack that lacks frames, or is of the moment in which the span is made current, no class can be asked for.
    pub fn flaw(&self, log: &TruthLog) -> Option<String> {
        let id = self.span?;
        let Some(span) = log.spans.get(&id) else {
            return Some(format!("no such span: {self:?}"));
        };
        let burner = self.frames.iter().find_map(|frame| burner_frame(frame));
        let name = self.span_name.as_deref();
        // Where too many spans came at once its name is lost, and counted.
        let is_around = |frame: &String| AROUND.iter().any(|around| frame.starts_with(around));
        let is_without = || self.is_partial() || self.frames.iter().any(is_around);
        let is_right = burner.map_or_else(is_without, |(class, _)| class == span.burner)
            && (name == Some(&span.name) || name == Some(UNKNOWN_NAME));
        (!is_right).then(|| {
            format!(
                "tagged with a span of {} ({}): {self:?}",
                span.burner, span.name
            )
        })
    }
}
