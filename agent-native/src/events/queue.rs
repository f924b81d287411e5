//! From the thread that took a sample in an event to the drain: a bounded queue for each kind that is on.
//!
//! Any thread of the application pushes, in a JVMTI callback; the drain alone pops. No lock is taken. One queue a
//! kind, so that a flood of one does not push out another, and none for a kind that is off. Bounded by samples
//! and by what they hold: where there is no room the newest is dropped, before memory is taken for it, and
//! counted.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::ArrayQueue;
use vtprof_profile::kind::Kind;
use vtprof_signal::counters::Counters;
use vtprof_signal::walk::CallFrame;

use super::object::ObjectRef;
use super::sample::{EventHead, EventSample};
use crate::aggregate::by_kind::ByKind;
use crate::aggregate::tally::Tally;

/// Bounds of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Samples: at one drain in 50 ms, 320,000 a second.
    pub samples: usize,
    /// Frames of all of them; 16 bytes of a class's signature count as one.
    pub frames: usize,
}

impl Bounds {
    /// 2 MiB of samples and 16 MiB of frames a kind, as long as the drain is busy with a file for some seconds.
    pub const DEFAULT: Self = Self {
        samples: 1 << 14,
        frames: 1 << 20,
    };
}

struct Lane {
    queue: ArrayQueue<EventSample>,
    /// Frames in the queue, and those about to be. Relaxed: a bound; the queue hands the samples over.
    frames: AtomicUsize,
}

/// See the module.
pub struct EventSamples {
    lanes: ByKind<Option<Lane>>,
    bounds: Bounds,
    counters: &'static Counters,
}

impl EventSamples {
    /// Queues for the kinds that are on.
    pub fn new(is_on: impl Fn(Kind) -> bool, bounds: Bounds, counters: &'static Counters) -> Self {
        let lane = |kind| {
            (has_samples(kind) && is_on(kind)).then(|| Lane {
                queue: ArrayQueue::new(bounds.samples),
                frames: AtomicUsize::new(0),
            })
        };
        Self {
            lanes: ByKind::new(lane),
            bounds,
            counters,
        }
    }

    /// Adds a sample; from any thread. Takes no lock, and memory for the frames only where there is room. A kind
    /// that is off has none.
    pub fn push(&self, head: EventHead, frames: impl ExactSizeIterator<Item = CallFrame>) {
        // No object goes in, so none comes back.
        let _none = self.push_object(head, || None, frames);
    }

    /// As [`EventSamples::push`], of a sample whose object is to be followed. `refer` is called where there is room;
    /// what it has given is returned where there was none after all, and is the caller's to give back.
    #[must_use]
    pub fn push_object(
        &self,
        head: EventHead,
        refer: impl FnOnce() -> Option<ObjectRef>,
        frames: impl ExactSizeIterator<Item = CallFrame>,
    ) -> Option<ObjectRef> {
        let tally = Tally::of(head.kind);
        let pushed = match &self.lanes[head.kind] {
            Some(lane) => lane.push(head, refer, frames, self.bounds.frames),
            None => Err(None),
        };
        let counter = if pushed.is_ok() {
            tally.taken
        } else {
            tally.queue_full
        };
        self.counters.add(counter, 1);
        pushed.err().flatten()
    }

    /// Takes the oldest sample of a kind.
    pub fn pop(&self, kind: Kind) -> Option<EventSample> {
        let lane = self.lanes[kind].as_ref()?;
        let sample = lane.queue.pop()?;
        let size = size(&sample.head, sample.frames.len());
        lane.frames.fetch_sub(size, Ordering::Relaxed);
        Some(sample)
    }

    /// Samples that wait in the queue of a kind; `None` where it has none.
    #[must_use]
    pub fn waiting(&self, kind: Kind) -> Option<usize> {
        Some(self.lanes[kind].as_ref()?.queue.len())
    }

    /// Samples that a queue holds at the most.
    pub fn capacity(&self) -> usize {
        self.bounds.samples
    }
}

/// Whether samples of the kind come through a queue: those of CPU time come through the ring, and objects in use are
/// those of allocations.
fn has_samples(kind: Kind) -> bool {
    !matches!(kind, Kind::Cpu | Kind::Live)
}

impl Lane {
    /// Adds a sample, if there is room; else returns the object that it would have had.
    fn push(
        &self,
        head: EventHead,
        refer: impl FnOnce() -> Option<ObjectRef>,
        frames: impl ExactSizeIterator<Item = CallFrame>,
        bound: usize,
    ) -> Result<(), Option<ObjectRef>> {
        let size = size(&head, frames.len());
        if self.queue.is_full() || !self.reserve(size, bound) {
            return Err(None);
        }
        let sample = EventSample {
            head,
            object: refer(),
            frames: frames.collect(),
        };
        self.queue.push(sample).map_err(|sample| {
            self.frames.fetch_sub(size, Ordering::Relaxed);
            sample.object
        })
    }

    /// Takes room for that many frames, if there is.
    fn reserve(&self, frames: usize, bound: usize) -> bool {
        let taken = self
            .frames
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                held.checked_add(frames).filter(|held| *held <= bound)
            });
        taken.is_ok()
    }
}

/// What a sample takes, in frames.
fn size(head: &EventHead, frames: usize) -> usize {
    let name = head.leaf_class.as_ref().map_or(0, |name| name.len());
    frames + name.div_ceil(size_of::<CallFrame>())
}

#[cfg(test)]
mod tests;
