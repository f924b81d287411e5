//! The value a timer carries into the handler: which block, and which life of it.
//!
//! Not a pointer: a signal may still be pending when its timer is deleted and its block given to another
//! thread, and other programs' timers carry values of their own. So the 64 bits are an index, the block's
//! generation and a mark; nothing is dereferenced before all of them fit.

/// Marks a `sigval` as ours. The top 16 bits of a user-space pointer are zero on x86-64 and AArch64
/// Linux (47 and 48 bits of address), so no pointer carries it.
const MARK: u64 = 0x7674; // "vt"

/// Index of a thread block, below [`crate::blocks::CAPACITY`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct BlockIndex(pub u32);

/// Which life of a block: goes up by one each time the block is given to a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Generation(pub u32);

impl Generation {
    /// As many bits of a generation as a cookie holds.
    pub const MASK: u32 = 0x00FF_FFFF;
}

/// Which periods a timer has: goes up by one each time that they change, and around. A signal may still be pending when
/// they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Era(pub u8);

impl Era {
    /// That of a timer's value.
    #[must_use]
    pub const fn of_bits(bits: u64) -> Self {
        Self((bits >> 16) as u8)
    }

    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A block and its life, packed for `sigev_value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cookie {
    /// The block.
    pub block: BlockIndex,
    /// Its life, modulo 2²⁴.
    pub generation: Generation,
}

impl Cookie {
    /// mark (16) | generation (24) | era (8) | index (16).
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        MARK << 48
            | ((self.generation.0 & Generation::MASK) as u64) << 24
            | (self.block.0 & 0xFFFF) as u64
    }

    /// As [`Cookie::to_bits`], of a timer with the periods of that era.
    #[must_use]
    pub const fn to_bits_in(self, era: Era) -> u64 {
        self.to_bits() | (era.0 as u64) << 16
    }

    /// `None` when the mark is missing: the value is somebody else's.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        if bits >> 48 != MARK {
            return None;
        }
        Some(Self {
            block: BlockIndex((bits & 0xFFFF) as u32),
            generation: Generation((bits >> 24) as u32 & Generation::MASK),
        })
    }
}

#[cfg(not(loom))]
const _: () = assert!(crate::blocks::CAPACITY <= 1 << 16);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_as_it_went() {
        for (block, generation) in [(0, 0), (1, 2), (0xFFFF, 0x00FF_FFFF), (65_535, 77)] {
            let cookie = Cookie {
                block: BlockIndex(block),
                generation: Generation(generation),
            };
            for era in [Era(0), Era(1), Era(255)] {
                let bits = cookie.to_bits_in(era);
                assert_eq!(Cookie::from_bits(bits), Some(cookie));
                assert_eq!(Era::of_bits(bits), era);
            }
            assert_eq!(Cookie::from_bits(cookie.to_bits()), Some(cookie));
        }
    }

    #[test]
    fn pointers_and_small_numbers_are_not_ours() {
        for bits in [0, 1, 0x7fff_ffff_ffff, u64::MAX, 0x5555_5555_5550] {
            assert_eq!(Cookie::from_bits(bits), None);
        }
    }
}
