//! The answer of `vtprof check` as JSON and CSV.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::csv::{self, Cell};
use crate::figures::share;
use crate::json;

use super::judge::{Judgement, Verdict};
use super::ledger::{Ledger, Level};
use super::row::{Opinion, Row};

#[derive(Serialize)]
struct Answer<'a> {
    /// `wrong`, `consistent`, `cannot_tell` or `unchecked`.
    verdict: &'static str,
    /// Right tags look so in one of 10 to the power of this cases, at the most.
    log10_odds_against: f64,
    /// What that would be if tags were kept by the thread that a span starts on.
    log10_odds_by_thread: f64,
    /// Samples in windows in which their span was not open.
    samples_not_open: f64,
    windows_not_open: usize,
    cpu_nanos: f64,
    samples: f64,
    /// What a sample stands for at the most.
    grain_nanos: f64,
    profiles: usize,
    spans_judged: usize,
    /// With samples, and with several threads at once: their durations say nothing.
    spans_of_several_threads: usize,
    /// With samples, and in no span file.
    spans_unknown: usize,
    spans: Vec<JsonRow<'a>>,
    spans_left_out: usize,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    span_id: String,
    local_root_span_id: String,
    /// Whether the samples are of the span alone, or of all below it, too.
    with_children: bool,
    name: &'a str,
    local_root_name: &'a str,
    verdict: &'static str,
    duration_nanos: f64,
    cpu_nanos: f64,
    samples: f64,
    blocked_nanos: f64,
    /// CPU and blocked time of the duration; right ones of one thread have 1 or less, but for chance.
    used_share: Option<f64>,
    samples_not_open: f64,
    log10_odds_against: f64,
}

pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Wrong => "wrong",
        Verdict::Consistent => "consistent",
        Verdict::CannotTell => "cannot_tell",
        Verdict::Unchecked => "unchecked",
    }
}

pub fn opinion_name(opinion: Opinion) -> &'static str {
    match opinion {
        Opinion::Possible => "possible",
        Opinion::SeveralThreads => "several_threads",
        Opinion::Unlikely => "unlikely",
        Opinion::NotOpen => "not_open",
        Opinion::TooMuch => "too_much",
    }
}

/// CPU and blocked time as a share of the duration.
pub fn used_share(row: &Row<'_>) -> Option<f64> {
    let used = row.charge.nanos() + row.charge.blocked_nanos();
    share(used as i128, row.life.open as i128)
}

pub fn log10(odds: f64) -> f64 {
    odds / std::f64::consts::LN_10
}

fn shown<'j, 'a>(judgement: &'j Judgement<'a>, limit: Option<usize>) -> &'j [Row<'a>] {
    let all = judgement.rows.len();
    &judgement.rows[..limit.unwrap_or(all).min(all)]
}

/// Writes all that is known.
pub fn write_json(
    ledger: &Ledger,
    judgement: &Judgement<'_>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> Result<()> {
    let rows = shown(judgement, limit);
    let answer = Answer {
        verdict: verdict_name(judgement.verdict),
        log10_odds_against: log10(judgement.log_odds),
        log10_odds_by_thread: log10(judgement.log_odds_by_thread),
        samples_not_open: judgement.outside.0,
        windows_not_open: judgement.outside.1,
        cpu_nanos: ledger.whole.0,
        samples: ledger.whole.1,
        grain_nanos: ledger.grain,
        profiles: ledger.cpu_profiles,
        spans_judged: judgement.judged,
        spans_of_several_threads: judgement.several_threads,
        spans_unknown: judgement.unknown,
        spans: rows.iter().map(json_row).collect(),
        spans_left_out: judgement.rows.len() - rows.len(),
    };
    json::write(&answer, out)
}

fn json_row<'a>(row: &Row<'a>) -> JsonRow<'a> {
    JsonRow {
        span_id: row.span.to_string(),
        local_root_span_id: row.life.local_root.to_string(),
        with_children: row.level == Level::Root,
        name: &row.life.own_name,
        local_root_name: &row.life.name,
        verdict: opinion_name(row.opinion),
        duration_nanos: row.life.open,
        cpu_nanos: row.charge.nanos(),
        samples: row.charge.samples(),
        blocked_nanos: row.charge.blocked_nanos(),
        used_share: used_share(row),
        samples_not_open: row.outside,
        log10_odds_against: log10(row.log_odds),
    }
}

/// Writes the spans.
pub fn write_csv(
    judgement: &Judgement<'_>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> Result<()> {
    let headers = [
        "span_id",
        "local_root_span_id",
        "name",
        "verdict",
        "duration_nanoseconds",
        "cpu_nanoseconds",
        "samples",
        "blocked_nanoseconds",
        "used_share",
        "samples_not_open",
        "log10_odds_against",
    ];
    let rows = shown(judgement, limit).iter().map(|row| -> Vec<Cell<'_>> {
        vec![
            row.span.to_string().into(),
            row.life.local_root.to_string().into(),
            row.life.own_name.as_str().into(),
            opinion_name(row.opinion).into(),
            row.life.open.into(),
            row.charge.nanos().into(),
            row.charge.samples().into(),
            row.charge.blocked_nanos().into(),
            used_share(row).into(),
            row.outside.into(),
            log10(row.log_odds).into(),
        ]
    });
    csv::write(&headers, rows, out)
}
