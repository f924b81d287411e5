//! Visits of the wall engine: samples of threads that were asked, and repeats of those that stand where they stood.
//!
//! A visit is a sample of [`Kind::Wall`], where that is on. Of a thread that waits, in a context, it is one of
//! [`Kind::Blocked`] as well: an OS thread, be it one that carries a pinned virtual thread. Those that left their
//! carrier are seen by their mounts, and are on no OS thread that could be visited; so nothing counts twice.
//!
//! A thread that waits for a monitor in compiled code cannot be walked. Its visits are owed until it has the monitor and
//! tells its stack itself ([`crate::wall::entered`]), or the window ends.
//!
//! Repeats name a sample. The last of each thread that stands is remembered for them, whole, as long as there is room.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use vtprof_profile::kind::Kind;
use vtprof_signal::cookie::{BlockIndex, Cookie, Generation};
use vtprof_signal::counters::Counter;
use vtprof_signal::sample::{Flags, Head};
use vtprof_signal::tag::Tag;
use vtprof_signal::walk::{CallFrame, Failure};

use super::{Recorder, checked_tag, label};
use crate::aggregate::by_kind::ByKind;
use crate::aggregate::frames::{self, Location};
use crate::aggregate::tally::Tally;
use crate::aggregate::weight::Weight;
use crate::aggregate::window::{Kept, Place};
use crate::events::pauses::{KnownPauses, Pauses};
use crate::events::state::{Standing, State};
use crate::symbolize::symbolizer::MethodSource;
use crate::wall::entered::{Entered, EnteredStacks};
use crate::wall::repeats::{Repeat, Repeats};

/// Frames of all samples that are remembered: 16 MiB.
const FRAMES: usize = 1 << 20;
/// Waits for monitors whose stack is remembered for the rest of the window.
const PAID: usize = 1 << 10;
/// The one frame of a thread that was asked while a collection had stopped the world: there is no walk then.
const PAUSED: &str = "[gc pause]";
/// Bytecode index of a native method (`forte.cpp`).
const NATIVE: i32 = -3;

/// Where a sample was booked last, so that its repeats need not look for the place.
#[derive(Clone, Copy)]
struct Booked {
    place: Place,
    window: u64,
    tag: Tag,
    state: Option<&'static str>,
}

/// The last sample of a thread that stands.
struct Last {
    generation: Generation,
    sample_ns: u64,
    stack: Arc<[Location]>,
    thread: Arc<str>,
    waits: Option<Standing>,
    owed: Option<Wait>,
    booked: ByKind<Option<Booked>>,
}

/// A wait of a thread for a monitor: its block, and the number of the wait.
type Wait = (BlockIndex, u64);

/// What is booked of visits: under which tag and state, and how much.
type Sum = (Kind, Tag, Option<&'static str>, Weight);

/// Visits in such a wait, whose stack is not known yet.
struct Owed {
    thread: Arc<str>,
    /// The frame that says why it could not be walked.
    stack: Vec<Location>,
    /// By tag, of spans that were open then.
    sums: Vec<Sum>,
}

/// See the module.
pub struct Books {
    /// The kinds that are on.
    wall: bool,
    blocked: bool,
    repeats: &'static Repeats,
    entered: &'static EnteredStacks,
    pauses: &'static Pauses,
    known_pauses: KnownPauses,
    /// Taken, and not booked yet.
    queue: VecDeque<Repeat>,
    /// Taken, and what they are of may not be read yet.
    told: Vec<Entered>,
    owed: HashMap<Wait, Owed>,
    /// Stacks told in this window: one who waits there again, and whose stack looks the same, has that.
    paid: HashMap<Wait, Arc<[Location]>>,
    /// By block.
    last: Vec<Option<Last>>,
    /// Their stacks, each once, and how many frames those have.
    stacks: HashSet<Arc<[Location]>>,
    frames: usize,
    /// Where samples of a stack were booked in this window, so that what many threads have in common is looked for
    /// once. By the stack's address, which it keeps from being another's.
    places: HashMap<PlaceKey, (Arc<[Location]>, Place)>,
    /// Which window it is.
    window: u64,
}

type PlaceKey = (Kind, *const Location, Arc<str>, Tag, Option<&'static str>);

impl Books {
    /// With the kinds that are on.
    pub fn new(
        is_on: impl Fn(Kind) -> bool,
        repeats: &'static Repeats,
        entered: &'static EnteredStacks,
        pauses: &'static Pauses,
    ) -> Self {
        Self {
            wall: is_on(Kind::Wall),
            blocked: is_on(Kind::Blocked),
            repeats,
            entered,
            pauses,
            known_pauses: KnownPauses::default(),
            queue: VecDeque::new(),
            told: Vec::new(),
            owed: HashMap::new(),
            paid: HashMap::new(),
            last: Vec::new(),
            stacks: HashSet::new(),
            frames: 0,
            places: HashMap::new(),
            window: 0,
        }
    }

    /// The kinds that are on.
    pub fn set_kinds(&mut self, is_on: impl Fn(Kind) -> bool) {
        self.wall = is_on(Kind::Wall);
        self.blocked = is_on(Kind::Blocked);
    }

    /// Lets go of stacks that no thread stands in any more.
    fn sweep(&mut self) {
        self.stacks.retain(|stack| Arc::strong_count(stack) > 1);
        self.frames = self.stacks.iter().map(|stack| stack.len()).sum();
    }

    /// The stack, to be remembered; `None` where there is no room.
    fn intern(&mut self, stack: &[Location]) -> Option<Arc<[Location]>> {
        if let Some(known) = self.stacks.get(stack) {
            return Some(Arc::clone(known));
        }
        if self.frames + stack.len() > FRAMES {
            self.sweep();
        }
        if self.frames + stack.len() > FRAMES {
            return None;
        }
        let stack: Arc<[Location]> = stack.into();
        self.frames += stack.len();
        self.stacks.insert(Arc::clone(&stack));
        Some(stack)
    }

    fn remember(
        &mut self,
        head: &Head,
        stack: &[Location],
        thread: Arc<str>,
        waits: Option<Standing>,
        owed: Option<Wait>,
    ) {
        let at = head.block.0 as usize;
        if self.last.len() <= at {
            self.last.resize_with(at + 1, || None);
        }
        self.last[at] = None;
        if !head.flags.has(Flags::STANDS) {
            return;
        }
        self.last[at] = self.intern(stack).map(|stack| Last {
            generation: head.generation,
            sample_ns: head.time_ns,
            stack,
            thread,
            waits,
            owed,
            booked: ByKind::new(|_| None),
        });
    }

    /// What `repeat` repeats, taken out: [`Books::put_back`].
    fn take_last(&mut self, repeat: &Repeat) -> Option<Last> {
        let Cookie { block, generation } = repeat.place;
        let place = self.last.get_mut(block.0 as usize)?;
        let is_meant = place.as_ref().is_some_and(|last| {
            (last.generation, last.sample_ns) == (generation, repeat.sample_ns)
        });
        if is_meant { place.take() } else { None }
    }

    fn put_back(&mut self, at: Cookie, last: Last) {
        if let Some(place) = self.last.get_mut(at.block.0 as usize) {
            *place = Some(last);
        }
    }
}

/// What is booked.
struct Visit<'a> {
    at_ns: u64,
    stack: &'a [Location],
    /// The same, where it is remembered.
    kept: Option<&'a Arc<[Location]>>,
    thread: &'a Arc<str>,
    tag: Tag,
    micros: u32,
    waits: Option<Standing>,
    /// Whether it is the first of a wait, as far as can be told.
    is_first: bool,
    /// The thread waits for a monitor, and could not be walked.
    owed: Option<Wait>,
}

impl Recorder {
    /// Takes the repeats that are there; before the samples are read that they are of, so that each finds its own.
    pub(super) fn read_repeats(&mut self) {
        if let Some(books) = &mut self.visits {
            books.repeats.take(&mut books.queue);
        }
    }

    /// Takes the pauses that are known; after the samples that may lie in them.
    pub(super) fn read_pauses(&mut self) {
        if let Some(books) = &mut self.visits {
            books.known_pauses.learn(books.pauses);
        }
    }

    /// Books the sample of a thread that was asked.
    pub(super) fn book_visit(
        &mut self,
        head: &Head,
        frames: impl Iterator<Item = CallFrame>,
        source: &impl MethodSource,
    ) {
        // Each repeats the last sample before it.
        self.book_repeats(head.time_ns);
        let thread = label(self.registry, head.block, head.generation);
        let mut frames = frames.peekable();
        let first = frames.peek().copied();
        let is_native = first.is_some_and(|leaf| leaf.bci == NATIVE);
        let mut stack = std::mem::take(&mut self.locations);
        let truncation = frames::locations(
            head,
            frames,
            &thread,
            &mut self.symbolizer,
            source,
            &mut stack,
        );
        if head.flags.has(Flags::FAILED) && head.failure == Failure::GC_ACTIVE {
            stack.clear();
            stack.push(Location {
                function: self.symbolizer.named(PAUSED),
                line: 0,
            });
        }
        if truncation.or(head.truncation).is_some() {
            self.counters.add(Counter::WallTruncated, 1);
        }
        if head.flags.has(Flags::CUT) {
            self.counters.add(Tally::of(Kind::Wall).cut, 1);
        }
        self.oldest_ns = self.oldest_ns.min(head.time_ns);
        let waits = head.flags.has(Flags::WAITING);
        let is_kept = waits || head.flags.has(Flags::OFF_CPU);
        let waits = (is_kept && !head.flags.has(Flags::AWAY)).then(|| Standing {
            is_native,
            enters: head.flags.has(Flags::ENTERING),
            is_ready: !waits,
        });
        // Only of a wait for a monitor.
        let owed = first.filter(|_| head.flags.has(Flags::FAILED));
        let owed = owed.map(|wait| (head.block, wait.method));
        let visit = Visit {
            at_ns: head.time_ns,
            stack: &stack,
            kept: None,
            thread: &thread,
            tag: head.tag,
            micros: head.periods,
            waits,
            is_first: true,
            owed,
        };
        self.book(&visit, &mut ByKind::new(|_| None));
        if let Some(books) = &mut self.visits {
            books.remember(head, &stack, thread, waits, owed);
        }
        self.locations = stack;
    }

    /// Books the repeats of before `until_ns`, ns.
    pub(super) fn book_repeats(&mut self, until_ns: u64) {
        loop {
            let Some(books) = &mut self.visits else {
                return;
            };
            let Some(repeat) = books.queue.front().copied() else {
                return;
            };
            if repeat.at_ns >= until_ns {
                return;
            }
            books.queue.pop_front();
            let Some(mut last) = books.take_last(&repeat) else {
                self.counters.add(Counter::WallRepeatsLost, 1);
                continue;
            };
            let visit = Visit {
                at_ns: repeat.at_ns,
                stack: &last.stack,
                kept: Some(&last.stack),
                thread: &last.thread,
                tag: repeat.tag,
                micros: repeat.micros,
                waits: last.waits,
                is_first: false,
                owed: last.owed,
            };
            let mut booked = std::mem::replace(&mut last.booked, ByKind::new(|_| None));
            self.book(&visit, &mut booked);
            last.booked = booked;
            if let Some(books) = &mut self.visits {
                books.put_back(repeat.place, last);
            }
        }
    }

    fn book(&mut self, visit: &Visit<'_>, booked: &mut ByKind<Option<Booked>>) {
        let Some(books) = &self.visits else {
            return;
        };
        let (wall, blocked) = (books.wall, books.blocked);
        let state = visit
            .waits
            .filter(|_| blocked && !visit.tag.is_empty())
            .and_then(|standing| {
                let in_pause = books.known_pauses.include(visit.at_ns);
                State::of_standing(visit.stack, standing, in_pause)
            })
            .map(State::name);
        // How many waits there were is not known where they were not seen to begin.
        let waits = if visit.is_first { 1.0 } else { 0.0 };
        if state.is_some() && visit.is_first {
            self.counters.add(Tally::of(Kind::Blocked).taken, 1);
        }
        let is_on = [wall, state.is_some()];
        let each = [(Kind::Wall, None, 1.0), (Kind::Blocked, state, waits)];
        for ((kind, state, count), _) in each.into_iter().zip(is_on).filter(|(_, is_on)| *is_on) {
            let tally = Tally::of(kind);
            let tag = checked_tag(&self.book, self.counters, tally, visit.tag, visit.at_ns);
            let weight = Weight {
                count,
                amount: f64::from(visit.micros) * 1_000.0,
            };
            match visit.owed {
                Some(wait) => self.owe(wait, visit, (kind, tag, state, weight)),
                None => self.book_as(visit, (kind, tag, state, weight), booked),
            }
        }
    }

    /// Books it once the thread has told its stack.
    fn owe(&mut self, wait: Wait, visit: &Visit<'_>, what: Sum) {
        let Some(books) = &mut self.visits else {
            return;
        };
        if let Some(stack) = books.paid.get(&wait).cloned() {
            return self.pay_one(&stack, visit.thread, what);
        }
        let owed = books.owed.entry(wait).or_insert_with(|| Owed {
            thread: Arc::clone(visit.thread),
            stack: visit.stack.to_vec(),
            sums: Vec::new(),
        });
        let (kind, tag, state, weight) = what;
        let known = owed
            .sums
            .iter_mut()
            .find(|sum| (sum.0, sum.1, sum.2) == (kind, tag, state));
        match known {
            Some(sum) => sum.3 += weight,
            None => owed.sums.push(what),
        }
    }

    /// Takes the stacks that threads have told; before the samples are read that they are of.
    pub(super) fn read_entered(&mut self) {
        if let Some(books) = &mut self.visits {
            books.entered.take(&mut books.told);
        }
    }

    /// Books what those threads are owed.
    pub(super) fn book_entered(&mut self, source: &impl MethodSource) {
        let told = self
            .visits
            .as_mut()
            .map(|books| std::mem::take(&mut books.told));
        for entered in told.into_iter().flatten() {
            let Some(books) = &mut self.visits else {
                return;
            };
            let wait = (entered.place.block, entered.wait);
            if let Some(owed) = books.owed.remove(&wait) {
                let mut stack = std::mem::take(&mut self.locations);
                frames::of_stack(
                    entered.frames.iter().copied(),
                    entered.at_ns,
                    entered.is_cut,
                    &mut self.symbolizer,
                    source,
                    &mut stack,
                );
                self.pay(&owed, &stack);
                if let Some(books) = &mut self.visits
                    && books.paid.len() < PAID
                {
                    books.paid.insert(wait, stack.as_slice().into());
                }
                self.locations = stack;
            }
        }
    }

    /// Begins the next window: what is owed belongs to the one that ends.
    pub(super) fn end_visits(&mut self) {
        let Some(books) = &mut self.visits else {
            return;
        };
        for owed in std::mem::take(&mut books.owed).into_values() {
            self.pay(&owed, &owed.stack);
        }
        if let Some(books) = &mut self.visits {
            books.window += 1;
            books.paid.clear();
            books.places.clear();
            books.sweep();
        }
    }

    fn pay(&mut self, owed: &Owed, stack: &[Location]) {
        for what in &owed.sums {
            self.pay_one(stack, &owed.thread, *what);
        }
    }

    fn pay_one(&mut self, stack: &[Location], thread: &Arc<str>, what: Sum) {
        let (kind, tag, state, weight) = what;
        let kept = self.windows[kind].add(stack, thread, tag, state, weight);
        if kept == Kept::Folded {
            self.counters.add(Tally::of(kind).store_full, 1);
        }
    }

    fn book_as(&mut self, visit: &Visit<'_>, what: Sum, booked: &mut ByKind<Option<Booked>>) {
        let (kind, tag, state, weight) = what;
        let Some(books) = &mut self.visits else {
            return;
        };
        let number = books.window;
        let window = &mut self.windows[kind];
        let known = booked[kind]
            .filter(|known| (known.window, known.tag, known.state) == (number, tag, state))
            .map(|known| known.place);
        let place = known.or_else(|| {
            let Some(kept) = visit.kept else {
                return window.place(visit.stack, visit.thread, tag, state);
            };
            let key = (kind, kept.as_ptr(), Arc::clone(visit.thread), tag, state);
            if let Some((_, place)) = books.places.get(&key) {
                return Some(*place);
            }
            let place = window.place(visit.stack, visit.thread, tag, state)?;
            books.places.insert(key, (Arc::clone(kept), place));
            Some(place)
        });
        let Some(place) = place else {
            return self.pay_one(visit.stack, visit.thread, what);
        };
        window.add_at(place, weight);
        booked[kind] = Some(Booked {
            place,
            window: number,
            tag,
            state,
        });
    }
}

#[cfg(test)]
mod tests;
