//! How much memory the agent holds: its own allocator, which counts. Stands in each profile, so that anybody
//! can see that it does not grow. Big tables count in full, though only what is touched becomes memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with a count.
struct Counting {
    /// Bytes. Relaxed: a sum of its own.
    held: AtomicUsize,
}

#[global_allocator]
static HEAP: Counting = Counting {
    held: AtomicUsize::new(0),
};

/// Bytes the agent holds.
pub fn held() -> usize {
    HEAP.held.load(Ordering::Relaxed)
}

impl Counting {
    fn grown(&self, pointer: *mut u8, bytes: usize) -> *mut u8 {
        if !pointer.is_null() {
            self.held.fetch_add(bytes, Ordering::Relaxed);
        }
        pointer
    }
}

// SAFETY: the system's allocator in all but the count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.grown(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.grown(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.held.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            self.held.fetch_add(size, Ordering::Relaxed);
            self.held.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed() {
        // Far more than other tests hold meanwhile.
        const BIG: usize = 1 << 30;
        let big: Vec<u8> = Vec::with_capacity(BIG);
        assert!(held() >= BIG);
        drop(big);
        assert!(held() < BIG);
    }
}
