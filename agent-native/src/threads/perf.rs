//! One perf event on one thread's CPU time, which signals that very thread at its own rate and not at the kernel's tick.
//!
//! The event is the software task clock: an hrtimer that runs while the thread does. `perf_event_open(2)`.
//!
//! **The signal is not a real-time one.** Where a real-time signal finds no place in the queue, the kernel sends
//! SIGIO in its stead (`send_sigio_to_task` in `fs/fcntl.c`), which ends the process; and whether there is a place
//! depends on what other processes of that user do. A signal below 32 is never refused: while one is pending, further
//! ones are merged into it (`legacy_queue` in `kernel/signal.c`), and what they stand for is read from the thread's
//! CPU clock. So there is nothing to be rearmed either, and no state in which a thread is forgotten.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use vtprof_signal::block::Block;
use vtprof_signal::cookie::Cookie;
use vtprof_signal::perf::{DESCRIPTORS, EVENTS, thread_cpu_ns};

use super::timer::{OsThreadId, cpu_time_ns};

/// Signals an event may use where the user has named none: nobody sends the first; the second is meant for this.
const SIGNALS: [i32; 2] = [libc::SIGSTKFLT, libc::SIGIO];
/// A first period is at least this share of one. It recurs while the thread is in the kernel, until its first signal.
const SHORTEST: u32 = 10;
/// Descriptors from this share of the soft limit on are the application's: one over this.
const SHARE: u64 = 2;

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_TASK_CLOCK: u64 = 1;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
/// Bits of `perf_event_attr`'s flags.
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// `_IO('$', 0)`, `_IO('$', 1)`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
/// `fcntl` commands and an owner's type: `include/uapi/asm-generic/fcntl.h`.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

/// `struct perf_event_attr` in its first published size (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const _: () = assert!(
    size_of::<Attributes>() == 64
        && std::mem::offset_of!(Attributes, sample_period) == 16
        && std::mem::offset_of!(Attributes, flags) == 40
);

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    thread: libc::pid_t,
}

const _: () = assert!(size_of::<Owner>() == 8);

/// Why there is no event.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The thread has ended: nothing was refused.
    #[error("the thread has ended")]
    Ended,
    #[error("perf_event_open: {0}{hint}", hint = hint(.0))]
    Open(io::Error),
    #[error("the descriptor of a perf event: {0}")]
    Descriptor(io::Error),
    #[error(
        "{open} descriptors are open, and from half of the limit on they are the application's: raise ulimit -n"
    )]
    Limit { open: i32 },
    #[error(
        "its signal must not be a real-time one such as {0}: leave signal= out, or give signal=prof"
    )]
    RealTime(i32),
    #[error("signals {} and {} have handlers already: give signal=prof", SIGNALS[0], SIGNALS[1])]
    NoSignal,
    #[error("no signal came")]
    Silent,
}

fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES) => ": set kernel.perf_event_paranoid to 1, or to 2 for user code alone",
        Some(libc::EPERM | libc::ENOSYS) => {
            ": the container's seccomp profile or the kernel does not permit it"
        }
        Some(libc::EMFILE | libc::ENFILE) => ": raise ulimit -n",
        _ => "",
    }
}

/// What all events have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Perf {
    /// Number of the signal, below 32.
    pub signal: i32,
    /// CPU time between two signals of a thread.
    pub period: Duration,
    /// Whether signals come for time in the kernel, too, which takes a privilege.
    pub sees_kernel: bool,
}

impl Perf {
    /// The signal that events would use: `wanted`, or one that has no handler.
    ///
    /// # Errors
    /// A real-time one is wanted, or none is free.
    pub fn signal(wanted: Option<i32>, is_free: impl Fn(i32) -> bool) -> Result<i32, PerfError> {
        match wanted {
            Some(signal) if signal >= libc::SIGRTMIN() => Err(PerfError::RealTime(signal)),
            Some(signal) => Ok(signal),
            None => SIGNALS
                .into_iter()
                .find(|signal| is_free(*signal))
                .ok_or(PerfError::NoSignal),
        }
    }

    /// Whether events work here: opens one on the calling thread, and burns its CPU until the signal is pending, at
    /// the most 50 ms. With privilege it sees the kernel's time, else it does not.
    ///
    /// # Errors
    /// What is in the way.
    pub fn probe(signal: i32, period: Duration) -> Result<Self, PerfError> {
        let with = |sees_kernel| Self {
            signal,
            period,
            sees_kernel,
        };
        let _blocked = Blocked::new(signal);
        match with(true).prove() {
            Ok(()) => Ok(with(true)),
            Err(PerfError::Open(error))
                if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) =>
            {
                with(false).prove()?;
                Ok(with(false))
            }
            Err(error) => Err(error),
        }
    }

    /// Handlers know the period from now on.
    pub fn begin(self) {
        EVENTS.set(nanos(self.period), self.sees_kernel);
    }

    /// The signal is blocked.
    fn prove(self) -> Result<(), PerfError> {
        const SHORT: Duration = Duration::from_micros(100);
        const ENOUGH_NS: u64 = 50_000_000;
        let event = self.open(OsThreadId::current(), SHORT)?;
        let descriptor = event.descriptor.as_raw_fd();
        event.set(ENABLE)?;
        let until = thread_cpu_ns() + ENOUGH_NS;
        let mut came = false;
        while !came && thread_cpu_ns() < until {
            came = pending(self.signal) == Some(descriptor);
        }
        drop(event);
        // What came between the look and the end.
        while pending(self.signal).is_some() {}
        if came { Ok(()) } else { Err(PerfError::Silent) }
    }

    /// An event on `thread`, whose block `cookie` names. The first signal comes after `phase`.
    ///
    /// # Errors
    /// See [`PerfError`].
    pub fn start(
        self,
        thread: OsThreadId,
        block: &Block,
        cookie: Cookie,
        phase: Duration,
    ) -> Result<PerfEvent, PerfError> {
        let phase = phase.max(self.period / SHORTEST);
        let event = self.open(thread, phase)?;
        let now = cpu_time_ns(thread).ok_or(PerfError::Ended)?;
        block.begin_periods(now, nanos(phase), nanos(self.period));
        // Before the first signal, which carries nothing but this number.
        EVENTS.own(event.descriptor.as_raw_fd(), cookie);
        event.set(ENABLE)?;
        Ok(event)
    }

    /// Not enabled yet.
    fn open(self, thread: OsThreadId, first: Duration) -> Result<PerfEvent, PerfError> {
        let hidden = if self.sees_kernel { 0 } else { EXCLUDE_KERNEL };
        let attributes = Attributes {
            kind: PERF_TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_SW_TASK_CLOCK,
            sample_period: nanos(first),
            flags: DISABLED | EXCLUDE_HYPERVISOR | hidden,
            ..Attributes::default()
        };
        let (any_cpu, no_group): (libc::c_int, libc::c_int) = (-1, -1);
        // SAFETY: the attributes are whole and of the size that they say; the kernel reads them.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread.0,
                any_cpu,
                no_group,
                PERF_FLAG_FD_CLOEXEC,
            )
        };
        if descriptor < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::ESRCH) => PerfError::Ended,
                _ => PerfError::Open(error),
            });
        }
        let number = libc::c_int::try_from(descriptor).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call has just made it, and nobody else knows it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        // The kernel gives the lowest number that is free, so this many are open.
        if number as usize >= DESCRIPTORS || number as u64 >= soft_limit() / SHARE {
            return Err(PerfError::Limit { open: number });
        }
        let event = PerfEvent { descriptor };
        event.signal_to(thread, self.signal)?;
        Ok(event)
    }
}

/// A running event; closed on drop.
#[derive(Debug)]
pub struct PerfEvent {
    descriptor: OwnedFd,
}

impl PerfEvent {
    fn signal_to(&self, thread: OsThreadId, signal: i32) -> Result<(), PerfError> {
        let descriptor = self.descriptor.as_raw_fd();
        let owner = Owner {
            kind: F_OWNER_TID,
            thread: thread.0.cast_signed(),
        };
        // SAFETY: the descriptor is ours; the kernel reads the owner, and numbers otherwise.
        let codes = unsafe {
            [
                libc::fcntl(descriptor, F_SETOWN_EX, &raw const owner),
                libc::fcntl(descriptor, F_SETSIG, signal),
                libc::fcntl(descriptor, libc::F_SETFL, libc::O_ASYNC),
            ]
        };
        if codes.iter().all(|code| *code == 0) {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        Err(match error.raw_os_error() {
            Some(libc::ESRCH) => PerfError::Ended,
            _ => PerfError::Descriptor(error),
        })
    }

    fn set(&self, request: libc::c_ulong) -> Result<(), PerfError> {
        // SAFETY: the descriptor is a perf event's, and these requests have no argument.
        if unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request, 0) } == 0 {
            Ok(())
        } else {
            Err(PerfError::Descriptor(io::Error::last_os_error()))
        }
    }
}

impl Drop for PerfEvent {
    fn drop(&mut self) {
        // A child that was forked and has not called exec holds the event as well; it is to be silent all the same.
        drop(self.set(DISABLE));
        // Before the number is somebody else's.
        EVENTS.disown(self.descriptor.as_raw_fd());
    }
}

/// A signal, blocked on the calling thread until this is dropped.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn new(signal: i32) -> Self {
        let set = set_of(signal);
        // SAFETY: a plain C struct for which zero is valid.
        let mut before = unsafe { std::mem::zeroed() };
        // SAFETY: both sets are valid for the call.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) };
        Self { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is the one that the kernel gave.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
    }
}

fn set_of(signal: i32) -> libc::sigset_t {
    // SAFETY: a plain C struct for which zero is valid, then made an empty set; the number is a signal's.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        set
    }
}

/// Takes a signal that is pending on the calling thread, and says which descriptor it is of.
fn pending(signal: i32) -> Option<libc::c_int> {
    let set = set_of(signal);
    let now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a plain C struct for which zero is valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: all three are valid for the call.
    let taken = unsafe { libc::sigtimedwait(&raw const set, &raw mut info, &raw const now) };
    (taken == signal).then(|| vtprof_signal::siginfo::descriptor_of(&info).unwrap_or(-1))
}

fn soft_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a place for the answer. Where there is none it stays 0, and no event is made.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
