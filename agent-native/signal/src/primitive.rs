//! The atomics of this crate: the core ones, or loom's when a model is being checked
//! (`RUSTFLAGS="--cfg loom"`).

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

/// Loom knows no compiler fence; a full one is stricter, so a model that passes with it says nothing
/// about same-thread interruption. That part is argued in `context_table` and tested with real signals.
#[cfg(loom)]
pub fn compiler_fence(order: Ordering) {
    fence(order);
}
