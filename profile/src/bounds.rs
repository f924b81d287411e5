//! How much a file may stand for. `--max-mib` bounds its bytes; this bounds what they become, so that memory and time grow
//! with the bytes and not with their square.
//!
//! Most of what a file has is spelled out and costs what it costs: at the most some 100 bytes of memory for one of the file
//! (an empty label, an empty message of OTLP). What can be **named** again and again costs more than its bytes, and each of
//! these has an allowance: so much at least, whatever the size of the file, and so much more for each byte of it. The most
//! that real files were thought to need is beside it. A few hundred KiB of gzip are [`UNASKED`] bytes of filler, so at that
//! size all that is held has a ceiling of some GiB, which is still more than real files need; those for whom `--max-mib` was
//! raised have as much for each byte, and no less than the ceiling.
//!
//! | what is named | allowed | most for a byte, at [`UNASKED`] and beyond | beside it |
//! |---|---|---|---|
//! | frames of a stack, inlined ones included | 65,536 | | async-profiler stops at 2,048, JFR and HotSpot at 1,024 by default |
//! | frames of different stacks ([`Of::StackFrames`]) | 4 Mi, 8 a byte | 2 | a frame is a byte at least, and stands for 1 to 5 with inlining |
//! | frames of stacks of all profiles that share a dictionary ([`Of::SharedFrames`]) | 4 Mi, 32 a byte | 2 | 100 windows of 3,000 stacks of 300 frames: 16 |
//! | frames of all samples ([`Of::SampleFrames`]) | 256 Mi, 256 a byte | 256, as they are not held | OTLP names a stack of 1,000 frames in 8 bytes |
//! | text of labels of all samples ([`Of::SampleText`]) | 1 GiB, 1,024 a byte | 1,024, as it is not held | ids and routes: 10 |
//! | labels of samples ([`Of::Labels`]) | 1 Mi, 4 a byte | 1 in 4 | one in a byte; a list is an attribute of few samples |
//! | text by its index: of functions, comments, made names, and in the tables of another profile ([`Of::Text`]) | 64 MiB, 32 a byte | 4 | 500 profiles that share a dictionary: 15 |
//! | entries that profiles take over from a dictionary, and values looked at for that ([`Of::Entries`]) | 1 Mi, 1 a byte | 1 in 8 | 0.1 |
//! | profiles ([`Of::Profiles`]) | 4,096, 1 in 64 bytes | 1 in 512 | one has a time, a type, a sample |
//! | comments ([`Of::Comments`]) | 65,536, 1 in 16 bytes | 1 in 128 | ours have 20 |
//! | bytes of decoded messages ([`Of::Decoded`]) | 64 MiB, 32 a byte | 8 | samples of 8 bytes: 10; attributes: 3 |
//! | objects of JSON ([`Of::Objects`]) | 1 Mi, 1 in 8 bytes | 1 in 20 | the smallest that says something has 12 bytes; attributes: 1 in 22 |
//! | sample types | 256; 64 of OTLP and speedscope, then the next profile begins | | heap profiles of Go have 4 |

use crate::model::Flaw;

/// Most frames of one stack. Who reads one may go down into it frame by frame.
pub(crate) const MOST_FRAMES: u64 = 1 << 16;
/// Most sample types of a profile of pprof.
pub(crate) const MOST_SAMPLE_TYPES: u64 = 256;
/// Most sample types that profiles of one each are put together to: each row then has a value of each.
#[cfg(feature = "merge")]
pub(crate) const MOST_COLUMNS: usize = 64;

/// Bytes of the largest file that is read without `--max-mib`.
const UNASKED: u64 = 512 << 20;

/// What has an allowance; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    StackFrames,
    SampleFrames,
    SampleText,
    Text,
    Comments,
    #[cfg(feature = "merge")]
    SharedFrames,
    #[cfg(feature = "merge")]
    Labels,
    #[cfg(feature = "merge")]
    Entries,
    #[cfg(feature = "merge")]
    Profiles,
    #[cfg(feature = "formats")]
    Decoded,
    #[cfg(feature = "formats")]
    Objects,
}

/// Sorts of them, of all features.
const SORTS: usize = 11;

impl Of {
    const fn name(self) -> &'static str {
        match self {
            Of::StackFrames => "frames of different stacks",
            Of::SampleFrames => "frames of all samples",
            Of::SampleText => "bytes of labels of all samples",
            Of::Text => "bytes of texts by their index",
            Of::Comments => "comments",
            #[cfg(feature = "merge")]
            Of::SharedFrames => "frames of stacks of all profiles",
            #[cfg(feature = "merge")]
            Of::Labels => "labels of samples",
            #[cfg(feature = "merge")]
            Of::Entries => "entries taken over from a dictionary",
            #[cfg(feature = "merge")]
            Of::Profiles => "profiles",
            #[cfg(feature = "formats")]
            Of::Decoded => "bytes of decoded messages",
            #[cfg(feature = "formats")]
            Of::Objects => "objects",
        }
    }

    const fn allowed(self, bytes: u64) -> u64 {
        let large = if bytes > UNASKED { bytes } else { UNASKED };
        let (least, by_size, most) = match self {
            Of::StackFrames => (4 << 20, bytes.saturating_mul(8), large.saturating_mul(2)),
            Of::SampleFrames => (256 << 20, bytes.saturating_mul(256), u64::MAX),
            Of::SampleText => (1 << 30, bytes.saturating_mul(1024), u64::MAX),
            Of::Text => (64 << 20, bytes.saturating_mul(32), large.saturating_mul(4)),
            Of::Comments => (1 << 16, bytes / 16, large / 128),
            #[cfg(feature = "merge")]
            Of::SharedFrames => (4 << 20, bytes.saturating_mul(32), large.saturating_mul(2)),
            #[cfg(feature = "merge")]
            Of::Labels => (1 << 20, bytes.saturating_mul(4), large / 4),
            #[cfg(feature = "merge")]
            Of::Entries => (1 << 20, bytes, large / 8),
            #[cfg(feature = "merge")]
            Of::Profiles => (1 << 12, bytes / 64, large / 512),
            #[cfg(feature = "formats")]
            Of::Decoded => (64 << 20, bytes.saturating_mul(32), large.saturating_mul(8)),
            #[cfg(feature = "formats")]
            Of::Objects => (1 << 20, bytes / 8, large / 20),
        };
        let by_size = if by_size < most { by_size } else { most };
        by_size.saturating_add(least)
    }
}

/// What of the allowances of one file is spent.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Of the uncompressed file.
    bytes: u64,
    spent: [u64; SORTS],
}

impl Budget {
    /// Nothing spent yet, of an uncompressed file of so many bytes.
    pub fn of(bytes: usize) -> Self {
        Budget {
            bytes: bytes as u64,
            spent: [0; SORTS],
        }
    }

    /// Spends so much more.
    ///
    /// # Errors
    /// More than is allowed to a file of this size.
    #[inline]
    pub fn spend(&mut self, of: Of, amount: usize) -> Result<(), Flaw> {
        let most = of.allowed(self.bytes);
        // There is a place for each variant.
        let spent = &mut self.spent[of as usize];
        *spent = spent.saturating_add(amount as u64);
        if *spent <= most {
            return Ok(());
        }
        Err(Flaw::Expands {
            most,
            what: of.name(),
            bytes: self.bytes,
        })
    }
}

/// Whether a stack of so many frames is one.
///
/// # Errors
/// It is of more than [`MOST_FRAMES`].
pub(crate) fn check_frames(frames: usize) -> Result<(), Flaw> {
    if frames as u64 <= MOST_FRAMES {
        return Ok(());
    }
    Err(Flaw::Most {
        most: MOST_FRAMES,
        what: "frames in one stack",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_spent_to_its_last_and_no_further() {
        let mut budget = Budget::of(160);
        let most = (1 << 16) + 10;
        for part in [1, most - 1] {
            assert_eq!(budget.spend(Of::Comments, part), Ok(()));
        }
        let error = budget.spend(Of::Comments, 1).expect_err("one too many");
        assert_eq!(
            error.to_string(),
            "more than 65546 comments, too many for a file of 160 bytes: it is damaged or made to fill memory, leave it out"
        );
        assert_eq!(budget.spend(Of::Text, 64 << 20), Ok(()), "of its own");
    }

    #[test]
    fn what_is_held_of_filler_has_a_ceiling_and_files_read_on_demand_have_no_less() {
        // Each with the memory that one of them takes.
        for (of, takes) in [
            (Of::StackFrames, 4),
            #[cfg(feature = "merge")]
            (Of::SharedFrames, 4),
            (Of::Text, 1),
            #[cfg(feature = "merge")]
            (Of::Labels, 24),
            #[cfg(feature = "merge")]
            (Of::Entries, 64),
            #[cfg(feature = "formats")]
            (Of::Decoded, 1),
        ] {
            let held = of.allowed(UNASKED) * takes;
            assert!(held < 5 << 30, "{of:?}: {held}");
            assert!(of.allowed(UNASKED / 2) <= of.allowed(UNASKED), "{of:?}");
            let larger = of.allowed(4 * UNASKED);
            assert!(larger > 3 * of.allowed(UNASKED), "{of:?}: {larger}");
        }
        #[cfg(feature = "formats")]
        assert_eq!(Of::Objects.allowed(UNASKED), (1 << 20) + UNASKED / 20);
    }

    #[test]
    fn no_amount_overflows() {
        let mut budget = Budget::of(usize::MAX);
        assert_eq!(budget.spend(Of::SampleFrames, usize::MAX), Ok(()));
        assert_eq!(budget.spend(Of::SampleFrames, usize::MAX), Ok(()));
        assert!(Budget::of(0).spend(Of::StackFrames, usize::MAX).is_err());
    }

    #[test]
    fn a_stack_has_as_many_frames_as_it_may() {
        assert_eq!(check_frames(65_536), Ok(()));
        let error = check_frames(65_537).expect_err("one too many");
        assert_eq!(
            error.to_string(),
            "more than 65536 frames in one stack: no profiler writes that, leave the file out"
        );
    }
}
