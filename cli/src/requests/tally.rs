//! What functions cost, by observation: a request with all its samples, or a sample that belongs to none.

use vtprof_profile::model::{Profile, Sample};

use super::{Member, NameId};
use crate::figures::Sum;
use crate::measure::Reader;
use crate::stats::Cost;

/// Costs by function.
#[derive(Debug, Default)]
pub struct Tally {
    /// With it as the leaf; by [`NameId`], perhaps not to the last.
    own: Vec<Cost>,
    /// With it anywhere in the stack, recursion counted once.
    total: Vec<Cost>,
    /// All samples that count.
    pub whole: Cost,
}

impl Tally {
    /// What a function cost as the leaf.
    pub fn own(&self, name: NameId) -> Cost {
        self.own.get(name.as_usize()).copied().unwrap_or_default()
    }

    /// What it cost with all it called.
    pub fn total(&self, name: NameId) -> Cost {
        self.total.get(name.as_usize()).copied().unwrap_or_default()
    }

    fn fit(&mut self, name: NameId) {
        if self.total.len() <= name.as_usize() {
            let len = (name.as_usize() + 1).next_power_of_two();
            self.own.resize(len, Cost::default());
            self.total.resize(len, Cost::default());
        }
    }
}

/// Sums of the request at hand.
#[derive(Default)]
struct AtHand {
    own: Vec<f64>,
    total: Vec<f64>,
    /// Functions it has, some twice.
    touched: Vec<NameId>,
    whole: f64,
}

impl AtHand {
    fn add(&mut self, name: NameId, value: f64, is_leaf: bool) {
        if self.total.len() <= name.as_usize() {
            let len = (name.as_usize() + 1).next_power_of_two();
            self.own.resize(len, 0.0);
            self.total.resize(len, 0.0);
        }
        self.touched.push(name);
        self.total[name.as_usize()] += value;
        if is_leaf {
            self.own[name.as_usize()] += value;
        }
    }

    fn end(&mut self, tally: &mut Tally) {
        tally.whole.requests.add(self.whole, self.whole);
        for name in self.touched.drain(..) {
            let at = name.as_usize();
            // 0 once its sums are taken.
            let (own, total) = (
                std::mem::take(&mut self.own[at]),
                std::mem::take(&mut self.total[at]),
            );
            if own != 0.0 {
                tally.own[at].requests.add(own, self.whole);
            }
            if total != 0.0 {
                tally.total[at].requests.add(total, self.whole);
            }
        }
        self.whole = 0.0;
    }
}

/// Adds up the samples that count; `members` has whose each is. `stack` writes the functions that stand for a sample,
/// leaf first, never none.
pub fn tally(
    profile: &Profile,
    reader: Reader,
    members: &[Member],
    mut stack: impl FnMut(&Sample<'_>, Sum, &mut Vec<NameId>),
) -> Tally {
    let mut order: Vec<(Option<u32>, u32)> = (0..)
        .zip(members)
        .filter_map(|(sample, member)| match member {
            Member::Of(request) => Some((Some(*request), sample)),
            Member::Alone => Some((None, sample)),
            Member::Out(_) => None,
        })
        .collect();
    order.sort_unstable();
    let mut tally = Tally::default();
    let mut at_hand = AtHand::default();
    let mut before = None;
    let mut names = Vec::new();
    // The last sample in which a function was met, so that recursion counts once.
    let mut met: Vec<u32> = Vec::new();
    for (request, index) in order {
        if before.is_some() && request != before {
            at_hand.end(&mut tally);
        }
        before = request;
        let sample = profile.samples.get(index as usize);
        let sum = reader.sum(&sample);
        let value = sum.value as f64;
        names.clear();
        stack(&sample, sum, &mut names);
        if request.is_some() {
            at_hand.whole += value;
        } else {
            add_alone(&mut tally.whole, sum);
        }
        add_samples(&mut tally.whole, sum);
        for (depth, name) in names.iter().enumerate() {
            let is_leaf = depth == 0;
            tally.fit(*name);
            let at = name.as_usize();
            if met.len() <= at {
                met.resize((at + 1).next_power_of_two(), u32::MAX);
            }
            if std::mem::replace(&mut met[at], index) == index {
                continue;
            }
            add_samples(&mut tally.total[at], sum);
            if is_leaf {
                add_samples(&mut tally.own[at], sum);
            }
            if request.is_some() {
                at_hand.add(*name, value, is_leaf);
            } else {
                add_alone(&mut tally.total[at], sum);
                if is_leaf {
                    add_alone(&mut tally.own[at], sum);
                }
            }
        }
    }
    if before.is_some() {
        at_hand.end(&mut tally);
    }
    tally
}

/// As many observations as samples; where that is not known, one: it is at least that.
fn add_alone(cost: &mut Cost, sum: Sum) {
    cost.alone
        .add_alike(sum.value as f64, sum.samples.max(1) as f64);
}

fn add_samples(cost: &mut Cost, sum: Sum) {
    if sum.samples > 0 {
        let value = sum.value as f64;
        cost.samples += sum.samples;
        cost.by_chance += value * value / sum.samples as f64;
    }
}
