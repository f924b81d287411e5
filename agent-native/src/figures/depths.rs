//! How full the queues to the drain were: as it finds them at each look, so the most of a window is what they needed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vtprof_profile::kind::Kind;
use vtprof_signal::ring::Ring;

use crate::events::queue::EventSamples;
use crate::spans::event::SpanEvents;

/// The queues, by what the figure of each is called; the kinds' beside it in [`queue_of`].
const RING: &str = "ring.words_most";
const SPANS: &str = "spans.queue_most";

/// The name of a kind's queue; `None` for a kind that has none.
const fn queue_of(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Alloc => Some("alloc.queue_most"),
        Kind::Blocked => Some("blocked.queue_most"),
        Kind::Lock => Some("lock.queue_most"),
        Kind::LockOwner => Some("lock_owner.queue_most"),
        // Through the ring, or with those of allocations.
        Kind::Cpu | Kind::Wall | Kind::Live => None,
    }
}

/// The most that waited since the window began, of kinds whether they have a queue, too. Relaxed throughout: each for itself.
pub struct Depths {
    ring: AtomicU64,
    spans: AtomicU64,
    kinds: [(AtomicBool, AtomicU64); Kind::ALL.len()],
}

impl Depths {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ring: AtomicU64::new(0),
            spans: AtomicU64::new(0),
            kinds: [const { (AtomicBool::new(false), AtomicU64::new(0)) }; Kind::ALL.len()],
        }
    }

    /// Looks at them, before they are emptied.
    pub fn look(&self, ring: &Ring<'_>, samples: &EventSamples, spans: &SpanEvents) {
        self.ring.fetch_max(ring.used(), Ordering::Relaxed);
        self.spans
            .fetch_max(spans.waiting() as u64, Ordering::Relaxed);
        for (kind, (is_there, most)) in Kind::ALL.into_iter().zip(&self.kinds) {
            if let Some(waiting) = samples.waiting(kind) {
                is_there.store(true, Ordering::Relaxed);
                most.fetch_max(waiting as u64, Ordering::Relaxed);
            }
        }
    }

    /// The most of each since this was last called: words of the ring, reports of spans, samples of a kind.
    pub fn take(&self) -> Vec<(&'static str, u64)> {
        self.each(|most| most.swap(0, Ordering::Relaxed))
    }

    /// As [`Depths::take`], of the window that goes on.
    pub fn so_far(&self) -> Vec<(&'static str, u64)> {
        self.each(|most| most.load(Ordering::Relaxed))
    }

    fn each(&self, read: impl Fn(&AtomicU64) -> u64) -> Vec<(&'static str, u64)> {
        let kinds = Kind::ALL.into_iter().zip(&self.kinds);
        // Nothing is said of a kind that is off.
        let kinds = kinds.filter(|(_, (is_there, _))| is_there.load(Ordering::Relaxed));
        let kinds = kinds.filter_map(|(kind, (_, most))| Some((queue_of(kind)?, most)));
        [(RING, &self.ring), (SPANS, &self.spans)]
            .into_iter()
            .chain(kinds)
            .map(|(name, most)| (name, read(most)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::queue::Bounds;
    use crate::spans::event::SpanEvent;
    use vtprof_signal::counters::Counters;

    #[test]
    fn the_most_of_a_window_is_kept_until_it_is_taken_and_no_longer() {
        let counters: &'static Counters = Box::leak(Box::new(Counters::new()));
        let words: Vec<_> = (0..64)
            .map(|_| vtprof_signal::primitive::AtomicU64::new(0))
            .collect();
        let ring = Ring::new(&words).unwrap();
        let spans = SpanEvents::new(counters);
        let samples = EventSamples::new(|kind| kind == Kind::LockOwner, Bounds::DEFAULT, counters);
        let depths = Depths::new();
        let look = || depths.look(&ring, &samples, &spans);
        let of = |all: &[(&str, u64)], name| {
            let found = all.iter().find(|(known, _)| *known == name);
            found.unwrap_or_else(|| panic!("no {name}")).1
        };
        for span in 0..3 {
            spans.push(SpanEvent::Lost { span });
        }
        look();
        for _ in 0..3 {
            spans.pop();
        }
        look();
        assert_eq!(of(&depths.so_far(), SPANS), 3);
        assert_eq!(of(&depths.take(), SPANS), 3);
        look();
        let after = depths.take();
        assert_eq!(of(&after, SPANS), 0);
        assert_eq!(after.len(), 3, "of kinds that are off nothing: {after:?}");
        assert_eq!(of(&after, "lock_owner.queue_most"), 0);
    }
}
