//! The walk of frozen frames: what a virtual thread's stack has left in the heap.
//!
//! HotSpot thaws lazily: after an unmount only the youngest frames come back to the stack, and
//! AsyncGetCallTrace jumps from the last of them to the carrier's. The rest lies in `StackChunk` objects in
//! the very form it had on the stack, so it can be walked. All of it runs under guard ([`Loads`]), every
//! range and every loop is bounded, and what is not certain is refused with a reason: a stack is whole or it
//! says why not, never spliced.
//!
//! x86-64: the interpreter's frame is laid out as in `frame_x86.hpp`.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use chunks::Walk;

use crate::layout::{Entry, InThread, Layout};
use crate::load::Loads;
use crate::scratch::Claim;
use crate::truncation::Truncation;
use crate::walk::CallTrace;

/// Methods by which a virtual thread's stack is read, as jmethodIDs; 0 where not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// `Continuation.enterSpecial`: below it lie the carrier's frames.
    pub enter_special: u64,
    /// `Continuation.enter`: the root of a whole stack.
    pub enter: u64,
    /// `Continuation.doYield`: the leaf while frames are being frozen.
    pub do_yield: u64,
}

/// What a walk came by: each is read in a way of its own, so each is proven on its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds(pub u32);

impl Kinds {
    /// Interpreted frames.
    pub const INTERPRETED: Self = Self(1);
    /// Compiled frames.
    pub const COMPILED: Self = Self(2);
    /// Several chunks.
    pub const LINKED: Self = Self(4);
    /// Frames of native methods' wrappers.
    pub const NATIVE: Self = Self(8);
    /// Frames of stubs.
    pub const STUB: Self = Self(16);
    /// Compiled frames that were deoptimised.
    pub const DEOPTIMISED: Self = Self(32);
    /// Each of them, by name.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::INTERPRETED, "interpreted frames"),
        (Self::COMPILED, "compiled frames"),
        (Self::LINKED, "linked chunks"),
        (Self::NATIVE, "native frames"),
        (Self::STUB, "stubs"),
        (Self::DEOPTIMISED, "deoptimised frames"),
    ];

    /// Whether all of `other` are among these.
    #[must_use]
    pub const fn include(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// In `Frozen::trust`: a walk has differed from the JVM's own.
const FAILED: u32 = 1 << 31;

/// What the handler knows of frozen frames. Shared; changes only in what the self-test finds.
pub struct Frozen {
    /// Methods that mark a stack's shape.
    pub marks: Marks,
    /// `None` where frozen frames are not read on this JVM.
    pub layout: Option<Layout>,
    /// Offset of `JavaThread::_cont_entry`; 0 until it is known. Pair: Release in `set_entry`, Acquire in
    /// `entry`; handlers see it through `trust`, which follows it.
    entry: AtomicU32,
    /// Offset of `StackChunk.cont`, which HotSpot adds and does not publish; 0 until it was found. Pair: Release
    /// in `set_owner`, Acquire in `owner`.
    owner: AtomicU32,
    /// Kinds that are proven, and `FAILED`. Pair: Release in `prove` and `fail`, Acquire in `proven`.
    trust: AtomicU32,
}

/// What a walk gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Frames written.
    pub written: usize,
    /// Frames there were; more than were written where the room ended.
    pub found: usize,
    /// What was come by.
    pub kinds: Kinds,
    /// The method that the youngest of these frames has called directly; 0 where that cannot be told.
    pub callee: u64,
}

/// What goes through the trampoline.
struct Request<'a> {
    layout: &'a Layout,
    java_thread: u64,
    /// Where the thread keeps its continuation entry.
    entry: u64,
    owner: Option<u64>,
    wanted: Wanted,
    /// Where `StackChunk.cont` may be; not 0 where there is an entry.
    candidates: u64,
    outcome: Result<Walked, Truncation>,
}

/// What a request asks for.
#[derive(Clone, Copy)]
enum Wanted {
    /// The thread's frozen frames, to its root.
    Frames { root: u64 },
    /// Where `StackChunk.cont` may be.
    Owner,
    /// Whether there is the entry of a virtual thread's continuation.
    Entry,
}

impl Frozen {
    /// Not trusted yet.
    #[must_use]
    pub const fn new(marks: Marks, layout: Option<Layout>) -> Self {
        let entry = match layout {
            Some(Layout {
                entry:
                    Entry {
                        in_thread: InThread::Published(offset),
                        ..
                    },
                ..
            }) => offset,
            _ => 0,
        };
        Self {
            marks,
            layout,
            entry: AtomicU32::new(entry),
            owner: AtomicU32::new(0),
            trust: AtomicU32::new(0),
        }
    }

    /// What is proven to be read rightly; `None` once anything was read wrongly.
    #[must_use]
    pub fn proven(&self) -> Option<Kinds> {
        let trust = self.trust.load(Ordering::Acquire);
        (trust & FAILED == 0).then_some(Kinds(trust))
    }

    /// These are proven now.
    pub fn prove(&self, kinds: Kinds) {
        self.trust.fetch_or(kinds.0, Ordering::Release);
    }

    /// Something was read wrongly: nothing is trusted again.
    pub fn fail(&self) {
        self.trust.fetch_or(FAILED, Ordering::Release);
    }

    /// The offset of `JavaThread::_cont_entry` was found.
    pub fn set_entry(&self, offset: u32) {
        self.entry.store(offset, Ordering::Release);
    }

    /// Offset of `JavaThread::_cont_entry`; `None` until it is known.
    #[must_use]
    pub fn entry(&self) -> Option<u64> {
        known(&self.entry)
    }

    /// The offset of `StackChunk.cont` was found.
    pub fn set_owner(&self, offset: u32) {
        self.owner.store(offset, Ordering::Release);
    }

    /// Offset of `StackChunk.cont`; `None` until it was found.
    #[must_use]
    pub fn owner(&self) -> Option<u64> {
        known(&self.owner)
    }

    /// Whether the thread runs Java code, and is in no call into the VM.
    ///
    /// # Safety
    /// `java_thread` is the live `JavaThread` of the calling thread.
    #[must_use]
    pub unsafe fn is_in_java(&self, java_thread: u64) -> bool {
        self.layout.is_some_and(|layout| {
            let state = java_thread.wrapping_add(layout.thread_state) as *const i32;
            // SAFETY: a field of a live object; aligned, as HotSpot's are. Volatile, since it changes.
            unsafe { state.read_volatile() == layout.in_java }
        })
    }

    /// Whether the thread, stopped with its stack pointer at `sp`, is inside a continuation: its entry lies on
    /// the stack, in the frame of `enterSpecial`, for as long as that frame is there. `false` where not known.
    ///
    /// # Safety
    /// As for [`Frozen::is_in_java`].
    #[must_use]
    pub unsafe fn is_inside(&self, java_thread: u64, sp: u64) -> bool {
        let is_sought = self
            .layout
            .is_none_or(|layout| matches!(layout.entry.in_thread, InThread::Sought { .. }));
        // What was found is believed once walks that began there have proven right.
        if is_sought
            && self
                .proven()
                .is_none_or(|proven| proven == Kinds::default())
        {
            return false;
        }
        self.entry().is_some_and(|in_thread| {
            let entry = java_thread.wrapping_add(in_thread) as *const u64;
            // SAFETY: a field of a live object; aligned, as HotSpot's are. Volatile, since it changes.
            let entry = unsafe { entry.read_volatile() };
            sp != 0 && sp < entry
        })
    }

    /// Walks the frozen frames of the calling thread into `claim`'s buffer from index `from` on, youngest
    /// first, to the thread's root or not at all.
    ///
    /// # Safety
    /// `java_thread` is the live `JavaThread` of the calling thread, kernel id `os_thread`; faults are
    /// contained ([`crate::guard`]), and no other walk of this thread is under way.
    pub unsafe fn walk(
        &self,
        claim: &mut Claim<'_>,
        os_thread: u32,
        java_thread: u64,
        from: usize,
    ) -> Result<Walked, Truncation> {
        let Some(layout) = &self.layout else {
            return Err(Truncation::Unsupported);
        };
        let Some(entry) = self.entry() else {
            return Err(Truncation::Untested);
        };
        let request = Request {
            layout,
            java_thread,
            entry,
            owner: self.owner(),
            wanted: Wanted::Frames {
                root: self.marks.enter,
            },
            candidates: 0,
            outcome: Err(Truncation::Faulted),
        };
        // SAFETY: the caller's.
        unsafe { guarded(claim, os_thread, from, request) }.0
    }

    /// Whether the calling thread's `JavaThread` has at `offset` the entry of a virtual thread's continuation.
    /// An error where that could not be told this time.
    ///
    /// # Safety
    /// As for [`Frozen::walk`].
    pub unsafe fn has_entry_at(
        &self,
        claim: &mut Claim<'_>,
        os_thread: u32,
        java_thread: u64,
        offset: u32,
    ) -> Result<bool, Truncation> {
        let request = Request {
            layout: self.layout.as_ref().ok_or(Truncation::Unsupported)?,
            java_thread,
            entry: u64::from(offset),
            owner: None,
            wanted: Wanted::Entry,
            candidates: 0,
            outcome: Err(Truncation::Faulted),
        };
        // SAFETY: the caller's.
        let (outcome, found) = unsafe { guarded(claim, os_thread, 0, request) };
        outcome.map(|_| found != 0)
    }

    /// Where in the chunk of the calling thread the reference to its continuation may be: bit n for offset
    /// 4 n. What comes of several threads together is the place of `StackChunk.cont`. An error where there is no
    /// chunk, or that could not be told this time.
    ///
    /// # Safety
    /// As for [`Frozen::walk`].
    pub unsafe fn owner_candidates(
        &self,
        claim: &mut Claim<'_>,
        os_thread: u32,
        java_thread: u64,
    ) -> Result<u64, Truncation> {
        let request = Request {
            layout: self.layout.as_ref().ok_or(Truncation::Unsupported)?,
            java_thread,
            entry: self.entry().ok_or(Truncation::Untested)?,
            owner: None,
            wanted: Wanted::Owner,
            candidates: 0,
            outcome: Err(Truncation::Faulted),
        };
        // SAFETY: the caller's.
        let (outcome, candidates) = unsafe { guarded(claim, os_thread, 0, request) };
        outcome.map(|_| candidates)
    }
}

/// An offset that is 0 until it is known.
fn known(offset: &AtomicU32) -> Option<u64> {
    match offset.load(Ordering::Acquire) {
        0 => None,
        offset => Some(u64::from(offset)),
    }
}

/// Answers `request` under guard.
///
/// # Safety
/// As for [`Frozen::walk`].
unsafe fn guarded(
    claim: &mut Claim<'_>,
    os_thread: u32,
    from: usize,
    mut request: Request<'_>,
) -> (Result<Walked, Truncation>, u64) {
    let recovery = claim.recovery();
    let room = claim.frames_mut().get_mut(from..).unwrap_or_default();
    let mut trace = CallTrace {
        env: 0,
        frames_found: 0,
        frames: room.as_mut_ptr(),
    };
    // SAFETY: `enter` takes what is passed here: a trace with that room, and a request; both outlive it.
    let whole = unsafe {
        recovery.walk(
            os_thread,
            enter,
            &raw mut trace,
            room.len() as i32,
            (&raw mut request).cast::<c_void>(),
        )
    };
    if whole {
        (request.outcome, request.candidates)
    } else {
        (Err(Truncation::Faulted), 0)
    }
}

/// Called through the trampoline of [`crate::guard`], in the shape of AsyncGetCallTrace.
///
/// # Safety
/// As called in [`Frozen::walk`].
unsafe extern "C" fn enter(trace: *mut CallTrace, room: i32, context: *mut c_void) {
    // SAFETY: the caller's; nothing else refers to either meanwhile.
    let (trace, request) = unsafe { (&mut *trace, &mut *context.cast::<Request<'_>>()) };
    // SAFETY: the caller's: `frames` has that room.
    let frames = unsafe {
        core::slice::from_raw_parts_mut(trace.frames, usize::try_from(room).unwrap_or(0))
    };
    // SAFETY: called through the trampoline; nothing here owns anything.
    let loads = unsafe { Loads::under_guard() };
    let mut walk = Walk {
        loads,
        layout: request.layout,
        frames,
        found: 0,
        last: 0,
        kinds: Kinds::default(),
        callee: 0,
    };
    let (java_thread, entry) = (request.java_thread, request.entry);
    let nothing = Walked {
        written: 0,
        found: 0,
        kinds: Kinds::default(),
        callee: 0,
    };
    let found = |candidates: &mut u64, found| {
        *candidates = found;
        nothing
    };
    request.outcome = match request.wanted {
        Wanted::Frames { root } => walk.run(java_thread, entry, request.owner, root),
        Wanted::Owner => walk
            .candidates(java_thread, entry)
            .map(|places| found(&mut request.candidates, places)),
        Wanted::Entry => walk
            .has_entry(java_thread, entry)
            .map(|is_there| found(&mut request.candidates, u64::from(is_there))),
    };
}

mod chunks;

#[cfg(test)]
mod tests;
