//! The entry point: one signal of a timer, or of the wall engine, becomes one sample, or one counted loss.
//!
//! Calls made from here: `clock_gettime`, `gettid`, `ioctl` and AsyncGetCallTrace. The first three are
//! async-signal-safe (signal-safety(7); `gettid` and `ioctl` are bare system calls), the last is made for it.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::block::{Block, Imprint};
use crate::clock::clock_ns;
use crate::complete::complete;
use crate::context_table::Lookup;
use crate::cookie::Cookie;
use crate::counters::{Counter, Counters, WALL_WALKS};
use crate::epilogue;
use crate::fault;
use crate::gate::Mode;
use crate::guard::Recovery;
use crate::leaf_call;
use crate::perf::{self, Owner};
use crate::registers::Registers;
use crate::ring::PushError;
use crate::sample::{self, Flags, Head};
use crate::scratch::{Claim, DEPTH};
use crate::shared::{self, Shared};
use crate::stubs;
use crate::truncation::Truncation;
use crate::visit::{self, Stand};
use crate::walk::{CallFrame, CallTrace, Failure};

/// `siginfo_t` of a POSIX timer: the kernel's `include/uapi/asm-generic/siginfo.h`, member `_timer`; and of the wall
/// engine, which has its value at the same place (member `_rt`).
#[repr(C)]
pub struct TimerInfo {
    /// Signal number.
    pub signo: c_int,
    errno: c_int,
    /// `SI_TIMER` for a timer's signal, [`visit::CODE`] for the engine's.
    pub code: c_int,
    pad: c_int,
    timer_id: c_int,
    /// Expiries merged into this signal.
    pub overrun: c_int,
    /// What the timer was made with, or the engine has sent: a [`Cookie`].
    pub value: u64,
}

impl TimerInfo {
    /// What the engine sends: the kernel wants the rest of a `siginfo_t` behind it to be zero.
    #[must_use]
    pub const fn of_visit(signal: c_int, cookie: Cookie) -> Self {
        Self {
            signo: signal,
            errno: 0,
            code: visit::CODE,
            pad: 0,
            timer_id: 0,
            overrun: 0,
            value: cookie.to_bits(),
        }
    }
}

/// What a signal was sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// CPU time, by a timer or a perf event.
    Timer,
    /// A visit of the wall engine, and whether the thread was on no CPU then.
    Visit { is_off_cpu: bool },
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

const _: () = assert!(
    core::mem::offset_of!(TimerInfo, code) == 8
        && core::mem::offset_of!(TimerInfo, overrun) == 20
        && core::mem::offset_of!(TimerInfo, value) == 24
        && size_of::<TimerInfo>() <= size_of::<libc::siginfo_t>()
);

/// `siginfo_t` of a descriptor's signal (`F_SETSIG`): the same header, member `_sigpoll`.
#[repr(C)]
struct DescriptorInfo {
    signo: c_int,
    errno: c_int,
    code: c_int,
    pad: c_int,
    band: c_long,
    descriptor: c_int,
}

const _: () = assert!(
    core::mem::offset_of!(DescriptorInfo, code) == core::mem::offset_of!(TimerInfo, code)
        && core::mem::offset_of!(DescriptorInfo, band) == 16
        && core::mem::offset_of!(DescriptorInfo, descriptor) == 24
        && size_of::<DescriptorInfo>() <= size_of::<libc::siginfo_t>()
);

/// `si_code` of a descriptor's signal: `POLL_IN`, the only one that a perf event without a limit of its own sends.
const READABLE: c_int = 1;

/// The descriptor that a signal is of; `None` for one of other origin. Async-signal-safe.
#[must_use]
pub fn descriptor_of(info: &libc::siginfo_t) -> Option<c_int> {
    // SAFETY: `DescriptorInfo` is a prefix of it by the asserts above, made of integers only. What signals of other
    // origin with this code have there is some number, to be looked up and not used otherwise.
    let info = unsafe { &*core::ptr::from_ref(info).cast::<DescriptorInfo>() };
    (info.code == READABLE).then_some(info.descriptor)
}

/// What stood on our signal number before us: function (0 for none) and whether it takes three arguments.
/// Written before our handler is installed. Pair: Release in `set_previous`, Acquire in `forward`.
static PREVIOUS: AtomicU64 = AtomicU64::new(0);
static PREVIOUS_TAKES_INFO: AtomicU32 = AtomicU32::new(0);

/// Names the handler to which foreign signals go on. `action` of `SIG_DFL` or `SIG_IGN` means none.
pub fn set_previous(action: usize, takes_info: bool) {
    let is_function = action != libc::SIG_DFL && action != libc::SIG_IGN;
    PREVIOUS_TAKES_INFO.store(u32::from(takes_info), Ordering::Relaxed);
    PREVIOUS.store(
        if is_function { action as u64 } else { 0 },
        Ordering::Release,
    );
}

/// The signal handler. Installed with SA_SIGINFO | SA_RESTART | SA_ONSTACK.
///
/// # Safety
/// Only the kernel calls it, with the arguments of a three-argument signal handler.
pub unsafe extern "C" fn on_signal(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: `__errno_location` returns this thread's errno; a plain read.
    let errno = unsafe { *libc::__errno_location() };
    let mut ours = false;
    if let Some(shared) = shared::get() {
        // SAFETY: the kernel passes a whole `siginfo_t`; `TimerInfo` is its prefix by the asserts above, and
        // `code` is read before anything that only a timer fills in.
        let timer = unsafe { &*info.cast::<TimerInfo>() };
        ours = true;
        match timer.code {
            libc::SI_TIMER | visit::CODE => match Cookie::from_bits(timer.value) {
                Some(cookie) if timer.code == visit::CODE => {
                    // SAFETY: `context` is the kernel's, for this very interruption.
                    unsafe { on_visit(shared, cookie, context) };
                }
                Some(cookie) => {
                    // SAFETY: as above.
                    unsafe { on_timer(shared, cookie, timer.overrun, context) };
                }
                None => ours = false,
            },
            // SAFETY: as above.
            _ => match descriptor_of(unsafe { &*info }).map(|of| (of, perf::EVENTS.owner(of))) {
                None | Some((_, Owner::Foreign)) => ours = false,
                Some((descriptor, owner)) => {
                    // SAFETY: as above.
                    unsafe { on_perf(shared, descriptor, owner, context) };
                }
            },
        }
        if !ours {
            // In none of the books, so it need not enter.
            shared.counters.add(Counter::SignalsForeign, 1);
        }
    }
    if !ours {
        // SAFETY: the kernel's own arguments are passed on unchanged.
        unsafe { forward(signal, info, context) };
    }
    // SAFETY: as above; a plain write to this thread's errno.
    unsafe { *libc::__errno_location() = errno };
}

/// # Safety
/// The arguments are those the kernel gave for this signal.
unsafe fn forward(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action = PREVIOUS.load(Ordering::Acquire);
    if action == 0 {
        return;
    }
    let action = action as *const c_void;
    if PREVIOUS_TAKES_INFO.load(Ordering::Relaxed) != 0 {
        // SAFETY: `sigaction` returned this address as an SA_SIGINFO handler for this signal.
        let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { core::mem::transmute(action) };
        // SAFETY: as its installer promised the kernel; our arguments are the kernel's.
        unsafe { handler(signal, info, context) };
    } else {
        // SAFETY: `sigaction` returned this address as a one-argument handler for this signal.
        let handler: unsafe extern "C" fn(c_int) = unsafe { core::mem::transmute(action) };
        // SAFETY: as above.
        unsafe { handler(signal) };
    }
}

/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler.
unsafe fn on_timer(shared: &Shared, cookie: Cookie, overrun: c_int, context: *mut c_void) {
    let overrun = u32::try_from(overrun).unwrap_or(0);
    let periods = overrun.saturating_add(1);
    // Before anything is counted, and dropped when all is: see `gate`. Each way from here to the end adds as many
    // periods to one counter of losses, or to a sample, as it has added to signals and overruns together.
    let inside = shared.gate.enter();
    if inside.mode() == Mode::Closed {
        shared
            .counters
            .add(Counter::SignalsLate, u64::from(periods));
        return;
    }
    shared.counters.add(Counter::Signals, 1);
    shared.counters.add(Counter::Overruns, u64::from(overrun));
    if inside.mode() == Mode::Disarmed {
        shared
            .counters
            .add(Counter::DroppedDisarmed, u64::from(periods));
        return;
    }
    // SAFETY: `gettid` takes nothing and cannot fail.
    let os_thread = unsafe { libc::gettid() }.cast_unsigned();
    match block_of(shared, cookie, os_thread) {
        // SAFETY: `block` is the calling thread's own; for the rest as above.
        Some(block) => unsafe {
            sample_or_drop(shared, block, os_thread, cookie, periods, periods, context);
            take_merged_visit(shared, inside.mode(), block, os_thread, cookie, context);
        },
        None => shared
            .counters
            .add(Counter::SignalsStale, u64::from(periods)),
    }
    drop(inside);
}

/// A perf event's signal: as [`on_timer`], but how many periods it stands for is told by the thread's CPU clock.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler.
unsafe fn on_perf(shared: &Shared, descriptor: c_int, owner: Owner, context: *mut c_void) {
    let inside = shared.gate.enter();
    if inside.mode() == Mode::Closed {
        shared.counters.add(Counter::SignalsLate, 1);
        return;
    }
    // SAFETY: `gettid` takes nothing and cannot fail.
    let os_thread = unsafe { libc::gettid() }.cast_unsigned();
    let known = match owner {
        Owner::Thread(cookie) => block_of(shared, cookie, os_thread).map(|block| (cookie, block)),
        Owner::Past | Owner::Foreign => None,
    };
    let Some((cookie, block)) = known else {
        shared.counters.add(Counter::Signals, 1);
        shared.counters.add(Counter::SignalsStale, 1);
        return;
    };
    let events = &perf::EVENTS;
    let period_ns = events.period_ns();
    // SAFETY: `block` is the calling thread's own; for the rest as above.
    unsafe { take_merged_visit(shared, inside.mode(), block, os_thread, cookie, context) };
    if block.end_first_period() {
        events.end_first_period(descriptor);
    }
    let cpu_ns = perf::thread_cpu_ns();
    let periods = if block.rests(cpu_ns) {
        0
    } else {
        block.take_periods(cpu_ns, period_ns)
    };
    if periods == 0 {
        shared.counters.add(Counter::SignalsEarly, 1);
        return;
    }
    shared.counters.add(Counter::Signals, 1);
    shared
        .counters
        .add(Counter::Overruns, u64::from(periods - 1));
    if inside.mode() == Mode::Disarmed {
        shared
            .counters
            .add(Counter::DroppedDisarmed, u64::from(periods));
        return;
    }
    // Where the kernel does not signal for its own time, that is what the others went by in: in which calls, and of
    // whom, is not known. A thread that is not Java's has no calls that would be told apart.
    let seen = if events.sees_kernel() || block.jni_env() == 0 {
        periods
    } else {
        1
    };
    // SAFETY: `block` is the calling thread's own; for the rest as above.
    unsafe { sample_or_drop(shared, block, os_thread, cookie, seen, periods, context) };
    // A signal that has come meanwhile is delivered at once, so a handler that takes as long as a period would leave
    // the thread no time. Half a period at the least is its own, by its own clock: it may have lost its CPU in here.
    block.rest_until(perf::thread_cpu_ns().saturating_add(period_ns / 2));
    drop(inside);
}

/// The block, if it is this thread's in that life.
fn block_of(shared: &Shared, cookie: Cookie, os_thread: u32) -> Option<&'static Block> {
    shared
        .blocks
        .get(cookie.block)
        .filter(|block| block.is_for(os_thread, cookie.generation))
}

/// One sample of `seen` periods, and one without a stack or a tag of what is left of `periods`.
///
/// # Safety
/// `block` is the calling OS thread's; `context` as for `on_timer`.
unsafe fn sample_or_drop(
    shared: &Shared,
    block: &Block,
    os_thread: u32,
    cookie: Cookie,
    seen: u32,
    periods: u32,
    context: *mut c_void,
) {
    let started = now_ns();
    if block.begin_walk() {
        // SAFETY: `block` is the calling thread's own block, so what it says of its JavaThread holds.
        unsafe {
            take_sample(
                shared,
                Cause::Timer,
                block,
                os_thread,
                cookie,
                seen,
                started,
                context,
            );
        };
        if let Some(unseen) = periods.checked_sub(seen).filter(|unseen| *unseen > 0) {
            let mut head = Head::new(started, cookie, unseen);
            let _counted = fail(shared, &mut head, Failure::IN_KERNEL);
        }
        block.end_walk();
    } else {
        shared
            .counters
            .add(Counter::DroppedNested, u64::from(periods));
    }
    let took = now_ns().saturating_sub(started);
    shared.counters.add(Counter::HandlerNs, took);
    shared.counters.handler.add(took);
}

/// # Safety
/// As for `on_timer`.
unsafe fn on_visit(shared: &Shared, cookie: Cookie, context: *mut c_void) {
    let counters = shared.counters;
    // As in `on_timer`: each way to the end counts one loss or sample for one signal.
    let inside = shared.gate.enter();
    if inside.mode() == Mode::Closed {
        counters.add(Counter::WallLate, 1);
        return;
    }
    // SAFETY: `gettid` takes nothing and cannot fail.
    let os_thread = unsafe { libc::gettid() }.cast_unsigned();
    match block_of(shared, cookie, os_thread) {
        // SAFETY: `block` is the calling thread's own; for the rest as above.
        Some(block) => unsafe {
            let _else_it_was_taken_before =
                take_visit(shared, inside.mode(), block, os_thread, cookie, context);
        },
        None => {
            counters.add(Counter::WallSignals, 1);
            counters.add(Counter::WallStale, 1);
        }
    }
    drop(inside);
}

/// At a signal of CPU time: the visit that the thread is asked for. Of a signal below `SIGRTMIN` a thread has one
/// pending at a time, and another is forgotten (`legacy_queue` in the kernel's `kernel/signal.c`; a timer's is not), so
/// that of a visit often is where threads lose their CPU at the tick at which their timer fires. Where it comes
/// nevertheless, nothing is asked any more.
///
/// # Safety
/// As for [`take_visit`].
unsafe fn take_merged_visit(
    shared: &Shared,
    mode: Mode,
    block: &Block,
    os_thread: u32,
    cookie: Cookie,
    context: *mut c_void,
) {
    // SAFETY: the caller's.
    if unsafe { take_visit(shared, mode, block, os_thread, cookie, context) } {
        shared.counters.add(Counter::WallMerged, 1);
    }
}

/// The visit that the calling thread is asked for; `false` where it is asked for none.
///
/// # Safety
/// `block` is the calling OS thread's; `context` as for `on_timer`; the gate is entered.
unsafe fn take_visit(
    shared: &Shared,
    mode: Mode,
    block: &Block,
    os_thread: u32,
    cookie: Cookie,
    context: *mut c_void,
) -> bool {
    let counters = shared.counters;
    let Some(is_off_cpu) = block.asked() else {
        return false;
    };
    counters.add(Counter::WallSignals, 1);
    if mode == Mode::Disarmed {
        counters.add(Counter::WallDisarmed, 1);
        return true;
    }
    let started = now_ns();
    let micros = block.account(started);
    block.set_imprint(None);
    if block.begin_walk() {
        // SAFETY: `block` is the calling thread's own block, so what it says of its JavaThread holds.
        unsafe {
            take_sample(
                shared,
                Cause::Visit { is_off_cpu },
                block,
                os_thread,
                cookie,
                micros,
                started,
                context,
            );
        };
        block.end_walk();
    } else {
        counters.add(Counter::WallNested, 1);
    }
    block.answer();
    counters.add(Counter::WallHandlerNs, now_ns().saturating_sub(started));
    true
}

/// # Safety
/// `block` is the calling OS thread's; `context` as for `on_timer`.
#[expect(clippy::too_many_arguments, reason = "one caller for each cause")]
unsafe fn take_sample(
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

fn fail(shared: &Shared, head: &mut Head, failure: Failure) -> bool {
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

/// ns of CLOCK_MONOTONIC: the clock in which spans end as well, so both can be compared.
#[must_use]
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

#[cfg(test)]
pub(crate) mod tests;
