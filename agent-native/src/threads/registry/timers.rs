//! Timers and perf events, made and stopped. While they are stopped, who is known stays known, with its block and what
//! runs there, so that nothing has to be learnt anew when they start again.

use std::time::Duration;

use vtprof_signal::block::Block;
use vtprof_signal::counters::Counter;

use super::{Cookie, Era, OsThreadId, Registry, State, random_phase};
use crate::threads::perf::PerfError;
use crate::threads::tasks::started;
use crate::threads::ticker::Ticker;
use crate::threads::timer::Timer;

impl Registry {
    /// A perf event or a timer for a thread; where the kernel refuses one, that is counted, and said once.
    pub(super) fn ticker(
        &self,
        state: &mut State,
        thread: OsThreadId,
        block: &Block,
        cookie: Cookie,
    ) -> Option<Ticker> {
        let period = state.period?;
        if let Some(perf) = state.perf {
            let phase = random_phase(&mut state.random, period);
            match perf.start(thread, block, cookie, phase) {
                Ok(event) => return Some(Ticker::Perf { _event: event }),
                Err(PerfError::Ended) => return None,
                Err(error) => {
                    self.counters.add(Counter::PerfRefused, 1);
                    if !std::mem::replace(&mut state.fallback_reported, true) {
                        state.to_say.push(format!(
                            "no perf event for thread {}: {error}; such threads have a CPU timer, as with engine=timer, and are counted as {}",
                            thread.0,
                            Counter::PerfRefused.name()
                        ));
                    }
                }
            }
        }
        self.timer(state, thread, cookie, period).map(Ticker::Timer)
    }

    fn timer(
        &self,
        state: &mut State,
        thread: OsThreadId,
        cookie: Cookie,
        period: Duration,
    ) -> Option<Timer> {
        let phase = random_phase(&mut state.random, period);
        let refused = match Timer::start(
            thread,
            self.pace,
            self.signal,
            (cookie, state.era),
            period,
            phase,
        ) {
            Ok(timer) => return Some(timer),
            Err(error) => error,
        };
        // It has ended just now: nothing was refused.
        if refused.raw_os_error() == Some(libc::EINVAL) && started(thread).is_none() {
            return None;
        }
        self.counters.add(Counter::TimersRefused, 1);
        if !std::mem::replace(&mut state.refusal_reported, true) {
            state.to_say.push(format!(
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
            let told = entry.ticker.as_ref().and_then(Ticker::thread_is_alive);
            if told == Some(true) {
                entry.started = started(*thread);
            }
            entry.ticker = None;
        }
    }

    /// Another period, or none. While timers are stopped and no handler is inside: what a signal stands for follows
    /// from the period there is. Handlers are to know the era that it returns before they come in again.
    pub fn set_period(&self, period: Option<Duration>) -> Era {
        let mut state = self.state.lock();
        if state.period == period {
            return state.era;
        }
        state.era = state.era.next();
        state.period = period;
        if let Some(period) = period
            && let Some(perf) = &mut state.perf
        {
            perf.period = period;
            perf.begin();
        }
        state.era
    }

    /// A timer for each thread again, where there are any.
    pub fn resume(&self) {
        let mut state = self.state.lock();
        if state.period.is_none() {
            return;
        }
        state.paused = false;
        let waiting: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, entry)| entry.ticker.is_none())
            .map(|(thread, entry)| (*thread, entry.seat()))
            .collect();
        for (thread, seat) in waiting {
            let is_alive = state
                .entries
                .get(&thread)
                .is_some_and(|entry| entry.is_alive(thread));
            if !is_alive {
                Self::retire(&mut state, thread);
                continue;
            }
            let ticker = self.ticker(&mut state, thread, seat.block, seat.cookie);
            if let Some(entry) = state.entries.get_mut(&thread) {
                entry.ticker = ticker;
            }
        }
    }

    /// How many threads are known, and how many of them have a timer.
    pub fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        let timers = state
            .entries
            .values()
            .filter(|entry| entry.ticker.is_some());
        (state.entries.len(), timers.count())
    }
}
