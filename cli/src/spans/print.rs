//! The tables of `vtprof spans` for people.

use std::io::Write;

use anyhow::Result;
use vtprof_profile::spans::SpanStatus;

use crate::figures::{
    self, FEW, Sum, dash, nanos, percent, plural, plus_minus, relative_error, share, thousands,
};
use crate::listing::Listing;
use crate::text::note;

use super::{Endpoint, Root, Table, View};

const UNTAGGED: &str = "(untagged)";
const UNTAGGED_EXPLAINED: &str = "(untagged): threads of the JVM itself (compilers, collector), and Java code outside of any span, such as start-up";
const NOTHING_TAGGED: &str = "no sample has a span: was vtprof-otel.jar loaded (it says \"linked\" in the service's log), and are spans sampled?";

/// Writes the tables of the view under a line that says what they stand on.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let roots = view.roots;
    let mut summary = view.chooser.summary(roots.whole);
    if roots.spans_read > 0 {
        let local_roots = roots.iter().filter(|root| root.ended.is_some()).count();
        summary += &format!(
            "; {} ended, {} of them local roots",
            plural(roots.spans_read.into(), "span"),
            thousands(local_roots as i128)
        );
    }
    writeln!(out, "{summary}")?;
    if roots.spans_left_out > 0 {
        note(&format!(
            "{} ended, but were left out of the span files",
            plural(roots.spans_left_out.into(), "more span")
        ));
    }
    if roots.spans_without_id > 0 {
        note(&format!(
            "{} without a valid id left out",
            plural(roots.spans_without_id.into(), "span")
        ));
    }
    if let Some(table) = &view.endpoints {
        writeln!(out)?;
        endpoints(view, table, out)?;
    }
    if let Some(table) = &view.spans {
        writeln!(out)?;
        spans(view, table, out)?;
    }
    if roots.untagged.value > 0 {
        writeln!(out, "\n{UNTAGGED_EXPLAINED}")?;
    }
    if roots.whole.value > 0 && roots.untagged.value == roots.whole.value {
        note(NOTHING_TAGGED);
    }
    Ok(())
}

/// The columns both tables share.
struct Columns<'a> {
    view: &'a View<'a>,
    unit: &'a str,
    /// Header of the cost column, e.g. `CPU`.
    kind: String,
}

impl<'a> Columns<'a> {
    fn new(view: &'a View<'a>) -> Self {
        let measure = view.chooser.measure();
        Columns {
            view,
            unit: measure.map_or("nanoseconds", |measure| &measure.unit),
            kind: measure.map_or_else(|| "CPU".to_owned(), |measure| measure.kind.to_uppercase()),
        }
    }

    fn value(&self, value: i128) -> String {
        figures::value(value, self.unit)
    }

    fn cells(&self, sum: Sum) -> [String; 4] {
        let samples = if self.view.chooser.counted() {
            thousands(sum.samples)
        } else {
            dash()
        };
        [
            self.value(sum.value),
            percent(share(sum.value, self.view.roots.whole.value)),
            plus_minus(relative_error(sum.samples)),
            samples,
        ]
    }

    fn faint(&self, sum: Sum) -> bool {
        self.view.chooser.counted() && sum.samples < FEW
    }
}

fn row(cost: [String; 4], rest: impl IntoIterator<Item = String>) -> Vec<String> {
    cost.into_iter().chain(rest).collect()
}

fn endpoints(view: &View<'_>, table: &Table<Endpoint>, out: &mut impl Write) -> Result<()> {
    let columns = Columns::new(view);
    let per_span = format!("{}/SPAN", columns.kind);
    let headers = [
        &columns.kind,
        "%",
        "±",
        "SAMPLES",
        "SPANS",
        &per_span,
        "P50 TIME",
        "MAX TIME",
        "ENDPOINT",
    ];
    let mut listing = Listing::new(&headers, headers.len() - 1);
    let duration = |nanos_: Option<u64>| nanos_.map_or_else(dash, |n| nanos(n.into()));
    for endpoint in &table.shown {
        let spans = match endpoint.durations.len() {
            0 => dash(),
            spans => thousands(spans as i128),
        };
        let per_span = endpoint
            .cost_per_span()
            .map_or_else(dash, |cost| columns.value(cost));
        let rest = [
            spans,
            per_span,
            duration(endpoint.duration_percentile(50)),
            duration(endpoint.durations.last().copied()),
            endpoint.name.clone(),
        ];
        listing.row(
            &row(columns.cells(endpoint.cost), rest),
            columns.faint(endpoint.cost),
        );
    }
    let rest: Sum = table.rest.iter().map(|endpoint| endpoint.cost).sum();
    let blank = || [dash(), dash(), dash(), dash()];
    if !table.rest.is_empty() {
        let name = more(table.rest.len());
        listing.row(
            &row(columns.cells(rest), blank().into_iter().chain([name])),
            false,
        );
    }
    listing.row(
        &row(
            columns.cells(view.roots.untagged),
            blank().into_iter().chain([UNTAGGED.to_owned()]),
        ),
        false,
    );
    listing.write(out)?;
    Ok(())
}

fn spans(view: &View<'_>, table: &Table<&Root>, out: &mut impl Write) -> Result<()> {
    let columns = Columns::new(view);
    let headers = [
        "DURATION",
        &columns.kind,
        "%",
        "±",
        "SAMPLES",
        "LOCAL ROOT",
        "TRACE",
        "STATUS",
        "NAME",
    ];
    let mut listing = Listing::new(&headers, 5);
    for root in &table.shown {
        let duration = root
            .ended
            .map_or_else(dash, |ended| nanos(ended.duration_nanos.into()));
        let status = match root.ended.map(|ended| ended.status) {
            None => "-",
            Some(SpanStatus::Unset) => "unset",
            Some(SpanStatus::Ok) => "ok",
            Some(SpanStatus::Error) => "error",
        };
        let texts = [
            root.id.clone(),
            root.trace.clone().unwrap_or_else(dash),
            status.to_owned(),
            root.name.clone().unwrap_or_else(dash),
        ];
        let cells = std::iter::once(duration).chain(row(columns.cells(root.cost), texts));
        listing.row(&cells.collect::<Vec<_>>(), columns.faint(root.cost));
    }
    let mut remainder = |sum: Sum, name: String| {
        let cells =
            std::iter::once(dash()).chain(row(columns.cells(sum), [dash(), dash(), dash(), name]));
        listing.row(&cells.collect::<Vec<_>>(), false);
    };
    if !table.rest.is_empty() {
        remainder(
            table.rest.iter().map(|root| root.cost).sum(),
            more(table.rest.len()),
        );
    }
    if !view.roots.named_only.is_empty() {
        remainder(
            view.roots.named_only.values().copied().sum(),
            "(name, but no id)".to_owned(),
        );
    }
    remainder(view.roots.untagged, UNTAGGED.to_owned());
    listing.write(out)?;
    Ok(())
}

fn more(rows: usize) -> String {
    format!("({} more, --limit 0 for all)", thousands(rows as i128))
}
