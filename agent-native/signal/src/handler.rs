//! The entry point: one signal of a timer, or of the wall engine, becomes one sample, or one counted loss.
//!
//! Calls made from here: `clock_gettime`, `gettid`, `ioctl` and AsyncGetCallTrace. The first three are
//! async-signal-safe (signal-safety(7); `gettid` and `ioctl` are bare system calls), the last is made for it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::block::Block;
use crate::capture::{Cause, fail, take_sample};
use crate::clock::now_ns;
use crate::cookie::{Cookie, Era};
use crate::counters::Counter;
use crate::gate::Mode;
use crate::perf::{self, Owner};
use crate::sample::Head;
use crate::shared::{self, Shared};
use crate::siginfo::{TimerInfo, descriptor_of};
use crate::visit;
use crate::walk::Failure;

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
                    unsafe {
                        let era = Era::of_bits(timer.value);
                        on_timer(shared, cookie, era, timer.overrun, context);
                    };
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
unsafe fn on_timer(
    shared: &Shared,
    cookie: Cookie,
    era: Era,
    overrun: c_int,
    context: *mut c_void,
) {
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
            if era == shared.era() {
                sample_or_drop(shared, block, os_thread, cookie, periods, periods, context);
            } else {
                // It was pending while periods were changed: they are not those of any window.
                let stale = u64::from(periods);
                shared.counters.add(Counter::SignalsStale, stale);
            }
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

#[cfg(test)]
pub(crate) mod tests;
