//! Stop and start of a session that goes on living.
//!
//! While it is stopped there is no timer and so no signal. What tags need goes on: records, the book of open
//! spans, the blocks of threads, and mount events where the handler, `blocked=` or `lock=` goes by them. So a tag is
//! right from the first sample after a start, and nothing has to be guessed.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use vtprof_signal::counters::Counter;

use super::{Order, Session};
use crate::log;
use crate::options::value::spelled;
use crate::wall::visits;

/// Whether samples are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Running,
    Stopped,
}

/// The phase there is: locked for as long as it is being changed, and to be seen meanwhile.
#[derive(Debug)]
pub struct Phases {
    phase: Mutex<Phase>,
    /// Whether it is [`Phase::Running`], as the last change left it. Relaxed: nothing else is read by it.
    is_running: AtomicBool,
}

/// The phase, locked.
pub struct Changing<'a> {
    phase: MutexGuard<'a, Phase>,
    is_running: &'a AtomicBool,
}

impl Phases {
    /// Running.
    pub fn running() -> Self {
        Self {
            phase: Mutex::new(Phase::Running),
            is_running: AtomicBool::new(true),
        }
    }

    /// For a change, or to have none go on. Waits for one that does: as long as the drain is waited for (`flush=`), or more.
    pub fn lock(&self) -> Changing<'_> {
        Changing {
            phase: self.phase.lock(),
            is_running: &self.is_running,
        }
    }

    /// As the last change left it. Does not wait.
    pub fn seen(&self) -> Phase {
        if self.is_running.load(Ordering::Relaxed) {
            Phase::Running
        } else {
            Phase::Stopped
        }
    }
}

impl Deref for Changing<'_> {
    type Target = Phase;

    fn deref(&self) -> &Phase {
        &self.phase
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Phase {
        &mut self.phase
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let is_running = *self.phase == Phase::Running;
        self.is_running.store(is_running, Ordering::Relaxed);
    }
}

/// Why a session cannot be stopped or started.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error("vtprof has ended in this JVM: see its earlier lines")]
    Over,
    #[error("vtprof does not start again: stack walks have faulted too often in this JVM")]
    GivenUp,
    /// Within how long the profile was not written.
    #[error(
        "sampling is stopped, but the last profile was not written within flush={}: it may come yet, or load the agent with a longer flush",
        spelled(*.0)
    )]
    SlowToStop(Duration),
    /// Within how long there was no answer.
    #[error(
        "sampling is still stopped, the agent's thread has not answered within flush={}: ask again, or load the agent with a longer flush",
        spelled(*.0)
    )]
    SlowToStart(Duration),
}

impl Session {
    /// Stops sampling and waits for the profile of the window in progress. Not to be called by the drain.
    pub fn pause(&self) -> Result<(), SwitchError> {
        let mut phase = self.phase.lock();
        if self.over.load(Ordering::SeqCst) {
            return Err(SwitchError::Over);
        }
        if std::mem::replace(&mut *phase, Phase::Stopped) == Phase::Stopped {
            log::answer("is stopped already");
            return Ok(());
        }
        let flush = self.options.flush;
        if !self.halt(flush) {
            return Err(SwitchError::SlowToStop(flush));
        }
        log::answer(&format!(
            "stopped, what was sampled is in {}; control=start goes on",
            self.directory.path().display()
        ));
        Ok(())
    }

    /// Samples again, in a new window. Not to be called by the drain.
    pub fn resume(&self) -> Result<(), SwitchError> {
        let mut phase = self.phase.lock();
        if self.over.load(Ordering::SeqCst) {
            return Err(SwitchError::Over);
        }
        if self.given_up.load(Ordering::SeqCst) {
            return Err(SwitchError::GivenUp);
        }
        if *phase == Phase::Running {
            log::answer("is running already");
            return Ok(());
        }
        // The window first: a sample must find it.
        let flush = self.options.flush;
        if !self.ending.ask(Order::Resume, flush) {
            // Whether it was taken up or not: nothing is to be written while sampling is stopped.
            self.ending.tell(Order::Pause);
            return Err(SwitchError::SlowToStart(flush));
        }
        self.go_on();
        *phase = Phase::Running;
        self.recheck()?;
        log::answer("started again");
        Ok(())
    }

    /// Nothing is sampled any more, and the drain is asked to close the window; whether it has within `patience`. Under
    /// the lock of the phase.
    pub(super) fn halt(&self, patience: Duration) -> bool {
        self.end_events();
        self.end_visits();
        self.registry.pause();
        // Signals may be on their way still: the window that is written must not have one without what became of it.
        self.shared.gate.disarm();
        self.shared.gate.close();
        self.await_handlers();
        self.ending.ask(Order::Pause, patience)
    }

    /// Samples are taken again; their window was begun before. Under the lock of the phase.
    pub(super) fn go_on(&self) {
        if self.wall.is_some() {
            visits::forget(self.shared, self.registry.places());
        }
        self.shared.gate.open();
        self.registry.resume();
        self.arm();
    }

    /// The session may have ended, or given up, while it went on; both disarm after they have said so.
    pub(super) fn recheck(&self) -> Result<(), SwitchError> {
        let given_up = self.given_up.load(Ordering::SeqCst);
        let over = self.over.load(Ordering::SeqCst);
        if over || given_up {
            self.shared.gate.disarm();
            self.end_events();
            self.end_visits();
        }
        match (given_up, over) {
            (true, _) => Err(SwitchError::GivenUp),
            (false, true) => Err(SwitchError::Over),
            (false, false) => Ok(()),
        }
    }

    /// Sampling is off for the rest of this run: it has done harm.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        self.shared.gate.disarm();
        self.end_events();
        self.end_visits();
    }

    fn end_visits(&self) {
        if let Some(wall) = &self.wall {
            wall.end();
        }
    }

    /// How things stand, as `key=value` in one line.
    pub fn status(&self) -> String {
        let state = self.state().name();
        let (threads, timers) = self.registry.count();
        let counters = self.shared.counters;
        let figures: Vec<_> = [
            Counter::Signals,
            Counter::SamplesTaken,
            Counter::WindowsFailed,
        ]
        .into_iter()
        .map(|counter| format!("{}={}", counter.name(), counters.get(counter)))
        .collect();
        format!(
            "{} status={state} threads={threads} timers={timers} {} context={} out={}",
            env!("CARGO_PKG_VERSION"),
            figures.join(" "),
            self.strategy(),
            self.directory.word()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_is_seen_as_the_last_change_left_it_while_another_goes_on() {
        let phases = Phases::running();
        let mut changing = phases.lock();
        *changing = Phase::Stopped;
        assert_eq!(phases.seen(), Phase::Running);
        drop(changing);
        assert_eq!(phases.seen(), Phase::Stopped);
        *phases.lock() = Phase::Running;
        assert_eq!(phases.seen(), Phase::Running);
    }

    #[test]
    fn who_was_not_waited_for_long_enough_is_told_in_one_line_how_long_and_by_which_option() {
        let wait = Duration::from_millis(1500);
        for error in [
            SwitchError::SlowToStop(wait),
            SwitchError::SlowToStart(wait),
        ] {
            let text = error.to_string();
            assert_eq!(text.matches("flush=1500ms").count(), 1, "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
    }
}
