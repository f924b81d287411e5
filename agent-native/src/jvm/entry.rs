//! Where a `JavaThread` keeps the entry of its innermost continuation, on JVMs that do not publish it (before
//! JDK 24).
//!
//! In a mount callback the thread stands inside a virtual thread's continuation, so one word of its `JavaThread`
//! is the address of the `ContinuationEntry` on its own stack. Others may look like it once, by chance; what
//! [`LOOKS`] threads have in common is taken, if it is one place alone. Until then frozen frames are not read,
//! and after it the self-test has still to confirm whole walks.
//!
//! In mount callbacks only: memory is read through the kernel, since most words of a `JavaThread` are no
//! addresses at all, and some are those of guard pages.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use vtprof_signal::layout::{Entry, InThread};
use vtprof_signal::truncation::Truncation;

/// Looks that must have one place in common.
pub const LOOKS: u32 = 12;
/// 64-bit words of a set.
const WORDS: usize = 64;
/// Bytes of a `JavaThread` that are looked at, at most; it has about 2,000.
const MOST: u32 = (WORDS * 64 * 8) as u32;

/// Offsets of 8-byte words in a `JavaThread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets([u64; WORDS]);

impl Offsets {
    const NONE: Self = Self([0; WORDS]);

    fn insert(&mut self, offset: u32) {
        let word = offset as usize / 8;
        if let Some(bits) = self.0.get_mut(word / 64) {
            *bits |= 1 << (word % 64);
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// The only one; `None` for none and for several.
    fn only(&self) -> Option<u32> {
        let mut set = self.0.iter().zip(0_u32..).filter(|(bits, _)| **bits != 0);
        let (bits, at) = set.next()?;
        (set.next().is_none() && bits.is_power_of_two())
            .then(|| 8 * (64 * at + bits.trailing_zeros()))
    }
}

/// How far the search has come. One thread at a time is in it ([`super::selftest`]), so all is Relaxed.
#[derive(Debug)]
pub struct Search {
    left: [AtomicU64; WORDS],
    looks: AtomicU32,
}

impl Search {
    /// Not begun: it may be anywhere.
    pub const fn new() -> Self {
        Self {
            left: [const { AtomicU64::new(u64::MAX) }; WORDS],
            looks: AtomicU32::new(0),
        }
    }

    /// Takes in one look; the offset, once it is certain. Looks that have nothing in common begin the search
    /// anew: one of them has met what it should not have.
    pub fn take(&self, found: &Offsets) -> Option<u32> {
        let mut common = Offsets::NONE;
        for ((left, found), common) in self.left.iter().zip(found.0).zip(&mut common.0) {
            *common = left.fetch_and(found, Ordering::Relaxed) & found;
        }
        if common.is_empty() {
            for left in &self.left {
                left.store(u64::MAX, Ordering::Relaxed);
            }
            self.looks.store(0, Ordering::Relaxed);
            return None;
        }
        let looks = self.looks.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        common.only().filter(|_| looks >= LOOKS)
    }
}

/// Where the calling thread's entry may be in `java_thread`: words that point up its own stack from `here`, to
/// something whose continuation's place `is_entry` (given the offset) confirms. `read` gives 8 bytes that may
/// not be there. An error where one of them could not be judged this time.
pub fn candidates(
    entry: Entry,
    java_thread: u64,
    here: u64,
    read: impl Fn(u64) -> Option<u64>,
    mut is_entry: impl FnMut(u32) -> Result<bool, Truncation>,
) -> Result<Offsets, Truncation> {
    let InThread::Sought {
        thread_size,
        stack_base,
    } = entry.in_thread
    else {
        return Err(Truncation::Unsupported);
    };
    let base = read(java_thread.wrapping_add(stack_base)).ok_or(Truncation::Faulted)?;
    let mut found = Offsets::NONE;
    for offset in (8..thread_size.min(MOST)).step_by(8) {
        let is_plausible = read(java_thread.wrapping_add(u64::from(offset)))
            .filter(|value| value.is_multiple_of(8) && (here..base).contains(value))
            .and_then(|value| read(value.wrapping_add(entry.continuation)))
            .and_then(&read)
            .is_some();
        if is_plausible && is_entry(offset)? {
            found.insert(offset);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn offsets(of: &[u32]) -> Offsets {
        let mut set = Offsets::NONE;
        for offset in of {
            set.insert(*offset);
        }
        set
    }

    #[test]
    fn what_all_looks_have_in_common_is_taken_when_there_were_enough() {
        let search = Search::new();
        for look in 1..LOOKS {
            let by_chance = 8 * look;
            assert_eq!(search.take(&offsets(&[by_chance, 1_328])), None);
        }
        assert_eq!(search.take(&offsets(&[1_328])), Some(1_328));
    }

    #[test]
    fn while_two_places_are_left_neither_is_taken() {
        let search = Search::new();
        for _ in 0..10 * LOOKS {
            assert_eq!(search.take(&offsets(&[1_320, 1_328])), None);
        }
        // In different words of the set as well.
        for _ in 0..10 * LOOKS {
            assert_eq!(Search::new().take(&offsets(&[8, 1_328])), None);
        }
        assert_eq!(search.take(&offsets(&[1_328])), Some(1_328));
    }

    #[test]
    fn looks_that_contradict_each_other_begin_the_search_anew() {
        let search = Search::new();
        for _ in 1..LOOKS {
            assert_eq!(search.take(&offsets(&[64])), None);
        }
        assert_eq!(search.take(&offsets(&[1_328])), None, "nothing in common");
        for _ in 1..LOOKS {
            assert_eq!(search.take(&offsets(&[1_328])), None);
        }
        assert_eq!(search.take(&offsets(&[1_328])), Some(1_328));
    }

    const ENTRY: Entry = Entry {
        in_thread: InThread::Sought {
            thread_size: 256,
            stack_base: 8,
        },
        parent: 8,
        continuation: 16,
    };
    const THREAD: u64 = 0x10_0000;
    const HERE: u64 = 0x20_0000;
    const BASE: u64 = 0x21_0000;
    const HEAP: u64 = 0x30_0000;

    /// Candidates in a thread of these words, and the offsets that were asked about.
    fn look(words: &[(u64, u64)]) -> (Result<Offsets, Truncation>, Vec<u32>) {
        let mut memory: HashMap<u64, u64> = (0..256)
            .step_by(8)
            .map(|offset| (THREAD + offset, 0))
            .collect();
        memory.insert(THREAD + 8, BASE);
        memory.insert(HEAP, 1);
        // Two places on the stack that refer to an object, one that does not.
        memory.insert(HERE + 0x100 + 16, HEAP);
        memory.insert(HERE + 0x200 + 16, HEAP);
        memory.insert(HERE + 0x300 + 16, 7);
        for (offset, value) in words {
            memory.insert(THREAD + offset, *value);
        }
        let mut asked = Vec::new();
        let found = candidates(
            ENTRY,
            THREAD,
            HERE,
            |address| memory.get(&address).copied(),
            |offset| {
                asked.push(offset);
                // Only what lies at 0x100 is of the right class.
                match memory.get(&(THREAD + u64::from(offset))) {
                    Some(value) if *value == HERE + 0x100 => Ok(true),
                    Some(_) => Ok(false),
                    None => Err(Truncation::Collecting),
                }
            },
        );
        (found, asked)
    }

    #[test]
    fn only_what_points_up_the_own_stack_to_a_reference_is_asked_about() {
        let (found, asked) = look(&[
            (16, HERE + 0x200),
            (24, HERE + 0x100),
            (32, HERE - 0x100),
            (40, BASE),
            (48, HERE + 0x300),
            (56, HERE + 0x104),
            (64, HERE + 0x400),
            (72, HEAP),
        ]);
        assert_eq!(asked, [16, 24]);
        assert_eq!(found, Ok(offsets(&[24])));
    }

    #[test]
    fn a_look_in_which_one_place_could_not_be_judged_says_nothing() {
        let read = |address: u64| {
            Some(match address {
                a if a == THREAD + 8 => BASE,
                a if a == THREAD + 24 => HERE + 0x100,
                a if a == HERE + 0x110 => HEAP,
                _ => 0,
            })
        };
        let judge = |_| Err(Truncation::Collecting);
        let found = candidates(ENTRY, THREAD, HERE, read, judge);
        assert_eq!(found, Err(Truncation::Collecting));
        let published = Entry {
            in_thread: InThread::Published(1_560),
            parent: 8,
            continuation: 16,
        };
        let found = candidates(published, THREAD, HERE, read, |_| Ok(true));
        assert_eq!(found, Err(Truncation::Unsupported));
    }
}
