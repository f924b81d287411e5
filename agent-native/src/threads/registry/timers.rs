//! Timers, made and stopped. While they are stopped, who is known stays known, with its block and what runs
//! there, so that nothing has to be learnt anew when they start again.

use vtprof_signal::counters::Counter;

use super::{Cookie, OsThreadId, Registry, State, Timer, random_phase};
use crate::log;
use crate::threads::tasks::started;

impl Registry {
    /// A timer for a thread; where the kernel refuses it, that is counted, and said once.
    pub(super) fn timer(
        &self,
        state: &mut State,
        thread: OsThreadId,
        cookie: Cookie,
    ) -> Option<Timer> {
        let period = self.period?;
        let phase = random_phase(&mut state.random, period);
        let refused = match Timer::start(thread, self.pace, self.signal, cookie, period, phase) {
            Ok(timer) => return Some(timer),
            Err(error) => error,
        };
        // It has ended just now: nothing was refused.
        if refused.raw_os_error() == Some(libc::EINVAL) && started(thread).is_none() {
            return None;
        }
        self.counters.add(Counter::TimersRefused, 1);
        if !std::mem::replace(&mut state.refusal_reported, true) {
            log::warn(&format!(
                "no CPU timer for thread {}: {refused}; such threads are not sampled and counted as {} (see ulimit -i)",
                thread.0,
                Counter::TimersRefused.name()
            ));
        }
        None
    }

    /// Stops all timers; threads that come meanwhile get none.
    pub fn pause(&self) {
        let mut state = self.state.lock();
        state.paused = true;
        for (thread, entry) in &mut state.entries {
            // Before its timer goes, which knows whether this is still the thread.
            let is_alive = entry.timer.as_ref().is_some_and(Timer::thread_is_alive);
            if is_alive {
                entry.started = started(*thread);
            }
            entry.timer = None;
        }
    }

    /// A timer for each thread again, where there are any.
    pub fn resume(&self) {
        if self.period.is_none() {
            return;
        }
        let mut state = self.state.lock();
        state.paused = false;
        let waiting: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, entry)| entry.timer.is_none())
            .map(|(thread, entry)| {
                let cookie = Cookie {
                    block: entry.index,
                    generation: entry.generation,
                };
                (*thread, cookie)
            })
            .collect();
        for (thread, cookie) in waiting {
            let is_alive = state
                .entries
                .get(&thread)
                .is_some_and(|entry| entry.is_alive(thread));
            if !is_alive {
                Self::retire(&mut state, thread);
                continue;
            }
            let timer = self.timer(&mut state, thread, cookie);
            if let Some(entry) = state.entries.get_mut(&thread) {
                entry.timer = timer;
            }
        }
    }

    /// How many threads are known, and how many of them have a timer.
    pub fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        let timers = state.entries.values().filter(|entry| entry.timer.is_some());
        (state.entries.len(), timers.count())
    }
}
