//! The proof that frozen frames are read rightly on this very JVM.
//!
//! In a mount callback a virtual thread stands still in its own code, so two readings of its stack must
//! agree: ours of the frozen frames, and JVMTI's `GetStackTrace` of all, of which ours is the older end.
//! First the places are found that this JVM does not publish (`JavaThread::_cont_entry` by [`super::entry`], then
//! `StackChunk.cont`), then walks must agree, frame by frame, in method and bytecode
//! index: [`PROOF`] for each kind of what a walk comes by, fewer for the rare ones. A kind that is not proven is
//! not read: a program begins interpreted, which proves nothing about compiled frames. At one difference frozen
//! frames are never read again.
//!
//! Takes what mount events come while tags need them; once they do not, the test waits until a stack was
//! truncated for want of it, and has them switched on again for a while.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use jni_sys::jobject;
use vtprof_signal::block::Block;
use vtprof_signal::counters::{Counter, of_all_walks};
use vtprof_signal::frozen::{Kinds, Walked};
use vtprof_signal::gate::Mode;
use vtprof_signal::scratch::Claim;
use vtprof_signal::truncation::Truncation;

use super::bindings::jvmtiFrameInfo;
use super::entry;
use super::jni::Jni;
use super::memory;
use crate::log;
use crate::session::Session;
use crate::threads::timer::OsThreadId;

/// Walks that must agree.
pub const PROOF: u32 = 16;
/// The same, for kinds that are seldom met.
const RARE_PROOF: u32 = 4;
/// Looks of the drain for which events stay on after a stack that was truncated for want of the test.
const PATIENCE: u32 = 200;
/// Mounts that are looked at between two looks of the drain.
const BUDGET: u32 = 16;
/// Threads whose chunks are looked at for `StackChunk.cont`.
const LOOKS: u32 = 12;
/// Walks that may be refused before the test gives up, if nothing is proven by then.
const REFUSALS: u32 = 10_000;
/// Frames of a stack that is compared, at most; deeper ones are passed over.
const DEPTH: usize = 512;

/// How the test stands. All but `busy` are counts and flags of their own: Relaxed.
#[derive(Debug)]
pub struct SelfTest {
    /// Whether there is anything to test, and it is not concluded.
    open: AtomicBool,
    /// Mounts that may be looked at until the drain looks again: none while no stack was truncated for want of
    /// the test of late. So what the test costs is bounded, however many mounts there are.
    budget: AtomicU32,
    /// Whether a thread is in it. Pair: CAS Acquire, store Release: one at a time.
    busy: AtomicBool,
    /// For `JavaThread::_cont_entry`, where that is not published.
    entry: entry::Search,
    /// Where `StackChunk.cont` may be.
    candidates: AtomicU64,
    looks: AtomicU32,
    /// By kind, in the order of `Kinds::ALL`.
    agreements: [AtomicU32; Kinds::ALL.len()],
    refusals: AtomicU32,
    /// Kinds of which the log has told. The drain's alone.
    told: AtomicU32,
    /// Untested stacks when the drain last looked, and how many looks ago they grew. The drain's alone.
    untested: AtomicU64,
    quiet: AtomicU32,
}

impl SelfTest {
    /// Not begun.
    pub const fn new() -> Self {
        Self {
            open: AtomicBool::new(false),
            budget: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            entry: entry::Search::new(),
            candidates: AtomicU64::new(u64::MAX),
            looks: AtomicU32::new(0),
            agreements: [const { AtomicU32::new(0) }; Kinds::ALL.len()],
            refusals: AtomicU32::new(0),
            told: AtomicU32::new(0),
            untested: AtomicU64::new(0),
            quiet: AtomicU32::new(PATIENCE),
        }
    }

    /// Begins. The layout is known and faults are contained.
    pub fn begin(&self) {
        self.open.store(true, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether this mount is looked at.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.budget.load(Ordering::Relaxed) > 0 && self.is_open()
    }

    /// Whether mount events are needed for it now; called at each look of the drain.
    pub fn needs_events(&self) -> bool {
        if !self.is_open() {
            return false;
        }
        let untested = of_all_walks(Counter::TruncatedUntested);
        let quiet = if self.untested.swap(untested, Ordering::Relaxed) == untested {
            self.quiet.load(Ordering::Relaxed).saturating_add(1)
        } else {
            0
        };
        self.quiet.store(quiet, Ordering::Relaxed);
        let needed = quiet < PATIENCE;
        let budget = if needed { BUDGET } else { 0 };
        self.budget.store(budget, Ordering::Relaxed);
        needed
    }

    /// One mount, on the mounted thread; `block` is that of its OS thread.
    ///
    /// # Safety
    /// `mounted` is a live reference to it, `jni` the calling thread's.
    pub unsafe fn look(&self, session: &Session, jni: Jni, block: &Block, mounted: jobject) {
        if self
            .busy
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            return;
        }
        // One thread at a time is here.
        let budget = self.budget.load(Ordering::Relaxed);
        self.budget
            .store(budget.saturating_sub(1), Ordering::Relaxed);
        // As a handler does: no walk of this thread is nested in another, and sampling may end meanwhile.
        let inside = session.shared.gate.enter();
        if inside.mode() == Mode::Armed && block.begin_walk() {
            let hint = OsThreadId::current().0 as usize;
            if let Some(mut claim) = session.shared.scratch.claim(hint) {
                self.look_guarded(session, jni, &mut claim, mounted);
            }
            block.end_walk();
        }
        drop(inside);
        self.busy.store(false, Ordering::Release);
    }

    fn look_guarded(&self, session: &Session, jni: Jni, claim: &mut Claim<'_>, mounted: jobject) {
        let frozen = &session.shared.frozen;
        let os_thread = OsThreadId::current().0;
        let java_thread = session.layout.java_thread(jni.address());
        if frozen.entry().is_none() {
            match look_for_entry(session, claim, os_thread, java_thread)
                .and_then(|found| self.entry.take(&found))
            {
                Some(offset) => frozen.set_entry(offset),
                None => {
                    self.refusals.fetch_add(1, Ordering::Relaxed);
                }
            }
            return;
        }
        if frozen.owner().is_none() {
            // SAFETY: the calling thread's own; `open` is set only where faults are contained, and
            // `begin_walk` has made sure that this is its only walk.
            let found = unsafe { frozen.owner_candidates(claim, os_thread, java_thread) };
            let found = match found {
                Ok(0) => return self.refuse(Truncation::Malformed),
                Ok(found) => found,
                Err(reason) => return self.refuse(reason),
            };
            let left = self.candidates.fetch_and(found, Ordering::Relaxed) & found;
            let looks = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
            if left == 0 {
                self.differ(session);
            } else if looks >= LOOKS && left.is_power_of_two() {
                frozen.set_owner(4 * left.trailing_zeros());
            }
            return;
        }
        // SAFETY: as above.
        let walked = unsafe { frozen.walk(claim, os_thread, java_thread, 0) };
        let walked = match walked {
            Ok(walked) => walked,
            Err(reason) => return self.refuse(reason),
        };
        match agrees(session, claim, walked, mounted) {
            Some(true) => self.agree(session, walked.kinds),
            Some(false) => self.differ(session),
            None => {}
        }
    }

    /// A walk came to nothing. Where there was nothing to walk (a thread that has never been unmounted) or the
    /// collector was at it, that says nothing of how well it can be done.
    fn refuse(&self, reason: Truncation) {
        if !matches!(
            reason,
            Truncation::InTransit | Truncation::Collecting | Truncation::Stale
        ) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn agree(&self, session: &Session, kinds: Kinds) {
        for ((kind, _), agreements) in Kinds::ALL.iter().zip(&self.agreements) {
            if kinds.include(*kind) {
                let count = agreements.fetch_add(1, Ordering::Relaxed) + 1;
                if count == needed(*kind) {
                    session.shared.frozen.prove(*kind);
                }
            }
        }
    }

    fn differ(&self, session: &Session) {
        session.shared.frozen.fail();
    }

    /// Frozen frames are read no more, for another reason than the test's.
    pub fn give_up(&self, session: &Session) {
        self.open.store(false, Ordering::Relaxed);
        session.shared.frozen.fail();
    }

    /// Says what came of it, and ends it when there is nothing left to prove; called by the drain thread now
    /// and then.
    pub fn settle(&self, session: &Session) {
        if !self.is_open() {
            return;
        }
        let frozen = &session.shared.frozen;
        let Some(proven) = frozen.proven() else {
            self.open.store(false, Ordering::Relaxed);
            log::warn(
                "stacks of virtual threads stay truncated: reading their frozen frames failed its self-test on this JVM",
            );
            return;
        };
        let told = Kinds(self.told.swap(proven.0, Ordering::Relaxed));
        for (kind, name) in Kinds::ALL {
            if proven.include(kind) && !told.include(kind) {
                log::info(&format!(
                    "stacks of virtual threads are completed: {} walks over {name} agreed with the JVM's own",
                    needed(kind)
                ));
            }
        }
        if Kinds::ALL.iter().all(|(kind, _)| proven.include(*kind)) {
            self.open.store(false, Ordering::Relaxed);
        } else if proven == Kinds::default() && self.refusals.load(Ordering::Relaxed) >= REFUSALS {
            self.open.store(false, Ordering::Relaxed);
            frozen.fail();
            log::warn(&format!(
                "stacks of virtual threads stay truncated: {REFUSALS} walks of frozen frames were refused before {PROOF} agreed with the JVM's own"
            ));
        }
    }
}

/// Where the calling thread's continuation entry may be in its `JavaThread`; `None` where that cannot be told
/// this time.
fn look_for_entry(
    session: &Session,
    claim: &mut Claim<'_>,
    os_thread: u32,
    java_thread: u64,
) -> Option<entry::Offsets> {
    let frozen = &session.shared.frozen;
    let here = 0_u64;
    let here = (&raw const here) as u64;
    entry::candidates(
        frozen.layout?.entry,
        java_thread,
        here,
        |address| memory::read::<8>(address as usize).map(u64::from_ne_bytes),
        // SAFETY: as for the walks below: the calling thread's own, faults contained, no other walk.
        |offset| unsafe { frozen.has_entry_at(claim, os_thread, java_thread, offset) },
    )
    .ok()
}

/// Walks over that kind that must agree.
fn needed(kind: Kinds) -> u32 {
    let is_common = kind == Kinds::INTERPRETED || kind == Kinds::COMPILED || kind == Kinds::LINKED;
    if is_common { PROOF } else { RARE_PROOF }
}

/// Whether the walk in `claim` is the older end of what JVMTI gives; `None` where that cannot be told.
fn agrees(
    session: &Session,
    claim: &mut Claim<'_>,
    walked: Walked,
    mounted: jobject,
) -> Option<bool> {
    let mut all: [jvmtiFrameInfo; DEPTH] = std::array::from_fn(|_| jvmtiFrameInfo::default());
    let count = session.jvmti.own_stack(mounted, &mut all).ok()?;
    if count >= DEPTH || walked.written != walked.found {
        return None;
    }
    let all = all.get(..count)?;
    let ours = claim.frames_mut().get(..walked.written)?;
    let Some(start) = all.len().checked_sub(ours.len()) else {
        return Some(false);
    };
    let theirs = all.get(start..)?;
    Some(ours.iter().zip(theirs).all(|(ours, theirs)| {
        // A native method: -1 there, -3 here.
        let bci = if ours.bci == -3 {
            -1
        } else {
            i64::from(ours.bci)
        };
        ours.method == theirs.method as u64 && bci == theirs.location
    }))
}
