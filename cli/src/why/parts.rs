//! What a request's time is made of.

use serde::Serialize;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::KeyIndices;

use crate::bundle::Bundle;
use crate::measure::Chooser;
use crate::requests::{Member, Members, Requests};

/// One part. The order is that of equal ones in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It computed.
    Cpu,
    Lock,
    Io,
    Queue,
    Sleep,
    /// It could run, but nobody let it: a virtual thread without a carrier.
    Runnable,
    Gc,
    Other,
    /// In no profile.
    Unexplained,
}

impl Part {
    /// Those that profiles tell of.
    pub const TOLD: [Part; 8] = [
        Part::Cpu,
        Part::Lock,
        Part::Io,
        Part::Queue,
        Part::Sleep,
        Part::Runnable,
        Part::Gc,
        Part::Other,
    ];

    /// The part of that state of blocked time; what is not known is [`Part::Other`].
    pub fn of_state(state: &str) -> Part {
        match state {
            "lock" => Part::Lock,
            "io" => Part::Io,
            "queue" => Part::Queue,
            "sleep" => Part::Sleep,
            "runnable" => Part::Runnable,
            "gc" => Part::Gc,
            _ => Part::Other,
        }
    }

    /// Its name in listings.
    pub fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Lock => "lock",
            Part::Io => "io",
            Part::Queue => "queue",
            Part::Sleep => "sleep",
            Part::Runnable => "runnable",
            Part::Gc => "gc",
            Part::Other => "other",
            Part::Unexplained => "unexplained",
        }
    }

    /// What it is, in a sentence.
    pub fn is(self) -> &'static str {
        match self {
            Part::Cpu => "CPU",
            Part::Lock => "waiting for a lock",
            Part::Io => "waiting for a socket or a file",
            Part::Queue => "waiting for what another has to bring (a queue, future, condition)",
            Part::Sleep => "sleeping",
            Part::Runnable => "ready to run, but without a carrier",
            Part::Gc => "stopped for garbage collection",
            Part::Other => "waiting in a way that is not known",
            Part::Unexplained => "in no profile",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// What one request was made of.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Split {
    pub duration: f64,
    /// ns by [`Part::TOLD`].
    nanos: [f64; Part::TOLD.len()],
    /// Waits, an estimate.
    events: [f64; Part::TOLD.len()],
    /// CPU samples.
    pub samples: i128,
    /// Sum of the squares of what these stand for.
    pub by_chance: f64,
    /// Waits for its own threads.
    pub joined: f64,
}

impl Split {
    /// Time in that part, ns. Unexplained is what is left of the duration; less than nothing where threads work or wait
    /// side by side.
    pub fn of(&self, part: Part) -> f64 {
        match part {
            Part::Unexplained => self.duration - self.accounted(),
            told => self.nanos[told.index()],
        }
    }

    /// Waits in that part.
    pub fn events(&self, part: Part) -> f64 {
        match part {
            Part::Unexplained => 0.0,
            told => self.events[told.index()],
        }
    }

    /// CPU and blocked time, without waits for its own threads.
    pub fn accounted(&self) -> f64 {
        self.nanos.iter().sum()
    }

    /// What it waited for while threads of its own were at work or waited is theirs. Whoever joins threads waits in a
    /// queue, so of that as much as all threads have more than the duration.
    fn join(&mut self) {
        let overlap = (self.accounted() - self.duration).max(0.0);
        let queue = &mut self.nanos[Part::Queue.index()];
        self.joined = overlap.min(*queue);
        *queue -= self.joined;
    }
}

/// The splits of requests, in the order of `these`. Whether CPU and blocked time are there must be known elsewhere.
pub fn split(bundle: &Bundle, requests: &Requests, these: &[u32]) -> anyhow::Result<Vec<Split>> {
    let mut splits = vec![Split::default(); these.len()];
    let mut place = vec![usize::MAX; requests.all().len()];
    for (at, index) in these.iter().enumerate() {
        place[*index as usize] = at;
        splits[at].duration = requests.all()[*index as usize].duration_nanos as f64;
    }
    for kind in [Kind::Cpu, Kind::Blocked] {
        let Some(of) = bundle.of(kind) else {
            continue;
        };
        let profile = &of.profile;
        let nanos = Chooser::new(Some(kind.amount().kind)).reader(profile)?;
        let events = profile.sample_type(kind.count().kind);
        let states = kind
            .label()
            .map_or_else(KeyIndices::default, |label| profile.strings.find(label));
        let members = Members::of_these(profile, requests, these);
        for (sample, member) in profile.samples.iter().zip(members) {
            let Member::Of(request) = member else {
                continue;
            };
            let split = &mut splits[place[request as usize]];
            let sum = nanos.sum(&sample);
            let value = sum.value as f64;
            let part = match kind {
                Kind::Cpu => Part::Cpu,
                _ => {
                    let state = sample.text(&states);
                    Part::of_state(state.map_or("", |state| profile.strings.get(state)))
                }
            };
            split.nanos[part.index()] += value;
            if part == Part::Cpu {
                split.samples += sum.samples;
                if sum.samples > 0 {
                    split.by_chance += value * value / sum.samples as f64;
                }
            } else if let Some(events) = events {
                split.events[part.index()] += sample.values[events] as f64;
            }
        }
    }
    Ok(splits)
}

/// From this share of their durations on, what requests have of CPU and blocked time is that of several threads.
const SIDE_BY_SIDE: f64 = 1.05;

/// CPU and blocked time as a share of the durations.
pub fn accounted(splits: &[Split]) -> Option<f64> {
    let duration: f64 = splits.iter().map(|split| split.duration).sum();
    let accounted: f64 = splits
        .iter()
        .map(|split| split.accounted() + split.joined)
        .sum();
    (duration > 0.0).then(|| accounted / duration)
}

/// Whether several threads work or wait for one of these requests at once; then what they wait for their own threads is
/// told apart.
pub fn tell_joins(groups: [&mut [Split]; 2]) -> bool {
    let are_many = groups
        .iter()
        .any(|splits| accounted(splits).is_some_and(|share| share > SIDE_BY_SIDE));
    if are_many {
        for group in groups {
            group.iter_mut().for_each(Split::join);
        }
    }
    are_many
}
