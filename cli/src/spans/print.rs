//! The tables of `vtprof spans` for people.

use std::io::Write;

use anyhow::Result;
use vtprof_profile::spans::SpanStatus;

use crate::figures::{self, FEW, dash, nanos, percent, plural, plus_minus, share, thousands};
use crate::listing::Listing;
use crate::text::{note, note_roots_without_times};

use super::columns::{Column, ColumnId, Costs};
use super::{Endpoint, Root, Table, View};

const UNTAGGED: &str = "(untagged)";
const NOT_LISTED: &str = "(spans not listed)";
const UNTAGGED_EXPLAINED: &str = "(untagged): threads of the JVM itself (compilers, collector), and Java code outside of any span, such as start-up";
const ACCOUNTED: &str = "ACCOUNTED";
const ACCOUNTED_EXPLAINED: &str = "ACCOUNTED: CPU and blocked time of a span and all below it in this process, as a share of its duration; beyond 100 % where several threads work or wait for it at once";
const NOTHING_TAGGED: &str = "no sample has a span: was vtprof-otel.jar loaded (it says \"linked\" in the service's log), and are spans sampled?";

/// Writes the tables of the view under lines that say what they stand on.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let roots = view.roots;
    let columns = view.columns.in_order();
    let mut ended = String::new();
    if roots.spans_read > 0 {
        let listed = roots.iter().filter(|root| root.ended.is_some()).count();
        let local_roots = listed + roots.ended_not_listed;
        ended = format!(
            "; {} ended, {} of them local roots",
            plural(roots.spans_read.into(), "span"),
            thousands(local_roots as i128)
        );
    }
    if columns.is_empty() {
        writeln!(out, "no profile{ended}")?;
    }
    for (id, column) in &columns {
        writeln!(
            out,
            "{}{ended}",
            column.chooser.summary(roots.whole.of(*id))
        )?;
        ended.clear();
    }
    if roots.spans_left_out > 0 {
        note(&format!(
            "{} ended, but were left out of the span files",
            plural(roots.spans_left_out.into(), "more span")
        ));
    }
    note_roots_without_times(roots.spans_without_times);
    if roots.spans_without_id > 0 {
        note(&format!(
            "{} without a valid id left out",
            plural(roots.spans_without_id.into(), "span")
        ));
    }
    if view.is_filtered {
        let listed = roots.iter().count();
        writeln!(
            out,
            "listed: {} of {}",
            thousands(listed as i128),
            plural((listed + roots.roots_not_listed) as i128, "local root span")
        )?;
    }
    let layout = Layout::new(view, &columns);
    if let Some(table) = &view.endpoints {
        writeln!(out)?;
        endpoints(&layout, table, out)?;
    }
    if let Some(table) = &view.spans {
        writeln!(out)?;
        spans(&layout, table, out)?;
    }
    let mut remarks = Vec::new();
    let is_untagged = |(id, _): &(ColumnId, &Column)| roots.untagged.of(*id).value > 0;
    if columns.iter().any(is_untagged) {
        remarks.push(UNTAGGED_EXPLAINED);
    }
    if view.columns.can_account() {
        remarks.push(ACCOUNTED_EXPLAINED);
    }
    if !remarks.is_empty() {
        writeln!(out, "\n{}", remarks.join("\n"))?;
    }
    let lead = view.columns.lead();
    let (whole, untagged) = (roots.whole.of_lead(lead), roots.untagged.of_lead(lead));
    if whole.value > 0 && untagged.value == whole.value {
        note(NOTHING_TAGGED);
    }
    Ok(())
}

/// What both tables show of costs: of the first column its share and what it stands on, too.
struct Layout<'a> {
    view: &'a View<'a>,
    lead: Option<(ColumnId, &'a Column)>,
    others: Vec<(ColumnId, &'a Column)>,
    /// Behind the values of these columns, those of these states.
    states: Vec<(ColumnId, Vec<String>)>,
}

impl<'a> Layout<'a> {
    fn new(view: &'a View<'a>, columns: &[(ColumnId, &'a Column)]) -> Self {
        let whole = &view.roots.whole;
        let states = columns.iter().map(|(id, _)| (*id, whole.state_names(*id)));
        Layout {
            view,
            lead: columns.first().copied(),
            others: columns.get(1..).unwrap_or_default().to_vec(),
            states: if view.states {
                states.collect()
            } else {
                Vec::new()
            },
        }
    }

    fn lead_head(&self) -> String {
        self.lead
            .map_or_else(|| "CPU".to_owned(), |(_, column)| column.head())
    }

    fn states_of(&self, column: ColumnId) -> &[String] {
        let found = self.states.iter().find(|(id, _)| *id == column);
        found.map_or(&[], |(_, states)| states)
    }

    fn heads(&self) -> Vec<String> {
        let lead = self.lead_head();
        let with_states = |head: &str, states: &[String]| -> Vec<String> {
            let states = states.iter().map(|state| format!("{head}:{state}"));
            states.collect()
        };
        let mut heads = vec![lead.clone(), "%".into(), "±".into(), "SAMPLES".into()];
        if let Some((id, _)) = self.lead {
            heads.extend(with_states(&lead, self.states_of(id)));
        }
        for (id, column) in &self.others {
            let head = column.head();
            heads.push(head.clone());
            if column.chooser.counted() {
                heads.extend(["±".into(), "SAMPLES".into()]);
            }
            heads.extend(with_states(&head, self.states_of(*id)));
        }
        heads
    }

    fn cells(&self, costs: &Costs) -> Vec<String> {
        let Some((id, column)) = self.lead else {
            return vec![dash(); 4];
        };
        let sum = costs.of(id);
        let whole = self.view.roots.whole.of(id).value;
        let samples = if column.chooser.counted() {
            thousands(sum.samples)
        } else {
            dash()
        };
        let mut cells = vec![
            figures::value(sum.value, column.unit()),
            percent(share(sum.value, whole)),
            plus_minus(column.chooser.error(sum)),
            samples,
        ];
        cells.extend(self.state_cells(costs, id, column));
        for (id, column) in &self.others {
            let sum = costs.of(*id);
            cells.push(figures::value(sum.value, column.unit()));
            if column.chooser.counted() {
                cells.push(plus_minus(column.chooser.error(sum)));
                cells.push(thousands(sum.samples));
            }
            cells.extend(self.state_cells(costs, *id, column));
        }
        cells
    }

    fn state_cells<'b>(
        &'b self,
        costs: &'b Costs,
        id: ColumnId,
        column: &'b Column,
    ) -> impl Iterator<Item = String> + 'b {
        let states = self.states_of(id).iter();
        states.map(move |state| figures::value(costs.in_state(id, state), column.unit()))
    }

    /// All columns, each with its values for one span.
    fn each(&self) -> impl Iterator<Item = &(ColumnId, &'a Column)> {
        self.lead.iter().chain(&self.others)
    }

    fn is_faint(&self, costs: &Costs) -> bool {
        self.lead
            .is_none_or(|(id, column)| column.chooser.counted() && costs.of(id).samples < FEW)
    }

    /// What is accounted for of a duration, where that can be told.
    fn accounted(&self, costs: &Costs, duration: Option<i128>) -> Option<String> {
        if !self.view.columns.can_account() {
            return None;
        }
        let accounted = self.view.columns.accounted(costs);
        let of_it = accounted.zip(duration);
        Some(percent(of_it.and_then(|(part, whole)| share(part, whole))))
    }
}

fn endpoints(layout: &Layout<'_>, table: &Table<Endpoint>, out: &mut impl Write) -> Result<()> {
    let mut headers = layout.heads();
    headers.push("SPANS".into());
    if layout.lead.is_none() {
        headers.push("CPU/SPAN".into());
    }
    for (_, column) in layout.each() {
        headers.push(format!("{}/SPAN", column.head()));
        headers.extend(column.chooser.counted().then(|| "±".to_owned()));
    }
    if layout.view.columns.can_account() {
        headers.push(ACCOUNTED.into());
    }
    headers.extend(["P50 TIME", "MAX TIME", "ENDPOINT"].map(str::to_owned));
    let costs_end = layout.heads().len();
    let mut listing = Listing::new(&headers, headers.len() - 1);
    let duration = |nanos_: Option<u64>| nanos_.map_or_else(dash, |n| nanos(n.into()));
    for endpoint in &table.shown {
        let mut cells = layout.cells(&endpoint.costs);
        let spans = endpoint.durations.len();
        cells.push(if spans == 0 {
            dash()
        } else {
            thousands(spans as i128)
        });
        if layout.lead.is_none() {
            cells.push(dash());
        }
        for (id, column) in layout.each() {
            let cost = endpoint.cost_per_span(*id);
            cells.push(cost.map_or_else(dash, |cost| figures::value(cost, column.unit())));
            if column.chooser.counted() {
                cells.push(plus_minus(endpoint.error_per_span(*id, column)));
            }
        }
        let whole = (spans > 0).then(|| endpoint.duration());
        cells.extend(layout.accounted(&endpoint.costs_of_ended, whole));
        cells.extend([
            duration(endpoint.duration_percentile(50)),
            duration(endpoint.durations.last().copied()),
            endpoint.name.clone(),
        ]);
        listing.row(&cells, layout.is_faint(&endpoint.costs));
    }
    let mut remainder = |costs: &Costs, name: String| {
        let mut cells = layout.cells(costs);
        cells.extend((costs_end..headers.len() - 1).map(|_| dash()));
        cells.push(name);
        listing.row(&cells, false);
    };
    if !table.rest.is_empty() {
        let rest = table.rest.iter().map(|endpoint| &endpoint.costs).sum();
        remainder(&rest, more(table.rest.len()));
    }
    if layout.view.is_filtered {
        remainder(&layout.view.roots.not_listed, NOT_LISTED.to_owned());
    }
    remainder(&layout.view.roots.untagged, UNTAGGED.to_owned());
    listing.write(out)?;
    Ok(())
}

fn spans(layout: &Layout<'_>, table: &Table<&Root>, out: &mut impl Write) -> Result<()> {
    let mut headers = vec!["DURATION".to_owned()];
    headers.extend(layout.heads());
    if layout.view.columns.can_account() {
        headers.push(ACCOUNTED.into());
    }
    let first_text = headers.len();
    headers.extend(["LOCAL ROOT", "TRACE", "STATUS", "NAME"].map(str::to_owned));
    let mut listing = Listing::new(&headers, first_text);
    for root in &table.shown {
        let duration = root.ended.map(|ended| i128::from(ended.duration_nanos));
        let status = match root.ended.map(|ended| ended.status) {
            None => "-",
            Some(SpanStatus::Unset) => "unset",
            Some(SpanStatus::Ok) => "ok",
            Some(SpanStatus::Error) => "error",
        };
        let mut cells = vec![duration.map_or_else(dash, nanos)];
        cells.extend(layout.cells(&root.costs));
        cells.extend(layout.accounted(&root.costs, duration));
        cells.extend([
            root.id.clone(),
            root.trace.clone().unwrap_or_else(dash),
            status.to_owned(),
            root.name.clone().unwrap_or_else(dash),
        ]);
        listing.row(&cells, layout.is_faint(&root.costs));
    }
    let mut remainder = |costs: &Costs, name: String| {
        let mut cells = vec![dash()];
        cells.extend(layout.cells(costs));
        cells.extend((cells.len()..headers.len() - 1).map(|_| dash()));
        cells.push(name);
        listing.row(&cells, false);
    };
    if !table.rest.is_empty() {
        let rest = table.rest.iter().map(|root| &root.costs).sum();
        remainder(&rest, more(table.rest.len()));
    }
    if !layout.view.roots.named_only.is_empty() {
        let named = layout.view.roots.named_only.values().sum();
        remainder(&named, "(name, but no id)".to_owned());
    }
    if layout.view.is_filtered {
        remainder(&layout.view.roots.not_listed, NOT_LISTED.to_owned());
    }
    remainder(&layout.view.roots.untagged, UNTAGGED.to_owned());
    listing.write(out)?;
    Ok(())
}

fn more(rows: usize) -> String {
    format!("({} more, --limit 0 for all)", thousands(rows as i128))
}
