//! Hand-over from any number of handlers to one drain thread: a ring of words, records of any length.
//!
//! Not a queue of fixed slots: a stack is 3 to 1,000 frames, and slots for the longest would make the ring
//! either huge or short. Not per-thread rings: five thousand idle threads would each own one.
//!
//! # Synchronization
//! - `head`: a producer reserves `n` words by CAS (Relaxed: the reservation publishes nothing).
//! - A record's first word, its header, is stored last (Release); the consumer loads it (Acquire) and then
//!   sees the rest. Zero means "not yet committed", so the consumer waits there: order is kept, and a
//!   handler preempted in between only delays what lies behind it.
//! - `tail`: the consumer zeroes what it has read, then advances (Release); a producer loads it (Acquire)
//!   before it reserves, so a word it gets is zero and free. Anything that reads `tail` late sees less
//!   room than there is, never more.
//!
//! The reservation gives up after [`ATTEMPTS`] lost races, so a handler's time is bounded.

use crate::primitive::{AtomicU64, Ordering};

/// How often a producer tries for the head.
pub const ATTEMPTS: usize = 64;

/// Why a record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PushError {
    /// The drain is behind.
    Full,
    /// Other producers kept winning.
    Contended,
}

/// The ring over words that all start as zero.
pub struct Ring<'a> {
    words: &'a [AtomicU64],
    mask: u64,
    head: AtomicU64,
    tail: AtomicU64,
}

impl<'a> Ring<'a> {
    /// A ring over `words`. `None` unless their number is a power of two.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        words.len().is_power_of_two().then(|| Self {
            words,
            mask: words.len() as u64 - 1,
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
        })
    }

    /// Reserves room for a record of `len` words beside its header, lets `fill` write them, commits.
    /// Async-signal-safe, from any thread. `fill` gets a writer that ignores words beyond `len`.
    ///
    /// # Errors
    /// See [`PushError`]; nothing was written then.
    pub fn push(
        &self,
        len: usize,
        fill: impl FnOnce(&mut Writer<'_, 'a>),
    ) -> Result<(), PushError> {
        let total = len as u64 + 1;
        let start = self.reserve(total)?;
        let mut writer = Writer {
            ring: self,
            at: start + 1,
            end: start + total,
        };
        fill(&mut writer);
        if let Some(header) = self.word(start) {
            header.store(total, Ordering::Release);
        }
        Ok(())
    }

    fn reserve(&self, total: u64) -> Result<u64, PushError> {
        let mut head = self.head.load(Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let tail = self.tail.load(Ordering::Acquire);
            // A stale head may lie behind a fresh tail; the exchange below then fails.
            if head.wrapping_sub(tail).wrapping_add(total) > self.words.len() as u64 && head >= tail
            {
                return Err(PushError::Full);
            }
            match self.head.compare_exchange(
                head,
                head.wrapping_add(total),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(start) => return Ok(start),
                Err(now) => head = now,
            }
        }
        Err(PushError::Contended)
    }

    fn word(&self, position: u64) -> Option<&'a AtomicU64> {
        self.words.get((position & self.mask) as usize)
    }

    /// Hands each word of the oldest committed record, without its header, to `each` and frees it; `false`
    /// when there is none. One consumer only: the drain thread.
    pub fn pop(&self, mut each: impl FnMut(u64)) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        let Some(header) = self.word(tail) else {
            return false;
        };
        let total = header.load(Ordering::Acquire);
        if total == 0 {
            return false;
        }
        for position in tail + 1..tail + total {
            if let Some(word) = self.word(position) {
                each(word.load(Ordering::Relaxed));
                word.store(0, Ordering::Relaxed);
            }
        }
        header.store(0, Ordering::Relaxed);
        self.tail.store(tail + total, Ordering::Release);
        true
    }

    /// Words in use, headers included.
    #[must_use]
    pub fn used(&self) -> u64 {
        let tail = self.tail.load(Ordering::Relaxed);
        self.head.load(Ordering::Relaxed).saturating_sub(tail)
    }
}

/// Writes the words of one reserved record.
pub struct Writer<'r, 'a> {
    ring: &'r Ring<'a>,
    at: u64,
    end: u64,
}

impl Writer<'_, '_> {
    /// Appends a word; what does not fit is left out.
    pub fn word(&mut self, value: u64) {
        if self.at < self.end
            && let Some(word) = self.ring.word(self.at)
        {
            word.store(value, Ordering::Relaxed);
            self.at += 1;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn words(n: usize) -> &'static [AtomicU64] {
        Box::leak((0..n).map(|_| AtomicU64::new(0)).collect())
    }

    fn pop(ring: &Ring<'_>) -> Option<Vec<u64>> {
        let mut record = Vec::new();
        ring.pop(|word| record.push(word)).then_some(record)
    }

    fn push(ring: &Ring<'_>, record: &[u64]) -> Result<(), PushError> {
        ring.push(record.len(), |w| record.iter().for_each(|x| w.word(*x)))
    }

    #[test]
    fn records_come_out_as_they_went_in_over_many_wraps() {
        let ring = Ring::new(words(16)).unwrap();
        for n in 0..1000_u64 {
            let record: Vec<u64> = (0..n % 15).map(|i| n * 100 + i).collect();
            push(&ring, &record).unwrap();
            assert_eq!(pop(&ring), Some(record));
        }
        assert_eq!(pop(&ring), None);
        assert_eq!(ring.used(), 0);
    }

    #[test]
    fn a_full_ring_refuses_the_newest_and_keeps_the_rest() {
        let ring = Ring::new(words(8)).unwrap();
        assert_eq!(push(&ring, &[1, 2, 3]), Ok(()));
        assert_eq!(push(&ring, &[4, 5, 6]), Ok(()));
        assert_eq!(push(&ring, &[]), Err(PushError::Full));
        assert_eq!(pop(&ring), Some(vec![1, 2, 3]));
        assert_eq!(push(&ring, &[7, 8]), Ok(()));
        assert_eq!(pop(&ring), Some(vec![4, 5, 6]));
        assert_eq!(pop(&ring), Some(vec![7, 8]));
    }

    #[test]
    fn a_record_longer_than_the_ring_is_refused() {
        let ring = Ring::new(words(8)).unwrap();
        assert_eq!(push(&ring, &[0; 8]), Err(PushError::Full));
        assert_eq!(pop(&ring), None);
    }

    #[test]
    fn words_beyond_the_reservation_are_left_out_and_missing_ones_are_zero() {
        let ring = Ring::new(words(8)).unwrap();
        ring.push(2, |w| (1..10).for_each(|x| w.word(x))).unwrap();
        ring.push(2, |w| w.word(5)).unwrap();
        assert_eq!(pop(&ring), Some(vec![1, 2]));
        assert_eq!(pop(&ring), Some(vec![5, 0]));
    }

    #[test]
    fn four_producers_lose_nothing_that_was_taken() {
        let ring = Arc::new(Ring::new(words(1024)).unwrap());
        let producers: Vec<_> = (0..4_u64)
            .map(|who| {
                let ring = Arc::clone(&ring);
                std::thread::spawn(move || {
                    let mut taken = 0;
                    for n in 0..20_000_u64 {
                        let record: Vec<u64> = vec![who << 32 | n; (n % 7) as usize + 1];
                        taken += u64::from(push(&ring, &record).is_ok());
                    }
                    taken
                })
            })
            .collect();
        let mut seen = [0_u64; 4];
        let mut last = [None; 4];
        let mut check = |record: Vec<u64>| {
            assert!(record.iter().all(|x| *x == record[0]), "torn: {record:?}");
            let (who, n) = ((record[0] >> 32) as usize, record[0] & 0xFFFF_FFFF);
            assert_eq!(record.len() as u64, n % 7 + 1);
            assert!(last[who] < Some(n), "order within a producer");
            last[who] = Some(n);
            seen[who] += 1;
        };
        while producers.iter().any(|p| !p.is_finished()) {
            if let Some(record) = pop(&ring) {
                check(record);
            }
        }
        while let Some(record) = pop(&ring) {
            check(record);
        }
        for (who, producer) in producers.into_iter().enumerate() {
            assert_eq!(producer.join().unwrap(), seen[who]);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::{sync::Arc, thread};

    /// Two producers and a consumer over a ring that wraps: what was accepted arrives whole and once.
    #[test]
    fn loom_what_is_accepted_arrives_whole_and_once() {
        loom::model(|| {
            let words: &'static [AtomicU64] =
                Box::leak((0..4).map(|_| AtomicU64::new(0)).collect());
            let ring = Arc::new(Ring::new(words).unwrap());
            let producer = |value: u64| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || ring.push(1, |w| w.word(value)).is_ok())
            };
            let (first, second) = (producer(7), producer(9));
            let mut got = Vec::new();
            for _ in 0..2 {
                ring.pop(|word| got.push(word));
            }
            let accepted = usize::from(first.join().unwrap()) + usize::from(second.join().unwrap());
            while ring.pop(|word| got.push(word)) {}
            assert_eq!(got.len(), accepted);
            assert!(
                got.iter().all(|value| *value == 7 || *value == 9),
                "{got:?}"
            );
            got.dedup();
            assert_eq!(got.len(), accepted);
        });
    }

    /// The consumer frees words that a producer takes again at once.
    #[test]
    fn loom_a_reused_word_never_shows_its_former_content() {
        loom::model(|| {
            let words: &'static [AtomicU64] =
                Box::leak((0..2).map(|_| AtomicU64::new(0)).collect());
            let ring = Arc::new(Ring::new(words).unwrap());
            assert!(ring.push(1, |w| w.word(7)).is_ok());
            let producer = {
                let ring = Arc::clone(&ring);
                thread::spawn(move || ring.push(1, |w| w.word(9)).is_ok())
            };
            let mut got = Vec::new();
            ring.pop(|word| got.push(word));
            let accepted = producer.join().unwrap();
            while ring.pop(|word| got.push(word)) {}
            assert_eq!(got, if accepted { vec![7, 9] } else { vec![7] });
        });
    }
}
