//! The sums of one window and one kind: (stack, thread, tag, state) → what its samples stand for.
//!
//! Bounded: at the bound new stacks go to one named stack without a tag, and are counted; what is known
//! already goes on being summed.

use std::collections::HashMap;
use std::sync::Arc;

use vtprof_profile::kind::Kind;
use vtprof_signal::tag::Tag;

use super::frames::Location;
use super::weight::Weight;
use crate::symbolize::symbolizer::Function;

/// Bounds of a window.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Locations in all distinct stacks together.
    pub stack_words: usize,
    /// Distinct (function, line).
    pub locations: usize,
    /// Distinct (stack, thread, tag, state).
    pub entries: usize,
    /// Distinct thread labels.
    pub threads: usize,
}

impl Bounds {
    /// 12 MiB of stacks, 20 MiB of entries, and some 40 MiB of names at the most.
    pub const DEFAULT: Self = Self {
        stack_words: 3_000_000,
        locations: 200_000,
        entries: 150_000,
        threads: 1_000,
    };

    /// Of a kind: what is taken on top of CPU time gets half as much.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Cpu => Self::DEFAULT,
            Kind::Alloc
            | Kind::Live
            | Kind::Blocked
            | Kind::Wall
            | Kind::Lock
            | Kind::LockOwner => Self {
                stack_words: Self::DEFAULT.stack_words / 2,
                locations: Self::DEFAULT.locations / 2,
                entries: Self::DEFAULT.entries / 2,
                threads: Self::DEFAULT.threads,
            },
        }
    }
}

/// Label of threads beyond the bound of labels.
pub const OTHER_THREADS: &str = "<other>";
/// Name of the stack that stands for what the window had no room for.
pub const STORE_FULL: &str = "[stack store full]";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LocationId(u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct StackId(u32);
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ThreadLabelId(u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    stack: StackId,
    thread: ThreadLabelId,
    tag: Tag,
    state: Option<&'static str>,
}

/// Where samples of one stack, thread, tag and state are summed; in the window that gave it alone.
#[derive(Clone, Copy, Debug)]
pub struct Place(Key);

/// One sum, as it is handed out.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Leaf first.
    pub stack: &'a [Location],
    /// Label of the thread.
    pub thread: &'a str,
    /// Empty for none.
    pub tag: Tag,
    /// Text of the label that the kind has, if any ([`Kind::label`]).
    pub state: Option<&'static str>,
    /// What its samples stand for.
    pub sum: Weight,
}

/// Whether a sample kept its own place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Yes.
    Whole,
    /// No room: what it stands for is under [`STORE_FULL`].
    Folded,
}

/// See the module. Used by the drain thread alone.
pub struct Window {
    bounds: Bounds,
    locations: HashMap<Location, LocationId>,
    stacks: HashMap<Box<[LocationId]>, StackId>,
    stack_words: usize,
    threads: HashMap<Arc<str>, ThreadLabelId>,
    sums: HashMap<Key, Weight>,
    /// Few states there are, so they are kept here, too.
    folded: HashMap<(ThreadLabelId, Option<&'static str>), Weight>,
    samples: u64,
    scratch: Vec<LocationId>,
}

impl Window {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            locations: HashMap::new(),
            stacks: HashMap::new(),
            stack_words: 0,
            threads: HashMap::new(),
            sums: HashMap::new(),
            folded: HashMap::new(),
            samples: 0,
            scratch: Vec::new(),
        }
    }

    /// Where such a sample is summed; `None` where there is no room. `tag` is empty for none; `state` is the text of
    /// the label that the kind has.
    pub fn place(
        &mut self,
        stack: &[Location],
        thread: &Arc<str>,
        tag: Tag,
        state: Option<&'static str>,
    ) -> Option<Place> {
        let thread = self.thread(thread);
        let key = self.stack(stack).map(|stack| Key {
            stack,
            thread,
            tag,
            state,
        })?;
        let has_room = self.sums.len() < self.bounds.entries;
        (has_room || self.sums.contains_key(&key)).then(|| {
            self.sums.entry(key).or_default();
            Place(key)
        })
    }

    /// Adds a sample there.
    pub fn add_at(&mut self, place: Place, weight: Weight) {
        *self.sums.entry(place.0).or_default() += weight;
        self.samples += 1;
    }

    /// Adds a sample: see [`Window::place`].
    pub fn add(
        &mut self,
        stack: &[Location],
        thread: &Arc<str>,
        tag: Tag,
        state: Option<&'static str>,
        weight: Weight,
    ) -> Kept {
        if let Some(place) = self.place(stack, thread, tag, state) {
            self.add_at(place, weight);
            return Kept::Whole;
        }
        let thread = self.thread(thread);
        *self.folded.entry((thread, state)).or_default() += weight;
        self.samples += 1;
        Kept::Folded
    }

    fn thread(&mut self, label: &Arc<str>) -> ThreadLabelId {
        if let Some(known) = self.threads.get(label) {
            return *known;
        }
        let label = if self.threads.len() < self.bounds.threads {
            Arc::clone(label)
        } else {
            Arc::from(OTHER_THREADS)
        };
        let next = ThreadLabelId(self.threads.len() as u32);
        *self.threads.entry(label).or_insert(next)
    }

    fn stack(&mut self, stack: &[Location]) -> Option<StackId> {
        let full = self.stack_words + stack.len() > self.bounds.stack_words;
        self.scratch.clear();
        for location in stack {
            let id = match self.locations.get(location) {
                Some(id) => *id,
                None if full || self.locations.len() >= self.bounds.locations => return None,
                None => {
                    let id = LocationId(self.locations.len() as u32);
                    self.locations.insert(location.clone(), id);
                    id
                }
            };
            self.scratch.push(id);
        }
        if let Some(known) = self.stacks.get(self.scratch.as_slice()) {
            return Some(*known);
        }
        if full {
            return None;
        }
        let id = StackId(self.stacks.len() as u32);
        self.stack_words += self.scratch.len();
        self.stacks.insert(self.scratch.as_slice().into(), id);
        Some(id)
    }

    /// What all samples stand for.
    #[must_use]
    pub fn whole(&self) -> Weight {
        let mut whole = Weight::default();
        for sum in self.sums.values().chain(self.folded.values()) {
            whole += *sum;
        }
        whole
    }

    /// How many samples were added.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Local roots that samples are tagged with.
    pub fn roots(&self) -> impl Iterator<Item = u64> + '_ {
        self.sums
            .keys()
            .filter(|key| !key.tag.is_empty())
            .map(|key| key.tag.root)
    }

    /// Hands each sum to `each`. `full` names the stack of what had no room.
    pub fn for_each(&self, full: &Arc<Function>, mut each: impl FnMut(Entry<'_>)) {
        let mut locations: Vec<_> = self.locations.iter().collect();
        locations.sort_unstable_by_key(|(_, id)| id.0);
        let mut stacks: Vec<_> = self.stacks.iter().collect();
        stacks.sort_unstable_by_key(|(_, id)| id.0);
        let mut threads: Vec<_> = self.threads.iter().collect();
        threads.sort_unstable_by_key(|(_, id)| id.0);
        let mut sums: Vec<_> = self.sums.iter().collect();
        sums.sort_unstable_by_key(|(key, _)| (key.stack.0, key.thread.0, key.tag.span, key.state));
        let mut stack = Vec::new();
        for (key, sum) in sums {
            stack.clear();
            stack.extend(
                stacks[key.stack.0 as usize]
                    .0
                    .iter()
                    .map(|id| locations[id.0 as usize].0.clone()),
            );
            each(Entry {
                stack: &stack,
                thread: threads[key.thread.0 as usize].0,
                tag: key.tag,
                state: key.state,
                sum: *sum,
            });
        }
        let full = [Location {
            function: Arc::clone(full),
            line: 0,
        }];
        for ((thread, state), sum) in &self.folded {
            each(Entry {
                stack: &full,
                thread: threads[thread.0 as usize].0,
                tag: Tag::EMPTY,
                state: *state,
                sum: *sum,
            });
        }
    }
}

#[cfg(test)]
mod tests;
