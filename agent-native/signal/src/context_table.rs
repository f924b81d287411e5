//! Which span each Java thread is in: a fixed table of records, keyed by `Thread.threadId()`.
//!
//! Keyed by the Java thread and not by the OS thread, so a virtual thread keeps its record across
//! carriers and nothing has to be copied when it moves. Not a map of pointers held in Java: a pointer
//! cached there would belong to whatever carrier the caller was on.
//!
//! # Who writes what
//! A record with key T is inserted, rewritten and removed only by thread T itself. Thread ids are never reused, so a
//! record that was left behind can be found by nobody. Parties meet in one record in these ways:
//! - T and the handler that interrupts it, on one OS thread: the sequence is odd while T rewrites, and the
//!   handler then leaves its sample untagged. When T migrates between its calls, the JVM's scheduler orders them.
//! - T, which frees a slot, and U, which takes it: Release and Acquire on `key`.
//! - T and the drain, in `left_ns`: when a virtual thread left its carrier, written by T alone, but for one thing. Where
//!   a window ends while T is away, the drain takes what T has waited so far, and moves the note to then
//!   ([`still_away`](ContextTable::still_away)). It exchanges the note it has read, which is a time and so never
//!   comes again: where that succeeds, T was away in between, and the tag that was read is T's. Where T was faster, T
//!   has taken all of it. No handler reads the note. It goes with the record, so a thread that never comes back
//!   leaves nothing more behind than that.
//! - T and another thread that takes T's stack: it sees T's tag by a [`Glimpse`] before and one after. Each is one that T
//!   had meanwhile, or none; if they are equal, the tag was that all the while, as the sequence only grows. That takes
//!   stores to be seen in the order in which they are made, as they are on x86-64.
//! - T and other processes, where its context is published: they read the [`Record`] in the slot while T is stopped.
//!
//! # Finding
//! Linear probing over at most [`WINDOW`] slots. A slot counts in `displaced` the keys that belong to it
//! but had to be put elsewhere, so a key that is absent is known to be so after one look, and a record is
//! one cache line. Thread ids are consecutive numbers: their low bits are the best hash there is.

use crate::primitive::{AtomicI64, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
use crate::record::{Claim, Record, Sequence, TraceFlags};
use crate::tag::{JavaThreadId, Tag};

/// How many slots a key may lie from its home.
pub const WINDOW: usize = 32;

/// One record: a cache line.
#[repr(C, align(64))]
pub struct Slot {
    /// Owner's thread id, 0 while free. Pair: CAS Acquire in `insert` with store Release in `remove`.
    key: AtomicI64,
    /// Keys whose home this is but which lie elsewhere. Relaxed: a thread needs to see only its own
    /// additions, which are earlier in its program order.
    displaced: AtomicU32,
    /// The tag but for its root, as other processes may read it, and the sequence, which is odd while the owner rewrites
    /// the tag. Pairs: in `write`, the fence behind the odd number and Release of the even one; in `load`, on the same OS
    /// thread, compiler fences; in `seen`, Acquire of the first look and the fence before the second.
    record: Record,
    root: AtomicU64,
    /// Since when the owner is off its carrier, ns; 0 while it is on one, and in a free slot: emptied before `key` is.
    /// Pairs: Release in `leave` with Acquire in `still_away`, which makes the tag that of the leave or a later one;
    /// the fence in `write` with the one in `still_away`, which makes an exchange fail whose tag is of after the return.
    left_ns: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// A free slot.
    #[must_use]
    pub fn new() -> Self {
        Self {
            key: AtomicI64::new(0),
            displaced: AtomicU32::new(0),
            record: Record::new(),
            root: AtomicU64::new(0),
            left_ns: AtomicU64::new(0),
        }
    }

    fn write(&self, tag: &Tag, flags: TraceFlags) {
        let sequence = self.record.begin();
        // No instruction on x86-64, and a compiler fence as well.
        fence(Ordering::Release);
        self.record.put(tag);
        self.root.store(tag.root, Ordering::Relaxed);
        self.record.end(sequence, tag, flags);
    }

    fn tag(&self) -> Tag {
        let (trace_hi, trace_lo, span) = self.record.ids();
        Tag {
            trace_hi,
            trace_lo,
            span,
            root: self.root.load(Ordering::Relaxed),
        }
    }

    fn load(&self) -> Lookup {
        let before = self.record.sequence();
        compiler_fence(Ordering::SeqCst);
        let tag = self.tag();
        compiler_fence(Ordering::SeqCst);
        let after = self.record.sequence();
        Lookup::of(before, tag, after)
    }

    /// As `load`, from another thread than the owner's, whose id is `thread`; with the number of the rewrite.
    fn seen(&self, thread: JavaThreadId) -> (Sequence, Lookup) {
        let before = self.record.sequence_acquired();
        let tag = self.tag();
        fence(Ordering::Acquire);
        let after = self.record.sequence();
        // The slot may have become another's before the first look: then it is so still, as no id comes again.
        let is_theirs = self.key.load(Ordering::Relaxed) == thread.0;
        let seen = if is_theirs {
            Lookup::of(before, tag, after)
        } else {
            Lookup::Empty
        };
        (before, seen)
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}

/// What a look-up found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// The thread is in no context.
    Empty,
    /// The thread's tag.
    Tag(Tag),
    /// The thread was interrupted while rewriting its tag.
    Busy,
}

/// The record of a thread as another one sees it; `None` of each where it has none, or is rewriting it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glimpse(Option<Seen>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    distance: usize,
    sequence: Sequence,
    tag: Tag,
}

impl Glimpse {
    /// The tag that the thread had from this glimpse to a later one of it; `None` where it may have been another in
    /// between.
    #[must_use]
    pub fn tag_until(self, later: Self) -> Option<Tag> {
        match (self.0, later.0) {
            (Some(one), Some(other)) if one == other => Some(one.tag),
            // What it may have had in between is not known, and no tag is never wrong.
            (None, None) => Some(Tag::EMPTY),
            _ => None,
        }
    }
}

impl Lookup {
    /// What finds that tag.
    #[must_use]
    pub const fn of_tag(tag: Tag) -> Self {
        if tag.is_empty() {
            Self::Empty
        } else {
            Self::Tag(tag)
        }
    }

    /// Of a tag that was read between two looks at the sequence.
    fn of(before: Sequence, tag: Tag, after: Sequence) -> Self {
        if before.is_odd() || before != after {
            Self::Busy
        } else {
            Self::of_tag(tag)
        }
    }
}

/// No slot was free within reach of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableFull;

/// The table. All of it is async-signal-safe; see the module for who may call what.
pub struct ContextTable<'a> {
    slots: &'a [Slot],
    mask: usize,
}

impl<'a> ContextTable<'a> {
    /// A table over `slots`, all free. `None` unless their number is a power of two.
    #[must_use]
    pub fn new(slots: &'a [Slot]) -> Option<Self> {
        slots.len().is_power_of_two().then(|| Self {
            slots,
            mask: slots.len() - 1,
        })
    }

    /// Number of records the table can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Makes `tag` the tag of `thread`, which must be the calling thread; an empty tag frees the record.
    ///
    /// # Errors
    /// [`TableFull`] when the thread has no record and none is free in its window. It is then in no
    /// context: untagged, never wrong.
    pub fn set(&self, thread: JavaThreadId, tag: &Tag) -> Result<(), TableFull> {
        self.set_with(thread, tag, TraceFlags::SAMPLED).map(drop)
    }

    /// As [`set`](Self::set), with the flags that other processes may see. What they may read of `thread` from now on;
    /// `None` where the tag is empty.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn set_with(
        &self,
        thread: JavaThreadId,
        tag: &Tag,
        flags: TraceFlags,
    ) -> Result<Option<&'a Record>, TableFull> {
        if tag.is_empty() {
            self.remove(thread);
            return Ok(None);
        }
        if thread == JavaThreadId::NONE {
            return Err(TableFull);
        }
        let slot = match self.find(thread) {
            Some((slot, _)) => slot,
            None => self.insert(thread)?,
        };
        slot.write(tag, flags);
        Ok(Some(&slot.record))
    }

    /// What other processes may read of `thread`, where it has a record. Who points them to it turns them away before
    /// the record is removed.
    #[must_use]
    pub fn record(&self, thread: JavaThreadId) -> Option<&'a Record> {
        self.find(thread).map(|(slot, _)| &slot.record)
    }

    /// What other processes may read now in `count` slots from slot `first` on, from any thread: each record, and what it
    /// says, by which it may be withdrawn.
    pub fn claims(
        &self,
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = (&'a Record, Claim)> + use<'a> {
        let end = first.saturating_add(count).min(self.slots.len());
        let slots = self.slots.get(first..end).unwrap_or(&[]).iter();
        slots
            .filter(|slot| slot.key.load(Ordering::Relaxed) != 0)
            .filter_map(|slot| Some((&slot.record, slot.record.claim()?)))
    }

    /// Frees the record of `thread`: called by the thread itself, at the latest when it ends.
    pub fn remove(&self, thread: JavaThreadId) {
        if let Some((slot, at_home)) = self.find(thread) {
            slot.write(&Tag::EMPTY, TraceFlags::NONE);
            slot.left_ns.store(0, Ordering::Relaxed);
            slot.key.store(0, Ordering::Release);
            if !at_home && let Some(home) = self.slot(thread, 0) {
                home.displaced.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// The tag of `thread`, which must be what runs on the calling OS thread (a handler on it, or itself).
    #[must_use]
    pub fn lookup(&self, thread: JavaThreadId) -> Lookup {
        self.find(thread)
            .map_or(Lookup::Empty, |(slot, _)| slot.load())
    }

    /// What can be seen of the record of `thread` from another one; see [`Glimpse::tag_until`].
    #[must_use]
    pub fn glimpse(&self, thread: JavaThreadId) -> Glimpse {
        let seen = (0..self.reach()).find_map(|distance| {
            let slot = self.slot(thread, distance)?;
            if thread == JavaThreadId::NONE || slot.key.load(Ordering::Relaxed) != thread.0 {
                return None;
            }
            let (sequence, Lookup::Tag(tag)) = slot.seen(thread) else {
                return None;
            };
            Some(Seen {
                distance,
                sequence,
                tag,
            })
        });
        Glimpse(seen)
    }

    /// The tag of `thread`, whoever asks: one that it had at some moment of the call.
    #[must_use]
    pub fn peek(&self, thread: JavaThreadId) -> Lookup {
        self.find(thread)
            .map_or(Lookup::Empty, |(slot, _)| slot.seen(thread).1)
    }

    /// Whether `thread`, which must be what runs on the calling OS thread, is noted as off its carrier: in the middle of
    /// leaving it or of coming back, while it has its tag already or still.
    #[must_use]
    pub fn is_away(&self, thread: JavaThreadId) -> bool {
        self.find(thread)
            .is_some_and(|(slot, _)| slot.left_ns.load(Ordering::Relaxed) != 0)
    }

    /// Notes in the record of `thread`, the calling one, that it leaves its carrier at the time that `clock` tells
    /// (ns, not 0), and tells it; `None` without a record, and the clock is not asked. What was noted before is forgotten.
    pub fn leave(&self, thread: JavaThreadId, clock: impl FnOnce() -> u64) -> Option<u64> {
        let (slot, _) = self.find(thread)?;
        let now = clock();
        slot.left_ns.store(now, Ordering::Release);
        Some(now)
    }

    /// Since when `thread`, the calling one, was away, as [`leave`](Self::leave) noted it or
    /// [`still_away`](Self::still_away) moved it; once. `None` where it has no record, or nothing was noted since.
    pub fn come_back(&self, thread: JavaThreadId) -> Option<u64> {
        let (slot, _) = self.find(thread)?;
        // Nobody but this thread makes a note where there is none.
        if slot.left_ns.load(Ordering::Relaxed) == 0 {
            return None;
        }
        Some(slot.left_ns.swap(0, Ordering::Relaxed))
    }

    /// Moves the notes of all threads that were away at `until_ns` and are still, among those in `count` slots from
    /// slot `first` on, to that time, and hands out the tag of each and since when it had been away. For one caller
    /// at a time, other than they.
    pub fn still_away(
        &self,
        first: usize,
        count: usize,
        until_ns: u64,
        mut each: impl FnMut(Tag, u64),
    ) {
        let end = first.saturating_add(count).min(self.slots.len());
        for slot in self.slots.get(first..end).unwrap_or(&[]) {
            let left_ns = slot.left_ns.load(Ordering::Acquire);
            if left_ns == 0 || left_ns >= until_ns {
                continue;
            }
            let tag = slot.tag();
            fence(Ordering::Acquire);
            let moved = slot.left_ns.compare_exchange(
                left_ns,
                until_ns,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if moved.is_ok() {
                each(tag, left_ns);
            }
        }
    }

    /// Span ids of the records in `count` slots from slot `first` on, as far as they can be read from another
    /// thread: good for counting, not for tagging.
    pub fn spans_in(&self, first: usize, count: usize) -> impl Iterator<Item = u64> + '_ {
        let end = first.saturating_add(count).min(self.slots.len());
        self.slots
            .get(first..end)
            .unwrap_or(&[])
            .iter()
            .filter(|slot| slot.key.load(Ordering::Relaxed) != 0)
            .map(|slot| slot.record.ids().2)
            .filter(|span| *span != 0)
    }

    fn slot(&self, thread: JavaThreadId, distance: usize) -> Option<&'a Slot> {
        let home = thread.0 as usize;
        self.slots.get(home.wrapping_add(distance) & self.mask)
    }

    fn reach(&self) -> usize {
        WINDOW.min(self.slots.len())
    }

    /// The record of `thread` and whether it lies at its home.
    fn find(&self, thread: JavaThreadId) -> Option<(&'a Slot, bool)> {
        if thread == JavaThreadId::NONE {
            return None;
        }
        let home = self.slot(thread, 0)?;
        if home.key.load(Ordering::Relaxed) == thread.0 {
            return Some((home, true));
        }
        if home.displaced.load(Ordering::Relaxed) == 0 {
            return None;
        }
        (1..self.reach())
            .filter_map(|distance| self.slot(thread, distance))
            .find(|slot| slot.key.load(Ordering::Relaxed) == thread.0)
            .map(|slot| (slot, false))
    }

    fn insert(&self, thread: JavaThreadId) -> Result<&'a Slot, TableFull> {
        for distance in 0..self.reach() {
            let Some(slot) = self.slot(thread, distance) else {
                continue;
            };
            if slot.key.load(Ordering::Relaxed) != 0 {
                continue;
            }
            let taken =
                slot.key
                    .compare_exchange(0, thread.0, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                if distance > 0
                    && let Some(home) = self.slot(thread, 0)
                {
                    home.displaced.fetch_add(1, Ordering::Relaxed);
                }
                return Ok(slot);
            }
        }
        Err(TableFull)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod models;
