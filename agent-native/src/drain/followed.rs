//! Objects of sampled allocations that are followed until the collector has found them unused, for [`Kind::Live`].
//!
//! At a window's end those that are gone are let go, and what the others stand for is what is in use. Bounded: where
//! there are more than the bound, some are followed no longer and others stand for them. An object that stands for less
//! than the threshold is kept with a probability in proportion to what it stands for, and stands for the threshold
//! then, as short waits do ([`crate::events::chance`]); what stands for more is kept. So what is expected of the sum
//! stays what it was, whatever is thrown away, and large objects stay for sure. The threshold rises where room is
//! needed and sinks where there is plenty.
//!
//! An object keeps the stack, the thread and the tag of its allocation: names of methods are known by then, and a span
//! may well have ended.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::tag::Tag;

use crate::aggregate::frames::Location;
use crate::aggregate::tally::Tally;
use crate::aggregate::weight::Weight;
use crate::aggregate::window::{Bounds, Kept, STORE_FULL, Window};
use crate::events::chance::Chance;
use crate::events::object::{ObjectRef, Objects};
use crate::symbolize::symbolizer::Function;

/// What is known of an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Leaf first.
    pub stack: &'a [Location],
    /// Label of its thread.
    pub thread: &'a Arc<str>,
    /// Empty for none.
    pub tag: Tag,
    /// What its sample stands for.
    pub weight: Weight,
}

struct Object {
    reference: ObjectRef,
    stack: Arc<[Location]>,
    thread: Arc<str>,
    tag: Tag,
    weight: Weight,
}

/// See the module. Used by the drain thread alone.
pub struct Followed {
    /// Objects, at the most.
    bound: usize,
    counters: &'static Counters,
    objects: Vec<Object>,
    /// One copy of each stack.
    stacks: HashSet<Arc<[Location]>>,
    /// Locations in them, and how many there may be.
    words: usize,
    most_words: usize,
    /// Stands for stacks that found no room.
    full: Arc<[Location]>,
    /// Names of the local roots of objects, as they were known last.
    names: HashMap<u64, Arc<str>>,
    /// Bytes that an object stands for at the least; 0 while all are followed.
    threshold: f64,
    chance: Chance,
}

impl Followed {
    /// Follows no more than `bound` at a time.
    pub fn new(bound: usize, counters: &'static Counters) -> Self {
        let full = Location {
            function: Arc::new(Function {
                name: STORE_FULL.to_owned(),
                file: String::new(),
            }),
            line: 0,
        };
        Self {
            bound,
            counters,
            objects: Vec::new(),
            stacks: HashSet::new(),
            words: 0,
            most_words: Bounds::of(Kind::Live).stack_words,
            full: Arc::from([full]),
            names: HashMap::new(),
            threshold: 0.0,
            chance: Chance::new(now_ns()),
        }
    }

    /// Follows an object from now on, if chance wills it.
    pub fn follow(&mut self, reference: ObjectRef, origin: Origin<'_>, jvm: &impl Objects) {
        self.count(Tally::of(Kind::Live).taken, 1);
        if self.objects.len() >= self.bound {
            self.make_room(jvm);
        }
        let Some(weight) = thinned(origin.weight, self.threshold, &mut self.chance) else {
            self.count(Counter::LiveThinned, 1);
            jvm.let_go(reference);
            return;
        };
        let (stack, tag) = match self.stack(origin.stack) {
            Some(stack) => (stack, origin.tag),
            None => {
                self.count(Tally::of(Kind::Live).store_full, 1);
                (Arc::clone(&self.full), Tag::EMPTY)
            }
        };
        self.objects.push(Object {
            reference,
            stack,
            thread: Arc::clone(origin.thread),
            tag,
            weight,
        });
    }

    /// Lets go what is gone, and adds the others to `window`: a window ends.
    pub fn settle(&mut self, window: &mut Window, jvm: &impl Objects) {
        self.let_gone_go(jvm);
        for object in &self.objects {
            let (tag, weight) = (object.tag, object.weight);
            if window.add(&object.stack, &object.thread, tag, None, weight) == Kept::Folded {
                self.count(Tally::of(Kind::Live).store_full, 1);
            }
        }
        self.stacks.retain(|stack| Arc::strong_count(stack) > 1);
        self.words = self.stacks.iter().map(|stack| stack.len()).sum();
        let roots: HashSet<_> = self.objects.iter().map(|object| object.tag.root).collect();
        self.names.retain(|root, _| roots.contains(root));
        if self.objects.len() < self.bound / 4 {
            // Below one byte it is none.
            self.threshold = Some(self.threshold / 2.0)
                .filter(|t| *t >= 1.0)
                .unwrap_or(0.0);
        }
    }

    /// Follows nothing any more.
    pub fn let_all_go(&mut self, jvm: &impl Objects) {
        for object in self.objects.drain(..) {
            jvm.let_go(object.reference);
        }
    }

    /// Remembers the names of the roots of objects, where `name` knows them: roots are forgotten soon after their end.
    pub fn remember(&mut self, name: impl Fn(u64) -> Option<Arc<str>>) {
        for object in self.objects.iter().filter(|object| !object.tag.is_empty()) {
            if let Some(name) = name(object.tag.root) {
                self.names.insert(object.tag.root, name);
            }
        }
    }

    /// The name of a root of an object, as it was known last.
    pub fn name(&self, root: u64) -> Option<&Arc<str>> {
        self.names.get(&root)
    }

    fn make_room(&mut self, jvm: &impl Objects) {
        self.let_gone_go(jvm);
        // So that room is not made for each object anew.
        if self.objects.len() > self.bound - self.bound / 4 {
            self.thin(jvm);
        }
        while self.objects.len() >= self.bound {
            self.thin(jvm);
        }
    }

    fn let_gone_go(&mut self, jvm: &impl Objects) {
        let gone = self.let_go_if(jvm, |object| jvm.is_gone(&object.reference));
        self.count(Counter::LiveCollected, gone);
    }

    /// Raises the threshold to twice the median of what objects stand for.
    fn thin(&mut self, jvm: &impl Objects) {
        let mut amounts: Vec<_> = self.objects.iter().map(|o| o.weight.amount).collect();
        let middle = amounts.len() / 2;
        let (_, median, _) = amounts.select_nth_unstable_by(middle, f64::total_cmp);
        let threshold = self.threshold.max(*median * 2.0);
        self.threshold = threshold;
        let mut chance = self.chance;
        let thinned = self.let_go_if(jvm, |object| {
            match thinned(object.weight, threshold, &mut chance) {
                Some(weight) => object.weight = weight,
                None => return true,
            }
            false
        });
        self.chance = chance;
        self.count(Counter::LiveThinned, thinned);
    }

    /// Lets go of the objects for which `is_over`, and says how many those are.
    fn let_go_if(
        &mut self,
        jvm: &impl Objects,
        mut is_over: impl FnMut(&mut Object) -> bool,
    ) -> u64 {
        let before = self.objects.len();
        let mut index = 0;
        while let Some(object) = self.objects.get_mut(index) {
            if is_over(object) {
                jvm.let_go(self.objects.swap_remove(index).reference);
            } else {
                index += 1;
            }
        }
        (before - self.objects.len()) as u64
    }

    fn stack(&mut self, stack: &[Location]) -> Option<Arc<[Location]>> {
        if let Some(known) = self.stacks.get(stack) {
            return Some(Arc::clone(known));
        }
        if self.words + stack.len() > self.most_words {
            return None;
        }
        let new: Arc<[Location]> = Arc::from(stack);
        self.words += stack.len();
        self.stacks.insert(Arc::clone(&new));
        Some(new)
    }

    fn count(&self, counter: Counter, n: u64) {
        self.counters.add(counter, n);
    }
}

/// What an object stands for under that threshold, or `None` if others are to stand for it.
fn thinned(weight: Weight, threshold: f64, chance: &mut Chance) -> Option<Weight> {
    if weight.amount >= threshold {
        return Some(weight);
    }
    (chance.draw() * threshold < weight.amount).then(|| Weight {
        count: weight.count * (threshold / weight.amount),
        amount: threshold,
    })
}

#[cfg(test)]
mod tests;
