//! Where all code lies that the JVM makes: Java methods, the interpreter, stubs. A Java thread elsewhere is in native
//! code that Java code has called: a JNI library, the VM itself, the C library.

use crate::primitive::{AtomicU64, Ordering};
use crate::walk::CallFrame;

/// Its bounds, which the JVM reserves at its start and does not change (`CodeCache::low_bound`, codeCache.hpp).
pub struct CodeCache {
    /// 0 until they are known. Pair: Release in `set`, Acquire in `leaf`.
    low: AtomicU64,
    /// Relaxed: published by `low`.
    high: AtomicU64,
}

impl CodeCache {
    /// Not known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            low: AtomicU64::new(0),
            high: AtomicU64::new(0),
        }
    }

    /// They are known: from `low` up to below `high`.
    pub fn set(&self, low: u64, high: u64) {
        self.high.store(high, Ordering::Relaxed);
        self.low.store(low, Ordering::Release);
    }

    /// The frame of the native code that a Java thread was in at `pc`; `None` in code of the JVM's making, and where
    /// that cannot be told. Async-signal-safe.
    #[must_use]
    pub fn leaf(&self, pc: u64) -> Option<CallFrame> {
        let low = self.low.load(Ordering::Acquire);
        let high = self.high.load(Ordering::Relaxed);
        (low != 0 && !(low..high).contains(&pc)).then_some(CallFrame::native(pc))
    }
}

impl Default for CodeCache {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_code_is_what_lies_outside_of_known_bounds() {
        let cache = CodeCache::new();
        assert_eq!(cache.leaf(50), None, "not known yet");
        cache.set(100, 200);
        assert_eq!([100, 199].map(|pc| cache.leaf(pc)), [None; 2]);
        for pc in [99, 200] {
            let frame = cache.leaf(pc).unwrap();
            assert_eq!((frame.as_native(), frame.as_stub()), (Some(pc), None));
        }
    }
}
