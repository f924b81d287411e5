//! The frames behind a part: where slow spans have more of it than fast ones.

use std::collections::HashMap;

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Frame, Profile};

use super::parts::Part;
use super::plumbing::Plumbing;
use crate::bundle::Bundle;
use crate::measure::Chooser;
use crate::requests::{Left, Member, Members, NameId, Names, Requests, Tally, tally};
use crate::stats::{Difference, Exposure, Per, Side};
use crate::text::NO_STACK;

/// The frame to name has at least this share of what the part differs by.
const MOST: f64 = 0.5;
/// Frames of the way to it.
const WAY: usize = 8;

/// Where it is, by the first frame from the leaf that is no plumbing.
#[derive(Debug, Clone)]
pub struct FrameLoss {
    pub frame: String,
    /// The leaf above it that has most, in slow spans.
    pub leaf: String,
    /// Of a span, ns.
    pub difference: Difference,
    /// Of what the part differs by.
    pub share: f64,
}

/// What is behind a part.
#[derive(Debug, Clone)]
pub struct Behind {
    pub part: Part,
    /// The deepest frame that has most of it, with all it called.
    pub at: Option<FrameLoss>,
    /// From it to the oldest, as most of it went, without plumbing.
    pub way: Vec<String>,
    /// Biggest first.
    pub rows: Vec<FrameLoss>,
}

/// What is gathered of the slow spans' stacks beside sums.
#[derive(Default)]
struct Seen {
    /// How many frames that are no plumbing are above it, weighted, and the weights.
    depth: HashMap<NameId, (f64, f64)>,
    leaves: HashMap<(NameId, NameId), f64>,
    ways: HashMap<Vec<NameId>, f64>,
    /// Stacks so far, and of each name the last that had it.
    stacks: usize,
    last: Vec<usize>,
}

/// The profile that tells of a part.
fn kind_of(part: Part) -> Option<Kind> {
    match part {
        Part::Cpu => Some(Kind::Cpu),
        Part::Unexplained => None,
        _ => Some(Kind::Blocked),
    }
}

/// Finds them; `None` where no profile tells.
///
/// # Errors
/// A profile has not what its kind has.
pub fn behind(
    bundle: &Bundle,
    requests: &Requests,
    [fast, slow]: [&[u32]; 2],
    part: Part,
    plumbing: Plumbing<'_>,
) -> Result<Option<Behind>> {
    let Some((kind, of)) = kind_of(part).and_then(|kind| Some((kind, bundle.of(kind)?))) else {
        return Ok(None);
    };
    let profile = &of.profile;
    let reader = Chooser::new(Some(kind.amount().kind)).reader(profile)?;
    let mut names = Names::default();
    let of_functions = names.of_functions(profile);
    let is_plumbing: Vec<bool> = names.ids().map(|id| plumbing.is(names.get(id))).collect();
    let no_stack = names.id(NO_STACK);
    let mut seen = Seen {
        last: vec![0; names.ids().count()],
        ..Seen::default()
    };
    let add_up = |these: &[u32], mut seen: Option<&mut Seen>| {
        let members = of_part(profile, requests, these, part);
        let tally = tally(profile, reader, &members, |sample, sum, stack| {
            let id = |frame: Frame| of_functions[frame.function.as_usize()];
            let frames = || profile.frames(sample).map(id);
            stack.extend(frames().filter(|id| !is_plumbing[id.as_usize()]));
            let leaf = frames().next().unwrap_or(no_stack);
            if stack.is_empty() {
                stack.push(leaf);
            }
            if let Some(seen) = seen.as_mut() {
                let value = sum.value as f64;
                seen.stacks += 1;
                for (depth, name) in stack.iter().enumerate() {
                    let last = std::mem::replace(&mut seen.last[name.as_usize()], seen.stacks);
                    if last != seen.stacks {
                        let (sum, weight) = seen.depth.entry(*name).or_default();
                        *sum += depth as f64 * value;
                        *weight += value;
                    }
                }
                *seen.leaves.entry((stack[0], leaf)).or_default() += value;
                *seen.ways.entry(stack.clone()).or_default() += value;
            }
        });
        let exposure = Exposure {
            requests: these.len() as u64,
            seconds: 0.0,
        };
        let side = Side {
            exposure,
            whole: tally.whole,
        };
        (side, tally)
    };
    let fast = add_up(fast, None);
    let slow = add_up(slow, Some(&mut seen));
    let between = |cost: &dyn Fn(&Tally) -> crate::stats::Cost| {
        let (a, b) = (cost(&fast.1), cost(&slow.1));
        Difference::of([&fast.0, &slow.0], [&a, &b], Per::Request)
    };
    let whole = between(&|tally| tally.whole).value;
    let loss = |id: NameId, difference: Difference| FrameLoss {
        frame: names.get(id).to_owned(),
        leaf: names.get(seen.leaf_of(id)).to_owned(),
        difference,
        share: if whole > 0.0 {
            difference.value / whole
        } else {
            0.0
        },
    };
    let mut rows = Vec::new();
    let mut deepest: Option<(f64, NameId, Difference)> = None;
    for id in names.ids() {
        let own = between(&|tally| tally.own(id));
        if own.value > 0.0 {
            rows.push(loss(id, own));
        }
        let total = between(&|tally| tally.total(id));
        let Some((sum, weight)) = seen.depth.get(&id) else {
            continue;
        };
        if whole > 0.0 && total.value >= MOST * whole && *weight > 0.0 {
            let depth = sum / weight;
            let is_deeper = deepest.as_ref().is_none_or(|(known, _, most)| {
                depth < *known || (depth == *known && total.value > most.value)
            });
            if is_deeper {
                deepest = Some((depth, id, total));
            }
        }
    }
    rows.sort_by(|a, b| {
        let by_value = b.difference.value.total_cmp(&a.difference.value);
        by_value.then_with(|| a.frame.cmp(&b.frame))
    });
    let way = deepest.as_ref().map_or_else(Vec::new, |(_, id, _)| {
        let way = seen.way_from(*id);
        way.iter().map(|id| names.get(*id).to_owned()).collect()
    });
    Ok(Some(Behind {
        part,
        at: deepest.map(|(_, id, total)| loss(id, total)),
        way,
        rows,
    }))
}

/// As [`Members::of_these`], only samples of that part.
fn of_part(profile: &Profile, requests: &Requests, these: &[u32], part: Part) -> Vec<Member> {
    let mut members = Members::of_these(profile, requests, these);
    if part != Part::Cpu {
        let states = profile.strings.find("state");
        for (sample, member) in profile.samples.iter().zip(&mut members) {
            let state = sample.text(&states);
            if Part::of_state(state.map_or("", |state| profile.strings.get(state))) != part {
                *member = Member::Out(Left::Other);
            }
        }
    }
    members
}

impl Seen {
    /// The leaf that has most above that frame; of a frame that is never the first, itself.
    fn leaf_of(&self, frame: NameId) -> NameId {
        let of = self.leaves.iter().filter(|((first, _), _)| *first == frame);
        of.max_by(|a, b| a.1.total_cmp(b.1).then_with(|| b.0.cmp(a.0)))
            .map_or(frame, |((_, leaf), _)| *leaf)
    }

    fn way_from(&self, frame: NameId) -> Vec<NameId> {
        let mut sums: HashMap<&[NameId], f64> = HashMap::new();
        for (way, value) in &self.ways {
            if let Some(at) = way.iter().position(|name| *name == frame) {
                *sums.entry(&way[at..]).or_default() += value;
            }
        }
        let most = sums
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(a.0)));
        most.map_or_else(Vec::new, |(way, _)| way.iter().take(WAY).copied().collect())
    }
}
