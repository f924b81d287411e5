//! Where the record of the thread lies that has attached a span last, so that whoever ends the span can withdraw it: a
//! place for each of so many digests of span ids, overwritten by the next span that falls on it. What is not found here,
//! because of that or because several threads had the span, is left to the drain.

use std::sync::atomic::{AtomicU32, Ordering};

/// Places, as a power of two: 256 KiB.
const BITS: u32 = 16;
/// 2^64 divided by the golden ratio: spreads ids that were not drawn at random.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// See the module. From any thread.
pub struct Attachers {
    /// Slot of the context table, counted from 1; 0 for none. Relaxed: a hint, which is held against the record's own
    /// span by whoever follows it.
    slots: Box<[AtomicU32]>,
}

impl Attachers {
    /// Of no span yet; for none at all where nothing is published.
    pub fn new(publishes: bool) -> Self {
        let places = if publishes { 1 << BITS } else { 0 };
        Self {
            slots: (0..places).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The thread of that slot has attached `span`.
    pub fn note(&self, span: u64, slot: usize) {
        if let (Some(place), Ok(slot)) = (self.place(span), u32::try_from(slot)) {
            let next = slot.wrapping_add(1);
            // Mostly it is so already: a line that others read is not written for nothing.
            if place.load(Ordering::Relaxed) != next {
                place.store(next, Ordering::Relaxed);
            }
        }
    }

    /// The slot whose thread may have `span`.
    pub fn find(&self, span: u64) -> Option<usize> {
        let slot = self.place(span)?.load(Ordering::Relaxed).checked_sub(1)?;
        usize::try_from(slot).ok()
    }

    fn place(&self, span: u64) -> Option<&AtomicU32> {
        let place = span.wrapping_mul(SPREAD) >> (u64::BITS - BITS);
        self.slots.get(usize::try_from(place).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thread_that_attached_a_span_is_found_and_of_another_span_none() {
        let attachers = Attachers::new(true);
        assert_eq!(attachers.find(7), None);
        attachers.note(7, 0);
        attachers.note(8, 41);
        attachers.note(7, 40);
        assert_eq!((attachers.find(7), attachers.find(8)), (Some(40), Some(41)));
        assert_eq!(attachers.find(9), None);
    }

    #[test]
    fn where_nothing_is_published_nothing_is_noted() {
        let attachers = Attachers::new(false);
        attachers.note(7, 0);
        assert_eq!(attachers.find(7), None);
    }
}
