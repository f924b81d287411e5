//! A table of `vtprof spans` as CSV.

use std::io::Write;

use anyhow::Result;

use crate::csv::{self, Cell};
use crate::figures::share;

use super::columns::{Column, ColumnId, Costs};
use super::json::{kind_name, status_name};
use super::{Endpoint, Root, View};

/// Writes the table that was asked for.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let columns = view.columns.in_order().into_iter().map(|(id, column)| {
        let states = view.states.then(|| view.roots.whole.state_names(id));
        let states = states.unwrap_or_default();
        Shown { id, column, states }
    });
    let sheet = Sheet {
        view,
        columns: columns.collect(),
    };
    match (&view.spans, &view.endpoints) {
        (Some(table), _) => {
            let headers = sheet.headers(
                &[
                    "local_root_span_id",
                    "trace_id",
                    "name",
                    "kind",
                    "status",
                    "start_unix_nanoseconds",
                    "duration_nanoseconds",
                ],
                false,
            );
            csv::write(
                &headers,
                table.shown.iter().map(|root| sheet.span(root)),
                out,
            )
        }
        (None, Some(table)) => {
            let first = [
                "name",
                "spans",
                "duration_p50_nanoseconds",
                "duration_max_nanoseconds",
            ];
            let headers = sheet.headers(&first, true);
            let rows = table.shown.iter().map(|endpoint| sheet.endpoint(endpoint));
            csv::write(&headers, rows, out)
        }
        (None, None) => Ok(()),
    }
}

struct Sheet<'a> {
    view: &'a View<'a>,
    columns: Vec<Shown<'a>>,
}

/// A column, and those of its states that have one of their own behind it.
struct Shown<'a> {
    id: ColumnId,
    column: &'a Column,
    states: Vec<String>,
}

impl Shown<'_> {
    fn in_states<'c>(&self, costs: &Costs) -> impl Iterator<Item = Cell<'c>> {
        let states = self.states.iter();
        states.map(|state| costs.in_state(self.id, state).into())
    }
}

impl Sheet<'_> {
    /// Those of one table, then four a column, or six with what a span costs, and one a state.
    fn headers(&self, first: &[&str], per_span: bool) -> Vec<String> {
        let mut headers: Vec<_> = first.iter().map(|head| (*head).to_owned()).collect();
        for Shown { column, states, .. } in &self.columns {
            let head = column.head().to_lowercase().replace(' ', "_");
            let unit = column.unit();
            headers.push(format!("{head}_{unit}"));
            let of_it = ["share", "samples", "relative_error"];
            headers.extend(of_it.iter().map(|what| format!("{head}_{what}")));
            if per_span {
                headers.push(format!("{head}_{unit}_per_span"));
                headers.push(format!("{head}_per_span_relative_error"));
            }
            headers.extend(states.iter().map(|state| format!("{head}_{state}_{unit}")));
        }
        if self.view.columns.can_account() {
            headers.extend(["accounted_nanoseconds", "accounted_share"].map(str::to_owned));
        }
        headers
    }

    fn figure(&self, of: &Shown<'_>, costs: &Costs) -> [Cell<'static>; 4] {
        let (id, column) = (of.id, of.column);
        let sum = costs.of(id);
        let is_counted = column.chooser.counted();
        [
            sum.value.into(),
            share(sum.value, self.view.roots.whole.of(id).value).into(),
            is_counted.then_some(sum.samples).into(),
            column.chooser.error(sum).into(),
        ]
    }

    fn accounted(&self, costs: &Costs, duration: Option<i128>) -> Vec<Cell<'static>> {
        if !self.view.columns.can_account() {
            return Vec::new();
        }
        let nanos = duration.and_then(|_| self.view.columns.accounted(costs));
        let of_it = nanos.zip(duration);
        vec![
            nanos.into(),
            of_it.and_then(|(part, whole)| share(part, whole)).into(),
        ]
    }

    fn span<'r>(&self, root: &'r Root) -> Vec<Cell<'r>> {
        let ended = root.ended;
        let mut cells = vec![
            root.id.as_str().into(),
            root.trace.as_deref().into(),
            root.name.as_deref().into(),
            ended.map(|ended| kind_name(ended.kind)).into(),
            ended.map(|ended| status_name(ended.status)).into(),
            ended.map(|ended| ended.start_unix_nanos).into(),
            ended.map(|ended| ended.duration_nanos).into(),
        ];
        for of in &self.columns {
            cells.extend(self.figure(of, &root.costs));
            cells.extend(of.in_states(&root.costs));
        }
        let duration = ended.map(|ended| i128::from(ended.duration_nanos));
        cells.extend(self.accounted(&root.costs, duration));
        cells
    }

    fn endpoint<'r>(&self, endpoint: &'r Endpoint) -> Vec<Cell<'r>> {
        let spans = endpoint.durations.len();
        let mut cells = vec![
            endpoint.name.as_str().into(),
            spans.into(),
            endpoint.duration_percentile(50).into(),
            endpoint.durations.last().copied().into(),
        ];
        for of in &self.columns {
            cells.extend(self.figure(of, &endpoint.costs));
            cells.push(endpoint.cost_per_span(of.id).into());
            cells.push(endpoint.error_per_span(of.id, of.column).into());
            cells.extend(of.in_states(&endpoint.costs));
        }
        let duration = (spans > 0).then(|| endpoint.duration());
        cells.extend(self.accounted(&endpoint.costs_of_ended, duration));
        cells
    }
}
