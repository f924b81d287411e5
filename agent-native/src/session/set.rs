//! A change of rates while the session lives.
//!
//! A window has one period of each kind. So the window is closed, the periods are changed while nothing is sampled, and
//! the next begins: some ms, and what is sampled before and after stands in two files. A thread that was put aside with a
//! signal of before pending takes it afterwards; it is told by its era, and counted as stale.

use std::sync::atomic::Ordering;
use std::time::Instant;

use vtprof_profile::kind::Kind;
use vtprof_signal::counters::Counter;

use super::rates::{Change, Plan, option};
use super::{Order, Phase, Session, SwitchError};
use crate::log;
use crate::options::value::spelled;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error("{0}")]
    Switch(#[from] SwitchError),
    #[error(
        "{key}= was off when vtprof was loaded, and it is not prepared for it: load it with {key}=, then set changes it",
        key = option(*.0)
    )]
    Unprepared(Kind),
    #[error("nothing would be sampled any more: stop does that, and start goes on")]
    NothingOn,
    /// Within how long the window was not closed.
    #[error(
        "nothing is changed, the window was not closed within flush={}: load the agent with a longer flush",
        spelled(*.0)
    )]
    Slow(std::time::Duration),
    #[error("nothing is changed, a sample was being taken and has not come to its end: ask again")]
    Busy,
}

/// What a change has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Before, and whether samples were taken.
    pub before: (Plan, Phase),
    /// Afterwards.
    pub after: (Plan, Phase),
}

impl Applied {
    /// Whether the window in progress was closed for it.
    pub fn has_closed(&self) -> bool {
        let runs_on = self.after.1 == Phase::Running && self.after.0.has_periods_of(&self.before.0);
        self.before.1 == Phase::Running && !runs_on
    }

    /// Old and new values, as options have them; empty where nothing is otherwise.
    pub fn differences(&self) -> Vec<String> {
        let mut all = self.after.0.differences(&self.before.0);
        if self.before.1 != self.after.1 {
            all.push(match self.after.1 {
                Phase::Running => "on (was off)".to_owned(),
                Phase::Stopped => "off (was on)".to_owned(),
            });
        }
        all
    }
}

/// What becomes of a session whose window was not closed in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slow {
    /// Who says off has that, however slow the drain is. What it has yet to write has the periods that there are, so those
    /// stay.
    Off,
    /// As it was, at the rates that there were.
    GoesOn,
    /// It was stopped, and that it stays.
    StaysOff,
}

impl Slow {
    fn of(phase: Phase, wanted: Phase) -> Self {
        match (phase, wanted) {
            (_, Phase::Stopped) => Self::Off,
            (Phase::Running, Phase::Running) => Self::GoesOn,
            (Phase::Stopped, Phase::Running) => Self::StaysOff,
        }
    }
}

impl Session {
    /// Changes what is sampled how often, and whether. All of it or nothing; told in one line, old and new, with `who`
    /// has asked. Any thread that is attached to the VM, but not the drain, which it waits for.
    ///
    /// # Errors
    /// See [`SetError`].
    pub fn set(&self, change: &Change, who: &str) -> Result<Applied, SetError> {
        let applied = {
            let mut phase = self.phase.lock();
            if self.over.load(Ordering::SeqCst) {
                return Err(SwitchError::Over.into());
            }
            if self.given_up.load(Ordering::SeqCst) && change.on != Some(false) {
                return Err(SwitchError::GivenUp.into());
            }
            let before = (self.rates.plan(), *phase);
            let plan = before.0.with(change)?;
            let wanted = match change.on {
                Some(true) => Phase::Running,
                Some(false) => Phase::Stopped,
                None => *phase,
            };
            let plan = self.change(&mut phase, plan, wanted)?;
            Applied {
                before,
                after: (plan, wanted),
            }
        };
        let differences = applied.differences();
        if !differences.is_empty() {
            log::info(&format!("{who} sets {}", differences.join(" ")));
        }
        Ok(applied)
    }

    /// What is in force then.
    fn change(&self, phase: &mut Phase, mut plan: Plan, wanted: Phase) -> Result<Plan, SetError> {
        let has_same_periods = plan.has_periods_of(&self.rates.plan());
        let runs_on = *phase == Phase::Running && wanted == Phase::Running && has_same_periods;
        if runs_on {
            self.rates.put(plan);
            return Ok(plan);
        }
        let flush = self.options.flush;
        // While it samples still: a drain that writes for long, and pauses late, would leave a hole in the window. It is
        // in a window already, and has nothing else to do than to say so.
        if *phase == Phase::Running
            && wanted == Phase::Running
            && !self.ending.ask(Order::Resume, flush)
        {
            return Err(SetError::Slow(flush));
        }
        let since = Instant::now();
        let is_halted = match *phase {
            Phase::Running => self.halt(flush),
            // A stop may have been told that the drain was slow: what it has yet to write has the periods that there are.
            Phase::Stopped => self.ending.ask(Order::Pause, flush),
        };
        // A handler that is inside still may go by the periods there are.
        let is_closed = is_halted && self.shared.gate.is_empty();
        if !is_closed {
            let error = || {
                if is_halted {
                    SetError::Busy
                } else {
                    SetError::Slow(flush)
                }
            };
            return match Slow::of(*phase, wanted) {
                Slow::Off => {
                    *phase = Phase::Stopped;
                    Err(SwitchError::SlowToStop(flush).into())
                }
                Slow::GoesOn => {
                    // The drain may be writing still, or may not have begun: either way it goes on with the window that
                    // there is, or the next. What is sampled before it does is counted as having come while sampling was
                    // stopped.
                    self.ending.tell(Order::Resume);
                    self.go_on();
                    let missed_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    let counters = self.shared.counters;
                    counters.add(Counter::UnsampledSwitchNs, missed_ns);
                    self.recheck()?;
                    Err(error())
                }
                Slow::StaysOff => Err(error()),
            };
        }
        *phase = Phase::Stopped;
        if !has_same_periods {
            self.apply(&mut plan);
        }
        self.rates.put(plan);
        if wanted == Phase::Running {
            // The window first: a sample must find it. A drain that does not come to it in time will yet; what is sampled
            // before it does is counted as having come while sampling was stopped.
            let _in_time = self.ending.ask(Order::Resume, flush);
            self.go_on();
            *phase = Phase::Running;
            self.recheck()?;
        }
        Ok(plan)
    }

    /// Hands the periods to whoever samples by them, while nobody does. What the JVM refuses is off in the plan.
    fn apply(&self, plan: &mut Plan) {
        let period_ns = |kind| plan.period(kind).unwrap_or(0);
        let era = self.registry.set_period(plan.duration(Kind::Cpu));
        self.shared.set_era(era);
        if let Some(wall) = &self.wall {
            let is_blocked = plan.period(Kind::Blocked).is_some();
            wall.set(plan.duration(Kind::Wall), is_blocked);
            self.shared.visits.set_all(wall.of_all());
        }
        if let Some(blocking) = &self.blocking {
            blocking.set_period(period_ns(Kind::Blocked));
        }
        if let Some(contention) = &self.contention {
            contention.set_period(period_ns(Kind::Lock));
        }
        if plan.is_prepared(Kind::Alloc) {
            let interval = plan.period(Kind::Alloc);
            let interval = interval.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX >> 1));
            if let Err(error) = self.allocations.set_interval(self.jvmti, interval) {
                log::warn(&format!("allocations are not sampled: {error}"));
                plan.leave_out(Kind::Alloc);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use std::time::Duration;

    #[test]
    fn a_change_that_no_window_sees_closes_none() {
        let plan = Plan::of(&Options::default(), Some(Duration::from_millis(10)));
        let other = Plan::of(&Options::default(), Some(Duration::from_millis(20)));
        let mut longer = plan;
        longer.every = Duration::from_secs(7);
        use Phase::{Running, Stopped};
        for (before, after, has_closed) in [
            ((plan, Running), (plan, Running), false),
            ((plan, Running), (longer, Running), false),
            ((plan, Running), (other, Running), true),
            ((plan, Running), (plan, Stopped), true),
            ((plan, Stopped), (other, Running), false),
        ] {
            let applied = Applied { before, after };
            assert_eq!(applied.has_closed(), has_closed, "{applied:?}");
        }
    }

    #[test]
    fn off_is_off_however_slow_the_drain_is_and_nothing_slow_switches_on() {
        use Phase::{Running, Stopped};
        let after = [
            (Running, Stopped, Slow::Off),
            (Stopped, Stopped, Slow::Off),
            (Running, Running, Slow::GoesOn),
            (Stopped, Running, Slow::StaysOff),
        ];
        for (phase, wanted, slow) in after {
            assert_eq!(Slow::of(phase, wanted), slow, "{phase:?} {wanted:?}");
        }
    }
}
