//! One POSIX timer for one thread, which signals that very thread.
//!
//! Not `setitimer`: that one picks any thread of the process. Not a perf event: it needs a kernel that
//! permits it. CPU timers fire at the kernel's tick, and tell by `si_overrun` how many periods a signal
//! stands for. Wall-clock timers know no tick: they are for stress tests, thousands of signals a second.

use std::io;
use std::time::Duration;

use vtprof_signal::cookie::{Cookie, Era};

/// A kernel thread id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct OsThreadId(pub u32);

impl OsThreadId {
    /// The calling thread's.
    #[must_use]
    pub fn current() -> Self {
        // SAFETY: no arguments, cannot fail.
        Self(unsafe { libc::gettid() }.cast_unsigned())
    }
}

/// CPU clock of a thread of this process: `MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED)` in the kernel's
/// `include/linux/posix-timers.h`.
#[must_use]
pub fn cpu_clock(thread: OsThreadId) -> libc::clockid_t {
    const PER_THREAD_SCHED: i32 = 4 | 2;
    (!thread.0.cast_signed() << 3) | PER_THREAD_SCHED
}

/// CPU time a thread has used, ns; `None` when there is no such thread.
#[must_use]
pub fn cpu_time_ns(thread: OsThreadId) -> Option<u64> {
    clock_ns(cpu_clock(thread))
}

/// CPU time this process has used, ns.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a place for the answer.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// What a timer's periods are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// CPU time of the thread.
    Cpu,
    /// Time that passes, whether the thread runs or not.
    Wall,
}

/// A running timer; deleted on drop.
#[derive(Debug)]
pub struct Timer {
    id: libc::timer_t,
    thread: OsThreadId,
    pace: Pace,
}

// SAFETY: a kernel timer id may be used from any thread of the process.
unsafe impl Send for Timer {}

impl Timer {
    /// Signals `thread` with `signal` and `cookie` (and which periods those are) each `period` at that `pace`, first after `phase`.
    ///
    /// # Errors
    /// What the kernel says: EINVAL when the thread is gone, EAGAIN at the limit of pending signals.
    pub fn start(
        thread: OsThreadId,
        pace: Pace,
        signal: i32,
        (cookie, era): (Cookie, Era),
        period: Duration,
        phase: Duration,
    ) -> io::Result<Self> {
        // SAFETY: `sigevent` is a plain C struct for which zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value.sival_ptr = cookie.to_bits_in(era) as *mut libc::c_void;
        event.sigev_notify_thread_id = thread.0.cast_signed();
        let mut id: libc::timer_t = std::ptr::null_mut();
        let clock = match pace {
            Pace::Cpu => cpu_clock(thread),
            Pace::Wall => libc::CLOCK_MONOTONIC,
        };
        // SAFETY: both are valid for the call.
        if unsafe { libc::timer_create(clock, &raw mut event, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Self { id, thread, pace };
        let spec = libc::itimerspec {
            it_interval: timespec(period),
            it_value: timespec(phase.max(Duration::from_nanos(1))),
        };
        // SAFETY: `id` is the timer just made.
        if unsafe { libc::timer_settime(id, 0, &raw const spec, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(timer)
    }

    /// Whether the thread is still there. The kernel reports a CPU timer of a thread that is gone as disarmed
    /// (`posix_cpu_timer_get` in `kernel/time/posix-cpu-timers.c`); the id of the thread may be somebody else's,
    /// which at the pace of the wall clock cannot be told.
    #[must_use]
    pub fn thread_is_alive(&self) -> bool {
        if self.pace == Pace::Wall {
            return cpu_time_ns(self.thread).is_some();
        }
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut spec = libc::itimerspec {
            it_interval: zero,
            it_value: zero,
        };
        // SAFETY: the timer is ours until drop; `spec` is a place for the answer.
        let code = unsafe { libc::timer_gettime(self.id, &raw mut spec) };
        code == 0 && (spec.it_value.tv_sec != 0 || spec.it_value.tv_nsec != 0)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and deleted once.
        unsafe { libc::timer_delete(self.id) };
    }
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().cast_signed(),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::patience::comes_true;
    use vtprof_signal::cookie::{BlockIndex, Generation};

    #[test]
    fn a_timer_tells_whether_its_thread_is_gone() {
        let (to_test, from_thread) = std::sync::mpsc::channel();
        let (to_thread, from_test) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            to_test.send(OsThreadId::current()).unwrap();
            from_test.recv().unwrap();
        });
        let id = from_thread.recv().unwrap();
        let cookie = Cookie {
            block: BlockIndex(0),
            generation: Generation(0),
        };
        let hour = Duration::from_secs(3600);
        let timer = Timer::start(
            id,
            Pace::Cpu,
            libc::SIGRTMIN(),
            (cookie, Era(0)),
            hour,
            hour,
        )
        .unwrap();
        assert!(timer.thread_is_alive());
        assert!(cpu_time_ns(id).is_some());
        to_thread.send(()).unwrap();
        thread.join().unwrap();
        // join returns when the kernel clears the id, a moment before the task is unhashed.
        assert!(comes_true(|| !timer.thread_is_alive()));
    }

    #[test]
    fn a_timer_on_a_thread_that_does_not_exist_is_refused() {
        let cookie = Cookie {
            block: BlockIndex(0),
            generation: Generation(0),
        };
        let second = Duration::from_secs(1);
        assert!(
            Timer::start(
                OsThreadId(4_000_000),
                Pace::Cpu,
                libc::SIGRTMIN(),
                (cookie, Era(0)),
                second,
                second
            )
            .is_err()
        );
    }
}
