//! The answer of `vtprof top` as JSON.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::figures::Sum;
use crate::json::{self, Figure};
use crate::measure::Measure;

use super::View;

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    measure: &'a Measure,
    profiles: usize,
    window_start_unix_nanos: Option<i64>,
    window_end_unix_nanos: Option<i64>,
    /// All samples.
    whole: Figure,
    /// Samples in focus; shares of rows are parts of this.
    in_focus: Figure,
    /// What the samples in focus cost, where that was asked for.
    #[serde(flatten)]
    cost: Option<JsonCost>,
    rows: Vec<JsonRow<'a>>,
    rows_left_out: usize,
    /// Self of the rows left out.
    left_out_self: Figure,
}

#[derive(Serialize)]
struct JsonCost {
    vcpus: f64,
    vcpu_hours_a_month: f64,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: Figure,
    total: Figure,
    /// Of self.
    #[serde(flatten)]
    cost: Option<JsonCost>,
}

impl<'a> Answer<'a> {
    fn new(view: &View<'a>) -> Self {
        let (top, chooser) = (view.top, view.chooser);
        let figure = |sum| Figure::new(sum, top.in_focus, chooser.counted());
        let cost = |sum: Sum| {
            view.pricing.map(|pricing| {
                let cost = pricing.of(sum.value);
                JsonCost {
                    vcpus: cost.vcpus,
                    vcpu_hours_a_month: cost.vcpu_hours_a_month,
                }
            })
        };
        let rows = view.shown.iter().map(|row| JsonRow {
            name: &row.name,
            own: figure(row.own),
            total: figure(row.total),
            cost: cost(row.own),
        });
        Answer {
            measure: view.measure,
            profiles: chooser.profiles(),
            window_start_unix_nanos: chooser.window().map(|window| window.0),
            window_end_unix_nanos: chooser.window().map(|window| window.1),
            whole: Figure::new(top.whole, top.whole, chooser.counted()),
            in_focus: Figure::new(top.in_focus, top.whole, chooser.counted()),
            cost: cost(top.in_focus),
            rows: rows.collect(),
            rows_left_out: view.rest.len(),
            left_out_self: figure(view.rest.iter().map(|row| row.own).sum()),
        }
    }
}

/// Writes the answer.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    json::write(&Answer::new(view), out)
}
