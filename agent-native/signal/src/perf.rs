//! Perf events, as far as a handler is concerned: whose signal it is, and how much CPU time it stands for.
//!
//! The signal of a perf event carries the event's descriptor and no cookie, so a table says which descriptor is
//! whose. A descriptor that was one of ours keeps a mark when it is closed: a signal that was on its way then is
//! ours still, and not to be handed on to anybody.
//!
//! How often the kernel fired is not told either, and it need not be: what a signal stands for is the CPU time that
//! the thread has used since the last one ([`Block::take_periods`](crate::block::Block::take_periods)). So signals
//! may be merged or lost, and the sum is right to a period all the same.

use core::ffi::{c_int, c_ulong};

use crate::clock::clock_ns;
use crate::cookie::Cookie;
use crate::primitive::{AtomicU32, AtomicU64, Ordering};

/// Descriptors of events are below this number.
pub const DESCRIPTORS: usize = 1 << 16;

/// `PERF_EVENT_IOC_PERIOD`, `_IOW('$', 4, __u64)`: the kernel's `include/uapi/linux/perf_event.h`.
const SET_PERIOD: c_ulong = 0x4008_2404;

/// What the table has for a descriptor that was an event's once. No cookie: those have a mark in the top bits.
const PAST: u64 = 1;

/// Whose a signal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A thread's.
    Thread(Cookie),
    /// An event's that is closed by now.
    Past,
    /// Somebody else's.
    Foreign,
}

/// See the module. One for a process ([`EVENTS`]).
pub struct PerfEvents {
    /// CPU time between two signals of a thread, ns. Relaxed: written while there is no event and no handler inside, and
    /// published by the cookies of those that are made then.
    period_ns: AtomicU64,
    /// 1 where the kernel signals for its own time as well. Relaxed: as `period_ns`.
    sees_kernel: AtomicU32,
    /// By descriptor. Pair: Release in `own` and `disown`, Acquire in `owner`.
    cookies: [AtomicU64; DESCRIPTORS],
}

impl PerfEvents {
    /// Nobody's.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "half a megabyte is a static's, not a value's"
    )]
    pub const fn new() -> Self {
        Self {
            period_ns: AtomicU64::new(0),
            sees_kernel: AtomicU32::new(0),
            cookies: [const { AtomicU64::new(0) }; DESCRIPTORS],
        }
    }

    /// What all events have in common: the period, and whether signals come for time in the kernel, too.
    pub fn set(&self, period_ns: u64, sees_kernel: bool) {
        self.period_ns.store(period_ns, Ordering::Relaxed);
        self.sees_kernel
            .store(u32::from(sees_kernel), Ordering::Relaxed);
    }

    /// CPU time between two signals of a thread, ns.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        self.period_ns.load(Ordering::Relaxed)
    }

    /// Whether signals come for time in the kernel, too.
    #[must_use]
    pub fn sees_kernel(&self) -> bool {
        self.sees_kernel.load(Ordering::Relaxed) != 0
    }

    /// `descriptor` is the event of a thread, from before it is enabled. `false` where the table is too short.
    pub fn own(&self, descriptor: c_int, cookie: Cookie) -> bool {
        self.put(descriptor, cookie.to_bits())
    }

    /// `descriptor` is about to be closed.
    pub fn disown(&self, descriptor: c_int) {
        self.put(descriptor, PAST);
    }

    fn put(&self, descriptor: c_int, value: u64) -> bool {
        let place = usize::try_from(descriptor)
            .ok()
            .and_then(|at| self.cookies.get(at));
        if let Some(place) = place {
            place.store(value, Ordering::Release);
        }
        place.is_some()
    }

    /// Whose the signal is that carries `descriptor`. Async-signal-safe.
    #[must_use]
    pub fn owner(&self, descriptor: c_int) -> Owner {
        let value = usize::try_from(descriptor)
            .ok()
            .and_then(|at| self.cookies.get(at))
            .map_or(0, |place| place.load(Ordering::Acquire));
        match Cookie::from_bits(value) {
            Some(cookie) => Owner::Thread(cookie),
            None if value == PAST => Owner::Past,
            None => Owner::Foreign,
        }
    }

    /// The first period of the event, which was another one, is over: from now on it is the one of all.
    /// Async-signal-safe: a bare system call.
    ///
    /// Sampling may be stopped on another thread at this moment, and the descriptor be somebody else's by now. Then
    /// the kernel refuses, as no other file knows this request.
    pub fn end_first_period(&self, descriptor: c_int) {
        let period: u64 = self.period_ns();
        // SAFETY: `period` outlives the call, which reads eight bytes of it.
        unsafe { libc::ioctl(descriptor, SET_PERIOD, &raw const period) };
    }
}

/// Those of this process. Half a megabyte of which only what is used becomes memory.
pub static EVENTS: PerfEvents = PerfEvents::new();

/// CPU time of the calling thread, ns. Async-signal-safe.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::{BlockIndex, Generation};

    static TABLE: PerfEvents = PerfEvents::new();

    #[test]
    fn a_descriptor_is_a_threads_until_it_is_closed_and_nobody_elses_afterwards() {
        let cookie = Cookie {
            block: BlockIndex(3),
            generation: Generation(9),
        };
        assert_eq!(TABLE.owner(40), Owner::Foreign);
        assert!(TABLE.own(40, cookie));
        assert_eq!(TABLE.owner(40), Owner::Thread(cookie));
        assert_eq!(TABLE.owner(41), Owner::Foreign);
        TABLE.disown(40);
        assert_eq!(TABLE.owner(40), Owner::Past);
    }

    #[test]
    fn a_descriptor_beyond_the_table_is_refused() {
        let cookie = Cookie {
            block: BlockIndex(0),
            generation: Generation(1),
        };
        for beyond in [-1, DESCRIPTORS as c_int, c_int::MAX] {
            assert!(!TABLE.own(beyond, cookie));
            TABLE.disown(beyond);
            assert_eq!(TABLE.owner(beyond), Owner::Foreign);
        }
        assert!(TABLE.own(DESCRIPTORS as c_int - 1, cookie));
    }
}
