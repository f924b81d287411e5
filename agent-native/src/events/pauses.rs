//! When the world was stopped for a collection: from the collector's start and finish to the drain.
//!
//! Both are told on the VM's own thread while the application stands still, so nothing is done there but to note the
//! time in places that are there already: no lock, no memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

/// Pauses between two drains; of more the oldest are forgotten.
const ROOM: usize = 1 << 10;
/// Pauses that the drain remembers: samples are read soon after they are taken.
const REMEMBERED: usize = 1 << 12;

/// From when until when, ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pause {
    from_ns: u64,
    to_ns: u64,
}

/// See the module.
pub struct Pauses {
    /// When the pause that goes on began, 0 where none does. Pair: Release in `end`, Acquire in `KnownPauses::learn`:
    /// who sees that it is over finds it among those that are.
    since_ns: AtomicU64,
    over: ArrayQueue<Pause>,
}

impl Pauses {
    /// None yet.
    pub fn new() -> Self {
        Self {
            since_ns: AtomicU64::new(0),
            over: ArrayQueue::new(ROOM),
        }
    }

    /// The world stands still. Called by the VM's thread alone, as is [`Pauses::end`].
    pub fn begin(&self, now_ns: u64) {
        self.since_ns.store(now_ns, Ordering::Release);
    }

    /// It goes on.
    pub fn end(&self, now_ns: u64) {
        let from_ns = self.since_ns.load(Ordering::Relaxed);
        if from_ns != 0 {
            let pause = Pause {
                from_ns,
                to_ns: now_ns,
            };
            let _oldest = self.over.force_push(pause);
            self.since_ns.store(0, Ordering::Release);
        }
    }
}

/// Pauses as the drain knows them.
#[derive(Default)]
pub struct KnownPauses {
    over: VecDeque<Pause>,
    since_ns: u64,
}

impl KnownPauses {
    /// Takes what has been told since.
    pub fn learn(&mut self, pauses: &Pauses) {
        self.since_ns = pauses.since_ns.load(Ordering::Acquire);
        while let Some(pause) = pauses.over.pop() {
            if self.over.len() == REMEMBERED {
                self.over.pop_front();
            }
            self.over.push_back(pause);
        }
    }

    /// Whether the world stood still at that time.
    pub fn include(&self, at_ns: u64) -> bool {
        if self.since_ns != 0 && at_ns >= self.since_ns {
            return true;
        }
        let newest_first = self.over.iter().rev();
        newest_first
            .take_while(|pause| pause.to_ns >= at_ns)
            .any(|pause| pause.from_ns <= at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_a_pause_that_is_over_or_goes_on() {
        let (pauses, mut known) = (Pauses::new(), KnownPauses::default());
        pauses.end(5);
        for (from, to) in [(10, 20), (30, 40)] {
            pauses.begin(from);
            pauses.end(to);
        }
        pauses.begin(50);
        known.learn(&pauses);
        let included = |known: &KnownPauses| -> Vec<u64> {
            (0..8)
                .map(|n| n * 10 + 5)
                .filter(|at| known.include(*at))
                .collect()
        };
        assert_eq!(included(&known), [15, 35, 55, 65, 75]);
        pauses.end(60);
        known.learn(&pauses);
        assert_eq!(included(&known), [15, 35, 55]);
        assert!([10, 20, 30, 40, 50, 60].iter().all(|at| known.include(*at)));
    }

    #[test]
    fn of_too_many_pauses_the_newest_are_known() {
        let (pauses, mut known) = (Pauses::new(), KnownPauses::default());
        for _ in 0..2 {
            for n in 1..=2 * ROOM as u64 {
                pauses.begin(n * 10);
                pauses.end(n * 10 + 1);
            }
        }
        for _ in 0..2 * REMEMBERED / ROOM {
            for n in 0..ROOM as u64 {
                pauses.begin(1_000_000 + n * 10);
                pauses.end(1_000_000 + n * 10 + 1);
            }
            known.learn(&pauses);
        }
        assert_eq!(known.over.len(), REMEMBERED);
        assert!(known.include(1_000_000 + (ROOM as u64 - 1) * 10));
    }
}
