//! How things stand, in lines of `key=value`: for `vtprof ctl`, and for Java.

use std::sync::atomic::Ordering;

use vtprof_profile::kind::Kind;

use super::{Phase, Session};
use crate::figures::{self, Nature};

/// What a session does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Running,
    Stopped,
    /// Sampling is off for good, for its own faults.
    GivenUp,
    /// It has ended.
    Over,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::GivenUp => "given up",
            Self::Over => "over",
        }
    }
}

impl Session {
    /// What it does now.
    pub fn state(&self) -> State {
        // As it was before, while a change goes on, which may take longer than whoever asks can wait.
        let phase = self.phase.seen();
        if self.over.load(Ordering::SeqCst) {
            State::Over
        } else if self.given_up.load(Ordering::SeqCst) {
            State::GivenUp
        } else if phase == Phase::Running {
            State::Running
        } else {
            State::Stopped
        }
    }

    /// How things stand. `out` is a path, or `off` without files; `period.KIND` is in ns, for allocations in bytes, and 0 for a kind that is off but can be set;
    /// `asked.KIND` is what a budget has made longer. A figure is `counter.NAME` or `gauge.NAME`.
    pub fn status_lines(&self) -> Vec<String> {
        let plan = self.rates.plan();
        let (threads, timers) = self.registry.count();
        let mut lines = vec![
            format!("version={}", env!("CARGO_PKG_VERSION")),
            format!("state={}", self.state().name()),
            format!("pid={}", std::process::id()),
            format!("service={}", self.service),
            format!("jvm={}", self.facts.jvm),
            format!("engine={}", self.facts.engine),
            format!("context={}", self.strategy()),
            format!("out={}", self.directory.word()),
            format!("every_ns={}", plan.every.as_nanos()),
            format!("halvings={}", plan.halvings),
            format!("threads={threads}"),
            format!("timers={timers}"),
        ];
        for kind in Kind::ALL.into_iter().filter(|kind| plan.is_prepared(*kind)) {
            let period = plan.period(kind).unwrap_or(0);
            lines.push(format!("period.{}={period}", kind.name()));
            if let Some(asked) = plan.asked(kind).filter(|asked| *asked != period) {
                lines.push(format!("asked.{}={asked}", kind.name()));
            }
        }
        lines.extend(figures::all(self).into_iter().map(|figure| {
            let nature = match figure.nature {
                Nature::Counter => "counter",
                Nature::Gauge => "gauge",
            };
            format!("{nature}.{}={}", figure.name, figure.value)
        }));
        // A service is called as its options have it.
        lines
            .into_iter()
            .map(|line| line.replace(char::is_control, " "))
            .collect()
    }
}
