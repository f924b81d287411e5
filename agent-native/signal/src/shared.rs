//! The one root from which a handler reaches everything: published once, never freed, never replaced.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::block::Block;
use crate::blocks::Blocks;
use crate::code_cache::CodeCache;
use crate::context_table::ContextTable;
use crate::cookie::Era;
use crate::counters::Counters;
use crate::frozen::Frozen;
use crate::gate::Gate;
use crate::ring::Ring;
use crate::scratch::Scratch;
use crate::stubs::Stubs;
use crate::tag::JavaThreadId;
use crate::visit::Visits;
use crate::walk::AsyncGetCallTrace;

/// Who tells which Java thread runs on an OS thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Source {
    /// Nobody: every sample is untagged.
    None = 0,
    /// `Block::running`, kept by the mount and unmount events.
    Mount = 1,
    /// `JavaThread::_monitor_owner_id`, read in the handler (JDK 24+).
    OwnerId = 2,
}

/// Everything a handler needs.
pub struct Shared {
    /// Thread blocks.
    pub blocks: &'static Blocks,
    /// Records.
    pub contexts: ContextTable<'static>,
    /// Where samples go.
    pub ring: Ring<'static>,
    /// Walk buffers.
    pub scratch: &'static Scratch,
    /// Where everything is counted.
    pub counters: &'static Counters,
    /// The stack walker.
    pub walker: AsyncGetCallTrace,
    /// Byte offset of `_monitor_owner_id` (int64) in a `JavaThread`; meaningful for [`Source::OwnerId`].
    pub owner_id_offset: usize,
    /// What completes stacks.
    pub frozen: Frozen,
    /// Stubs, once they are known.
    pub stubs: Stubs,
    /// Which code is native, once that is known.
    pub code_cache: CodeCache,
    /// Where handlers come in.
    pub gate: Gate,
    /// The wall engine's.
    pub visits: Visits,
    /// Pair: Release in `set_source`, Acquire in `source`.
    source: AtomicU32,
    /// Which periods timers have. Relaxed: written while the gate is closed and no handler inside, and published by its
    /// opening.
    era: AtomicU32,
    /// 1 while a fault of the handler's own reads is contained. Relaxed: nothing is published through it.
    contained: AtomicU32,
}

impl Shared {
    /// Disarmed, with no source of identity.
    #[must_use]
    #[expect(clippy::too_many_arguments, reason = "one for each part of the root")]
    pub const fn new(
        blocks: &'static Blocks,
        contexts: ContextTable<'static>,
        ring: Ring<'static>,
        scratch: &'static Scratch,
        counters: &'static Counters,
        walker: AsyncGetCallTrace,
        owner_id_offset: usize,
        frozen: Frozen,
    ) -> Self {
        Self {
            blocks,
            contexts,
            ring,
            scratch,
            counters,
            walker,
            owner_id_offset,
            frozen,
            stubs: Stubs::new(),
            code_cache: CodeCache::new(),
            gate: Gate::new(),
            visits: Visits::new(),
            source: AtomicU32::new(Source::None as u32),
            era: AtomicU32::new(0),
            contained: AtomicU32::new(0),
        }
    }

    /// Which source is in force.
    #[must_use]
    pub fn source(&self) -> Source {
        match self.source.load(Ordering::Acquire) {
            1 => Source::Mount,
            2 => Source::OwnerId,
            _ => Source::None,
        }
    }

    /// Changes the source. Both must be right while it changes.
    pub fn set_source(&self, source: Source) {
        self.source.store(source as u32, Ordering::Release);
    }

    /// Whether a fault of the handler's own reads is contained: nothing is read that may fault where it is not.
    #[must_use]
    pub fn is_contained(&self) -> bool {
        self.contained.load(Ordering::Relaxed) != 0
    }

    /// Others are in force.
    pub fn set_era(&self, era: Era) {
        self.era.store(u32::from(era.0), Ordering::Relaxed);
    }

    /// Which periods timers have: a signal of others is of no account any more.
    #[must_use]
    pub fn era(&self) -> Era {
        Era(self.era.load(Ordering::Relaxed) as u8)
    }

    /// Says whether it is.
    pub fn set_contained(&self, is_contained: bool) {
        self.contained
            .store(u32::from(is_contained), Ordering::Relaxed);
    }

    /// Which Java thread runs on the OS thread of `block`.
    ///
    /// # Safety
    /// `Block::jni_env` is not 0, and the thread does not end meanwhile: either it is the calling one, or it is kept
    /// from its `Block::clear_java`.
    #[must_use]
    pub unsafe fn running(&self, block: &Block) -> JavaThreadId {
        match self.source() {
            Source::None => JavaThreadId::NONE,
            Source::Mount => block.running(),
            // SAFETY: the thread's JavaThread is live (`Block::set_java`).
            Source::OwnerId => unsafe { self.owner_id(block.java_thread()) },
        }
    }

    /// Thread id in force on the thread whose `JavaThread` lies at `java_thread`, by its own field.
    ///
    /// # Safety
    /// `java_thread` is a live `JavaThread`, and `owner_id_offset` is right for this JVM (VMStructs entry
    /// `JavaThread::_monitor_owner_id`).
    #[must_use]
    pub unsafe fn owner_id(&self, java_thread: u64) -> JavaThreadId {
        let field = (java_thread as usize).wrapping_add(self.owner_id_offset) as *const i64;
        // SAFETY: by the contract above the field lies inside a live object; it is an aligned int64 that
        // only its own OS thread writes (`JavaThread::set_monitor_owner_id` at mount and unmount). Volatile,
        // since that may be about to change it.
        JavaThreadId(unsafe { field.read_volatile() })
    }
}

/// Pair: Release in `publish`, Acquire in `get`.
static SHARED: AtomicPtr<Shared> = AtomicPtr::new(core::ptr::null_mut());

/// Publishes the root, once; `false` when there is one already.
pub fn publish(shared: &'static Shared) -> bool {
    SHARED
        .compare_exchange(
            core::ptr::null_mut(),
            core::ptr::from_ref(shared).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        )
        .is_ok()
}

/// The root, once published. Async-signal-safe.
#[must_use]
pub fn get() -> Option<&'static Shared> {
    let shared = SHARED.load(Ordering::Acquire);
    // SAFETY: only `publish` stores here, and it stores a `&'static Shared`.
    unsafe { shared.as_ref() }
}
