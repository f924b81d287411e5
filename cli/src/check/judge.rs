//! Whether tags can be right: each span's account, what is charged to spans that were not open, and whether wrong tags would
//! show at all.

use vtprof_profile::ids::SpanId;

use super::account::Account;
use super::apart::apart;
use super::by_thread;
use super::chance::Chance;
use super::charge::Charge;
use super::evidence::{self, log_sum};
use super::ledger::Ledger;
use super::lives::{Life, Lives};
use super::row::{self, Clocks, Opinion, Row, SLACK};
use super::side::{self, sides};

/// Odds from which on tags are wrong, as a logarithm: one right file in so many looks like that at the most.
pub const ALARM_AT: f64 = 2_000.0;
/// Samples of spans that were not open are no accident from so many on, in so many windows: a clock that is set once makes
/// some in two.
const OUTSIDE: (f64, usize) = (5.0, 3);
/// How often tags by thread are made up; the least odds count.
const DEALS: u64 = 3;

/// What is said of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Tags cannot be right.
    Wrong,
    /// Nothing against them, and tags by the thread that a span started on would have been seen.
    Consistent,
    /// Nothing against them, but nor might there be if they were those of the thread.
    CannotTell,
    /// Several threads may work for each span, so that its duration bounds nothing.
    Unchecked,
}

/// See the module.
#[derive(Debug)]
pub struct Judgement<'a> {
    pub verdict: Verdict,
    /// Most suspicious first.
    pub rows: Vec<Row<'a>>,
    /// Odds against right tags by durations, as a logarithm.
    pub log_odds: f64,
    /// Samples of spans that were not open, and in how many windows.
    pub outside: (f64, usize),
    /// By how much spans are later than profiles, ns, where that alone speaks against the tags.
    pub spans_later: Option<f64>,
    /// Spans whose durations bound what they have.
    pub judged: usize,
    /// Spans that several threads may work for.
    pub several_threads: usize,
    /// Spans with samples that no span file has.
    pub unknown: usize,
    /// What the odds would be if tags were kept by the thread that a span starts on.
    pub log_odds_by_thread: f64,
}

/// Judges.
pub fn judge<'a>(
    ledger: &'a Ledger,
    lives: &'a Lives,
    is_labelled: bool,
    fan_out: &[String],
) -> Judgement<'a> {
    let sides = sides(ledger, lives, is_labelled);
    let grain = ledger.grain;
    let mut parallel = side::parallel_names(&sides, fan_out);
    let proven = side::proven_names(ledger, lives, &sides, grain);
    parallel.extend(proven);
    let covered = covered(ledger);
    let is_judged = |life: &Life, charge: Option<&&Charge>| {
        let in_one_thread = charge.is_none_or(|charge| charge.threads.len() < 2);
        in_one_thread && !life.fan_out && !parallel.contains(life.name.as_str())
    };

    let mut judgement = Judgement {
        verdict: Verdict::CannotTell,
        rows: Vec::new(),
        log_odds: 0.0,
        outside: (0.0, 0),
        spans_later: None,
        judged: 0,
        several_threads: 0,
        unknown: 0,
        log_odds_by_thread: 0.0,
    };
    let (mut odds, mut by_thread) = (Vec::new(), Vec::new());
    for side in &sides {
        // In an order that is the same in each run.
        let mut spans: Vec<_> = side
            .lives
            .iter()
            .filter(|(_, life)| {
                covered.is_none_or(|(start, end)| life.end >= start && life.start <= end)
            })
            .collect();
        spans.sort_by_key(|(span, _)| **span);
        spans.retain(|(span, life)| is_judged(life, side.charges.get(*span)));
        let accounts: Vec<_> = spans
            .iter()
            .map(|(span, life)| Account::of(life, side.charges.get(*span).copied(), grain))
            .collect();
        odds.push(evidence::log_odds(&accounts, grain));
        let ids: Vec<SpanId> = spans.iter().map(|(span, _)| **span).collect();
        // What shows by luck does not count.
        let dealt = (0..DEALS).map(|seed| {
            let dealt = by_thread::deal(ledger, side, &ids, &accounts, &mut Chance::new(seed));
            evidence::log_odds(&dealt, grain)
        });
        by_thread.push(dealt.fold(f64::INFINITY, f64::min));
        judgement.judged = judgement.judged.max(accounts.len());
    }
    // An average of e-values is one.
    let average = |values: &[f64]| log_sum(values) - (values.len().max(1) as f64).ln();
    judgement.log_odds = average(&odds);
    judgement.log_odds_by_thread = average(&by_thread);

    // What is open is told by spans themselves where samples have them: below a root that has ended one may go on.
    if let Some(side) = sides.first() {
        judgement.outside = row::outside_of_all(ledger, side, Clocks::SAME);
    }
    for side in &sides {
        row::add(ledger, side, grain, &is_judged, &mut judgement);
    }
    judgement.several_threads = judgement
        .rows
        .iter()
        .filter(|row| row.opinion == Opinion::SeveralThreads)
        .count();
    let (samples, windows) = judgement.outside;
    let is_outside = samples >= OUTSIDE.0 && windows >= OUTSIDE.1;
    let is_too_much = judgement.log_odds >= ALARM_AT.ln();
    if samples >= OUTSIDE.0 && !is_too_much {
        judgement.spans_later = sides.first().and_then(|side| apart(ledger, side));
    }
    judgement.verdict = if is_too_much || is_outside {
        Verdict::Wrong
    } else if judgement.judged == 0 {
        Verdict::Unchecked
    } else if judgement.log_odds_by_thread >= ALARM_AT.ln() {
        Verdict::Consistent
    } else {
        Verdict::CannotTell
    };
    judgement.rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| (row.opinion, row.log_odds + row.outside);
        let ((a_opinion, a_weight), (b_opinion, b_weight)) = (key(a), key(b));
        b_opinion
            .cmp(&a_opinion)
            .then(b_weight.total_cmp(&a_weight))
            .then(a.span.cmp(&b.span))
    });
    judgement
}

/// From the first window to the last, and what clocks may be apart; `None` where a profile does not say.
fn covered(ledger: &Ledger) -> Option<(f64, f64)> {
    let all: Option<Vec<_>> = ledger.windows.iter().copied().collect();
    let all = all?;
    let start = all
        .iter()
        .map(|(start, _)| *start)
        .fold(f64::INFINITY, f64::min);
    let end = all
        .iter()
        .map(|(_, end)| *end)
        .fold(f64::NEG_INFINITY, f64::max);
    Some((start - SLACK, end + SLACK))
}
