//! How a sample lies in the ring, and how it is read back.
//!
//! | word | content |
//! |---|---|
//! | 0 | time, ns of CLOCK_MONOTONIC |
//! | 1 | block index (low 32) and generation (high 32) |
//! | 2 | periods it stands for (low 32) and flags (high 32) |
//! | 3 | walk failure: code in the low 32 bits, where the flag says so; truncation (high 32), 0 for none |
//! | 4–7 | tag: trace hi, trace lo, span, root; zeros for none |
//! | 8… | frames, leaf first: bci, method; of a failed walk none, or the number of a wait |

use crate::cookie::{BlockIndex, Cookie, Generation};
use crate::ring::Writer;
use crate::tag::Tag;
use crate::truncation::Truncation;
use crate::walk::{CallFrame, Failure};

/// Words before the first frame.
pub const HEAD_WORDS: usize = 8;

/// What else is known of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(pub u32);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// The thread is not Java's: no frames, no tag.
    pub const NATIVE: Self = Self(1);
    /// The walk failed: no frames.
    pub const FAILED: Self = Self(2);
    /// The stack was cut at the greatest depth.
    pub const CUT: Self = Self(4);
    /// Taken at a visit of the wall engine, and not for CPU time. `periods` are then the µs that it stands for.
    pub const WALL: Self = Self(1 << 4);
    /// The thread waited, in a system call. Only with `WALL`, as what follows.
    pub const WAITING: Self = Self(1 << 5);
    /// It waited to enter a monitor, or this JVM does not tell whether it did.
    pub const ENTERING: Self = Self(1 << 6);
    /// It left an imprint: the sample may be repeated.
    pub const STANDS: Self = Self(1 << 7);
    /// It was on no CPU when it was visited. Without `WAITING` it had nothing to wait for any more but a CPU, or was in
    /// a wait that no signal ends, of a disk for one.
    pub const OFF_CPU: Self = Self(1 << 8);
    /// What runs there is being mounted or unmounted, and is noted as away: its mounts tell how long it is blocked.
    pub const AWAY: Self = Self(1 << 9);

    /// Whether any bit of `other` is set here.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// All of a sample but its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// ns of CLOCK_MONOTONIC at the signal.
    pub time_ns: u64,
    /// The thread.
    pub block: BlockIndex,
    /// The thread's life of the block.
    pub generation: Generation,
    /// Timer periods it stands for: overruns + 1. With [`Flags::WALL`] µs.
    pub periods: u32,
    /// See [`Flags`].
    pub flags: Flags,
    /// Why there are no frames, where [`Flags::FAILED`].
    pub failure: Failure,
    /// Why a virtual thread's older frames are missing.
    pub truncation: Option<Truncation>,
    /// The tag, or [`Tag::EMPTY`].
    pub tag: Tag,
}

impl Head {
    /// Of a thread of which nothing else is known yet.
    #[must_use]
    pub const fn new(time_ns: u64, cookie: Cookie, periods: u32) -> Self {
        Self {
            time_ns,
            block: cookie.block,
            generation: cookie.generation,
            periods,
            flags: Flags::NONE,
            failure: Failure(0),
            truncation: None,
            tag: Tag::EMPTY,
        }
    }
}

/// Words of a sample of `frames` frames.
#[must_use]
pub const fn words(frames: usize) -> usize {
    HEAD_WORDS + 2 * frames
}

/// Writes a sample. Async-signal-safe.
pub fn write(writer: &mut Writer<'_, '_>, head: &Head, frames: &[CallFrame]) {
    writer.word(head.time_ns);
    writer.word(u64::from(head.generation.0) << 32 | u64::from(head.block.0));
    writer.word(u64::from(head.flags.0) << 32 | u64::from(head.periods));
    let truncation = head.truncation.map_or(0, |reason| reason as u64);
    writer.word(truncation << 32 | u64::from(head.failure.0.cast_unsigned()));
    writer.word(head.tag.trace_hi);
    writer.word(head.tag.trace_lo);
    writer.word(head.tag.span);
    writer.word(head.tag.root);
    for frame in frames {
        writer.word(u64::from(frame.bci.cast_unsigned()));
        writer.word(frame.method);
    }
}

/// Reads a sample: its head, and an iterator over its frames. `None` when the record is too short.
#[must_use]
pub fn read(record: &[u64]) -> Option<(Head, impl Iterator<Item = CallFrame> + '_)> {
    let (head, rest) = record.split_first_chunk::<HEAD_WORDS>()?;
    let [
        time_ns,
        place,
        weight,
        failure,
        trace_hi,
        trace_lo,
        span,
        root,
    ] = *head;
    let head = Head {
        time_ns,
        block: BlockIndex(place as u32),
        generation: Generation((place >> 32) as u32),
        periods: weight as u32,
        flags: Flags((weight >> 32) as u32),
        failure: Failure((failure as u32).cast_signed()),
        truncation: Truncation::from_number((failure >> 32) as u32),
        tag: Tag {
            trace_hi,
            trace_lo,
            span,
            root,
        },
    };
    let frames = rest
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[bci, method]| CallFrame {
            bci: (*bci as u32).cast_signed(),
            method: *method,
        });
    Some((head, frames))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::primitive::AtomicU64;
    use crate::ring::Ring;

    #[test]
    fn a_sample_comes_back_from_the_ring_as_it_went_in() {
        let words_: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        let ring = Ring::new(&words_).unwrap();
        let head = Head {
            time_ns: u64::MAX - 1,
            block: BlockIndex(65_535),
            generation: Generation(0x00FF_FFFF),
            periods: u32::MAX,
            flags: Flags::CUT,
            failure: Failure(-9),
            truncation: Some(Truncation::RootNotReached),
            tag: Tag {
                trace_hi: 1,
                trace_lo: 2,
                span: 3,
                root: u64::MAX,
            },
        };
        let frames = [
            CallFrame {
                bci: -3,
                method: 0xFFFF_8000_0000_0001,
            },
            CallFrame {
                bci: 70_000,
                method: 2,
            },
        ];
        ring.push(words(2), |w| write(w, &head, &frames)).unwrap();
        let mut record = Vec::new();
        assert!(ring.pop(|word| record.push(word)));
        let (read_head, read_frames) = read(&record).unwrap();
        assert_eq!(read_head, head);
        assert_eq!(read_frames.collect::<Vec<_>>(), frames);
        assert!(read(&record[..7]).is_none());
    }
}
