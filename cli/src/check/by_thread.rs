//! Tags made up as a slot of the thread would have them: whether wrong ones would show at all.

use std::collections::HashMap;

use vtprof_profile::ids::SpanId;

use super::account::{Account, units};
use super::chance::Chance;
use super::ledger::Ledger;
use super::side::Side;

/// Threads that spans are thought to start on, where tags by thread are made up: the fewer, the less shows.
const SLOTS: usize = 2;
/// What becomes of samples then, as simulated requests on carriers have it (`cli/tests/support/carriers.rs`): most still meet
/// their own span, on the thread that it started on, and some meet none, where another has ended on that thread.
const OWN: f64 = 0.45;
const NOBODYS: f64 = 0.25;
/// Most samples that are so made up.
const MOST_DEALT: usize = 200_000;

/// The accounts if samples were charged as from a slot of the thread that a span starts on: those that do not meet their own
/// are charged to one of the spans that started last before, whether that has ended or not. Times are made up within the span
/// that has the sample.
pub fn deal(
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
