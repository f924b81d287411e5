//! What is said of each span, and what is charged to those that were not open.

use std::collections::{HashMap, HashSet};

use vtprof_profile::ids::SpanId;

use super::account::Account;
use super::charge::{Charge, WindowId};
use super::judge::{ALARM_AT, Judgement};
use super::ledger::{Ledger, Level};
use super::lives::Life;
use super::side::Side;

/// Odds at which one span alone is worth a word.
const UNLIKELY_AT: f64 = 1_000.0;
/// What the clocks of windows and spans may be apart, ns: some files have whole seconds.
pub const SLACK: f64 = 2e9;

/// What is said of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opinion {
    /// Nothing against it.
    Possible,
    /// Several threads may work for it at once, so that its duration bounds nothing.
    SeveralThreads,
    /// By itself one in a thousand.
    Unlikely,
    /// Samples while it was not open.
    NotOpen,
    /// More than it could have, even of all these spans.
    TooMuch,
}

/// One span with samples.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub span: SpanId,
    pub level: Level,
    pub life: &'a Life,
    pub charge: &'a Charge,
    /// Samples in windows in which it was not open.
    pub outside: f64,
    /// As a logarithm; 0 for one that is not judged.
    pub log_odds: f64,
    pub opinion: Opinion,
}

/// What the clocks of windows and spans are taken to be apart.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// By how much spans are later than they should be, ns.
    pub later: f64,
    /// What more they may be apart, ns.
    pub slack: f64,
}

impl Clocks {
    /// As the files have it.
    pub const SAME: Clocks = Clocks {
        later: 0.0,
        slack: SLACK,
    };
}

/// Whether a window has nothing of a span.
fn is_outside(ledger: &Ledger, life: &Life, window: WindowId, clocks: Clocks) -> bool {
    ledger.times(window).is_some_and(|(start, end)| {
        let (begin, stop) = (life.start - clocks.later, life.end - clocks.later);
        end + clocks.slack < begin || start > stop + clocks.slack
    })
}

/// Samples of spans that were not open, and in how many windows.
pub fn outside_of_all(ledger: &Ledger, side: &Side<'_>, clocks: Clocks) -> (f64, usize) {
    let mut windows = HashSet::new();
    let mut outside = 0.0;
    for (span, charge) in &side.charges {
        let Some(life) = side.lives.get(span) else {
            continue;
        };
        for (window, _, samples) in &charge.windows {
            if *samples > 0.0 && is_outside(ledger, life, *window, clocks) {
                outside += samples;
                windows.insert(*window);
            }
        }
    }
    (outside, windows.len())
}

/// Adds the spans of a side that have samples and are not there yet.
pub fn add<'a>(
    ledger: &Ledger,
    side: &Side<'a>,
    grain: f64,
    is_judged: &impl Fn(&Life, Option<&&Charge>) -> bool,
    judgement: &mut Judgement<'a>,
) {
    let of_all = (ALARM_AT * judgement.judged.max(1) as f64).ln();
    let mut unknown = 0;
    let before: HashMap<SpanId, f64> = judgement
        .rows
        .iter()
        .map(|row| (row.span, row.charge.samples()))
        .collect();
    for (span, charge) in &side.charges {
        if charge.windows.is_empty() {
            continue;
        }
        let Some(life) = side.lives.get(span) else {
            unknown += 1;
            continue;
        };
        // A local root without children is on both sides the same.
        let is_repeated = before.get(span) == Some(&charge.samples());
        if is_repeated {
            continue;
        }
        let outside = charge
            .windows
            .iter()
            .filter(|(window, _, _)| is_outside(ledger, life, *window, Clocks::SAME))
            .map(|(_, _, samples)| samples)
            .fold(0.0, |sum, samples| sum + samples);
        let judged = is_judged(life, Some(charge));
        let log_odds = if judged {
            Account::of(life, Some(charge), grain).log_odds(grain)
        } else {
            0.0
        };
        let opinion = if judged && log_odds >= of_all {
            Opinion::TooMuch
        } else if outside > 0.0 {
            Opinion::NotOpen
        } else if !judged {
            Opinion::SeveralThreads
        } else if log_odds >= UNLIKELY_AT.ln() {
            Opinion::Unlikely
        } else {
            Opinion::Possible
        };
        judgement.rows.push(Row {
            span: *span,
            level: side.level,
            life,
            charge,
            outside,
            log_odds,
            opinion,
        });
    }
    judgement.unknown = judgement.unknown.max(unknown);
}
