//! How long a wait must be to be sampled for sure, so that samples do not become a load.
//!
//! Whoever has just been given a lock and has its stack taken holds up all who queue behind it. Where hundreds wait for
//! one lock, each wait is longer than any period that one would ask for, and each handing over would last some 10 µs
//! longer. So once there are more samples in a slot of time than [`BUDGET`], the period is doubled, and halved again
//! when slots stay quiet. What a sample stands for follows from the period that its wait was drawn by
//! ([`chance`](super::chance)), which does not depend on that draw: sums stay right whatever the period does.

use std::sync::atomic::{AtomicU64, Ordering};

/// Samples in a slot, over all threads, after which the period doubles: a thousand a second, which hold a lock that is
/// behind all of them for 1 % of the time.
pub const BUDGET: u32 = 50;
/// Length of a slot, ns.
const SLOT_NS: u64 = 50_000_000;
/// The period grows by no more: to 17 minutes from 1 ms.
const MOST: u32 = 20;

/// See the module.
#[derive(Debug)]
pub struct Thinning {
    /// 0 while nothing is sampled. Relaxed: written while no samples are taken.
    least_ns: AtomicU64,
    /// A [`State`], packed. Relaxed: nothing else is published by it.
    state: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct State {
    /// Number of the slot since the clock's beginning; 32 bits of it are seven years.
    slot: u32,
    /// Samples in it.
    taken: u32,
    doublings: u32,
}

impl Thinning {
    /// With that period, ns, while there are few samples.
    #[must_use]
    pub const fn new(least_ns: u64) -> Self {
        Self {
            least_ns: AtomicU64::new(least_ns),
            state: AtomicU64::new(0),
        }
    }

    /// Another period while there are few samples, ns; 0 for none at all. While no samples are taken.
    pub fn set_least_ns(&self, least_ns: u64) {
        self.least_ns.store(least_ns, Ordering::Relaxed);
        self.state.store(0, Ordering::Relaxed);
    }

    /// The period while there are few samples, ns.
    pub fn least_ns(&self) -> u64 {
        self.least_ns.load(Ordering::Relaxed)
    }

    /// The period now, ns.
    pub fn period_ns(&self, now_ns: u64) -> u64 {
        let state = State::unpacked(self.state.load(Ordering::Relaxed));
        self.least_ns() << state.at(slot(now_ns)).doublings
    }

    /// Whether that period is longer than it would be with few samples.
    pub fn is_thinned(&self, period_ns: u64) -> bool {
        period_ns > self.least_ns()
    }

    /// A sample is taken.
    pub fn took(&self, now_ns: u64) {
        let next = |packed| {
            let state = State::unpacked(packed).at(slot(now_ns));
            Some(state.with_one_more().packed())
        };
        // Never refused.
        let _before = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

fn slot(now_ns: u64) -> u32 {
    (now_ns / SLOT_NS) as u32
}

impl State {
    fn packed(self) -> u64 {
        u64::from(self.slot) << 32
            | u64::from(self.taken & 0xFF_FFFF) << 8
            | u64::from(self.doublings)
    }

    const fn unpacked(packed: u64) -> Self {
        Self {
            slot: (packed >> 32) as u32,
            taken: (packed >> 8) as u32 & 0xFF_FFFF,
            doublings: packed as u32 & 0xFF,
        }
    }

    /// As it is in `slot`, if that is a later one: each that stayed below half of the budget has halved the period.
    fn at(self, slot: u32) -> Self {
        if slot <= self.slot {
            return self;
        }
        let empty = slot - self.slot - 1;
        let quiet = empty.saturating_add(u32::from(self.taken <= BUDGET / 2));
        Self {
            slot,
            taken: 0,
            doublings: self.doublings.saturating_sub(quiet),
        }
    }

    fn with_one_more(self) -> Self {
        let taken = (self.taken + 1).min(0xFF_FFFF);
        let is_spent = taken.is_multiple_of(BUDGET);
        Self {
            taken,
            doublings: (self.doublings + u32::from(is_spent)).min(MOST),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::weight::Weight;
    use crate::events::chance::{self, Chance};

    const LEAST: u64 = 1_000_000;

    /// Waits of `each_ns`, one ended every `every_ns`, for that long: what their samples stand for, and how many there
    /// are in each slot.
    fn run(thinning: &Thinning, every_ns: u64, each_ns: u64, length_ns: u64) -> (Weight, Vec<u32>) {
        let mut chance = Chance::new(every_ns ^ each_ns);
        let mut sum = Weight::default();
        let mut slots = vec![0; (length_ns / SLOT_NS) as usize + 1];
        for now in (0..length_ns).step_by(every_ns as usize) {
            let period = thinning.period_ns(now);
            if let Some(weight) = chance::weight(each_ns, period, || chance.draw()) {
                thinning.took(now);
                sum += weight;
                slots[(now / SLOT_NS) as usize] += 1;
            }
        }
        (sum, slots)
    }

    #[test]
    fn however_many_wait_for_a_lock_some_thousand_are_sampled_a_second_and_sums_stay_right() {
        const SECONDS: u64 = 20;
        for (every_ns, each_ns) in [
            (5_000, 2_500_000),
            (20_000, 500_000_000),
            (2_000, 3_000_000),
        ] {
            let thinning = Thinning::new(LEAST);
            let (sum, slots) = run(&thinning, every_ns, each_ns, SECONDS * 1_000_000_000);
            let waits = (SECONDS * 1_000_000_000 / every_ns) as f64;
            let samples: u32 = slots.iter().sum();
            assert!(samples < 60 * BUDGET * SECONDS as u32, "{samples}");
            // The first slot finds the period as it was asked for.
            let most = slots[1..].iter().max();
            assert!(most < Some(&(5 * BUDGET)), "{most:?}");
            // Some 10,000 samples.
            let error = sum.amount / (waits * each_ns as f64) - 1.0;
            assert!(error.abs() < 0.06, "time {error}");
            let error = sum.count / waits - 1.0;
            assert!(error.abs() < 0.06, "waits {error}");
        }
    }

    #[test]
    fn few_samples_are_drawn_by_the_period_that_was_asked_for() {
        let thinning = Thinning::new(LEAST);
        // 20 a slot.
        let (sum, _) = run(&thinning, 2_500_000, 40_000_000, 5_000_000_000);
        assert_eq!((sum.count, sum.amount), (2_000.0, 2_000.0 * 40e6));
        assert_eq!(thinning.period_ns(5_000_000_000), LEAST);
    }

    #[test]
    fn the_period_doubles_with_each_budget_and_comes_back_with_each_quiet_slot() {
        let thinning = Thinning::new(LEAST);
        for spent in 0..=MOST + 2 {
            let period = thinning.period_ns(0);
            assert_eq!(period, LEAST << spent.min(MOST));
            assert_eq!(thinning.is_thinned(period), spent > 0);
            for _ in 0..BUDGET {
                thinning.took(0);
            }
        }
        // The slot itself was not quiet; those behind it are empty.
        for later in 1..30 {
            let doublings = (MOST + 1).saturating_sub(later).min(MOST);
            assert_eq!(
                thinning.period_ns(u64::from(later) * SLOT_NS),
                LEAST << doublings
            );
        }
        assert_eq!(thinning.period_ns(u64::MAX), LEAST);
    }
}
