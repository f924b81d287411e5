//! The answer of `vtprof spans` as JSON.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use vtprof_profile::spans::{SpanKind, SpanStatus};

use crate::figures::Sum;
use crate::json::{self, Figure};
use crate::measure::Measure;

use super::{Endpoint, Root, Table, View};

#[derive(Serialize)]
struct Answer<'a> {
    /// Null when there are span files only.
    measure: Option<&'a Measure>,
    profiles: usize,
    window_start_unix_nanos: Option<i64>,
    window_end_unix_nanos: Option<i64>,
    /// All samples; shares of rows are parts of this.
    whole: Figure,
    untagged: Figure,
    /// Samples with a name but no id: in `endpoints`, not in `spans`.
    named_only: Figure,
    spans_read: u64,
    spans_left_out: u64,
    spans_without_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoints: Option<Rows<JsonEndpoint<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<Rows<JsonSpan<'a>>>,
}

#[derive(Serialize)]
struct Rows<T> {
    rows: Vec<T>,
    rows_left_out: usize,
    left_out: Figure,
}

#[derive(Serialize)]
struct JsonEndpoint<'a> {
    name: &'a str,
    #[serde(flatten)]
    cost: Figure,
    /// Local root spans of this name that ended.
    spans: usize,
    value_per_span: Option<i128>,
    duration_p50_nanos: Option<u64>,
    duration_max_nanos: Option<u64>,
}

#[derive(Serialize)]
struct JsonSpan<'a> {
    local_root_span_id: &'a str,
    trace_id: Option<&'a str>,
    name: Option<&'a str>,
    #[serde(flatten)]
    cost: Figure,
    start_unix_nanos: Option<u64>,
    duration_nanos: Option<u64>,
    kind: Option<&'static str>,
    status: Option<&'static str>,
}

/// Writes the answer.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let roots = view.roots;
    let figure = |sum| Figure::new(sum, roots.whole, view.chooser.counted());
    let answer = Answer {
        measure: view.chooser.measure(),
        profiles: view.chooser.profiles(),
        window_start_unix_nanos: view.chooser.window().map(|window| window.0),
        window_end_unix_nanos: view.chooser.window().map(|window| window.1),
        whole: figure(roots.whole),
        untagged: figure(roots.untagged),
        named_only: figure(roots.named_only.values().copied().sum()),
        spans_read: roots.spans_read,
        spans_left_out: roots.spans_left_out,
        spans_without_id: roots.spans_without_id,
        endpoints: view
            .endpoints
            .as_ref()
            .map(|table| rows(table, |e| e.cost, |e| endpoint(e, &figure), &figure)),
        spans: view
            .spans
            .as_ref()
            .map(|table| rows(table, |r| r.cost, |r| span(r, &figure), &figure)),
    };
    json::write(&answer, out)
}

fn rows<'a, T, J>(
    table: &'a Table<T>,
    cost: impl Fn(&T) -> Sum,
    row: impl Fn(&'a T) -> J,
    figure: &impl Fn(Sum) -> Figure,
) -> Rows<J> {
    Rows {
        rows: table.shown.iter().map(row).collect(),
        rows_left_out: table.rest.len(),
        left_out: figure(table.rest.iter().map(cost).sum()),
    }
}

fn endpoint<'a>(endpoint: &'a Endpoint, figure: &impl Fn(Sum) -> Figure) -> JsonEndpoint<'a> {
    JsonEndpoint {
        name: &endpoint.name,
        cost: figure(endpoint.cost),
        spans: endpoint.durations.len(),
        value_per_span: endpoint.cost_per_span(),
        duration_p50_nanos: endpoint.duration_percentile(50),
        duration_max_nanos: endpoint.durations.last().copied(),
    }
}

fn span<'a>(root: &&'a Root, figure: &impl Fn(Sum) -> Figure) -> JsonSpan<'a> {
    JsonSpan {
        local_root_span_id: &root.id,
        trace_id: root.trace.as_deref(),
        name: root.name.as_deref(),
        cost: figure(root.cost),
        start_unix_nanos: root.ended.map(|ended| ended.start_unix_nanos),
        duration_nanos: root.ended.map(|ended| ended.duration_nanos),
        kind: root.ended.map(|ended| match ended.kind {
            SpanKind::Unspecified => "unspecified",
            SpanKind::Internal => "internal",
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Producer => "producer",
            SpanKind::Consumer => "consumer",
        }),
        status: root.ended.map(|ended| match ended.status {
            SpanStatus::Unset => "unset",
            SpanStatus::Ok => "ok",
            SpanStatus::Error => "error",
        }),
    }
}
