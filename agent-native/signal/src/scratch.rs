//! Buffers into which a walk writes its frames.
//!
//! Not on the handler's stack: 1,024 frames are 16 KiB, and the interrupted thread may have that much left
//! and no more. Not one per thread: a handler runs on a core, so a few a core are enough.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::guard::Recovery;
use crate::walk::CallFrame;

/// The greatest depth of a stack; what lies below is cut, named and counted.
pub const DEPTH: usize = 1024;
/// Buffers in the pool: 1 MiB.
pub const BUFFERS: usize = 64;

/// One buffer.
pub struct Buffer {
    /// 1 while claimed. Pair: CAS Acquire in `claim`, store Release in `Claim::drop`.
    taken: AtomicU32,
    recovery: Recovery,
    frames: UnsafeCell<[CallFrame; DEPTH]>,
}

// SAFETY: `frames` is reached only through a `Claim`, which exists once for a buffer while `taken` is 1.
unsafe impl Sync for Buffer {}

impl Buffer {
    const fn new() -> Self {
        Self {
            taken: AtomicU32::new(0),
            recovery: Recovery::new(),
            frames: UnsafeCell::new([CallFrame::ZERO; DEPTH]),
        }
    }
}

/// The pool.
pub struct Scratch {
    buffers: [Buffer; BUFFERS],
}

impl Scratch {
    /// All free.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buffers: [const { Buffer::new() }; BUFFERS],
        }
    }

    /// Claims a buffer, looking first at the one `hint` names. Async-signal-safe; at most [`BUFFERS`] steps.
    pub fn claim(&self, hint: usize) -> Option<Claim<'_>> {
        (0..BUFFERS)
            .filter_map(|step| self.buffers.get(hint.wrapping_add(step) % BUFFERS))
            .find(|buffer| {
                buffer
                    .taken
                    .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            })
            .map(|buffer| Claim { buffer })
    }

    /// Where the walk of kernel thread `os_thread` goes on after a fault, if it is walking under guard.
    /// Async-signal-safe; called on that thread.
    #[must_use]
    pub fn recovery_of(&self, os_thread: u32) -> Option<&Recovery> {
        self.buffers
            .iter()
            .map(|buffer| &buffer.recovery)
            .find(|recovery| recovery.is_armed_for(os_thread))
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// A claimed buffer; given back on drop.
pub struct Claim<'a> {
    buffer: &'a Buffer,
}

impl<'a> Claim<'a> {
    /// How a walk into this buffer is guarded.
    #[must_use]
    pub fn recovery(&self) -> &'a Recovery {
        &self.buffer.recovery
    }

    /// Room for [`DEPTH`] frames.
    pub fn frames_mut(&mut self) -> &mut [CallFrame; DEPTH] {
        // SAFETY: this claim is the only one on the buffer (CAS in `claim`), and `&mut self` makes this the
        // only reference made from it.
        unsafe { &mut *self.buffer.frames.get() }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.buffer.taken.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_buffer_is_claimed_once_and_comes_back() {
        static SCRATCH: Scratch = Scratch::new();
        let scratch = &SCRATCH;
        let mut claims: Vec<_> = (0..BUFFERS).map(|_| scratch.claim(5).unwrap()).collect();
        assert!(scratch.claim(0).is_none());
        let mut places: Vec<_> = claims
            .iter_mut()
            .map(|c| c.frames_mut().as_ptr() as usize)
            .collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), BUFFERS);
        claims.pop();
        assert!(scratch.claim(17).is_some());
    }
}
