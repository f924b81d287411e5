//! `vtprof check`: whether the tags of a profile can be right, by what spans can have had.

mod account;
mod apart;
mod by_thread;
mod chance;
mod charge;
mod code;
mod evidence;
mod judge;
mod ledger;
mod lives;
mod names;
mod print;
mod row;
mod side;
mod table;

use std::io::Write;

use anyhow::{Result, bail};
use vtprof_profile::spans::SpanList;

use crate::args::CheckArgs;
use crate::figures::{nanos, plural};
use crate::input::{self, Loaded};
use crate::text::{note, without_times};

pub use judge::Verdict;
use ledger::Ledger;
use lives::Lives;

/// Runs the command.
///
/// # Errors
/// Files that cannot be read, or in which there is nothing to be checked.
pub fn run(args: &CheckArgs, out: &mut impl Write, judged: &mut Option<Verdict>) -> Result<()> {
    let mut ledger = Ledger::new(args.span_label.as_deref());
    let mut spans = SpanList::default();
    input::read_all(&args.files, |loaded| {
        match loaded {
            Loaded::Profile(profile) => ledger.add(&profile)?,
            Loaded::Spans { list, .. } => {
                spans.spans.extend(list.spans);
                spans.without_id += list.without_id;
            }
        }
        Ok(())
    })?;
    if ledger.cpu_profiles == 0 {
        bail!("no CPU profile (cpu/nanoseconds) among the inputs: there is nothing to check");
    }
    // Of all spans, as each is judged.
    if let Some(told) = without_times(spans.without_times(), "span") {
        note(&told);
    }
    let lives = Lives::of(&spans);
    if lives.spans.is_empty() {
        bail!(
            "no span that ended among the inputs: add the -spans- files, or OTLP traces of the same time"
        );
    }
    for name in &args.fan_out {
        if !lives.roots.values().any(|root| root.name == *name) {
            note(&format!(
                "--fan-out: no local root span that ended is called '{name}'"
            ));
        }
    }
    let judgement = judge::judge(&ledger, &lives, args.span_label.is_some(), &args.fan_out);
    if judgement.rows.is_empty() {
        if judgement.unknown == 0 {
            let label = args.span_label.as_deref().unwrap_or("span_id");
            bail!(
                "no sample has a span: there is no label {label} with an id, --span-label names another"
            );
        }
        bail!(
            "{} in the profiles, and none is among the {} that ended: traces of another time or service, or a label that is no span's id",
            plural(judgement.unknown as i128, "span"),
            plural(lives.spans.len() as i128, "span")
        );
    }
    if let Some(later) = judgement.spans_later {
        bail!(
            "profiles and spans are about {} apart, the spans {}: their clocks differ, or the files are of different times; nothing can be checked",
            nanos(later.abs() as i128),
            if later > 0.0 { "later" } else { "earlier" }
        );
    }
    // Before it is told, as nobody may read all of it.
    *judged = Some(judgement.verdict);
    if args.answer.json {
        table::write_json(&ledger, &judgement, args.answer.row_limit(), out)?;
    } else if args.answer.csv {
        table::write_csv(&judgement, args.answer.row_limit(), out)?;
    } else {
        print::write(&ledger, &judgement, args.answer.row_limit(), out)?;
    }
    Ok(())
}
