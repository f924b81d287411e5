//! From an interruption to its sample: who runs, where it stands, and into the ring with it.

use core::ffi::c_void;

use crate::block::{Block, Imprint};
use crate::clock::now_ns;
use crate::complete::complete;
use crate::context_table::Lookup;
use crate::cookie::Cookie;
use crate::counters::{Counter, Counters, WALL_WALKS};
use crate::epilogue;
use crate::fault;
use crate::guard::Recovery;
use crate::leaf_call;
use crate::registers::Registers;
use crate::ring::PushError;
use crate::sample::{self, Flags, Head};
use crate::scratch::{Claim, DEPTH};
use crate::shared::Shared;
use crate::stubs;
use crate::truncation::Truncation;
use crate::visit::{self, Stand};
use crate::walk::{CallFrame, CallTrace, Failure};

/// What a signal was sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// CPU time, by a timer or a perf event.
    Timer,
    /// A visit of the wall engine.
    Visit {
        /// It was on none.
        is_off_cpu: bool,
    },
}

impl Cause {
    /// Where is counted what a walk meets.
    fn walks(self, shared: &Shared) -> &'static Counters {
        match self {
            Self::Timer => shared.counters,
            Self::Visit { .. } => &WALL_WALKS,
        }
    }

    fn is_visit(self) -> bool {
        self != Self::Timer
    }
}

/// One sample of the calling thread, or one counted loss; `periods` are µs for a visit.
///
/// # Safety
/// `block` is the calling OS thread's; `context` is the `ucontext_t*` of the running signal handler or null; no walk of
/// this thread is under way.
#[expect(clippy::too_many_arguments, reason = "one caller for each cause")]
pub unsafe fn take_sample(
    shared: &Shared,
    cause: Cause,
    block: &Block,
    os_thread: u32,
    cookie: Cookie,
    periods: u32,
    time_ns: u64,
    context: *mut c_void,
) {
    let mut head = Head::new(time_ns, cookie, periods);
    let env = block.jni_env();
    if env == 0 && cause.is_visit() {
        shared.counters.add(Counter::WallStale, 1);
        return;
    }
    if env == 0 {
        head.flags = Flags::NATIVE;
        let _counted = push(shared, &head, &[]);
        return;
    }
    // SAFETY: `jni_env` is not 0, and the block is the calling thread's.
    let running = unsafe { shared.running(block) };
    match shared.contexts.lookup(running) {
        Lookup::Tag(tag) => head.tag = tag,
        Lookup::Empty => {}
        Lookup::Busy if cause == Cause::Timer => shared.counters.add(Counter::TagBusy, 1),
        Lookup::Busy => shared.counters.add(Counter::WallBusy, 1),
    }
    if let Cause::Visit { is_off_cpu } = cause {
        head.flags = Flags::WALL;
        if is_off_cpu {
            head.flags = head.flags.and(Flags::OFF_CPU);
        }
        if shared.contexts.is_away(running) {
            head.flags = head.flags.and(Flags::AWAY);
        }
        if head.tag.is_empty() && !shared.visits.are_of_all() {
            shared.counters.add(Counter::WallNoContext, 1);
            return;
        }
    }
    let walks = cause.walks(shared);
    let Some(mut claim) = shared.scratch.claim(cookie.block.0 as usize) else {
        let _counted = fail(shared, &mut head, Failure::NO_BUFFER);
        return;
    };
    let recovery = claim.recovery();
    let frames = claim.frames_mut();
    let mut trace = CallTrace {
        env,
        frames_found: 0,
        frames: frames.as_mut_ptr(),
    };
    // SAFETY: `context` is the interruption's.
    if unsafe { fault::are_blocked(context) } {
        let _counted = fail(shared, &mut head, Failure::FAULTS_BLOCKED);
        return;
    }
    let is_contained = shared.is_contained();
    let stand = if cause.is_visit() && is_contained {
        // SAFETY: this thread's live JavaThread, as `env` is not 0; `context` is the interruption's, faults are
        // contained, this thread's walk has not begun.
        unsafe {
            let end = shared.visits.stack_end(block.java_thread());
            let stand = visit::stand(recovery, os_thread, context, end);
            if stand.is_some() {
                head.flags = head.flags.and(Flags::WAITING);
                if shared.visits.enters(block.java_thread()) != Some(false) {
                    head.flags = head.flags.and(Flags::ENTERING);
                }
            }
            stand
        }
    } else {
        None
    };
    let taken_down = if is_contained {
        // SAFETY: `context` is the interruption's, faults are contained, this thread's walk has not begun.
        unsafe { epilogue::put_up(recovery, os_thread, context) }
    } else {
        None
    };
    // SAFETY: this thread's live JavaThread, as `env` is not 0; for the rest as above.
    let is_lost = is_contained
        && unsafe {
            shared.frozen.is_in_java(block.java_thread())
                && is_lost(shared, recovery, os_thread, context)
        };
    let from = context;
    #[cfg(feature = "inject")]
    let mut room = core::mem::MaybeUninit::uninit();
    #[cfg(feature = "inject")]
    // SAFETY: `context` is the interruption's.
    let from = unsafe { crate::inject::context(from, &mut room) };
    #[cfg(feature = "inject")]
    {
        trace.frames = crate::inject::frames(trace.frames);
    }
    let walk_began = now_ns();
    // SAFETY: the walker is AsyncGetCallTrace of this JVM; `env` is this thread's own and alive; `frames` has
    // room for DEPTH; `from` is the interruption's context.
    let whole =
        unsafe { recovery.walk(os_thread, shared.walker, &raw mut trace, DEPTH as i32, from) };
    walks.walk.add(now_ns().saturating_sub(walk_began));
    if let Some(registers) = taken_down {
        walks.add(Counter::EpiloguesWalked, 1);
        // SAFETY: as above; the walk has ended.
        unsafe { registers.put(context) };
    }
    if !whole {
        let _counted = fail(shared, &mut head, Failure::FAULTED);
        return;
    }
    let mut stub = None;
    if trace.frames_found == Failure::UNKNOWN_JAVA.0 && is_contained {
        // SAFETY: as for the walk above, which has ended.
        stub = unsafe { walk_from_caller(shared, walks, &claim, os_thread, &mut trace, context) };
    }
    match usize::try_from(trace.frames_found) {
        Ok(found) if found > 0 && is_lost && stub.is_none() => {
            walks.add(Counter::TruncatedMisread, 1);
            head.truncation = Some(Truncation::Misread);
            let _counted = push(shared, &head, &[]);
        }
        Ok(found) if found > 0 => {
            // SAFETY: this thread's live JavaThread, as `env` is not 0; the walk above has ended. Trust in
            // frozen frames is won only where faults are contained.
            let stack = unsafe {
                complete(
                    &shared.frozen,
                    walks,
                    &mut claim,
                    os_thread,
                    block.java_thread(),
                    Registers::of(context).map_or(0, |now| now.sp),
                    found.min(DEPTH),
                )
            };
            // Where a thread waits its Java frames tell, by which the states of waits are told.
            let leaf = stub.or_else(|| {
                // SAFETY: `context` is the interruption's.
                let now = unsafe { Registers::of(context) };
                shared
                    .code_cache
                    .leaf(now?.pc)
                    .filter(|_| !cause.is_visit())
            });
            // One frame more than there is room for.
            if stack.is_cut || (leaf.is_some() && stack.frames == DEPTH) {
                head.flags = head.flags.and(Flags::CUT);
                walks.add(Counter::TruncatedDepth, 1);
            }
            head.truncation = stack.truncation;
            // What of it is in the heap has left no trace on the stack.
            let is_whole = stack.truncation.is_none() && !stack.is_mended;
            let imprint = imprint(&mut head, stand.filter(|_| is_whole));
            let frames = match leaf {
                Some(leaf) => lead_with(leaf, claim.frames_mut(), stack.frames),
                None => claim.frames_mut().get(..stack.frames).unwrap_or_default(),
            };
            if push(shared, &head, frames) {
                block.set_imprint(imprint);
            }
        }
        _ => {
            let failure = Failure(trace.frames_found);
            let imprint = imprint(&mut head, stand.filter(|_| !failure.is_passing()));
            let may_tell = running == block.own_thread() || shared.visits.are_pinned();
            let wait = Some(block)
                .filter(|_| head.flags.has(Flags::ENTERING) && may_tell)
                .and_then(Block::want_stack)
                .map(CallFrame::wait);
            if fail_with(shared, &mut head, failure, wait.as_slice()) {
                block.set_imprint(imprint);
            }
        }
    }
}

/// Whether what a walk from `context` would find is not to be believed, as far as that can be told on this JVM.
///
/// # Safety
/// As for [`leaf_call::is_lost`].
unsafe fn is_lost(
    shared: &Shared,
    recovery: &Recovery,
    os_thread: u32,
    context: *mut c_void,
) -> bool {
    shared.frozen.layout.as_ref().is_some_and(|layout| {
        // SAFETY: the caller's.
        unsafe { leaf_call::is_lost(layout, recovery, os_thread, context) }
    })
}

/// The imprint of a thread that stands so, if one can be taken; the sample says then that there is one.
fn imprint(head: &mut Head, stand: Option<Stand>) -> Option<Imprint> {
    let stand = stand?;
    let (length, digest) = stand.stack?;
    head.flags = head.flags.and(Flags::STANDS);
    Some(Imprint {
        sample_ns: head.time_ns,
        sp: stand.sp,
        length,
        digest,
    })
}

/// Walks again where a stub was interrupted, from its caller; `trace` is left as it was where that fails.
///
/// # Safety
/// As for a walk under the guard of `claim`; `trace` is one with room for [`DEPTH`] frames.
unsafe fn walk_from_caller(
    shared: &Shared,
    walks: &Counters,
    claim: &Claim<'_>,
    os_thread: u32,
    trace: &mut CallTrace,
    context: *mut c_void,
) -> Option<CallFrame> {
    let recovery = claim.recovery();
    // SAFETY: the caller's.
    let (stub, registers) =
        unsafe { stubs::step_out(&shared.stubs, recovery, os_thread, context, walks) }?;
    // SAFETY: the caller's.
    if unsafe { is_lost(shared, recovery, os_thread, context) } {
        // SAFETY: the caller's; no walk is under way.
        unsafe { registers.put(context) };
        return None;
    }
    let mut again = CallTrace { ..*trace };
    // SAFETY: the caller's; the context has the registers that the stub's caller had.
    let whole = unsafe {
        recovery.walk(
            os_thread,
            shared.walker,
            &raw mut again,
            DEPTH as i32,
            context,
        )
    };
    // SAFETY: the caller's; the walk has ended.
    unsafe { registers.put(context) };
    if !whole || again.frames_found <= 0 {
        return None;
    }
    walks.add(Counter::StubsWalked, 1);
    trace.frames_found = again.frames_found;
    Some(stub)
}

/// The first `count` frames behind `leaf`; the oldest goes where there is no room for one more.
fn lead_with(leaf: CallFrame, frames: &mut [CallFrame; DEPTH], count: usize) -> &[CallFrame] {
    let kept = count.min(DEPTH - 1);
    frames.copy_within(..kept, 1);
    if let Some(first) = frames.first_mut() {
        *first = leaf;
    }
    frames.get(..=kept).unwrap_or_default()
}

/// Puts a sample without a stack into the ring, with the reason; counted. `false` where it is lost, counted too.
pub fn fail(shared: &Shared, head: &mut Head, failure: Failure) -> bool {
    fail_with(shared, head, failure, &[])
}

/// With the number of the thread's wait, where it enters a monitor.
fn fail_with(shared: &Shared, head: &mut Head, failure: Failure, wait: &[CallFrame]) -> bool {
    head.flags = head.flags.and(Flags::FAILED);
    head.failure = failure;
    if head.flags.has(Flags::WALL) {
        WALL_WALKS.add(failure.counter(), 1);
        shared.counters.add(Counter::WallFailed, 1);
    } else {
        shared.counters.add(failure.counter(), 1);
    }
    push(shared, head, wait)
}

/// Hands the sample on; `false` where it is lost, which is counted.
fn push(shared: &Shared, head: &Head, frames: &[CallFrame]) -> bool {
    let is_wall = head.flags.has(Flags::WALL);
    let counter = match shared.ring.push(sample::words(frames.len()), |writer| {
        sample::write(writer, head, frames);
    }) {
        Ok(()) if is_wall => {
            shared.counters.add(Counter::WallTaken, 1);
            return true;
        }
        Ok(()) => {
            let kind = if head.flags.has(Flags::NATIVE) {
                Counter::SamplesNative
            } else if head.tag.is_empty() {
                Counter::SamplesUntagged
            } else {
                Counter::SamplesTagged
            };
            shared.counters.add(Counter::SamplesTaken, 1);
            shared.counters.add(kind, 1);
            return true;
        }
        Err(PushError::Full) if is_wall => Counter::WallRingFull,
        Err(PushError::Contended) if is_wall => Counter::WallRingContended,
        Err(PushError::Full) => Counter::DroppedRingFull,
        Err(PushError::Contended) => Counter::DroppedRingContended,
    };
    let lost = if is_wall { 1 } else { u64::from(head.periods) };
    shared.counters.add(counter, lost);
    false
}
