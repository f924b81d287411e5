//! Which span each Java thread is in: a fixed table of records, keyed by `Thread.threadId()`.
//!
//! Keyed by the Java thread and not by the OS thread, so a virtual thread keeps its record across
//! carriers and nothing has to be copied when it moves. Not a map of pointers held in Java: a pointer
//! cached there would belong to whatever carrier the caller was on.
//!
//! # Who writes what
//! A record with key T is inserted, rewritten and removed only by thread T itself, and read only by a
//! handler that interrupted T. Thread ids are never reused, so a record that was left behind can be found
//! by nobody. Two parties meet in one record in just two ways:
//! - T and the handler that interrupts it, on one OS thread: `sequence` is odd while T rewrites, and the
//!   handler then leaves its sample untagged. Compiler fences suffice, as nothing crosses a core. When T
//!   migrates between its calls, the JVM's scheduler orders them.
//! - T, which frees a slot, and U, which takes it: Release and Acquire on `key`.
//!
//! A third party may look on: another thread that takes T's stack sees T's tag by a [`Glimpse`] before and one after.
//! If they are equal, the tag was that all the while, as `sequence` only grows. That takes stores to be seen in the
//! order in which they are made, as they are on x86-64.
//!
//! The note of when a virtual thread left its carrier (`left_ns`) is T's alone: no handler reads it. It goes with
//! the record, so a thread that never comes back leaves nothing more behind than that.
//!
//! # Finding
//! Linear probing over at most [`WINDOW`] slots. A slot counts in `displaced` the keys that belong to it
//! but had to be put elsewhere, so a key that is absent is known to be so after one look, and a record is
//! one cache line. Thread ids are consecutive numbers: their low bits are the best hash there is.

use crate::primitive::{AtomicI64, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
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
    /// Odd while the owner rewrites the tag. Pair: the compiler fences in `write` and `load`.
    sequence: AtomicU32,
    trace_hi: AtomicU64,
    trace_lo: AtomicU64,
    span: AtomicU64,
    root: AtomicU64,
    /// When the owner left its carrier, 0 while it is on one, and in a free slot. Relaxed: the owner's alone, as
    /// the tag; emptied before `key` is.
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
            sequence: AtomicU32::new(0),
            trace_hi: AtomicU64::new(0),
            trace_lo: AtomicU64::new(0),
            span: AtomicU64::new(0),
            root: AtomicU64::new(0),
            left_ns: AtomicU64::new(0),
        }
    }

    fn write(&self, tag: &Tag) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence
            .store(sequence.wrapping_add(1), Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.trace_hi.store(tag.trace_hi, Ordering::Relaxed);
        self.trace_lo.store(tag.trace_lo, Ordering::Relaxed);
        self.span.store(tag.span, Ordering::Relaxed);
        self.root.store(tag.root, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Relaxed);
    }

    fn load(&self) -> Lookup {
        let before = self.sequence.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let tag = Tag {
            trace_hi: self.trace_hi.load(Ordering::Relaxed),
            trace_lo: self.trace_lo.load(Ordering::Relaxed),
            span: self.span.load(Ordering::Relaxed),
            root: self.root.load(Ordering::Relaxed),
        };
        compiler_fence(Ordering::SeqCst);
        let after = self.sequence.load(Ordering::Relaxed);
        if before % 2 == 1 || before != after {
            Lookup::Busy
        } else if tag.is_empty() {
            Lookup::Empty
        } else {
            Lookup::Tag(tag)
        }
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
    sequence: u32,
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
        if tag.is_empty() {
            self.remove(thread);
            return Ok(());
        }
        if thread == JavaThreadId::NONE {
            return Err(TableFull);
        }
        if let Some((slot, _)) = self.find(thread) {
            slot.write(tag);
            return Ok(());
        }
        self.insert(thread).map(|slot| slot.write(tag))
    }

    /// Frees the record of `thread`: called by the thread itself, at the latest when it ends.
    pub fn remove(&self, thread: JavaThreadId) {
        if let Some((slot, at_home)) = self.find(thread) {
            slot.write(&Tag::EMPTY);
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
            let sequence = slot.sequence.load(Ordering::Acquire);
            let Lookup::Tag(tag) = slot.load() else {
                return None;
            };
            fence(Ordering::Acquire);
            let is_whole = slot.sequence.load(Ordering::Relaxed) == sequence
                && slot.key.load(Ordering::Relaxed) == thread.0;
            is_whole.then_some(Seen {
                distance,
                sequence,
                tag,
            })
        });
        Glimpse(seen)
    }

    /// Notes in the record of `thread`, the calling one, that it leaves its carrier at the time that `clock` tells
    /// (ns, not 0); without a record the clock is not asked. What was noted before is forgotten.
    pub fn leave(&self, thread: JavaThreadId, clock: impl FnOnce() -> u64) {
        if let Some((slot, _)) = self.find(thread) {
            slot.left_ns.store(clock(), Ordering::Relaxed);
        }
    }

    /// Since when `thread`, the calling one, was away, as [`leave`](Self::leave) noted it; once. `None` where it has
    /// no record, or nothing was noted since.
    pub fn come_back(&self, thread: JavaThreadId) -> Option<u64> {
        let (slot, _) = self.find(thread)?;
        let left_ns = slot.left_ns.load(Ordering::Relaxed);
        if left_ns == 0 {
            return None;
        }
        slot.left_ns.store(0, Ordering::Relaxed);
        Some(left_ns)
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
            .map(|slot| slot.span.load(Ordering::Relaxed))
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
mod models {
    use super::*;
    use loom::thread;

    fn tag(n: u64) -> Tag {
        Tag {
            trace_hi: n,
            trace_lo: n,
            span: n,
            root: n,
        }
    }

    /// Two threads with one home: each finds its own tag or none, never the other's, whatever the order
    /// in which slots are freed and taken.
    #[test]
    fn loom_threads_that_share_a_home_never_see_each_others_tag() {
        loom::model(|| {
            let slots: &'static [Slot] = Box::leak(Box::new([Slot::new(), Slot::new()]));
            let work = move |id: i64| {
                let table = ContextTable::new(slots).unwrap();
                let me = JavaThreadId(id);
                assert_eq!(table.lookup(me), Lookup::Empty);
                table.set(me, &tag(id as u64)).unwrap();
                assert_eq!(table.lookup(me), Lookup::Tag(tag(id as u64)));
                // Whoever had the slot before left with a note.
                assert_eq!(table.come_back(me), None);
                table.leave(me, || id as u64);
                table.remove(me);
                assert_eq!(table.lookup(me), Lookup::Empty);
            };
            let other = thread::spawn(move || work(2));
            work(4);
            other.join().unwrap();
            let table = ContextTable::new(slots).unwrap();
            assert_eq!(table.slots[0].displaced.load(Ordering::Relaxed), 0);
            assert!(
                table
                    .slots
                    .iter()
                    .all(|s| s.key.load(Ordering::Relaxed) == 0)
            );
        });
    }
}
