//! From the engine's thread to the drain: visits of threads that stand where their last sample found them.

use parking_lot::Mutex;
use vtprof_signal::cookie::Cookie;
use vtprof_signal::tag::Tag;

/// Repeats between two drains, at the most: a drain that is busy with a file for two seconds finds 13,000.
const BOUND: usize = 1 << 15;

/// A thread stood at `at_ns` where it stood when its sample was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// The thread.
    pub place: Cookie,
    /// When that sample was taken, ns: its name.
    pub sample_ns: u64,
    /// Now, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What this stands for, µs.
    pub micros: u32,
    /// The tag that its thread has now.
    pub tag: Tag,
}

/// See the module.
#[derive(Default)]
pub struct Repeats(Mutex<Vec<Repeat>>);

impl Repeats {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one; `false` where there is no room.
    pub fn push(&self, repeat: Repeat) -> bool {
        let mut repeats = self.0.lock();
        let has_room = repeats.len() < BOUND;
        if has_room {
            repeats.push(repeat);
        }
        has_room
    }

    /// Takes them all, oldest first, into `into`.
    pub fn take(&self, into: &mut impl Extend<Repeat>) {
        into.extend(self.0.lock().drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_signal::cookie::{BlockIndex, Generation};

    #[test]
    fn repeats_come_out_as_they_went_in_and_those_without_room_are_told() {
        let repeats = Repeats::new();
        let repeat = |at_ns| Repeat {
            place: Cookie {
                block: BlockIndex(1),
                generation: Generation(2),
            },
            sample_ns: 3,
            at_ns,
            micros: 4,
            tag: Tag::EMPTY,
        };
        assert!((0..BOUND as u64).all(|at| repeats.push(repeat(at))));
        assert!(!repeats.push(repeat(0)));
        let mut taken = Vec::new();
        repeats.take(&mut taken);
        assert_eq!(taken.len(), BOUND);
        assert!((0..).zip(&taken).all(|(at, found)| *found == repeat(at)));
        repeats.take(&mut taken);
        assert_eq!(taken.len(), BOUND);
    }
}
