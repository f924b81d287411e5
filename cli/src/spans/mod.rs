//! `vtprof spans`: what local root spans cost, one by one and by endpoint.

pub mod columns;
mod csv;
pub mod endpoints;
mod filter;
mod json;
mod print;
pub mod roots;

use std::io::Write;

use anyhow::{Result, bail};

use crate::args::{SpansArgs, SpansBy};
use crate::input::{self, Loaded};
use crate::text::note;

use columns::{Columns, Taken};
use endpoints::Endpoint;
use filter::Filter;
use roots::{Root, Roots};

/// The tables asked for, in order, cut to the rows asked for.
struct View<'a> {
    roots: &'a Roots,
    columns: &'a Columns,
    /// Whether tables show costs by state, too.
    states: bool,
    /// Whether spans are left out that nobody asked for.
    is_filtered: bool,
    endpoints: Option<Table<Endpoint>>,
    spans: Option<Table<&'a Root>>,
}

/// Rows to show and those left out.
struct Table<T> {
    shown: Vec<T>,
    rest: Vec<T>,
}

impl<T> Table<T> {
    fn cut(mut rows: Vec<T>, limit: Option<usize>) -> Self {
        let rest = rows.split_off(limit.unwrap_or(rows.len()).min(rows.len()));
        Table { shown: rows, rest }
    }
}

/// Runs the command.
pub fn run(args: &SpansArgs, out: &mut impl Write) -> Result<()> {
    let mut roots = Roots::default();
    let mut columns = Columns::new(&args.input);
    input::read_all(&args.input.files, |loaded| {
        match loaded {
            Loaded::Profile(profile) => match columns.take(&profile)? {
                Taken::Not => {}
                Taken::Into(column, reader) => roots.add_profile(&profile, column, reader),
                Taken::Anew(column, reader) => {
                    roots.forget_profiles();
                    roots.add_profile(&profile, column, reader);
                }
            },
            Loaded::Spans { list, left_out } => roots.add_spans(list, left_out),
        }
        Ok(())
    })?;
    columns.conclude()?;
    roots.settle();

    let slowest = args.slowest.map(|rows| rows as usize);
    if slowest.is_some() && !roots.has_durations() {
        bail!(
            "--slowest needs durations, but there is no ended local root span among the inputs: add the -spans- files"
        );
    }
    let filter = Filter::new(args);
    roots.list_only(&filter);
    if !filter.is_open() && roots.iter().next().is_none() && roots.named_only.is_empty() {
        note(
            "no local root span is such as --name, --trace, --since and --until say; without them `vtprof spans` lists all",
        );
    }
    let answer = &args.input.answer;
    let limit = slowest.or(answer.row_limit());
    let (endpoints, spans) = match (args.by, slowest) {
        (None, None) => (!answer.csv, true),
        (by, slowest) => (
            by == Some(SpansBy::Endpoint),
            slowest.is_some() || by == Some(SpansBy::Span),
        ),
    };
    let lead = columns.lead();
    let view = View {
        roots: &roots,
        columns: &columns,
        states: args.states,
        is_filtered: !filter.is_open(),
        endpoints: endpoints.then(|| Table::cut(endpoints::of(&roots, lead), limit)),
        spans: spans.then(|| Table::cut(roots.slowest_first(lead), limit)),
    };
    if answer.json {
        json::write(&view, out)
    } else if answer.csv {
        csv::write(&view, out)
    } else {
        print::write(&view, out)
    }
}
