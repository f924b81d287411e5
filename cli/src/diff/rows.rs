//! Functions, each with its difference and how sure that is.

use serde::Serialize;

use crate::args::DiffOrder;
use crate::stats::{CHANCE, Cost, Difference, benjamini_hochberg};

use super::sides::Comparison;

/// What a difference is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second side has more of it.
    More,
    /// Less.
    Less,
    /// It may be chance.
    Noise,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::More => "more",
            Verdict::Less => "less",
            Verdict::Noise => "noise",
        }
    }
}

/// One figure of a function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compare {
    /// What both sides cost.
    pub costs: [Cost; 2],
    /// By what they are set against.
    pub rates: [f64; 2],
    pub difference: Difference,
    /// The rate of false discoveries that taking it for one would have, among all functions.
    pub false_rate: Option<f64>,
    pub verdict: Verdict,
}

/// One function.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    pub own: Compare,
    pub total: Compare,
}

impl Row {
    /// What the row is ordered and judged by.
    pub fn lead(&self, order: DiffOrder) -> &Compare {
        match order {
            DiffOrder::Total => &self.total,
            DiffOrder::SelfValue => &self.own,
        }
    }
}

/// All functions that either side has, in order: what is surely more, then what is surely less, each by its [`weight`],
/// then what may be chance.
pub fn of(comparison: &Comparison, order: DiffOrder) -> Vec<Row> {
    let [first, second] = &comparison.sides;
    let mut rows: Vec<Row> = Vec::new();
    for id in comparison.functions.ids() {
        let totals = [first.tally.total(id), second.tally.total(id)];
        if totals.iter().all(|cost| *cost == Cost::default()) {
            continue;
        }
        let owns = [first.tally.own(id), second.tally.own(id)];
        let compare = |costs: [Cost; 2]| {
            let (sides, per) = ([&first.side, &second.side], comparison.per);
            Compare {
                costs,
                rates: [0, 1].map(|i| sides[i].rate(&costs[i], per)),
                difference: Difference::of(sides, [&costs[0], &costs[1]], per),
                false_rate: None,
                verdict: Verdict::Noise,
            }
        };
        rows.push(Row {
            name: comparison.functions.get(id).to_owned(),
            own: compare(owns),
            total: compare(totals),
        });
    }
    judge(&mut rows, |row| &mut row.total);
    judge(&mut rows, |row| &mut row.own);
    rows.sort_by(|a, b| {
        let (of_a, of_b) = (a.lead(order), b.lead(order));
        let size = |compare: &Compare| compare.difference.value.abs();
        let own = |row: &Row| row.own.difference.value.abs();
        of_a.verdict
            .cmp(&of_b.verdict)
            .then_with(|| match of_a.verdict {
                Verdict::Noise => size(of_b).total_cmp(&size(of_a)),
                _ => weight(of_b).total_cmp(&weight(of_a)),
            })
            .then_with(|| own(b).total_cmp(&own(a)))
            .then_with(|| a.name.cmp(&b.name))
    });
    rows
}

/// What is different at least, times the share that it is of the greater side, as a test of counts weighs it. By the
/// difference alone the callers of what has changed, and what it calls as well as others do, would stand before it: they
/// have that difference and more, but little of them is new.
fn weight(compare: &Compare) -> f64 {
    let surely = compare.difference.at_least();
    let greater = compare.rates[0].max(compare.rates[1]);
    if greater > 0.0 {
        surely * surely / greater
    } else {
        0.0
    }
}

/// Those that could be tested are judged together. Who has too few samples on both sides together for that says nothing of
/// which side has them, so to leave it out is fair to the others.
fn judge(rows: &mut [Row], part: impl Fn(&mut Row) -> &mut Compare) {
    let mut tested: Vec<(&mut Compare, f64)> = rows
        .iter_mut()
        .map(part)
        .filter(|compare| compare.costs.iter().any(|cost| *cost != Cost::default()))
        .filter_map(|compare| {
            let chance = compare.difference.chance?;
            Some((compare, chance))
        })
        .collect();
    let chances: Vec<f64> = tested.iter().map(|(_, chance)| *chance).collect();
    let rates = benjamini_hochberg(&chances);
    for ((compare, _), rate) in tested.iter_mut().zip(rates) {
        compare.false_rate = Some(rate);
        if rate < CHANCE {
            compare.verdict = if compare.difference.value > 0.0 {
                Verdict::More
            } else {
                Verdict::Less
            };
        }
    }
}
