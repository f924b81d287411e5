//! The answer of `vtprof spans` as JSON.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::{SpanKind, SpanStatus};

use crate::figures::share;
use crate::json::{self, Figure};
use crate::measure::{Chooser, Measure};

use super::columns::{Column, ColumnId, Costs};
use super::{Endpoint, Root, Table, View};

#[derive(Serialize)]
struct Answer<'a> {
    /// Null when there are span files only. What figures without a kind are in.
    measure: Option<&'a Measure>,
    profiles: usize,
    window_start_unix_nanos: Option<i64>,
    window_end_unix_nanos: Option<i64>,
    /// The kinds that are there, each in a measure of its own.
    kinds: BTreeMap<&'static str, JsonKind<'a>>,
    /// All samples; shares of rows are parts of this.
    whole: JsonCosts<'a>,
    untagged: JsonCosts<'a>,
    /// Samples with a name but no id: in `endpoints`, not in `spans`.
    named_only: JsonCosts<'a>,
    /// What belongs to spans that --name, --trace, --since and --until leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_listed: Option<JsonCosts<'a>>,
    spans_read: u64,
    spans_left_out: u64,
    spans_without_id: u64,
    spans_without_times: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoints: Option<Rows<'a, JsonEndpoint<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<Rows<'a, JsonSpan<'a>>>,
}

#[derive(Serialize)]
struct JsonKind<'a> {
    measure: Option<&'a Measure>,
    profiles: usize,
    window_start_unix_nanos: Option<i64>,
    window_end_unix_nanos: Option<i64>,
}

/// The first measure, then each kind.
#[derive(Serialize)]
struct JsonCosts<'a> {
    #[serde(flatten)]
    lead: Figure,
    kinds: BTreeMap<&'static str, JsonCost<'a>>,
}

#[derive(Serialize)]
struct JsonCost<'a> {
    #[serde(flatten)]
    figure: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_per_span: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_per_span_relative_error: Option<f64>,
    /// Values by the label that the kind has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_state: BTreeMap<&'a str, i128>,
}

#[derive(Serialize)]
struct Rows<'a, T> {
    rows: Vec<T>,
    rows_left_out: usize,
    left_out: JsonCosts<'a>,
}

/// How much of the durations of spans that ended is accounted for; null where a kind for it is missing.
#[derive(Serialize)]
struct Accounted {
    accounted_nanos: Option<i128>,
    /// May exceed 1, where threads work or wait side by side.
    accounted_share: Option<f64>,
}

#[derive(Serialize)]
struct JsonEndpoint<'a> {
    name: &'a str,
    #[serde(flatten)]
    costs: JsonCosts<'a>,
    /// Local root spans of this name that ended.
    spans: usize,
    value_per_span: Option<i128>,
    duration_p50_nanos: Option<u64>,
    duration_max_nanos: Option<u64>,
    #[serde(flatten)]
    accounted: Accounted,
}

#[derive(Serialize)]
struct JsonSpan<'a> {
    local_root_span_id: &'a str,
    trace_id: Option<&'a str>,
    name: Option<&'a str>,
    #[serde(flatten)]
    costs: JsonCosts<'a>,
    start_unix_nanos: Option<u64>,
    duration_nanos: Option<u64>,
    kind: Option<&'static str>,
    status: Option<&'static str>,
    #[serde(flatten)]
    accounted: Accounted,
}

/// Writes the answer.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let roots = view.roots;
    let columns = view.columns.in_order();
    let lead = columns.first().map(|(_, column)| &column.chooser);
    let kinds = columns.iter().filter_map(|(_, column)| {
        let chooser = &column.chooser;
        let kind = JsonKind {
            measure: chooser.measure(),
            profiles: chooser.profiles(),
            window_start_unix_nanos: chooser.window().map(|window| window.0),
            window_end_unix_nanos: chooser.window().map(|window| window.1),
        };
        Some((column.kind?.name(), kind))
    });
    let window = lead.and_then(Chooser::window);
    let answer = Answer {
        measure: lead.and_then(Chooser::measure),
        profiles: lead.map_or(0, Chooser::profiles),
        window_start_unix_nanos: window.map(|window| window.0),
        window_end_unix_nanos: window.map(|window| window.1),
        kinds: kinds.collect(),
        whole: costs(view, &roots.whole, |_, _| None),
        untagged: costs(view, &roots.untagged, |_, _| None),
        named_only: sum(view, roots.named_only.values()),
        not_listed: view
            .is_filtered
            .then(|| costs(view, &roots.not_listed, |_, _| None)),
        spans_read: roots.spans_read,
        spans_left_out: roots.spans_left_out,
        spans_without_id: roots.spans_without_id,
        spans_without_times: roots.spans_without_times,
        endpoints: view
            .endpoints
            .as_ref()
            .map(|table| rows(view, table, |e| &e.costs, |e| endpoint(view, e))),
        spans: view
            .spans
            .as_ref()
            .map(|table| rows(view, table, |r| &r.costs, |r| span(view, r))),
    };
    json::write(&answer, out)
}

fn costs<'a>(
    view: &View<'_>,
    costs: &'a Costs,
    per_span: impl Fn(ColumnId, &Column) -> Option<(i128, Option<f64>)>,
) -> JsonCosts<'a> {
    let figure = |id, chooser: &Chooser| {
        Figure::new(costs.of(id), view.roots.whole.of(id), chooser.counted())
    };
    let columns = view.columns.in_order();
    // Without a profile nothing is known.
    let lead = columns.first();
    let lead = lead.map_or_else(Figure::default, |(id, column)| figure(*id, &column.chooser));
    let kinds = columns.iter().filter_map(|(id, column)| {
        let cost = JsonCost {
            figure: figure(*id, &column.chooser),
            value_per_span: per_span(*id, column).map(|(value, _)| value),
            value_per_span_relative_error: per_span(*id, column).and_then(|(_, error)| error),
            by_state: costs.states(*id).collect(),
        };
        Some((column.kind.map(Kind::name)?, cost))
    });
    JsonCosts {
        lead,
        kinds: kinds.collect(),
    }
}

/// As [`costs`], of several together, without states.
fn sum<'a, 'c>(view: &View<'_>, all: impl Iterator<Item = &'c Costs>) -> JsonCosts<'a> {
    let total: Costs = all.sum();
    let whole = costs(view, &total, |_, _| None);
    let kinds = whole.kinds.into_iter().map(|(name, cost)| {
        let cost = JsonCost {
            figure: cost.figure,
            value_per_span: None,
            value_per_span_relative_error: None,
            by_state: BTreeMap::new(),
        };
        (name, cost)
    });
    JsonCosts {
        lead: whole.lead,
        kinds: kinds.collect(),
    }
}

fn accounted(view: &View<'_>, costs: &Costs, duration: Option<i128>) -> Accounted {
    let nanos = duration.and_then(|_| view.columns.accounted(costs));
    Accounted {
        accounted_nanos: nanos,
        accounted_share: nanos.and_then(|nanos| share(nanos, duration?)),
    }
}

fn rows<'a, T, J>(
    view: &View<'_>,
    table: &'a Table<T>,
    cost: impl Fn(&T) -> &Costs,
    row: impl Fn(&'a T) -> J,
) -> Rows<'a, J> {
    Rows {
        rows: table.shown.iter().map(row).collect(),
        rows_left_out: table.rest.len(),
        left_out: sum(view, table.rest.iter().map(cost)),
    }
}

fn endpoint<'a>(view: &View<'_>, endpoint: &'a Endpoint) -> JsonEndpoint<'a> {
    let per_span = |id, column: &Column| {
        let value = endpoint.cost_per_span(id)?;
        Some((value, endpoint.error_per_span(id, column)))
    };
    let spans = endpoint.durations.len();
    let duration = (spans > 0).then(|| endpoint.duration());
    JsonEndpoint {
        name: &endpoint.name,
        costs: costs(view, &endpoint.costs, per_span),
        spans,
        value_per_span: match view.columns.lead() {
            Some(lead) => endpoint.cost_per_span(lead),
            None => (spans > 0).then_some(0),
        },
        duration_p50_nanos: endpoint.duration_percentile(50),
        duration_max_nanos: endpoint.durations.last().copied(),
        accounted: accounted(view, &endpoint.costs_of_ended, duration),
    }
}

fn span<'a>(view: &View<'_>, root: &&'a Root) -> JsonSpan<'a> {
    let duration = root.ended.map(|ended| i128::from(ended.duration_nanos));
    JsonSpan {
        local_root_span_id: &root.id,
        trace_id: root.trace.as_deref(),
        name: root.name.as_deref(),
        costs: costs(view, &root.costs, |_, _| None),
        start_unix_nanos: root.ended.map(|ended| ended.start_unix_nanos),
        duration_nanos: root.ended.map(|ended| ended.duration_nanos),
        kind: root.ended.map(|ended| kind_name(ended.kind)),
        status: root.ended.map(|ended| status_name(ended.status)),
        accounted: accounted(view, &root.costs, duration),
    }
}

/// As OTLP calls it.
pub fn kind_name(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Unspecified => "unspecified",
        SpanKind::Internal => "internal",
        SpanKind::Server => "server",
        SpanKind::Client => "client",
        SpanKind::Producer => "producer",
        SpanKind::Consumer => "consumer",
    }
}

/// As OTLP calls it.
pub fn status_name(status: SpanStatus) -> &'static str {
    match status {
        SpanStatus::Unset => "unset",
        SpanStatus::Ok => "ok",
        SpanStatus::Error => "error",
    }
}
