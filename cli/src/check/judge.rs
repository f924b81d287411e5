//! Whether tags can be right: each span's account, what is charged to spans that were not open, and whether wrong tags would
//! show at all.

use std::collections::{HashMap, HashSet};

use vtprof_profile::ids::SpanId;

use super::chance::Chance;
use super::evidence::{self, Account, log_sum};
use super::ledger::{Charge, EXACT, Ledger, Level, WindowId};
use super::lives::{Life, Lives};

/// Odds from which on tags are wrong, as a logarithm: one right file in so many looks like that at the most.
const ALARM_AT: f64 = 2_000.0;
/// Odds at which one span alone is worth a word.
const UNLIKELY_AT: f64 = 1_000.0;
/// What CPU clocks may be off by against durations.
const TOLERANCE: f64 = 0.05;
/// What a duration itself may be off by, ns; and where short waits are drawn by chance.
const OFF: f64 = 50_000.0;
const OFF_WITH_WAITS: f64 = 300_000.0;
/// What the clocks of windows and spans may be apart, ns: some files have whole seconds.
const SLACK: f64 = 2e9;
/// Samples of spans that were not open are no accident from so many on, in so many windows: a clock that is set once makes
/// some in two.
const OUTSIDE: (f64, usize) = (5.0, 3);
/// The share of an endpoint's spans from which on all of them may work in several threads.
const OFTEN: f64 = 0.05;
/// Odds of an endpoint from which on its code is looked at.
const DOUBTFUL_AT: f64 = 20.0;
/// Threads that spans are thought to start on, where tags by thread are made up: the fewer, the less shows.
const SLOTS: usize = 2;
/// What becomes of samples then, as simulated requests on carriers have it (`cli/tests/support/carriers.rs`): most still meet
/// their own span, on the thread that it started on, and some meet none, where another has ended on that thread.
const OWN: f64 = 0.45;
const NOBODYS: f64 = 0.25;
/// How often that is done; the least counts.
const DEALS: u64 = 3;
/// Most samples that are so made up.
const MOST_DEALT: usize = 200_000;

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

/// What is said of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Tags cannot be right.
    Wrong,
    /// Nothing against them, and tags by the thread that a span started on would have been seen.
    Consistent,
    /// Nothing against them, but nor might there be if they were those of the thread.
    CannotTell,
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
    /// Spans whose durations bound what they have.
    pub judged: usize,
    /// Spans that several threads may work for.
    pub several_threads: usize,
    /// Spans with samples that no span file has.
    pub unknown: usize,
    /// What the odds would be if tags were kept by the thread that a span starts on.
    pub log_odds_by_thread: f64,
}

/// One level of tags with what its spans were.
struct Side<'a> {
    level: Level,
    lives: HashMap<SpanId, &'a Life>,
    charges: HashMap<SpanId, &'a Charge>,
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
    let mut parallel = parallel_names(&sides, fan_out);
    let proven = proven_names(ledger, lives, &sides, grain);
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
            .map(|(span, life)| account(life, side.charges.get(*span).copied(), grain))
            .collect();
        odds.push(evidence::log_odds(&accounts, grain));
        let ids: Vec<SpanId> = spans.iter().map(|(span, _)| **span).collect();
        // What shows by luck does not count.
        let dealt = (0..DEALS).map(|seed| {
            let dealt = deal(ledger, side, &ids, &accounts, &mut Chance::new(seed));
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
        judgement.outside = outside_of_all(ledger, side);
    }
    for side in &sides {
        rows(ledger, side, grain, &is_judged, &mut judgement);
    }
    judgement.several_threads = judgement
        .rows
        .iter()
        .filter(|row| row.opinion == Opinion::SeveralThreads)
        .count();
    let (samples, windows) = judgement.outside;
    let is_outside = samples >= OUTSIDE.0 && windows >= OUTSIDE.1;
    judgement.verdict = if judgement.log_odds >= ALARM_AT.ln() || is_outside {
        Verdict::Wrong
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

/// The current spans first.
fn sides<'a>(ledger: &'a Ledger, lives: &'a Lives, is_labelled: bool) -> Vec<Side<'a>> {
    let mut sides = Vec::new();
    for level in [Level::Current, Level::Root] {
        if !ledger.has(level) {
            continue;
        }
        let of_level: HashMap<SpanId, &Life> = match level {
            Level::Current if is_labelled => {
                // A label that names a local root has all below it; one that names another span bounds it more.
                let all = lives.spans.iter().chain(&lives.roots);
                all.map(|(span, life)| (*span, life)).collect()
            }
            Level::Current => lives
                .spans
                .iter()
                .map(|(span, life)| (*span, life))
                .collect(),
            Level::Root => lives
                .roots
                .iter()
                .map(|(span, life)| (*span, life))
                .collect(),
        };
        let charges = ledger.charges(level, |span| of_level.contains_key(&span));
        sides.push(Side {
            level,
            lives: of_level,
            charges,
        });
    }
    sides
}

/// Names of local roots that may be worked for by several threads: those that were named, and those of which some show it.
fn parallel_names<'a>(sides: &[Side<'a>], named: &'a [String]) -> HashSet<&'a str> {
    let mut parallel: HashSet<&str> = named.iter().map(String::as_str).collect();
    for side in sides {
        let mut of_name: HashMap<&str, (f64, f64)> = HashMap::new();
        for (span, charge) in &side.charges {
            let Some(life) = side.lives.get(span) else {
                continue;
            };
            let (all, several) = of_name.entry(life.name.as_str()).or_default();
            *all += 1.0;
            if life.fan_out || charge.threads.len() > 1 {
                *several += 1.0;
            }
        }
        let often = of_name
            .into_iter()
            .filter(|(_, (all, several))| *several > 0.0 && several / all >= OFTEN);
        parallel.extend(often.map(|(name, _)| name));
    }
    parallel
}

/// Names of local roots that have more than one thread could, and run code that nobody else runs: so it is theirs, of several
/// threads.
fn proven_names<'a>(
    ledger: &Ledger,
    lives: &'a Lives,
    sides: &[Side<'a>],
    grain: f64,
) -> HashSet<&'a str> {
    let mut of_name: HashMap<&str, Vec<Account>> = HashMap::new();
    let mut doubtful: HashSet<&str> = HashSet::new();
    for side in sides {
        of_name.clear();
        for (span, life) in &side.lives {
            let account = account(life, side.charges.get(span).copied(), grain);
            of_name.entry(life.name.as_str()).or_default().push(account);
        }
        let odds = of_name
            .iter()
            .map(|(name, accounts)| (*name, evidence::log_odds(accounts, grain)));
        doubtful.extend(
            odds.filter(|(_, odds)| *odds >= DOUBTFUL_AT.ln())
                .map(|(name, _)| name),
        );
    }
    if doubtful.is_empty() {
        return doubtful;
    }
    let own = ledger.own_code(|span| lives.spans.get(&span).map(|life| life.name.as_str()));
    doubtful.retain(|name| own.contains(name));
    doubtful
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

/// Samples in units of the grain; one that stands for more counts once.
fn units(nanos: f64, samples: f64, grain: f64) -> f64 {
    (nanos / grain).min(samples)
}

fn account(life: &Life, charge: Option<&Charge>, grain: f64) -> Account {
    let blocked = charge.map_or_else(Vec::new, |charge| charge.blocked.clone());
    let timed = blocked.iter().filter(|(grain, _)| *grain == EXACT);
    let timed: f64 = timed.map(|(_, nanos)| nanos).sum();
    let off = if blocked.is_empty() {
        OFF
    } else {
        OFF_WITH_WAITS
    };
    Account {
        samples: charge.map_or(0.0, |charge| {
            let windows = charge.windows.iter();
            windows
                .map(|(_, nanos, samples)| units(*nanos, *samples, grain))
                .sum()
        }),
        budget: life.open + TOLERANCE * (life.open - timed).max(0.0) + off,
        blocked,
    }
}

fn is_outside(ledger: &Ledger, life: &Life, window: WindowId) -> bool {
    ledger
        .times(window)
        .is_some_and(|(start, end)| end + SLACK < life.start || start > life.end + SLACK)
}

fn outside_of_all(ledger: &Ledger, side: &Side<'_>) -> (f64, usize) {
    let mut windows = HashSet::new();
    let mut outside = 0.0;
    for (span, charge) in &side.charges {
        let Some(life) = side.lives.get(span) else {
            continue;
        };
        for (window, _, samples) in &charge.windows {
            if *samples > 0.0 && is_outside(ledger, life, *window) {
                outside += samples;
                windows.insert(*window);
            }
        }
    }
    (outside, windows.len())
}

fn rows<'a>(
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
            .filter(|(window, _, _)| is_outside(ledger, life, *window))
            .map(|(_, _, samples)| samples)
            .fold(0.0, |sum, samples| sum + samples);
        let judged = is_judged(life, Some(charge));
        let log_odds = if judged {
            account(life, Some(charge), grain).log_odds(grain)
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

/// The accounts if samples were charged as from a slot of the thread that a span starts on: those that do not meet their own
/// are charged to one of the spans that started last before, whether that has ended or not. Times are made up within the span
/// that has the sample.
fn deal(
    ledger: &Ledger,
    side: &Side<'_>,
    spans: &[SpanId],
    accounts: &[Account],
    chance: &mut Chance,
) -> Vec<Account> {
    let grain = ledger.grain;
    let place: HashMap<SpanId, usize> = spans
        .iter()
        .enumerate()
        .map(|(at, span)| (*span, at))
        .collect();
    let mut dealt = accounts.to_vec();
    for account in &mut dealt {
        account.samples = 0.0;
    }
    let mut starts: Vec<(f64, SpanId)> = side
        .lives
        .iter()
        .map(|(span, life)| (life.start, *span))
        .collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut charged: Vec<_> = side.charges.iter().collect();
    charged.sort_by_key(|(span, _)| **span);
    let mut left = MOST_DEALT;
    for (span, charge) in charged {
        let Some(life) = side.lives.get(span) else {
            continue;
        };
        for (window, nanos, samples) in &charge.windows {
            let (start, end) = ledger.times(*window).unwrap_or((life.start, life.end));
            let (start, end) = (start.max(life.start), end.min(life.end));
            let samples = (units(*nanos, *samples, grain).round() as usize).min(left);
            left -= samples;
            for _ in 0..samples {
                let fate = chance.uniform();
                if fate < OWN {
                    if let Some(own) = place.get(span) {
                        dealt[*own].samples += 1.0;
                    }
                    continue;
                }
                if fate < OWN + NOBODYS {
                    continue;
                }
                let time = start + (end - start).max(0.0) * chance.uniform();
                let started = starts.partition_point(|(of, _)| *of <= time);
                let back = chance.below(SLOTS.min(started)) + 1;
                let slot = started
                    .checked_sub(back)
                    .and_then(|at| place.get(&starts[at].1));
                if let Some(slot) = slot {
                    dealt[*slot].samples += 1.0;
                }
            }
        }
    }
    dealt
}
