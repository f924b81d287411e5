//! The comparison for programs: JSON and CSV.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::csv::{self, Cell};
use crate::json;
use crate::measure::Measure;
use crate::requests::Left;
use crate::stats::{Cost, Difference, Per};

use super::rows::{Compare, Verdict};
use super::sides::{Compared, SideName};
use super::{Row, View};

/// Rates and differences are in the unit of `measure` per request or second, or shares from 0 to 1.
#[derive(Serialize)]
struct Answer<'a> {
    measure: &'a Measure,
    per: Per,
    /// The difference is the second less the first.
    sides: [JsonSide; 2],
    /// Of all samples; null of shares.
    difference: Option<JsonDifference>,
    warnings: &'a [String],
    rows: Vec<JsonRow<'a>>,
    rows_left_out: usize,
}

#[derive(Serialize)]
struct JsonSide {
    name: SideName,
    profiles: u64,
    requests: u64,
    seconds: f64,
    value: f64,
    samples: Option<i128>,
    /// Of requests that ended in an error, that had not ended, of others than asked for.
    left_out_failed: i128,
    left_out_open: i128,
    left_out_other: i128,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    total: JsonCompare,
    #[serde(rename = "self")]
    own: JsonCompare,
}

#[derive(Serialize)]
struct JsonCompare {
    rates: [f64; 2],
    samples: Option<[i128; 2]>,
    #[serde(flatten)]
    difference: JsonDifference,
    /// Null where too little is there to tell.
    false_discovery_rate: Option<f64>,
    is: Verdict,
}

/// Null is what cannot be told.
#[derive(Serialize)]
struct JsonDifference {
    difference: f64,
    standard_error: Option<f64>,
    /// The true difference is that near in 95 of 100 cases.
    half_width: Option<f64>,
    p_value: Option<f64>,
}

impl From<&Difference> for JsonDifference {
    fn from(difference: &Difference) -> Self {
        JsonDifference {
            difference: difference.value,
            standard_error: difference.error,
            half_width: difference.half_width,
            p_value: difference.chance,
        }
    }
}

/// Writes JSON.
pub fn json(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let side = |i: usize| side(view.names[i], view.sides[i]);
    let rows = view.shown.iter().map(|row| JsonRow {
        name: &row.name,
        total: compare(&row.total),
        own: compare(&row.own),
    });
    let answer = Answer {
        measure: view.measure,
        per: view.per,
        sides: [side(0), side(1)],
        difference: view.whole.as_ref().map(JsonDifference::from),
        warnings: &view.warnings,
        rows: rows.collect(),
        rows_left_out: view.rest.len(),
    };
    json::write(&answer, out)
}

fn side(name: SideName, side: &Compared) -> JsonSide {
    let left_out = |why| side.left_out.get(&why).map_or(0, |sum| sum.value);
    let whole = &side.side.whole;
    JsonSide {
        name,
        profiles: side.files,
        requests: side.side.exposure.requests,
        seconds: side.side.exposure.seconds,
        value: whole.value(),
        samples: (whole.samples > 0).then_some(whole.samples),
        left_out_failed: left_out(Left::Failed),
        left_out_open: left_out(Left::Open),
        left_out_other: left_out(Left::Other),
    }
}

fn compare(compare: &Compare) -> JsonCompare {
    let samples = compare.costs.map(|cost| cost.samples);
    // What has no samples of a known number on one side may have none there.
    let is_counted = compare.costs.iter().any(|cost| cost.samples > 0);
    JsonCompare {
        rates: compare.rates,
        samples: (is_counted || compare.costs.iter().all(|cost| *cost == Cost::default()))
            .then_some(samples),
        difference: JsonDifference::from(&compare.difference),
        false_discovery_rate: compare.false_rate,
        is: compare.verdict,
    }
}

/// Writes a line for each row; the names of the columns say what they are of.
pub fn csv(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let [first, second] = view.names.map(SideName::text);
    let mut header = vec!["function".to_owned()];
    for part in ["total", "self"] {
        header.extend([
            format!("{part}_{first}"),
            format!("{part}_{second}"),
            format!("{part}_difference"),
            format!("{part}_half_width"),
            format!("{part}_p_value"),
            format!("{part}_false_discovery_rate"),
            format!("{part}_is"),
        ]);
    }
    csv::write(&header, view.shown.iter().map(record), out)
}

fn record(row: &Row) -> Vec<Cell<'_>> {
    let mut record = vec![row.name.as_str().into()];
    for compare in [&row.total, &row.own] {
        record.extend([
            compare.rates[0].into(),
            compare.rates[1].into(),
            compare.difference.value.into(),
            compare.difference.half_width.into(),
            compare.difference.chance.into(),
            compare.false_rate.into(),
            compare.verdict.text().into(),
        ]);
    }
    record
}
