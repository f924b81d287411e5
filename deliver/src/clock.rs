//! Time as couriers have it. It is given to them, so a test has an hour in no time.

use std::time::{Duration, Instant};

/// Time since some start, by a clock that nobody sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(Duration);

impl Moment {
    /// The start.
    pub const START: Self = Self(Duration::ZERO);

    /// That long after the start.
    #[must_use]
    pub const fn at(since: Duration) -> Self {
        Self(since)
    }

    /// That much later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(wait))
    }

    /// How long from an earlier one to this; nothing from a later one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Now.
    #[must_use]
    pub fn now(self) -> Moment {
        Moment(self.0.elapsed())
    }
}
