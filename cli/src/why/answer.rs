//! The answer for programs: JSON and CSV. Times are ns of a span on average.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::View;
use super::evidence::{Loss, Thin, Verdict};
use super::frames::FrameLoss;
use super::parts::Part;
use super::waits::EvenlyLonger;
use crate::csv::{self, Cell};
use crate::json;
use crate::measure::Measure;
use crate::stats::Difference;

#[derive(Serialize)]
struct Answer<'a> {
    endpoint: &'a str,
    /// Whether no endpoint was asked for, and this one's slow spans lose most.
    is_chosen: bool,
    lost_nanos: f64,
    spans: usize,
    slow: Group<'a>,
    fast: Group<'a>,
    longer: JsonDifference,
    verdict: JsonVerdict<'a>,
    /// The one that is lost most in first.
    parts: Vec<JsonPart>,
    /// Waits for threads of its own of a slow span; null where no threads work for it side by side.
    joined_nanos: Option<f64>,
    process_cpus: Option<f64>,
    frames: Vec<JsonBehind<'a>>,
    others: Vec<JsonOthers<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Group<'a> {
    bound: &'a str,
    spans: usize,
    duration_nanos: f64,
    /// CPU and blocked time as a share of the duration.
    accounted_share: Option<f64>,
}

#[derive(Serialize)]
struct JsonVerdict<'a> {
    /// Null where there is too little evidence.
    part: Option<Part>,
    /// Not surely smaller.
    beside: &'a [Part],
    /// Whether no profile tells of that part, and it was concluded from the others.
    is_inferred: bool,
    evenly_longer_waits: Option<&'a EvenlyLonger>,
    /// Where it is; of collections who allocates, without a carrier who has the CPUs, where that is known.
    frame: Option<&'a str>,
    leaf: Option<&'a str>,
    too_thin: Option<&'a Thin>,
}

#[derive(Serialize)]
struct JsonDifference {
    difference_nanos: f64,
    standard_error_nanos: Option<f64>,
    /// The true difference is that near in 95 of 100 cases.
    half_width_nanos: Option<f64>,
}

impl From<&Difference> for JsonDifference {
    fn from(difference: &Difference) -> Self {
        JsonDifference {
            difference_nanos: difference.value,
            standard_error_nanos: difference.error,
            half_width_nanos: difference.half_width,
        }
    }
}

#[derive(Serialize)]
struct JsonPart {
    part: Part,
    fast_nanos: f64,
    slow_nanos: f64,
    #[serde(flatten)]
    difference: JsonDifference,
    share: Option<f64>,
    false_discovery_rate: Option<f64>,
    is_sure: bool,
}

#[derive(Serialize)]
struct JsonBehind<'a> {
    part: Part,
    /// The deepest frame that has most of it, with all it called.
    at: Option<JsonFrame<'a>>,
    way: &'a [String],
    rows: Vec<JsonFrame<'a>>,
}

#[derive(Serialize)]
struct JsonFrame<'a> {
    frame: &'a str,
    leaf: &'a str,
    #[serde(flatten)]
    difference: JsonDifference,
    share: f64,
}

#[derive(Serialize)]
struct JsonOthers<'a> {
    part: Part,
    kind: &'static str,
    measure: &'a Measure,
    rows: Vec<JsonOther<'a>>,
}

#[derive(Serialize)]
struct JsonOther<'a> {
    frame: &'a str,
    class: Option<&'a str>,
    endpoint: &'a str,
    value: i128,
    share: f64,
}

fn frame(loss: &FrameLoss) -> JsonFrame<'_> {
    JsonFrame {
        frame: &loss.frame,
        leaf: &loss.leaf,
        difference: JsonDifference::from(&loss.difference),
        share: loss.share,
    }
}

/// Writes JSON.
pub fn json(view: &View, out: &mut impl Write) -> Result<()> {
    let endpoint = &view.endpoint;
    let share =
        |loss: &Loss| (view.longer.value > 0.0).then(|| loss.difference.value / view.longer.value);
    let parts = view.losses.iter().map(|loss| JsonPart {
        part: loss.part,
        fast_nanos: loss.fast,
        slow_nanos: loss.slow,
        difference: JsonDifference::from(&loss.difference),
        share: share(loss),
        false_discovery_rate: loss.false_rate,
        is_sure: loss.is_sure(),
    });
    let frames = view.behind.iter().map(|behind| JsonBehind {
        part: behind.part,
        at: behind.at.as_ref().map(frame),
        way: &behind.way,
        rows: behind.rows.iter().map(frame).collect(),
    });
    let others = view.causes.iter().map(|causes| JsonOthers {
        part: causes.part,
        kind: causes.kind.name(),
        measure: &causes.measure,
        rows: causes
            .rows
            .iter()
            .map(|row| JsonOther {
                frame: &row.frame,
                class: row.class.as_deref(),
                endpoint: &row.endpoint,
                value: row.sum.value,
                share: row.share,
            })
            .collect(),
    });
    let answer = Answer {
        endpoint: &endpoint.name,
        is_chosen: endpoint.is_chosen,
        lost_nanos: endpoint.lost_nanos,
        spans: endpoint.spans,
        slow: Group {
            bound: &view.slow_bound,
            spans: endpoint.slow_spans,
            duration_nanos: view.slow_nanos,
            accounted_share: view.accounted[1],
        },
        fast: Group {
            bound: &view.fast_bound,
            spans: endpoint.fast_spans,
            duration_nanos: view.fast_nanos,
            accounted_share: view.accounted[0],
        },
        longer: JsonDifference::from(&view.longer),
        verdict: verdict(view),
        parts: parts.collect(),
        joined_nanos: view.joined,
        process_cpus: view.cpus,
        frames: frames.collect(),
        others: others.collect(),
        notes: &view.notes,
    };
    json::write(&answer, out)
}

fn verdict(view: &View) -> JsonVerdict<'_> {
    let (beside, too_thin) = match &view.verdict {
        Verdict::Told { beside, .. } => (beside.as_slice(), None),
        Verdict::Thin(thin) => (&[][..], Some(thin)),
    };
    let part = view.lead();
    let frame = part.and_then(|part| view.frame(part));
    JsonVerdict {
        part,
        beside,
        is_inferred: view.evenly.is_some(),
        evenly_longer_waits: view.evenly.as_ref(),
        frame: frame.map(|(frame, _)| frame),
        leaf: frame.and_then(|(_, leaf)| leaf),
        too_thin,
    }
}

/// Writes a line for each part, and behind it one for each frame of it.
pub fn csv(view: &View, out: &mut impl Write) -> Result<()> {
    let headers = [
        "part",
        "frame",
        "leaf",
        "fast_nanos",
        "slow_nanos",
        "difference_nanos",
        "half_width_nanos",
    ];
    let mut rows: Vec<Vec<Cell<'_>>> = Vec::new();
    for loss in &view.losses {
        rows.push(vec![
            loss.part.name().into(),
            Cell::Nothing,
            Cell::Nothing,
            loss.fast.into(),
            loss.slow.into(),
            loss.difference.value.into(),
            loss.difference.half_width.into(),
        ]);
        let behind = view.behind.iter().find(|behind| behind.part == loss.part);
        for row in behind.map_or(&[][..], |behind| &behind.rows) {
            rows.push(vec![
                loss.part.name().into(),
                row.frame.as_str().into(),
                row.leaf.as_str().into(),
                Cell::Nothing,
                Cell::Nothing,
                row.difference.value.into(),
                row.difference.half_width.into(),
            ]);
        }
    }
    csv::write(&headers, rows, out)
}
