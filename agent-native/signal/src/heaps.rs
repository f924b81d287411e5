//! The bounds of the code heaps: what is code of the JVM's own making.

use crate::layout::{CODE_HEAPS, Layout};
use crate::load::Loads;

/// Bounds of each heap; an empty range where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Heaps([(u64, u64); CODE_HEAPS]);

impl Heaps {
    /// As they are now: they grow.
    #[must_use]
    pub fn of(loads: Loads, layout: &Layout) -> Self {
        let (low, high) = layout.code_bounds;
        Self(layout.code_heaps.map(|heap| {
            if heap == 0 {
                (0, 0)
            } else {
                (
                    loads.at(heap.wrapping_add(low)),
                    loads.at(heap.wrapping_add(high)),
                )
            }
        }))
    }

    /// Whether `address` lies in one.
    #[must_use]
    pub fn contain(&self, address: u64) -> bool {
        self.0
            .iter()
            .any(|(low, high)| (*low..*high).contains(&address))
    }
}
