//! What the parts differ by, and whether that is enough for a verdict.

use serde::Serialize;

use super::parts::{Part, Split};
use crate::figures::FEW;
use crate::stats::{CHANCE, Cost, Difference, Exposure, Per, Side, benjamini_hochberg, needed};

/// Fewer spans on a side are anecdotes, however alike.
pub const LEAST_SPANS: usize = 5;
/// A part is told when the half of its interval is at most this share of it.
const CLOSE: f64 = 0.5;
/// A part that is not surely smaller than the biggest is named beside it if it is at least this share of it.
const BESIDE: f64 = 0.5;

/// A part, slow against fast.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    pub part: Part,
    /// Mean of a span, ns.
    pub fast: f64,
    pub slow: f64,
    pub difference: Difference,
    /// The rate of false discoveries, among the parts.
    pub false_rate: Option<f64>,
}

impl Loss {
    /// Whether it is no chance that slow spans have more of it.
    pub fn is_sure(&self) -> bool {
        self.difference.value > 0.0 && self.false_rate.is_some_and(|rate| rate < CHANCE)
    }
}

/// What can be said.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The biggest part, and those that are not surely smaller.
    Told { lead: Part, beside: Vec<Part> },
    /// Too little is there.
    Thin(Thin),
}

/// What is there, and what it would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thin {
    /// Slow and fast spans.
    pub slow_spans: usize,
    pub fast_spans: usize,
    /// CPU samples in slow spans, where CPU seems to be the biggest part.
    pub samples: Option<i128>,
    /// So many slow spans it would take, at the spread of those that are there; null where that cannot be told.
    pub slow_spans_needed: Option<u64>,
    pub reason: &'static str,
}

/// All parts, the one lost most in first; those that neither side has are left out.
pub fn losses(fast: &[Split], slow: &[Split]) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Part::TOLD
        .into_iter()
        .map(|part| told(part, fast, slow))
        .filter(|loss| loss.fast != 0.0 || loss.slow != 0.0)
        .collect();
    losses.push(of_means(Part::Unexplained, fast, slow));
    // What cannot be tested is chance.
    let chances: Vec<f64> = losses
        .iter()
        .map(|loss| loss.difference.chance.unwrap_or(1.0))
        .collect();
    for (loss, rate) in losses.iter_mut().zip(benjamini_hochberg(&chances)) {
        loss.false_rate = loss.difference.chance.map(|_| rate);
    }
    losses.sort_by(|a, b| {
        let by_value = b.difference.value.total_cmp(&a.difference.value);
        by_value.then_with(|| a.part.cmp(&b.part))
    });
    losses
}

fn told(part: Part, fast: &[Split], slow: &[Split]) -> Loss {
    let side = |splits: &[Split]| {
        let mut cost = Cost::default();
        for split in splits {
            cost.requests.add(split.of(part), split.accounted());
            if part == Part::Cpu {
                cost.by_chance += split.by_chance;
                cost.samples += split.samples;
            }
        }
        let exposure = Exposure {
            requests: splits.len() as u64,
            seconds: 0.0,
        };
        (
            Side {
                exposure,
                whole: cost,
            },
            cost,
        )
    };
    let ((a, of_a), (b, of_b)) = (side(fast), side(slow));
    Loss {
        part,
        fast: a.rate(&of_a, Per::Request),
        slow: b.rate(&of_b, Per::Request),
        difference: Difference::of([&a, &b], [&of_a, &of_b], Per::Request),
        false_rate: None,
    }
}

fn of_means(part: Part, fast: &[Split], slow: &[Split]) -> Loss {
    let values = |splits: &[Split]| {
        splits
            .iter()
            .map(|split| split.of(part))
            .collect::<Vec<_>>()
    };
    let [fast, slow] = [fast, slow].map(values);
    Loss {
        part,
        fast: mean(&fast),
        slow: mean(&slow),
        difference: Difference::of_means(&fast, &slow),
        false_rate: None,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / (values.len() as f64).max(1.0)
}

/// By how much slow spans are longer.
pub fn longer(fast: &[Split], slow: &[Split]) -> Difference {
    let durations = |splits: &[Split]| {
        splits
            .iter()
            .map(|split| split.duration)
            .collect::<Vec<_>>()
    };
    Difference::of_means(&durations(fast), &durations(slow))
}

/// Judges them; `losses` as [`losses`] has them.
pub fn judge(losses: &[Loss], fast: &[Split], slow: &[Split]) -> Verdict {
    let lead = &losses[0];
    let samples: i128 = slow.iter().map(|split| split.samples).sum();
    let thin = |reason| {
        Verdict::Thin(Thin {
            slow_spans: slow.len(),
            fast_spans: fast.len(),
            samples: (lead.part == Part::Cpu).then_some(samples),
            slow_spans_needed: spans_needed(lead, slow, samples),
            reason,
        })
    };
    if lead.difference.value <= 0.0 {
        return thin("no part of a slow span is longer");
    }
    if slow.len() < LEAST_SPANS {
        return thin("too few slow spans");
    }
    if fast.len() < LEAST_SPANS {
        return thin("too few fast spans");
    }
    if lead.part == Part::Cpu && samples < FEW {
        return thin("too few samples");
    }
    let half = lead.difference.half_width.unwrap_or(f64::INFINITY);
    if !lead.is_sure() || half > CLOSE * lead.difference.value {
        return thin("slow spans differ too much from each other");
    }
    let is_beside = |loss: &&Loss| {
        let more = |splits: &[Split]| {
            let values = splits
                .iter()
                .map(|split| split.of(lead.part) - split.of(loss.part));
            values.collect::<Vec<_>>()
        };
        let ahead = Difference::of_means(&more(fast), &more(slow));
        loss.is_sure()
            && loss.difference.value >= BESIDE * lead.difference.value
            && ahead.chance.is_none_or(|chance| chance >= CHANCE)
    };
    Verdict::Told {
        lead: lead.part,
        beside: losses[1..]
            .iter()
            .filter(is_beside)
            .map(|loss| loss.part)
            .collect(),
    }
}

/// Slow spans that would tell the lead closely enough, at their spread.
fn spans_needed(lead: &Loss, slow: &[Split], samples: i128) -> Option<u64> {
    if lead.difference.value <= 0.0 || slow.len() < 2 {
        // One span has no spread.
        return (slow.len() < LEAST_SPANS).then_some(LEAST_SPANS as u64);
    }
    let spread = slow.iter().map(|split| split.of(lead.part) - lead.slow);
    let mut squares: f64 = spread.map(|off| off * off).sum::<f64>() / (slow.len() - 1) as f64;
    let mut least = LEAST_SPANS as u64;
    if lead.part == Part::Cpu {
        let by_chance: f64 = slow.iter().map(|split| split.by_chance).sum();
        squares = squares.max(by_chance / slow.len() as f64);
        if samples > 0 {
            let samples = u64::try_from(samples).unwrap_or(u64::MAX);
            least = least.max((FEW as u64 * slow.len() as u64).div_ceil(samples));
        }
    }
    let enough = needed(squares.sqrt(), CLOSE * lead.difference.value)?;
    // Of those that are there, which were not enough, at least one more.
    Some(enough.max(least).max(if slow.len() >= LEAST_SPANS {
        slow.len() as u64 + 1
    } else {
        0
    }))
}
