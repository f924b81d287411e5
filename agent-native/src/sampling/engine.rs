//! Which engine signals threads as they use CPU time (option `engine`).
//!
//! A timer on a thread's CPU clock is noticed at the kernel's tick: it is right in its sums at any rate, and real up to
//! the tick's. A perf event has an hrtimer of its own. It needs a kernel that permits it and a descriptor a thread, so
//! it is taken only where it is of use, or asked for.

use std::time::Duration;

use crate::options::Engine as Wanted;
use crate::sampling::signal;
use crate::threads::perf::{Perf, PerfError};
use crate::threads::timer::Pace;

/// What was decided, and why.
#[derive(Debug)]
pub struct Engine {
    /// How perf events are made; `None` for timers.
    pub perf: Option<Perf>,
    /// As profiles and the first line have it: `perf`, or `timer` with a reason where there is one, or `none`.
    pub description: String,
    /// Why not, where perf was asked for: to be told once.
    pub refused: Option<PerfError>,
}

impl Engine {
    /// Decides; without a period there is none. `auto` takes perf where the period is finer than the tick, and the
    /// kernel's own time is seen: without that, what a thread does in the kernel would be in no stack and under no tag.
    pub fn choose(
        wanted: Wanted,
        pace: Pace,
        period: Option<Duration>,
        chosen_signal: Option<i32>,
    ) -> Self {
        let Some(period) = period else {
            return Self::timer("none".to_owned());
        };
        let is_of_use = match wanted {
            Wanted::Timer => false,
            Wanted::Auto => period < tick(),
            Wanted::Perf => true,
        };
        if pace == Pace::Wall || !is_of_use {
            return Self::timer("timer".to_owned());
        }
        // One that does not permit a call may end the process for it (systemd's does), so nobody is taken there who
        // has not asked for it.
        if wanted == Wanted::Auto && has_seccomp_filter(&status()) {
            return Self::timer(
                "timer, as a seccomp filter is in force: perf events are tried with engine=perf"
                    .to_owned(),
            );
        }
        let found = Perf::signal(chosen_signal, signal::is_free)
            .and_then(|number| Perf::probe(number, period));
        match found {
            Ok(perf) if perf.sees_kernel => Self {
                perf: Some(perf),
                description: "perf".to_owned(),
                refused: None,
            },
            Ok(_) if wanted == Wanted::Auto => {
                Self::timer("timer, as perf events would not see time in the kernel".to_owned())
            }
            Ok(perf) => Self {
                perf: Some(perf),
                description: "perf, without time in the kernel".to_owned(),
                refused: None,
            },
            Err(error) => {
                let description = format!("timer, as perf events are refused: {error}");
                Self {
                    refused: (wanted == Wanted::Perf).then_some(error),
                    ..Self::timer(description)
                }
            }
        }
    }

    fn timer(description: String) -> Self {
        Self {
            perf: None,
            description,
            refused: None,
        }
    }
}

fn status() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap_or_default()
}

/// Whether there is a filter of system calls, by proc_pid_status(5): mode 2.
fn has_seccomp_filter(status: &str) -> bool {
    status
        .lines()
        .filter_map(|line| line.strip_prefix("Seccomp:"))
        .any(|mode| mode.trim() == "2")
}

/// The kernel's tick: the resolution of its coarse clock. CPU timers are looked at then.
fn tick() -> Duration {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `tick` is a place for the answer.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    Duration::new(tick.tv_sec.unsigned_abs(), tick.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(wanted: Wanted, pace: Pace, period_ms: u64, signal: Option<i32>) -> Engine {
        Engine::choose(wanted, pace, Some(Duration::from_millis(period_ms)), signal)
    }

    #[test]
    fn a_period_that_a_timer_can_keep_and_the_wall_clock_have_timers() {
        for engine in [
            choose(Wanted::Auto, Pace::Cpu, 100, None),
            choose(Wanted::Auto, Pace::Wall, 1, None),
            choose(Wanted::Perf, Pace::Wall, 1, None),
            choose(Wanted::Timer, Pace::Cpu, 1, None),
        ] {
            assert_eq!(engine.perf, None);
            assert_eq!(engine.description, "timer");
            assert!(engine.refused.is_none());
        }
    }

    #[test]
    fn what_was_asked_for_and_is_refused_is_told_and_what_was_not_is_not() {
        let real_time = Some(libc::SIGRTMIN() + 9);
        let asked = choose(Wanted::Perf, Pace::Cpu, 1, real_time);
        assert_eq!(asked.perf, None);
        assert!(matches!(asked.refused, Some(PerfError::RealTime(_))));
        assert!(asked.description.starts_with("timer, as"), "{asked:?}");
        assert_eq!(asked.description.lines().count(), 1);
        let auto = choose(Wanted::Auto, Pace::Cpu, 1, real_time);
        assert!(auto.perf.is_none() && auto.refused.is_none());
    }

    #[test]
    fn a_filter_is_told_by_its_mode() {
        assert!(has_seccomp_filter(
            "Name:\tjava\nSeccomp:\t2\nSeccomp_filters:\t1\n"
        ));
        assert!(!has_seccomp_filter(
            "Name:\tjava\nSeccomp:\t0\nSeccomp_filters:\t2\n"
        ));
        assert!(!has_seccomp_filter(""));
    }
}
