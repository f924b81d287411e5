//! What profiles charge to one span.

/// What a wait stands for that stands for itself, ns.
pub const EXACT: f64 = 0.0;

/// Number of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WindowId(pub usize);

/// One span's charges.
#[derive(Debug, Clone, Default)]
pub struct Charge {
    /// ns and samples by window, in the order in which they were read.
    pub windows: Vec<(WindowId, f64, f64)>,
    /// Names of the threads that ran for it, digits folded, as numbers of [`Ledger::threads`].
    pub threads: Vec<usize>,
    /// Blocked time by what a sample of it stands for at the most, ns each.
    pub blocked: Vec<(f64, f64)>,
}

impl Charge {
    /// CPU time, ns.
    pub fn nanos(&self) -> f64 {
        self.windows.iter().map(|(_, nanos, _)| nanos).sum()
    }

    pub fn samples(&self) -> f64 {
        self.windows.iter().map(|(_, _, samples)| samples).sum()
    }

    pub fn blocked_nanos(&self) -> f64 {
        // An empty sum of floats is -0.
        self.blocked.iter().fold(0.0, |sum, (_, nanos)| sum + nanos)
    }

    /// Adds CPU time.
    pub fn add(&mut self, window: WindowId, nanos: f64, samples: f64) {
        match self
            .windows
            .iter_mut()
            .rev()
            .find(|(of, _, _)| *of == window)
        {
            Some((_, sum, count)) => {
                *sum += nanos;
                *count += samples;
            }
            None => self.windows.push((window, nanos, samples)),
        }
    }

    /// Adds blocked time by what a sample of it stands for at the most, ns.
    pub fn add_blocked(&mut self, grain: f64, nanos: f64) {
        match self.blocked.iter_mut().find(|(of, _)| *of == grain) {
            Some((_, sum)) => *sum += nanos,
            None => self.blocked.push((grain, nanos)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_kept_by_window_and_by_what_a_sample_stands_for() {
        let mut charge = Charge::default();
        charge.add(WindowId(0), 10.0, 1.0);
        charge.add(WindowId(1), 20.0, 2.0);
        charge.add(WindowId(0), 30.0, 3.0);
        assert_eq!(
            charge.windows,
            [(WindowId(0), 40.0, 4.0), (WindowId(1), 20.0, 2.0)]
        );
        assert_eq!((charge.nanos(), charge.samples()), (60.0, 6.0));
        charge.add_blocked(5.0, 7.0);
        charge.add_blocked(5.0, 1.0);
        charge.add_blocked(6.0, 1.0);
        assert_eq!(charge.blocked, [(5.0, 8.0), (6.0, 1.0)]);
    }
}
