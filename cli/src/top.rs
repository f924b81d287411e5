//! `vtprof top`: functions by self and total.

use std::collections::HashMap;
use std::io::Write;

use anyhow::{Result, bail};
use serde::Serialize;
use vtprof_profile::model::{Frame, Profile};

use crate::args::{TopArgs, TopBy, TopOrder};
use crate::figures::{self, FEW, Sum, percent, plus_minus, relative_error, share, thousands};
use crate::focus::Focus;
use crate::input::{self, Loaded};
use crate::json::{self, Figure};
use crate::listing::Listing;
use crate::measure::{Chooser, Measure};
use crate::selection::{Choice, Selection};
use crate::tags::TagKeys;
use crate::text::note;

/// The row of samples without any frame, which files of others may have.
const NO_STACK: &str = "[no stack]";
/// The row of functions without a source file.
const NO_FILE: &str = "[no file]";

/// One function or file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    /// Samples with it as the leaf.
    own: Sum,
    /// Samples with it anywhere in the stack, each counted once.
    total: Sum,
}

/// Sums of all samples in focus.
#[derive(Debug)]
struct Top {
    by: TopBy,
    focus: Vec<Focus>,
    rows: Vec<Row>,
    index: HashMap<String, usize>,
    /// For each row the last sample that was added to its total, so that recursion counts once.
    last_sample: Vec<u64>,
    samples_seen: u64,
    whole: Sum,
    in_focus: Sum,
}

impl Top {
    fn new(by: TopBy, focus: Vec<Focus>) -> Self {
        Top {
            by,
            focus,
            rows: Vec::new(),
            index: HashMap::new(),
            last_sample: Vec::new(),
            samples_seen: 0,
            whole: Sum::default(),
            in_focus: Sum::default(),
        }
    }

    fn add(&mut self, profile: &Profile, chooser: &mut Chooser) -> Result<()> {
        let reader = chooser.reader(profile)?;
        let keys = TagKeys::of(profile);
        // Rows of this profile's functions, so that names are looked up once and not per frame.
        let mut row_of: Vec<Option<usize>> = vec![None; profile.functions.len()];
        for sample in profile.samples.iter() {
            let sum = reader.sum(&sample);
            self.whole.add(sum);
            if !self.focus.is_empty() {
                let tags = keys.read(profile, &sample);
                if !self.focus.iter().all(|focus| focus.matches(&tags)) {
                    continue;
                }
            }
            self.in_focus.add(sum);
            self.samples_seen += 1;
            let mut leaf = true;
            for frame in profile.frames(&sample) {
                let row = self.row_of_frame(profile, frame, &mut row_of);
                self.count(row, sum, leaf);
                leaf = false;
            }
            if leaf {
                let row = self.row(NO_STACK);
                self.count(row, sum, true);
            }
        }
        Ok(())
    }

    fn row_of_frame(
        &mut self,
        profile: &Profile,
        frame: Frame,
        row_of: &mut [Option<usize>],
    ) -> usize {
        if let Some(row) = row_of[frame.function.as_usize()] {
            return row;
        }
        let function = profile.functions.get(frame.function);
        let row = match self.by {
            TopBy::Function => self.row(profile.strings.get(function.name)),
            TopBy::File => match profile.strings.get(function.file) {
                "" => self.row(NO_FILE),
                file => self.row(file),
            },
        };
        row_of[frame.function.as_usize()] = Some(row);
        row
    }

    fn row(&mut self, name: &str) -> usize {
        if let Some(&row) = self.index.get(name) {
            return row;
        }
        let row = self.rows.len();
        self.rows.push(Row {
            name: name.to_owned(),
            own: Sum::default(),
            total: Sum::default(),
        });
        self.last_sample.push(0);
        self.index.insert(name.to_owned(), row);
        row
    }

    fn count(&mut self, row: usize, sum: Sum, leaf: bool) {
        if leaf {
            self.rows[row].own.add(sum);
        }
        if self.last_sample[row] != self.samples_seen {
            self.last_sample[row] = self.samples_seen;
            self.rows[row].total.add(sum);
        }
    }

    /// The rows in order, biggest first; equal ones by name, so that two runs print the same.
    fn sorted(&self, order: TopOrder) -> Vec<&Row> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        let key = |row: &Row| match order {
            TopOrder::SelfValue => (row.own.value, row.total.value),
            TopOrder::Total => (row.total.value, row.own.value),
        };
        rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
        rows
    }
}

/// Runs the command.
pub fn run(args: &TopArgs, out: &mut impl Write) -> Result<()> {
    let begin = || {
        let top = Top::new(args.by, args.focus.clone());
        (top, Chooser::new(args.input.sample_type.as_deref()))
    };
    let (mut top, mut chooser) = begin();
    let mut selection = Selection::new(&args.input);
    input::read_all(&args.input.files, |loaded| {
        // A folder of the agent has spans beside its profiles.
        let Loaded::Profile(profile) = loaded else {
            return Ok(());
        };
        match selection.judge(&profile)? {
            Choice::LeaveOut => return Ok(()),
            Choice::TakeAnew => (top, chooser) = begin(),
            Choice::Take => {}
        }
        top.add(&profile, &mut chooser)
    })?;
    selection.conclude()?;
    let Some(measure) = chooser.measure() else {
        bail!("no profile among the inputs, only spans");
    };

    let rows = top.sorted(args.sort);
    let (shown, rest) = rows.split_at(
        args.input
            .answer
            .row_limit()
            .unwrap_or(rows.len())
            .min(rows.len()),
    );
    if args.input.answer.json {
        json::write(&Answer::new(&top, &chooser, measure, shown, rest), out)
    } else {
        print(&top, &chooser, measure, shown, rest, out)
    }
}

fn print(
    top: &Top,
    chooser: &Chooser,
    measure: &Measure,
    shown: &[&Row],
    rest: &[&Row],
    out: &mut impl Write,
) -> Result<()> {
    let value = |sum: Sum| figures::value(sum.value, &measure.unit);
    let samples = |sum: Sum| {
        if chooser.counted() {
            thousands(sum.samples)
        } else {
            figures::dash()
        }
    };
    let error = |sum: Sum| plus_minus(relative_error(sum.samples));
    let part = |sum: Sum| percent(share(sum.value, top.in_focus.value));

    writeln!(out, "{}", chooser.summary(top.whole))?;
    if !top.focus.is_empty() {
        let of = percent(share(top.in_focus.value, top.whole.value));
        writeln!(
            out,
            "in focus: {} ({of}), samples {}",
            value(top.in_focus),
            samples(top.in_focus)
        )?;
        if top.samples_seen == 0 {
            note(
                "no sample matches: name= is the name of a local root span, root= its id and all below it, span= one span without its children, trace= a trace; `vtprof spans` lists names and ids",
            );
        }
    }
    writeln!(out)?;
    let by = match top.by {
        TopBy::Function => "FUNCTION",
        TopBy::File => "FILE",
    };
    let headers = [
        "SELF", "SELF %", "±", "SAMPLES", "TOTAL", "TOTAL %", "±", by,
    ];
    let mut listing = Listing::new(&headers, headers.len() - 1);
    for row in shown {
        let cells = [
            value(row.own),
            part(row.own),
            error(row.own),
            samples(row.own),
            value(row.total),
            part(row.total),
            error(row.total),
            row.name.clone(),
        ];
        listing.row(&cells, chooser.counted() && row.total.samples < FEW);
    }
    if !rest.is_empty() {
        let own: Sum = rest.iter().map(|row| row.own).sum();
        let name = format!(
            "({} more, --limit 0 for all)",
            thousands(rest.len() as i128)
        );
        // Totals of several functions share samples, so they have no sum.
        let dash = figures::dash;
        listing.row(
            &[
                value(own),
                part(own),
                error(own),
                samples(own),
                dash(),
                dash(),
                dash(),
                name,
            ],
            false,
        );
    }
    listing.write(out)?;
    Ok(())
}

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
    rows: Vec<JsonRow<'a>>,
    rows_left_out: usize,
    /// Self of the rows left out.
    left_out_self: Figure,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: Figure,
    total: Figure,
}

impl<'a> Answer<'a> {
    fn new(
        top: &'a Top,
        chooser: &Chooser,
        measure: &'a Measure,
        shown: &[&'a Row],
        rest: &[&'a Row],
    ) -> Self {
        let figure = |sum| Figure::new(sum, top.in_focus, chooser.counted());
        let rows = shown.iter().map(|row| JsonRow {
            name: &row.name,
            own: figure(row.own),
            total: figure(row.total),
        });
        Answer {
            measure,
            profiles: chooser.profiles(),
            window_start_unix_nanos: chooser.window().map(|window| window.0),
            window_end_unix_nanos: chooser.window().map(|window| window.1),
            whole: Figure::new(top.whole, top.whole, chooser.counted()),
            in_focus: Figure::new(top.in_focus, top.whole, chooser.counted()),
            rows: rows.collect(),
            rows_left_out: rest.len(),
            left_out_self: figure(rest.iter().map(|row| row.own).sum()),
        }
    }
}
