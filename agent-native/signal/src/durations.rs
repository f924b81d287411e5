//! How long something took, as counts by size: sixteen steps to each power of two, so a quantile is known to a
//! sixteenth of itself, whatever the load did to the few longest.

use core::sync::atomic::{AtomicU64, Ordering};

/// Steps of a power of two, as a power of two.
const STEPS: u32 = 4;
/// Everything below 2^this ns is one step.
const LEAST: u32 = 8;
/// Up to 2^28 ns, a quarter of a second; what is longer counts there.
pub const BUCKETS: usize = 1 + ((28 - LEAST) << STEPS) as usize;

/// Counts by duration. Relaxed: each is a sum of its own, nothing is published through it.
pub struct Durations {
    buckets: [AtomicU64; BUCKETS],
}

/// What [`Durations`] had counted at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts(pub [u64; BUCKETS]);

impl Durations {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    /// Counts one of so many ns. Async-signal-safe, from any thread.
    pub fn add(&self, ns: u64) {
        if let Some(bucket) = self.buckets.get(bucket_of(ns)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = [0; BUCKETS];
        for (count, bucket) in counts.iter_mut().zip(&self.buckets) {
            *count = bucket.load(Ordering::Relaxed);
        }
        Counts(counts)
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self::new()
    }
}

impl Counts {
    /// Nothing counted.
    pub const NONE: Self = Self([0; BUCKETS]);

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.0;
        for (count, before) in counts.iter_mut().zip(&earlier.0) {
            *count = count.saturating_sub(*before);
        }
        Self(counts)
    }

    /// ns that `per_mille` of the durations do not exceed, a sixteenth too much at most; `None` of nothing.
    #[must_use]
    pub fn quantile_ns(&self, per_mille: u64) -> Option<u64> {
        let total: u64 = self.0.iter().sum();
        let wanted = total.saturating_mul(per_mille).div_ceil(1_000).max(1);
        let mut seen: u64 = 0;
        for (bucket, count) in self.0.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if seen >= wanted {
                return Some(end_of(bucket));
            }
        }
        None
    }
}

fn bucket_of(ns: u64) -> usize {
    let Some(octave) = ns.max(1).ilog2().checked_sub(LEAST) else {
        return 0;
    };
    let within = (ns >> (octave + LEAST - STEPS)) as usize & ((1 << STEPS) - 1);
    (1 + ((octave as usize) << STEPS) + within).min(BUCKETS - 1)
}

/// The first ns that a bucket does not hold.
fn end_of(bucket: usize) -> u64 {
    let (octave, within) = (bucket >> STEPS, bucket & ((1 << STEPS) - 1));
    let steps = (1 << STEPS) + within as u64;
    steps << (octave as u32 + LEAST - STEPS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_below_the_end_of_its_bucket_and_not_below_the_one_before() {
        for ns in (0..4_096).chain((12..28).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + 1])) {
            let bucket = bucket_of(ns);
            assert!(ns < end_of(bucket), "{ns}");
            assert!(bucket == 0 || ns >= end_of(bucket - 1), "{ns}");
            assert!(
                bucket == 0 || end_of(bucket) <= ns.max(256) * 17 / 16 + 1,
                "{ns}"
            );
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_median_is_not_moved_by_a_few_that_took_for_ever() {
        let durations = Durations::new();
        let earlier = durations.counts();
        for _ in 0..99 {
            durations.add(3_000);
        }
        durations.add(u64::MAX);
        let counts = durations.counts().since(&earlier);
        assert_eq!(counts.quantile_ns(500), Some(3_072));
        assert_eq!(counts.quantile_ns(990), Some(3_072));
        assert_eq!(counts.quantile_ns(1_000), Some(1 << 28));
        assert_eq!(earlier.quantile_ns(500), None);
    }
}
