//! Whether the clocks of profiles and spans are apart: then samples are outside of their spans' time, and the tags may be right.

use super::ledger::Ledger;
use super::row::{Clocks, SLACK, outside_of_all};
use super::side::Side;

/// The share of the samples that must be within their spans' time, were the spans moved by one length of time.
const NEARLY_ALL: f64 = 0.98;
/// Once they are moved nothing is left to be apart but whole seconds, ns: tags that are late by up to 5 s would be within the
/// usual slack.
const CLOSE: f64 = 1e9;
/// So much may stay outside: of few samples so many, of many that share. Tags that are late by more or less leave more, as no
/// one length of time is that of all of them.
const FEW: f64 = 5.0;
const HARDLY_ANY: f64 = 0.001;

/// By how much spans are later than profiles, ns, about; negative where they are earlier. `None` where no one length of time
/// explains nearly all samples.
pub fn apart(ledger: &Ledger, side: &Side<'_>) -> Option<f64> {
    let mut ends = Vec::new();
    let mut whole = 0.0;
    for (span, charge) in &side.charges {
        let Some(life) = side.lives.get(span) else {
            continue;
        };
        for (window, _, samples) in &charge.windows {
            // Of what says no time nothing is outside.
            let (start, end) = ledger.times(*window)?;
            ends.push((life.start - end - CLOSE, *samples));
            ends.push((life.end - start + CLOSE, -samples));
            whole += samples;
        }
    }
    // Where two meet, the one that begins is first.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut within, mut most, mut best) = (0.0, 0.0, None);
    for (at, (shift, samples)) in ends.iter().enumerate() {
        within += samples;
        if within > most {
            let next = ends.get(at + 1).map_or(*shift, |(next, _)| *next);
            (most, best) = (within, Some((shift + next) / 2.0));
        }
    }
    best.filter(|shift| {
        let clocks = Clocks {
            later: *shift,
            slack: CLOSE,
        };
        let (outside, _) = outside_of_all(ledger, side, clocks);
        let is_past = outside < FEW || outside <= HARDLY_ANY * whole;
        most >= NEARLY_ALL * whole && is_past && shift.abs() > SLACK
    })
}
