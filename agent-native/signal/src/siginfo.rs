//! What the kernel says of a signal: `siginfo_t` as timers, the wall engine and descriptors fill it in.

use core::ffi::{c_int, c_long};

use crate::cookie::Cookie;
use crate::visit;

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
