//! Whether waits of every kind got longer by the same time each. A slow socket lengthens waits for sockets alone; where
//! those who were woken get no carrier, or no CPU, each wait is as much longer, whatever it was for. A profile has no
//! state for that time, unless its agent tells (see [`is_told`]): it is part of the wait.

use serde::Serialize;
use vtprof_profile::comments;
use vtprof_profile::model::Profile;

use super::parts::{Part, Split};
use crate::stats::{CHANCE, Difference};

/// What can be waited for, and is over by what others do.
const WAITS: [Part; 5] = [Part::Lock, Part::Io, Part::Queue, Part::Sleep, Part::Other];
/// A counter of an agent that tells the time between wake-up and mount as the state `runnable`.
const TELLS: &str = "agent.blocked_delays_ns";
/// Of what slow spans are longer by, they are ready without a carrier for at least that share.
const LEAST_READY: f64 = 0.1;
/// Waits of a span, on average, without which nothing is said of them.
const LEAST_A_SPAN: f64 = 0.5;
const LEAST_EVENTS: f64 = 10.0;
/// What they are longer by is the same if the most is at most so many times the least.
const ALIKE: f64 = 2.0;
/// Standard errors that each is above none.
const SURELY: f64 = 2.58;
/// Of what slow spans are longer by, all waits together are longer by at least that share.
const MOST: f64 = 0.5;

/// They did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvenlyLonger {
    /// The kinds of waits.
    pub parts: Vec<Part>,
    /// By how much each is longer, ns.
    pub by_nanos: f64,
    /// What that makes of a slow span, ns.
    pub of_a_span_nanos: f64,
}

/// Whether the blocked profile tells it apart.
pub fn is_told(blocked: &Profile) -> bool {
    comments::figure(&blocked.comments, comments::COUNTERS, TELLS).is_some()
}

/// The length of a wait of a group and the square of its standard error (a ratio of sums over spans), and the waits of a
/// span.
fn length(part: Part, splits: &[Split]) -> Option<(f64, f64, f64)> {
    let n = splits.len() as f64;
    let events: f64 = splits.iter().map(|split| split.events(part)).sum();
    let nanos: f64 = splits.iter().map(|split| split.of(part)).sum();
    if n < 2.0 || events < LEAST_EVENTS || events < LEAST_A_SPAN * n {
        return None;
    }
    let length = nanos / events;
    let off = splits
        .iter()
        .map(|split| split.of(part) - length * split.events(part));
    let squares: f64 = off.map(|off| off * off).sum();
    Some((
        length,
        squares * n / (n - 1.0) / (events * events),
        events / n,
    ))
}

/// Looks for it; `longer` is what a slow span is longer by, ns. Where the profile tells of carriers (`is_told`), or there
/// are yields, slow spans must surely have waited for some: then waits that are not longer are those whose delay is told, and
/// the others those that ended late because who should have ended them (a poller, which is a virtual thread itself) had no
/// carrier either.
pub fn evenly_longer(
    fast: &[Split],
    slow: &[Split],
    longer: f64,
    is_told: bool,
) -> Option<EvenlyLonger> {
    let runnable = ready(fast, slow).filter(|ready| *ready >= LEAST_READY * longer);
    if is_told && runnable.is_none() {
        return None;
    }
    let mut parts = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    let (mut of_a_span, mut waits, mut told_waits) = (0.0, 0.0, 0.0);
    for part in WAITS {
        let (Some((short, a, _)), Some((long, b, each))) = (length(part, fast), length(part, slow))
        else {
            continue;
        };
        let by = long - short;
        if by > SURELY * (a + b).sqrt() {
            parts.push(part);
            (least, most) = (least.min(by), most.max(by));
            of_a_span += by * each;
            waits += each;
        } else if runnable.is_some() {
            told_waits += each;
        } else {
            return None;
        }
    }
    if let Some(ready) = runnable {
        parts.insert(0, Part::Runnable);
        of_a_span += ready;
        if told_waits > 0.0 {
            let by = ready / told_waits;
            (least, most) = (least.min(by), most.max(by));
            waits += told_waits;
        }
    }
    (parts.len() >= 2 && most <= ALIKE * least && of_a_span >= MOST * longer).then(|| {
        EvenlyLonger {
            parts,
            by_nanos: of_a_span / waits,
            of_a_span_nanos: of_a_span,
        }
    })
}

/// What a slow span is surely longer by for want of a carrier, ns.
fn ready(fast: &[Split], slow: &[Split]) -> Option<f64> {
    let [fast, slow] = [fast, slow].map(|splits| {
        let each = splits.iter().map(|split| split.of(Part::Runnable));
        each.collect::<Vec<_>>()
    });
    let difference = Difference::of_means(&fast, &slow);
    let is_sure = difference.chance.is_some_and(|chance| chance < CHANCE);
    (is_sure && difference.value > 0.0).then_some(difference.value)
}
