//! `vtprof diff`: what functions cost more on one side than on the other, and whether that may be chance.

mod answer;
mod comparable;
mod print;
mod rows;
mod sides;

use std::io::Write;

use anyhow::Result;

use crate::args::{DiffArgs, DiffOrder};
use crate::measure::Measure;
use crate::stats::{Difference, Per, Side};

use rows::Row;
use sides::{Compared, SideName};

/// All there is to tell.
struct View<'a> {
    names: [SideName; 2],
    per: Per,
    measure: &'a Measure,
    order: DiffOrder,
    sides: [&'a Compared; 2],
    /// Of all samples together; `None` of a share.
    whole: Option<Difference>,
    warnings: Vec<String>,
    shown: Vec<Row>,
    rest: Vec<Row>,
}

/// Runs the command.
pub fn run(args: &DiffArgs, out: &mut impl Write) -> Result<()> {
    let comparison = sides::compare(args)?;
    let sides: [&Compared; 2] = [&comparison.sides[0], &comparison.sides[1]];
    let mut shown = rows::of(&comparison, args.sort);
    let limit = args
        .answer
        .row_limit()
        .unwrap_or(shown.len())
        .min(shown.len());
    let rest = shown.split_off(limit);
    let side: [&Side; 2] = sides.map(|side| &side.side);
    let whole = (comparison.per != Per::Share)
        .then(|| Difference::of(side, side.map(|side| &side.whole), comparison.per));
    let view = View {
        names: comparison.names,
        per: comparison.per,
        measure: &comparison.measure,
        order: args.sort,
        sides,
        whole,
        warnings: comparison.warnings.clone(),
        shown,
        rest,
    };
    if args.answer.json {
        answer::json(&view, out)
    } else if args.answer.csv {
        answer::csv(&view, out)
    } else {
        print::write(&view, out)
    }
}
