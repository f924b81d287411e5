//! The answer of `vtprof check` for people.

use std::io::Write;

use anyhow::Result;

use crate::figures::{dash, nanos, percent, plural, thousands};
use crate::listing::Listing;

use super::judge::{Judgement, Verdict};
use super::ledger::Ledger;
use super::row::{Opinion, Row};
use super::table::{log10, used_share};

const WRONG: &str = "verdict: the tags cannot be right";
const CONSISTENT: &str = "verdict: nothing contradicts the tags; those of the thread that a span starts on would have shown";
const CANNOT_TELL: &str = "verdict: nothing contradicts the tags, but those of the thread that a span starts on might not show, either: spans are too few, or last too long for what they compute; a longer recording may tell";
const UNCHECKED: &str = "verdict: nothing could be checked: several threads may work for each span, so that none is bounded by its duration";
const WITHOUT_WAITS: &str = ", and one with blocked=1ms may tell more";
/// Odds beyond that are as good as certain.
const CERTAIN: f64 = 12.0;

/// Writes the verdict, what it stands on, and the spans.
pub fn write(
    ledger: &Ledger,
    judgement: &Judgement<'_>,
    limit: Option<usize>,
    out: &mut impl Write,
) -> Result<()> {
    writeln!(
        out,
        "cpu: {}, {}, {}; {} judged by durations, {} left to several threads, {} in no span file",
        nanos(ledger.whole.0 as i128),
        plural(ledger.whole.1 as i128, "sample"),
        plural(ledger.cpu_profiles as i128, "profile"),
        plural(judgement.judged as i128, "span"),
        thousands(judgement.several_threads as i128),
        thousands(judgement.unknown as i128),
    )?;
    let has_blocked = ledger.blocked_profiles > 0;
    let (verdict, more) = match judgement.verdict {
        Verdict::Wrong => (WRONG, ""),
        Verdict::Consistent => (CONSISTENT, ""),
        Verdict::Unchecked => (UNCHECKED, ""),
        Verdict::CannotTell if has_blocked => (CANNOT_TELL, ""),
        Verdict::CannotTell => (CANNOT_TELL, WITHOUT_WAITS),
    };
    writeln!(out, "{verdict}{more}")?;
    if judgement.verdict == Verdict::Wrong {
        reasons(judgement, out)?;
    }
    writeln!(out)?;
    let rows = &judgement.rows;
    let shown = limit.unwrap_or(rows.len()).min(rows.len());
    let mut headers = vec!["DURATION", "CPU", "SAMPLES"];
    headers.extend(has_blocked.then_some("BLOCKED"));
    headers.extend(["USED", "NOT OPEN", "ODDS"]);
    let first_text = headers.len();
    headers.extend(["VERDICT", "SPAN", "NAME"]);
    let mut listing = Listing::new(&headers, first_text);
    for row in &rows[..shown] {
        let mut cells = vec![
            nanos(row.life.open as i128),
            nanos(row.charge.nanos() as i128),
            thousands(row.charge.samples().round() as i128),
        ];
        cells.extend(has_blocked.then(|| nanos(row.charge.blocked_nanos() as i128)));
        cells.extend([
            percent(used_share(row)),
            match row.outside {
                0.0 => dash(),
                samples => thousands(samples.round() as i128),
            },
            odds(row.log_odds),
            word(row).to_owned(),
            row.span.to_string(),
            row.life.own_name.clone(),
        ]);
        listing.row(&cells, row.opinion <= Opinion::SeveralThreads);
    }
    listing.write(out)?;
    if shown < rows.len() {
        writeln!(
            out,
            "({} more, --limit 0 for all)",
            thousands((rows.len() - shown) as i128)
        )?;
    }
    Ok(())
}

fn reasons(judgement: &Judgement<'_>, out: &mut impl Write) -> Result<()> {
    let (samples, windows) = judgement.outside;
    if judgement.log_odds > 0.0 {
        writeln!(
            out,
            "  spans have more time than they lasted: right tags look so in one of {} cases at the most",
            cases(judgement.log_odds)
        )?;
    }
    if samples > 0.0 {
        writeln!(
            out,
            "  {} in {} of spans that had ended before, or began after them",
            plural(samples.round() as i128, "sample"),
            plural(windows as i128, "window")
        )?;
    }
    Ok(())
}

fn cases(log_odds: f64) -> String {
    let power = log10(log_odds);
    if power > CERTAIN {
        "10¹²".to_owned()
    } else {
        thousands(log_odds.exp().round() as i128)
    }
}

fn odds(log_odds: f64) -> String {
    if log_odds < std::f64::consts::LN_2 {
        dash()
    } else if log10(log_odds) > CERTAIN {
        "1:10¹²".to_owned()
    } else {
        format!("1:{}", cases(log_odds))
    }
}

fn word(row: &Row<'_>) -> &'static str {
    match row.opinion {
        Opinion::Possible => "possible",
        Opinion::SeveralThreads => "several threads",
        Opinion::Unlikely => "unlikely",
        Opinion::NotOpen => "not open",
        Opinion::TooMuch => "too much",
    }
}
