//! Bringing a virtual thread's references to its frozen frames up to date, where only reading them does so.
//!
//! ZGC leaves a reference as it is when it moves what it refers to; whoever reads it through the JVM puts the
//! new one in its place. The handler reads past the JVM and gives up at a reference that is not up to date.
//! Nobody else reads a chunk's `parent` until that chunk has run empty, so after each collection every deep
//! stack would be truncated. So while that has happened of late, a thread's chain is read by JNI when it is
//! mounted, and those of all that are mounted by the agent's own thread soon after each change of colours. The
//! mount events are on for it, and go off again when no stack was truncated for that.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use jni_sys::jobject;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::{COUNTERS, Counter, of_all_walks};
use vtprof_signal::layout::{Collector, Layout, NOTES, note_of};

use super::frozen::{self, Chain};
use super::jni::Jni;

/// Between two looks at the colours while chains are kept up to date.
pub const POLL: Duration = Duration::from_millis(2);
/// Looks of the drain for which events stay on after a stack that was truncated for a stale reference.
const PATIENCE: u32 = 200;
/// Chunks of one thread that are read, at most: the youngest.
const CHUNKS: usize = 256;

/// What is read, where the collector needs it.
#[derive(Clone, Copy, Debug)]
struct Reads {
    chain: Chain,
    /// The array of `vtprof_signal::layout::Notes`; `None` where chains are read at mounts alone.
    notes: Option<jobject>,
    /// `ZPointerLoadBadMask`, a variable of the JVM.
    colours: *const u64,
}

/// See the module. `stale` and `quiet` are the drain's alone; all is Relaxed, as `on` is a hint to the callbacks.
#[derive(Debug)]
pub struct Healing {
    reads: Option<Reads>,
    on: AtomicBool,
    /// Stacks truncated for it when the drain last looked, and how many looks ago they grew.
    stale: AtomicU64,
    quiet: AtomicU32,
    /// Colours when chains were last read; 0 while there are no notes. Relaxed: who swaps first reads them.
    colours: AtomicU64,
}

// SAFETY: field ids, a global reference and the address of a variable: none belongs to a thread.
unsafe impl Send for Healing {}
// SAFETY: as above, never changed; the rest is atomic.
unsafe impl Sync for Healing {}

impl Healing {
    /// Off.
    pub fn new(jni: Jni, layout: Option<&Layout>) -> Self {
        let reads = layout.and_then(|layout| {
            let Collector::Colouring { bad, .. } = layout.collector else {
                return None;
            };
            Some(Reads {
                chain: frozen::chain(jni)?,
                notes: layout.mounted?.notes.map(|notes| notes.array as jobject),
                colours: bad as *const u64,
            })
        });
        Self {
            reads,
            on: AtomicBool::new(false),
            stale: AtomicU64::new(0),
            quiet: AtomicU32::new(PATIENCE),
            colours: AtomicU64::new(0),
        }
    }

    /// Whether mount events are needed for it now; called at each look of the drain.
    pub fn needs_events(&self) -> bool {
        if self.reads.is_none() {
            return false;
        }
        let stale = of_all_walks(Counter::TruncatedStale);
        let quiet = if self.stale.swap(stale, Ordering::Relaxed) == stale {
            self.quiet.load(Ordering::Relaxed).saturating_add(1)
        } else {
            0
        };
        self.quiet.store(quiet, Ordering::Relaxed);
        let on = quiet < PATIENCE;
        self.on.store(on, Ordering::Relaxed);
        on
    }

    /// Whether stacks were truncated for it of late.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// `thread` is mounted on `carrier` (`JavaThread*`), the calling thread, and in a callback of it.
    ///
    /// # Safety
    /// `thread` is a live reference to a `VirtualThread`, `jni` the calling thread's.
    pub unsafe fn mount(&self, jni: Jni, carrier: u64, thread: jobject) {
        let Some(reads) = self.reads else { return };
        let started = now_ns();
        // SAFETY: the caller's.
        unsafe { reads.chain.read(jni, thread) };
        if let Some(notes) = reads.notes
            && self.is_on()
        {
            // SAFETY: an array of `NOTES` objects (`frozen::learn`), of which `note_of` gives an index.
            unsafe { jni.set_element(notes, note_of(carrier), thread) };
            // Mounts are more frequent than the agent's thread looks.
            self.follow(jni);
        }
        COUNTERS.add(Counter::MountsHealed, 1);
        COUNTERS.add(Counter::HealingNs, now_ns().saturating_sub(started));
    }

    /// Whether to look at the colours often; forgets the notes once that has ended, as they keep threads alive.
    pub fn is_due(&self, jni: Jni) -> bool {
        let Some(Reads {
            notes: Some(notes), ..
        }) = self.reads
        else {
            return false;
        };
        let on = self.is_on();
        if !on && self.colours.swap(0, Ordering::Relaxed) != 0 {
            for i in 0..NOTES {
                // SAFETY: an array of `NOTES` objects.
                unsafe { jni.set_element(notes, i, ptr::null_mut()) };
            }
        }
        on
    }

    /// Reads the chains of all mounted threads when colours have changed since they were last read.
    pub fn follow(&self, jni: Jni) {
        let Some(Reads {
            chain,
            notes: Some(notes),
            colours,
        }) = self.reads
        else {
            return;
        };
        // SAFETY: a variable of the JVM, published as one of that type; changes at safepoints.
        let colours = unsafe { colours.read_volatile() };
        if self.colours.load(Ordering::Relaxed) == colours
            || self.colours.swap(colours, Ordering::Relaxed) == colours
        {
            return;
        }
        for i in 0..NOTES {
            // SAFETY: an array of `NOTES` objects.
            let Some(thread) = (unsafe { jni.element(notes, i) }) else {
                continue;
            };
            // SAFETY: only mounted virtual threads are put there.
            unsafe { chain.read(jni, thread) };
            jni.delete_local(thread);
        }
    }
}

impl Chain {
    /// Reads the references from `thread` to its chunks and between them.
    ///
    /// # Safety
    /// `thread` is a live reference to a `VirtualThread`, `jni` the calling thread's.
    unsafe fn read(self, jni: Jni, thread: jobject) {
        // SAFETY: a field of `VirtualThread`, which `thread` is.
        let Some(continuation) = (unsafe { jni.object_field(thread, self.continuation) }) else {
            return;
        };
        // SAFETY: a field of `Continuation`, which the one before holds.
        let mut next = unsafe { jni.object_field(continuation, self.tail) };
        jni.delete_local(continuation);
        for _ in 0..CHUNKS {
            let Some(chunk) = next else { return };
            // SAFETY: a field of `StackChunk`, which the one before holds.
            next = unsafe { jni.object_field(chunk, self.parent) };
            jni.delete_local(chunk);
        }
        if let Some(rest) = next {
            jni.delete_local(rest);
        }
    }
}
