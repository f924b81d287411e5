//! A visit of the wall engine: its signal, and whether the thread that it meets waits, and where exactly.
//!
//! A thread that waits is in a system call, which the signal ends or has begun anew: the kernel then resumes at the
//! `syscall` instruction, or behind it with `EINTR` (`handle_signal` in the kernel's `arch/x86/kernel/signal.c`). A
//! system call that was at work comes to its end first and is none of the two. A thread that stands before its system
//! call cannot be told from one that waited in it: that is one instruction.
//!
//! To ask a thread where it is wakes it. That is done once a wait, not at each visit: the handler leaves an imprint
//! of the whole stack, bit by bit. While the thread's CPU clock stands still it has not run; where it has run since, for
//! the handler's own end if nothing else, and its stack looks as the imprint does, then it stands where it stood: what
//! a walk finds is told by the stack pointer and the words above it.
//!
//! x86-64 only.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::guard::Recovery;
use crate::load::Loads;
use crate::registers::Registers;
use crate::walk::CallTrace;

/// `si_code` of the engine's signals: no code of the kernel's or of `sigqueue`'s (sigaction(2)), and negative, which
/// a process may send to itself (rt_sigqueueinfo(2)); the kernel then takes the rest as it is.
pub const CODE: i32 = -0x7674;

/// The greatest stack of which an imprint is taken, bytes: some 400 frames.
pub const LARGEST: u64 = 64 << 10;

/// `syscall`.
const SYSCALL: [u8; 2] = [0x0F, 0x05];

/// What the handler is to know of the engine. All Relaxed: written before the first visit.
pub struct Visits {
    /// 1 where threads in no context are sampled as well.
    all: AtomicU32,
    /// 1 where a virtual thread that waits for a monitor stays on its carrier (before JDK 24).
    pinned: AtomicU32,
    /// Byte offset of `JavaThread::_stack_base`; 0 where not known.
    stack_base: AtomicU64,
    /// Byte offset of `JavaThread::_current_pending_monitor`; 0 where not known.
    monitor: AtomicU64,
}

impl Visits {
    /// Only threads in a context, and nothing is known of this JVM.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            all: AtomicU32::new(0),
            pinned: AtomicU32::new(0),
            stack_base: AtomicU64::new(0),
            monitor: AtomicU64::new(0),
        }
    }

    /// Says all of it; offsets as VMStructs has them.
    pub fn set(&self, all: bool, pinned: bool, stack_base: Option<usize>, monitor: Option<usize>) {
        let offset = |known: Option<usize>| known.map_or(0, |offset| offset as u64);
        self.stack_base.store(offset(stack_base), Ordering::Relaxed);
        self.monitor.store(offset(monitor), Ordering::Relaxed);
        self.pinned.store(u32::from(pinned), Ordering::Relaxed);
        self.all.store(u32::from(all), Ordering::Relaxed);
    }

    /// Says anew whether threads in no context are sampled as well. While nobody is visited.
    pub fn set_all(&self, all: bool) {
        self.all.store(u32::from(all), Ordering::Relaxed);
    }

    /// Whether threads in no context are sampled as well.
    #[must_use]
    pub fn are_of_all(&self) -> bool {
        self.all.load(Ordering::Relaxed) != 0
    }

    /// Whether a virtual thread that waits for a monitor stays on its carrier, and tells of its end there.
    #[must_use]
    pub fn are_pinned(&self) -> bool {
        self.pinned.load(Ordering::Relaxed) != 0
    }

    /// End of the thread's stack; 0 where not known.
    ///
    /// # Safety
    /// `java_thread` is the live `JavaThread` of the calling OS thread.
    #[must_use]
    pub unsafe fn stack_end(&self, java_thread: u64) -> u64 {
        // SAFETY: the caller's; the offset is of that field.
        unsafe { field(java_thread, self.stack_base.load(Ordering::Relaxed)) }.unwrap_or(0)
    }

    /// Whether the thread enters a monitor; `None` where that is not known.
    ///
    /// # Safety
    /// As for [`Visits::stack_end`].
    #[must_use]
    pub unsafe fn enters(&self, java_thread: u64) -> Option<bool> {
        // SAFETY: the caller's; the offset is of that field.
        let monitor = unsafe { field(java_thread, self.monitor.load(Ordering::Relaxed)) };
        monitor.map(|monitor| monitor != 0)
    }
}

impl Default for Visits {
    fn default() -> Self {
        Self::new()
    }
}

/// # Safety
/// `object` is live, and has a word at that offset if it is not 0.
unsafe fn field(object: u64, offset: u64) -> Option<u64> {
    let place = object.wrapping_add(offset) as *const u64;
    // SAFETY: by the contract above; aligned, as HotSpot's are. Volatile, since it changes.
    (offset != 0).then(|| unsafe { place.read_volatile() })
}

/// Digest of a sequence of words. One word that differs always tells, since each step can be undone; more of them do
/// but for one case in 2⁶⁴.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Digest {
    /// Of no word.
    #[must_use]
    pub const fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// The next word.
    #[must_use]
    pub const fn with(self, word: u64) -> Self {
        // An odd factor, so that it can be undone.
        Self((self.0.rotate_left(23) ^ word).wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// All of them.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// Its stack pointer.
    pub sp: u64,
    /// Bytes from there to its stack's end, and their digest; `None` where that is too far or not known.
    pub stack: Option<(u64, u64)>,
}

/// What goes through the trampoline.
struct Request {
    pc: u64,
    result: i64,
    sp: u64,
    /// Of the stack; 0 where not known.
    end: u64,
    waits: bool,
    stack: Option<(u64, u64)>,
}

/// Whether a thread that goes on at `pc`, with that in `rax`, was in a system call that did not come to its end.
#[must_use]
pub fn is_in_system_call(loads: Loads, pc: u64, result: i64) -> bool {
    let is_syscall = |at: u64| -> bool {
        loads.at::<u8>(at) == SYSCALL[0] && loads.at::<u8>(at.wrapping_add(1)) == SYSCALL[1]
    };
    let is_ended = result == -i64::from(libc::EINTR);
    if is_ended {
        is_syscall(pc.wrapping_sub(SYSCALL.len() as u64))
    } else {
        is_syscall(pc)
    }
}

/// Called through the trampoline of [`crate::guard`], in the shape of AsyncGetCallTrace.
///
/// # Safety
/// `request` is a [`Request`], to which nothing else refers meanwhile.
unsafe extern "C" fn enter(_: *mut CallTrace, _: i32, request: *mut c_void) {
    // SAFETY: by the contract above.
    let request = unsafe { &mut *request.cast::<Request>() };
    // SAFETY: called through the trampoline; nothing here owns anything.
    let loads = unsafe { Loads::under_guard() };
    request.waits = is_in_system_call(loads, request.pc, request.result);
    let length = request.end.wrapping_sub(request.sp);
    if !request.waits || length > LARGEST || !request.sp.is_multiple_of(8) {
        return;
    }
    let mut digest = Digest::new();
    let mut at = request.sp;
    while at < request.end {
        digest = digest.with(loads.at(at));
        at = at.wrapping_add(8);
    }
    request.stack = Some((length, digest.get()));
}

/// How the interrupted thread waits, whose stack ends at `end` (0 where not known); `None` where it does not, or that
/// cannot be told.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler or null, on kernel thread `os_thread`; faults are
/// contained ([`crate::guard`]), and no walk under `recovery` is under way.
#[must_use]
pub unsafe fn stand(
    recovery: &Recovery,
    os_thread: u32,
    context: *mut c_void,
    end: u64,
) -> Option<Stand> {
    // SAFETY: by the contract above.
    let (now, result) = unsafe { (Registers::of(context)?, Registers::result(context)?) };
    let mut request = Request {
        pc: now.pc,
        result,
        sp: now.sp,
        end,
        waits: false,
        stack: None,
    };
    // SAFETY: `enter` takes what is passed here, and it outlives the call.
    let whole = unsafe { recovery.run(os_thread, enter, (&raw mut request).cast::<c_void>()) };
    (whole && request.waits).then_some(Stand {
        sp: request.sp,
        stack: request.stack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(words: &[u64]) -> u64 {
        let whole = words
            .iter()
            .fold(Digest::new(), |digest, word| digest.with(*word));
        whole.get()
    }

    #[test]
    fn stacks_that_differ_anywhere_have_other_digests() {
        let words: Vec<u64> = (0..200).map(|n| n * 0x1_0001).collect();
        let mut seen = vec![digest(&words), digest(&words[1..]), digest(&words[..199])];
        for at in 0..words.len() {
            for bit in [0, 1, 31, 63] {
                let mut other = words.clone();
                other[at] ^= 1 << bit;
                seen.push(digest(&other));
            }
            let mut swapped = words.clone();
            swapped.swap(at, (at + 7) % 200);
            seen.push(digest(&swapped));
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
        assert_eq!(digest(&words), digest(&words.clone()));
    }

    #[test]
    fn a_system_call_that_was_interrupted_or_begins_anew_is_a_wait_and_one_that_has_ended_is_none()
    {
        let code = [0x90_u8, 0x0F, 0x05, 0xC3, 0x90];
        let at = |offset: usize| (&raw const code[offset]) as u64;
        // SAFETY: all that is loaded is in `code`.
        let loads = unsafe { Loads::under_guard() };
        let eintr = -i64::from(libc::EINTR);
        for (pc, result, waits) in [
            // To begin anew, with its number.
            (at(1), 202, true),
            (at(3), eintr, true),
            // It has ended with a result, or an error of its own.
            (at(3), 5, false),
            (at(3), -i64::from(libc::EAGAIN), false),
            (at(4), eintr, false),
            (at(2), 0, false),
        ] {
            assert_eq!(
                is_in_system_call(loads, pc, result),
                waits,
                "{pc:#x} {result}"
            );
        }
    }

    #[test]
    fn what_is_not_known_of_a_jvm_is_not_read() {
        let thread = [0_u64, 77, 0, 5];
        let address = (&raw const thread) as u64;
        let visits = Visits::new();
        let read = |visits: &Visits| {
            // SAFETY: the offsets lie inside.
            unsafe { (visits.stack_end(address), visits.enters(address)) }
        };
        assert!(!visits.are_of_all());
        assert_eq!(read(&visits), (0, None));
        visits.set(true, true, Some(8), Some(16));
        assert!(visits.are_of_all() && visits.are_pinned());
        assert_eq!(read(&visits), (77, Some(false)));
        visits.set(false, false, None, Some(24));
        assert_eq!(read(&visits), (0, Some(true)));
    }
}
