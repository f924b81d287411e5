//! The kernel's clocks.

/// ns of a clock that every Linux has. Async-signal-safe.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// ns of CLOCK_MONOTONIC: the clock in which spans end as well, so both can be compared.
#[must_use]
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}
