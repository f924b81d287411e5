//! What a span had, and what it could have had.

use super::charge::{Charge, EXACT};
use super::lives::Life;

/// What CPU clocks may be off by against durations.
const TOLERANCE: f64 = 0.05;
/// What a duration itself may be off by, ns; and where short waits are drawn by chance.
const OFF: f64 = 50_000.0;
const OFF_WITH_WAITS: f64 = 300_000.0;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Samples, in units of the grain: never more than there are.
    pub samples: f64,
    /// Blocked time by what a sample stands for at the most, ns; 0 where each stands for itself.
    pub blocked: Vec<(f64, f64)>,
    /// The most CPU and blocked time together, ns.
    pub budget: f64,
}

/// Samples in units of the grain; one that stands for more counts once.
pub fn units(nanos: f64, samples: f64, grain: f64) -> f64 {
    (nanos / grain).min(samples)
}

impl Account {
    /// Of a span and what it is charged, where a sample stands for `grain` ns at the most.
    pub fn of(life: &Life, charge: Option<&Charge>, grain: f64) -> Self {
        let blocked = charge.map_or_else(Vec::new, |charge| charge.blocked.clone());
        let timed = blocked.iter().filter(|(grain, _)| *grain == EXACT);
        let timed: f64 = timed.map(|(_, nanos)| nanos).sum();
        let off = if blocked.is_empty() {
            OFF
        } else {
            OFF_WITH_WAITS
        };
        Account {
            samples: charge.map_or(0.0, |charge| {
                let windows = charge.windows.iter();
                windows
                    .map(|(_, nanos, samples)| units(*nanos, *samples, grain))
                    .sum()
            }),
            budget: life.open + TOLERANCE * (life.open - timed).max(0.0) + off,
            blocked,
        }
    }
}
