//! How long to wait after a failure.

use std::time::Duration;

/// Bounds of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// After the first failure, at the most.
    pub first: Duration,
    /// After any, at the most, unless the server says so.
    pub most: Duration,
    /// What a server may ask for, at the most.
    pub most_asked: Duration,
}

impl Bounds {
    /// A second, doubled up to five minutes; a server may ask for fifteen.
    pub const DEFAULT: Self = Self {
        first: Duration::from_secs(1),
        most: Duration::from_secs(300),
        most_asked: Duration::from_secs(900),
    };
}

/// Waits of one target, each drawn between half of its bound and the bound: after an outage a fleet comes back spread.
#[derive(Debug)]
pub struct Backoff {
    bounds: Bounds,
    failures: u32,
    chance: fastrand::Rng,
}

impl Backoff {
    /// No failure yet.
    #[must_use]
    pub fn new(bounds: Bounds, seed: u64) -> Self {
        Self {
            bounds,
            failures: 0,
            chance: fastrand::Rng::with_seed(seed),
        }
    }

    /// It worked.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// It failed: how long to wait. `asked` is what the server asks for, if anything; it is never undercut, up to its bound.
    pub fn failed(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = self.bounds.first.saturating_mul(1 << self.failures.min(20));
        self.failures = self.failures.saturating_add(1);
        let bound = doubled.min(self.bounds.most);
        let drawn = bound.mul_f64(0.5 + 0.5 * self.chance.f64());
        match asked {
            // Spread above: all were told the same.
            Some(asked) => {
                let asked = asked.min(self.bounds.most_asked);
                asked.max(drawn) + asked.mul_f64(0.1 * self.chance.f64())
            }
            None => drawn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound_and_no_two_fleets_members_keep_step() {
        let waits = |seed| {
            let mut backoff = Backoff::new(Bounds::DEFAULT, seed);
            (0..40).map(|_| backoff.failed(None)).collect::<Vec<_>>()
        };
        let (a, b) = (waits(1), waits(2));
        for (n, wait) in a.iter().enumerate() {
            let bound = Duration::from_secs(1 << n.min(9)).min(Duration::from_secs(300));
            assert!((bound / 2..=bound).contains(wait), "{n}: {wait:?}");
        }
        assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    }

    #[test]
    fn what_a_server_asks_for_is_waited_for_but_not_for_ever() {
        let mut backoff = Backoff::new(Bounds::DEFAULT, 1);
        let asked = Duration::from_secs(60);
        let wait = backoff.failed(Some(asked));
        assert!((asked..=asked.mul_f64(1.1)).contains(&wait), "{wait:?}");
        let most = Bounds::DEFAULT.most_asked;
        assert!(backoff.failed(Some(Duration::MAX)) <= most.mul_f64(1.1));
        assert!(
            backoff.failed(Some(Duration::ZERO)) > Duration::ZERO,
            "none at all would be a storm"
        );
    }

    #[test]
    fn after_a_success_waits_begin_anew() {
        let mut backoff = Backoff::new(Bounds::DEFAULT, 1);
        for _ in 0..10 {
            backoff.failed(None);
        }
        backoff.reset();
        assert!(backoff.failed(None) <= Bounds::DEFAULT.first);
    }
}
