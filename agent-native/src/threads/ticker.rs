//! What signals a thread as it uses CPU time: a timer or a perf event.

use super::perf::PerfEvent;
use super::timer::Timer;

/// A running one; over on drop.
#[derive(Debug)]
pub enum Ticker {
    /// At the kernel's tick at the finest.
    Timer(Timer),
    /// At its own rate.
    Perf {
        /// Closed on drop.
        _event: PerfEvent,
    },
}

impl Ticker {
    /// Whether its thread is still there; `None` where that cannot be told from it.
    #[must_use]
    pub fn thread_is_alive(&self) -> Option<bool> {
        match self {
            Self::Timer(timer) => Some(timer.thread_is_alive()),
            Self::Perf { .. } => None,
        }
    }
}
