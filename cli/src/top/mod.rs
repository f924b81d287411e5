//! `vtprof top`: functions by self and total.

mod csv;
mod json;
mod print;

use std::collections::HashMap;
use std::io::Write;

use anyhow::{Result, bail};
use vtprof_profile::model::{Frame, Profile};

use crate::args::{TopArgs, TopBy, TopOrder};
use crate::cost::{Covered, Pricing};
use crate::figures::Sum;
use crate::flame::condition::Condition;
use crate::input::{self, Loaded};
use crate::measure::{Chooser, Measure, Reader};
use crate::package::package_of;
use crate::pending::Pending;
use crate::selection::{Choice, Selection};
use crate::tags::TagKeys;
use crate::text::NO_STACK;

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
    focus: Condition,
    rows: Vec<Row>,
    index: HashMap<String, usize>,
    /// For each row the last sample that was added to its total, so that recursion counts once.
    last_sample: Vec<u64>,
    samples_seen: u64,
    whole: Sum,
    in_focus: Sum,
    covered: Covered,
}

impl Top {
    fn new(by: TopBy, focus: Condition) -> Self {
        Top {
            by,
            focus,
            rows: Vec::new(),
            index: HashMap::new(),
            last_sample: Vec::new(),
            samples_seen: 0,
            whole: Sum::default(),
            in_focus: Sum::default(),
            covered: Covered::default(),
        }
    }

    fn add(&mut self, profile: &Profile, reader: Reader, pending: &Pending) {
        let keys = TagKeys::of(profile);
        // Rows of this profile's functions, so that names are looked up once and not per frame.
        let mut row_of: Vec<Option<usize>> = vec![None; profile.functions.len()];
        for sample in profile.samples.iter() {
            let sum = reader.sum(&sample);
            self.whole.add(sum);
            if !self.focus.is_empty() {
                let tags = keys.read(profile, &sample);
                if !self.focus.takes(&tags, pending.root_of(&tags)) {
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
            TopBy::Package => {
                let text = |index| profile.strings.get(index);
                self.row(&package_of(text(function.name), text(function.file)))
            }
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
        let top = Top::new(args.by, Condition::of_focus(&args.focus));
        (top, Chooser::new(args.input.measure()))
    };
    let (mut top, mut chooser) = begin();
    let mut pending = Pending::new(&args.focus, false, args.input.kind);
    let mut selection = Selection::new(&args.input);
    input::read_all(&args.input.files, |loaded| {
        let profile = match loaded {
            Loaded::Profile(profile) => profile,
            // A folder of the agent has spans beside its profiles.
            Loaded::Spans { list, .. } => {
                pending.add_spans(list);
                return Ok(());
            }
        };
        pending.note_names(&profile);
        match selection.judge(&profile) {
            Choice::LeaveOut => return Ok(()),
            Choice::TakeAnew => {
                (top, chooser) = begin();
                pending.forget_profiles();
            }
            Choice::Take => {}
        }
        let reader = chooser.reader(&profile)?;
        top.covered.add(&profile);
        if !pending.hold(&profile)? {
            top.add(&profile, reader, &pending);
        }
        Ok(())
    })?;
    selection.conclude()?;
    for of in pending.finish() {
        let reader = chooser.reader_of_sum(&of.profile)?;
        top.add(&of.profile, reader, &pending);
    }
    let Some(measure) = chooser.measure() else {
        bail!("no profile among the inputs, only spans");
    };

    let pricing = args.cost.then(|| Pricing::new(measure, &top.covered));
    let pricing = pricing.transpose()?;

    let rows = top.sorted(args.sort);
    let (shown, rest) = rows.split_at(
        args.input
            .answer
            .row_limit()
            .unwrap_or(rows.len())
            .min(rows.len()),
    );
    let view = View {
        top: &top,
        chooser: &chooser,
        measure,
        pricing,
        shown,
        rest,
    };
    let answer = &args.input.answer;
    if answer.json {
        json::write(&view, out)
    } else if answer.csv {
        csv::write(&view, out)
    } else {
        print::write(&view, out)
    }
}

/// The rows asked for, and what they are to be told with.
struct View<'a> {
    top: &'a Top,
    chooser: &'a Chooser,
    measure: &'a Measure,
    pricing: Option<Pricing>,
    shown: &'a [&'a Row],
    rest: &'a [&'a Row],
}
