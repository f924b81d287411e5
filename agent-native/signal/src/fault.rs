//! Faults: those of a guarded walk are ours, all others go to the JVM's handler untouched.
//!
//! HotSpot lives on faults: null checks, stack banging, safepoint polls, its own probing reads. So this
//! handler asks in the order of cheapness, and hands on whatever is not certainly a walk's: a signal that
//! somebody sent, nobody walking, this thread not walking.
//!
//! Ours must be asked first: HotSpot takes an address in a guard zone for a stack overflow of the program.
//!
//! One kind of fault in a walk is HotSpot's all the same: its SafeFetch reads memory that may not be there, and
//! its handler lets it go on with another value. It is known by its code, since its symbols are local: two
//! functions of three instructions each (safefetch_linux_x86_64.S, JDK 19 and updates of 17). An older one is a
//! stub in the code cache and is not known here; there such a walk counts as faulted.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::counters::Counter;
use crate::shared;

/// Code of `SafeFetch32_impl` and of `SafeFetchN_impl` behind it: load, return; give the other value, return.
const SAFE_FETCH: [u8; 14] = [
    0x8b, 0x07, 0xc3, 0x89, 0xf0, 0xc3, // mov eax, [rdi]; ret; mov eax, esi; ret
    0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0xc3, // the same, 64 bits wide
];
/// Where in it the second load stands; the first stands at 0.
const SAFE_FETCH_WIDE: u64 = 6;

/// Where the JVM's library has its code; 0 where that is not known. Pair: Release in `set_library`, Acquire in
/// `is_safe_fetch`.
static LIBRARY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Names the bounds of the JVM's code: all of it mapped and readable as long as the process lives.
pub fn set_library(low: u64, high: u64) {
    let [from, to] = &LIBRARY;
    from.store(low, Ordering::Release);
    to.store(high, Ordering::Release);
}

/// Whether an instruction is one of SafeFetch's loads.
fn is_safe_fetch(pc: u64) -> bool {
    let [low, high] = &LIBRARY;
    let (low, high) = (low.load(Ordering::Acquire), high.load(Ordering::Acquire));
    [pc, pc.wrapping_sub(SAFE_FETCH_WIDE)]
        .into_iter()
        .filter(|at| *at >= low && high.saturating_sub(*at) >= SAFE_FETCH.len() as u64)
        // SAFETY: inside the JVM's code by the line above, which `set_library` promises to be readable.
        .any(|at| unsafe { (at as *const [u8; SAFE_FETCH.len()]).read() } == SAFE_FETCH)
}

/// What stood on SIGSEGV and SIGBUS before us: function addresses. Pair: Release in `set_previous`, Acquire
/// in `hand_on`; written before our handler is installed.
static PREVIOUS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

fn previous(signal: c_int) -> Option<&'static AtomicU64> {
    match signal {
        libc::SIGSEGV => PREVIOUS.first(),
        libc::SIGBUS => PREVIOUS.last(),
        _ => None,
    }
}

/// Names the three-argument handler that has all faults but ours.
pub fn set_previous(signal: c_int, handler: u64) {
    if let Some(place) = previous(signal) {
        place.store(handler, Ordering::Release);
    }
}

/// The fault handler.
///
/// # Safety
/// Only the kernel calls it, with the arguments of a three-argument signal handler.
pub unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a whole `siginfo_t`.
    let code = unsafe { (*info).si_code };
    // At most 0: sent by a process, not raised by an instruction (sigaction(2)).
    if code > 0
        && let Some(shared) = shared::get()
        && shared.gate.may_be_inside()
    {
        // SAFETY: `gettid` takes nothing and cannot fail.
        let os_thread = unsafe { libc::gettid() }.cast_unsigned();
        if let Some(recovery) = shared.scratch.recovery_of(os_thread) {
            // SAFETY: the kernel's own context of this fault.
            if is_safe_fetch(unsafe { pc(context) }) {
                shared.counters.add(Counter::FaultsHandedOn, 1);
                // SAFETY: the kernel's own arguments are passed on unchanged.
                unsafe { hand_on(signal, info, context) };
                return;
            }
            let (stack, instruction) = recovery.disarm();
            // SAFETY: the kernel's own context of this fault, which it resumes from.
            unsafe { resume_at(context, stack, instruction) };
            return;
        }
    }
    // SAFETY: the kernel's own arguments are passed on unchanged.
    unsafe { hand_on(signal, info, context) };
}

/// # Safety
/// The arguments are those the kernel gave for this signal.
unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(handler) = previous(signal).map(|place| place.load(Ordering::Acquire)) else {
        return;
    };
    if handler == 0 {
        return;
    }
    // SAFETY: `set_previous` was given a three-argument handler of this signal, read from the kernel.
    let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
        unsafe { core::mem::transmute(handler as *const c_void) };
    // SAFETY: as its installer promised the kernel.
    unsafe { handler(signal, info, context) };
}

/// The faulting instruction.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler.
#[cfg(target_arch = "x86_64")]
unsafe fn pc(context: *mut c_void) -> u64 {
    // SAFETY: by the contract above.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers
        .get(libc::REG_RIP as usize)
        .map_or(0, |pc| pc.cast_unsigned())
}

/// # Safety
/// Never called: nothing is armed on this architecture.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn pc(_context: *mut c_void) -> u64 {
    0
}

/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler.
#[cfg(target_arch = "x86_64")]
unsafe fn resume_at(context: *mut c_void, stack: u64, instruction: u64) {
    /// Direction, trap and alignment-check flags: clear at any call (System V ABI; Intel SDM vol. 1, 3.4.3).
    const CLEAR: i64 = (1 << 10) | (1 << 8) | (1 << 18);
    // SAFETY: by the contract above.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    for (register, value) in [
        (libc::REG_RSP, stack.cast_signed()),
        (libc::REG_RIP, instruction.cast_signed()),
    ] {
        if let Some(place) = registers.get_mut(register as usize) {
            *place = value;
        }
    }
    if let Some(flags) = registers.get_mut(libc::REG_EFL as usize) {
        *flags &= !CLEAR;
    }
}

/// # Safety
/// Never called: nothing is armed on this architecture.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn resume_at(_context: *mut c_void, _stack: u64, _instruction: u64) {}

/// Whether the interrupted code had faults blocked. A fault would then end the process whatever the handler
/// (signal(7)): such a sample is not walked.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler, or null.
#[must_use]
pub unsafe fn are_blocked(context: *mut c_void) -> bool {
    // SAFETY: by the contract above.
    let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_ref() }) else {
        return false;
    };
    let mask = (&raw const context.uc_sigmask).cast::<u64>();
    // SAFETY: a signal set of Linux is at least 64 bits, signal n at bit n - 1 (kernel `sigset_t`).
    let mask = unsafe { mask.read_unaligned() };
    mask & (1 << (libc::SIGSEGV - 1) | 1 << (libc::SIGBUS - 1)) != 0
}
