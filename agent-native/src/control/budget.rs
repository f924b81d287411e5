//! Whether the agent takes more CPU time than it may, and what follows: half of all rates, or twice as much again.
//!
//! Its own is what its threads and its signal handler take, but for threads whose pace no rate sets. Held against the
//! process', or half a core where that uses less: an agent that does next to nothing beside a JVM that does nothing harms
//! nobody, and slower rates would not change it. Where half of them has not changed it, they are as they were again:
//! profiles would be the poorer for nothing.

use std::time::Duration;

use crate::session::MOST_HALVINGS;

/// Between two checks.
pub const CHECK: Duration = Duration::from_secs(10);
/// Checks in a row above the limit after which rates are halved: names are looked up at first, and windows are written.
const OVER: u32 = 2;
/// Checks in a row well below it after which they are doubled, at first.
const UNDER: u32 = 6;
/// After each time that doubling was too much, twice as many; at the most so many: an hour.
const UNDER_MOST: u32 = 360;
/// Share of the limit below which twice as much is within it.
const WELL_BELOW: f64 = 0.4;
/// Share of a core that a process is taken to use at the least.
const FLOOR: f64 = 0.5;

/// What half of all rates must bring the share to, of what it was, or they were for nothing.
const OF_USE: f64 = 0.9;
/// Threads of the agent that no rate of samples sets the pace of, by [`Used::thread`](crate::threads::own::Used::thread): who
/// asks, and servers elsewhere, do.
const PACED: [&str; 4] = ["metrics", "ctl", "config", "config_w"];
/// What sends: as many threads as there are targets.
const SENDERS: &str = "push";

/// Whether the CPU time of that thread is a reason to sample less.
pub fn is_of_rates(thread: &str) -> bool {
    !PACED.contains(&thread) && !thread.starts_with(SENDERS)
}

/// Sums up to a moment, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// By the clock.
    pub at_ns: u64,
    /// CPU time of the agent.
    pub own_ns: u64,
    /// CPU time of the process, that of the agent with it.
    pub process_ns: u64,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    Keep,
    /// All rates are to be halved once more.
    Lower,
    /// Once less.
    Raise,
    /// They cannot be halved any more, and it is too much still: told once.
    Exhausted,
    /// Half of all rates was for nothing: once less.
    Useless {
        /// It is to be told: the first time.
        is_first: bool,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Budget {
    /// Share that is allowed.
    limit: f64,
    before: Option<Reading>,
    over: u32,
    /// Sum of their shares.
    over_shares: f64,
    under: u32,
    patience: u32,
    /// The mean share before rates were halved last, until that is known to have been of use.
    halved_at: Option<f64>,
    /// Checks in which rates are not halved, since it was for nothing.
    resting: u32,
    /// How many after the next time.
    rest: u32,
    is_useless_told: bool,
    /// Whether rates were doubled last, and not halved since.
    has_raised: bool,
    is_exhausted: bool,
}

impl Budget {
    /// With that share at the most, such as 0.01.
    pub fn new(limit: f64) -> Self {
        Self {
            limit,
            before: None,
            over: 0,
            over_shares: 0.0,
            under: 0,
            patience: UNDER,
            halved_at: None,
            resting: 0,
            rest: UNDER,
            is_useless_told: false,
            has_raised: false,
            is_exhausted: false,
        }
    }

    /// Nothing was sampled since: what was read before is of no account.
    pub fn forget(&mut self) {
        self.before = None;
        (self.over, self.under) = (0, 0);
    }

    /// What was to be done last was not, or others have changed the rates since: what comes next tells nothing of its use.
    pub fn undone(&mut self) {
        self.halved_at = None;
        self.has_raised = false;
    }

    /// What is to be done after that reading, with rates halved so often; and the share that the agent took since the last.
    pub fn check(&mut self, now: Reading, halvings: u32) -> (Verdict, f64) {
        let Some(before) = self.before.replace(now) else {
            return (Verdict::Keep, 0.0);
        };
        let own = now.own_ns.saturating_sub(before.own_ns) as f64;
        let process = now.process_ns.saturating_sub(before.process_ns) as f64;
        let passed = now.at_ns.saturating_sub(before.at_ns) as f64;
        let base = process.max(passed * FLOOR);
        if base <= 0.0 {
            return (Verdict::Keep, 0.0);
        }
        let share = own / base;
        (self.judge(share, halvings), share)
    }

    fn judge(&mut self, share: f64, halvings: u32) -> Verdict {
        self.resting = self.resting.saturating_sub(1);
        if share > self.limit {
            self.under = 0;
            if self.over == 0 {
                self.over_shares = 0.0;
            }
            self.over += 1;
            self.over_shares += share;
            if self.over < OVER {
                return Verdict::Keep;
            }
            let mean = self.over_shares / f64::from(self.over);
            self.over = 0;
            let is_useless = |before| halvings > 0 && mean >= OF_USE * before;
            if self.halved_at.take().is_some_and(is_useless) {
                self.resting = self.rest;
                self.rest = (self.rest * 2).min(UNDER_MOST);
                return Verdict::Useless {
                    is_first: !std::mem::replace(&mut self.is_useless_told, true),
                };
            }
            if self.resting > 0 {
                return Verdict::Keep;
            }
            if halvings >= MOST_HALVINGS {
                let is_first = !std::mem::replace(&mut self.is_exhausted, true);
                return if is_first {
                    Verdict::Exhausted
                } else {
                    Verdict::Keep
                };
            }
            self.halved_at = Some(mean);
            if std::mem::replace(&mut self.has_raised, false) {
                self.patience = (self.patience * 2).min(UNDER_MOST);
            }
            return Verdict::Lower;
        }
        // Below the limit, halving was of use.
        self.over = 0;
        self.halved_at = None;
        if halvings == 0 || share > self.limit * WELL_BELOW {
            self.under = 0;
            return Verdict::Keep;
        }
        self.under += 1;
        if self.under < self.patience {
            return Verdict::Keep;
        }
        self.under = 0;
        self.has_raised = true;
        Verdict::Raise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;

    /// Checks of a process that uses `cores`, of which the agent takes what `own` says of the halvings there are: how often
    /// rates were halved after each.
    fn run(limit: f64, cores: f64, checks: usize, own: impl Fn(usize, u32) -> f64) -> Vec<u32> {
        let mut budget = Budget::new(limit);
        let mut sums = (0.0, 0.0, 0.0);
        let mut halvings = 0;
        (0..checks)
            .map(|n| {
                sums.0 += 10.0 * SECOND;
                sums.1 += own(n, halvings) * 10.0 * SECOND;
                sums.2 += cores * 10.0 * SECOND;
                let reading = Reading {
                    at_ns: sums.0 as u64,
                    own_ns: sums.1 as u64,
                    process_ns: sums.2 as u64,
                };
                match budget.check(reading, halvings).0 {
                    Verdict::Lower => halvings += 1,
                    Verdict::Raise | Verdict::Useless { .. } => halvings -= 1,
                    Verdict::Keep | Verdict::Exhausted => {}
                }
                assert!(halvings <= MOST_HALVINGS);
                halvings
            })
            .collect()
    }

    /// The `n`th check of a process of one core, of which the agent takes a tenth whatever the rates.
    fn a_tenth(n: u64) -> Reading {
        Reading {
            at_ns: n * 10_000_000_000,
            own_ns: n * 1_000_000_000,
            process_ns: n * 10_000_000_000,
        }
    }

    fn per_rate(cores: f64) -> impl Fn(usize, u32) -> f64 {
        move |_, halvings| cores / f64::from(1 << halvings)
    }

    #[test]
    fn rates_are_halved_until_the_limit_is_kept_and_stay_there() {
        // 3.5 % of two cores: a quarter is 0.875 %.
        let halvings = run(0.01, 2.0, 400, per_rate(0.07));
        assert_eq!(halvings[..6], [0, 0, 1, 1, 2, 2]);
        assert!(halvings[6..].iter().all(|n| *n == 2), "{halvings:?}");
    }

    #[test]
    fn one_check_above_the_limit_is_no_reason() {
        // Each other check, as where windows are written.
        let halvings = run(0.01, 2.0, 100, |n, _| if n % 2 == 0 { 0.1 } else { 0.001 });
        assert!(halvings.iter().all(|n| *n == 0), "{halvings:?}");
    }

    #[test]
    fn an_idle_process_is_no_reason_and_a_busy_agent_beside_it_is() {
        assert!(run(0.01, 0.004, 100, |_, _| 0.003).iter().all(|n| *n == 0));
        assert_eq!(run(0.01, 0.004, 3, |_, _| 0.02).last(), Some(&1));
    }

    #[test]
    fn after_a_burst_rates_come_back_to_what_was_asked_for_and_not_above() {
        let halvings = run(0.01, 1.0, 100, |n, halvings| {
            let full = if n < 10 { 0.06 } else { 0.002 };
            full / f64::from(1 << halvings)
        });
        assert_eq!(halvings.iter().max(), Some(&3), "{halvings:?}");
        assert_eq!(halvings.last(), Some(&0));
        let changes = halvings.windows(2).filter(|two| two[0] != two[1]).count();
        assert_eq!(changes, 6, "{halvings:?}");
    }

    #[test]
    fn what_goes_up_and_down_is_tried_ever_more_seldom() {
        // Half of the rate costs little, the whole too much.
        let halvings = run(
            0.01,
            1.0,
            2_000,
            |_, halvings| if halvings == 0 { 0.02 } else { 0.001 },
        );
        let changes = halvings.windows(2).filter(|two| two[0] != two[1]).count();
        assert!((4..=22).contains(&changes), "{changes}");
    }

    #[test]
    fn what_halving_does_not_lower_leaves_the_rates_as_they_were_but_for_ever_rarer_tries() {
        // 5 % that no rate causes, and 0.2 % that it does.
        let halvings = run(0.01, 1.0, 4_000, |_, halvings| {
            0.05 + 0.002 / f64::from(1 << halvings)
        });
        assert_eq!(halvings[..6], [0, 0, 1, 1, 0, 0]);
        assert_eq!(halvings.iter().max(), Some(&1), "{halvings:?}");
        let lowered = halvings.iter().filter(|n| **n > 0).count();
        // 6, 12, … 360 checks in between, then 360 each.
        assert!((20..=50).contains(&lowered), "{lowered} of 4000");
    }

    #[test]
    fn of_what_halving_lowers_and_what_it_does_not_the_rates_stop_where_it_ends_to_help() {
        // Of 7 % of a core 5 are the rates'. The fourth time brings 2.6 to 2.3, which is of use; the fifth 2.3 to 2.16.
        let halvings = run(0.01, 1.0, 14, |_, halvings| {
            0.02 + 0.05 / f64::from(1 << halvings)
        });
        assert_eq!(halvings, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 4, 4]);
    }

    #[test]
    fn a_halving_that_was_not_done_is_asked_for_again_and_not_taken_back() {
        let mut budget = Budget::new(0.01);
        let mut asked = Vec::new();
        for n in 1..20_u64 {
            // Once it was done, before.
            match budget.check(a_tenth(n), 1).0 {
                Verdict::Keep => {}
                verdict => {
                    asked.push(verdict);
                    budget.undone();
                }
            }
        }
        assert!(asked.len() > 2, "{asked:?}");
        assert!(
            asked.iter().all(|verdict| *verdict == Verdict::Lower),
            "{asked:?}"
        );
    }

    #[test]
    fn that_halving_is_for_nothing_is_told_once() {
        let mut budget = Budget::new(0.01);
        let mut halvings = 0;
        let mut taken_back = Vec::new();
        for n in 1..500_u64 {
            match budget.check(a_tenth(n), halvings).0 {
                Verdict::Lower => halvings += 1,
                Verdict::Useless { is_first } => {
                    halvings -= 1;
                    taken_back.push(is_first);
                }
                other => assert_eq!(other, Verdict::Keep),
            }
        }
        assert!(taken_back.len() > 2, "{taken_back:?}");
        assert!(taken_back[0]);
        assert_eq!(taken_back.iter().filter(|is_first| **is_first).count(), 1);
    }

    #[test]
    fn threads_that_no_rate_sets_the_pace_of_are_no_reason() {
        for thread in [
            "metrics", "ctl", "config", "config_w", "push", "push_1", "push_12",
        ] {
            assert!(!is_of_rates(thread), "{thread}");
        }
        for thread in ["drain", "wall", "owners", "delays"] {
            assert!(is_of_rates(thread), "{thread}");
        }
    }

    #[test]
    fn where_the_lowest_rates_are_too_much_that_is_told_once() {
        let halvings = run(0.01, 1.0, 50, per_rate(0.9));
        assert_eq!(halvings.last(), Some(&MOST_HALVINGS));
        let mut budget = Budget::new(0.01);
        let told = (1..50_u64)
            .map(a_tenth)
            .filter(|reading| budget.check(*reading, MOST_HALVINGS).0 == Verdict::Exhausted)
            .count();
        assert_eq!(told, 1);
    }
}
