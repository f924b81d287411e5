//! All thread blocks: a fixed table of chunks that are made on demand and never freed.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::block::Block;
use crate::cookie::BlockIndex;

/// Blocks a chunk (32 KiB).
pub const CHUNK: usize = 256;
const CHUNKS: usize = 256;
/// The greatest number of threads under a timer at a time.
pub const CAPACITY: usize = CHUNK * CHUNKS;

/// The table. Chunks are added by one thread at a time (the agent's registry), read by handlers.
pub struct Blocks {
    /// Pair: Release in `add_chunk`, Acquire in `get`.
    chunks: [AtomicPtr<[Block; CHUNK]>; CHUNKS],
}

impl Blocks {
    /// No chunk yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
        }
    }

    /// Puts `chunk` at position `at`; `false` when there is no such place or it is taken.
    pub fn add_chunk(&self, at: usize, chunk: &'static [Block; CHUNK]) -> bool {
        self.chunks.get(at).is_some_and(|place| {
            place
                .compare_exchange(
                    core::ptr::null_mut(),
                    core::ptr::from_ref(chunk).cast_mut(),
                    Ordering::Release,
                    Ordering::Relaxed,
                )
                .is_ok()
        })
    }

    /// The block of that index. Async-signal-safe.
    #[must_use]
    pub fn get(&self, index: BlockIndex) -> Option<&'static Block> {
        let index = index.0 as usize;
        let chunk = self.chunks.get(index / CHUNK)?.load(Ordering::Acquire);
        // SAFETY: a non-null entry was made from a `&'static [Block; CHUNK]` in `add_chunk` and is never
        // taken out, so the reference is valid for ever; `Block` is shared through atomics only.
        let chunk: &'static [Block; CHUNK] = unsafe { chunk.as_ref() }?;
        chunk.get(index % CHUNK)
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_without_a_chunk_or_beyond_the_table_has_no_block() {
        let blocks = Blocks::new();
        assert!(blocks.get(BlockIndex(0)).is_none());
        let chunk = Box::leak(Box::new([const { Block::new() }; CHUNK]));
        assert!(blocks.add_chunk(1, chunk));
        assert!(!blocks.add_chunk(1, chunk), "taken");
        assert!(!blocks.add_chunk(CHUNKS, chunk), "beyond");
        assert!(blocks.get(BlockIndex(CHUNK as u32)).is_some());
        assert!(blocks.get(BlockIndex(CHUNK as u32 - 1)).is_none());
        assert!(blocks.get(BlockIndex(CAPACITY as u32)).is_none());
        assert!(blocks.get(BlockIndex(u32::MAX)).is_none());
    }
}
