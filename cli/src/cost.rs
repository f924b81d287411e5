//! What CPU time costs: as many vCPUs on average as it takes, and so many vCPU-hours in a month.

use anyhow::{Result, bail};
use vtprof_profile::model::Profile;
use vtprof_profile::window::Window;

use crate::measure::Measure;

/// Hours of an average month, as clouds bill it.
const HOURS_A_MONTH: f64 = 730.0;
/// What `--cost` says of other measures.
const REFUSED: &str = "only CPU time is paid for: a thread that waits costs no vCPU, and bytes are no time; leave --cost out, or take --kind cpu";

/// The time in which profiles were taken. Windows that overlap, of several processes, count once.
#[derive(Debug, Default)]
pub struct Covered {
    windows: Vec<Window>,
    /// Profiles that do not say how long they took.
    unknown: usize,
}

impl Covered {
    pub fn add(&mut self, profile: &Profile) {
        match Window::of_all(profile) {
            Some(window) => self.windows.push(window),
            None => self.unknown += 1,
        }
    }

    /// All of it, ns.
    fn nanos(&self) -> i128 {
        Window::together(&self.windows).map_or(0, |all| all.covered.into())
    }
}

/// Prices sums of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pricing {
    covered_nanos: i128,
    /// In a unit of the measure.
    unit_nanos: f64,
}

/// What a sum costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// On average over the time in which profiles were taken.
    pub vcpus: f64,
    /// If it goes on like that.
    pub vcpu_hours_a_month: f64,
}

impl Pricing {
    /// # Errors
    /// The measure is no CPU time, or profiles do not say how long they took.
    pub fn new(measure: &Measure, covered: &Covered) -> Result<Self> {
        let unit_nanos = match measure.unit.as_str() {
            "nanoseconds" => 1.0,
            "microseconds" => 1e3,
            "milliseconds" => 1e6,
            "seconds" => 1e9,
            _ => 0.0,
        };
        if measure.kind != "cpu" || unit_nanos == 0.0 {
            bail!("--cost of {}: {REFUSED}", measure.kind);
        }
        let covered_nanos = covered.nanos();
        if covered.unknown > 0 || covered_nanos == 0 {
            bail!(
                "--cost: {} of {} profiles do not say when they were taken and for how long; leave them out",
                covered.unknown,
                covered.unknown + covered.windows.len()
            );
        }
        Ok(Pricing {
            covered_nanos,
            unit_nanos,
        })
    }

    /// Of so much CPU time, in the unit of the measure.
    pub fn of(&self, cpu: i128) -> Cost {
        let vcpus = cpu as f64 * self.unit_nanos / self.covered_nanos as f64;
        Cost {
            vcpus,
            vcpu_hours_a_month: vcpus * HOURS_A_MONTH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_cpu_is_365_hours_a_month() {
        let pricing = Pricing {
            covered_nanos: 60_000_000_000,
            unit_nanos: 1.0,
        };
        let cost = pricing.of(30_000_000_000);
        assert_eq!((cost.vcpus, cost.vcpu_hours_a_month), (0.5, 365.0));
    }
}
