//! Whether waits of every kind got longer by the same time each. A slow socket lengthens waits for sockets alone; where
//! those who were woken get no carrier, or no CPU, each wait is as much longer, whatever it was for. A profile has no
//! state for that time, unless its agent tells (see [`is_told`]): it is part of the wait.

use serde::Serialize;
use vtprof_profile::model::Profile;

use super::parts::{Part, Split};

/// What can be waited for, and is over by what others do.
const WAITS: [Part; 5] = [Part::Lock, Part::Io, Part::Queue, Part::Sleep, Part::Other];
/// A comment by which an agent says that it tells the delay between wake-up and mount as the state `runnable`.
const TELLS: &str = "blocked.scheduling=told";
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
    blocked.comments.iter().any(|line| line == TELLS)
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

/// Looks for it; `longer` is what a slow span is longer by, ns.
pub fn evenly_longer(fast: &[Split], slow: &[Split], longer: f64) -> Option<EvenlyLonger> {
    let mut parts = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    let (mut of_a_span, mut waits) = (0.0, 0.0);
    for part in WAITS {
        let (Some((short, a, _)), Some((long, b, each))) = (length(part, fast), length(part, slow))
        else {
            continue;
        };
        let by = long - short;
        if by <= SURELY * (a + b).sqrt() {
            return None;
        }
        parts.push(part);
        (least, most) = (least.min(by), most.max(by));
        of_a_span += by * each;
        waits += each;
    }
    (parts.len() >= 2 && most <= ALIKE * least && of_a_span >= MOST * longer).then(|| {
        EvenlyLonger {
            parts,
            by_nanos: of_a_span / waits,
            of_a_span_nanos: of_a_span,
        }
    })
}
