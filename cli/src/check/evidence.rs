//! How much speaks against the tags, as odds that hold whatever the load.
//!
//! A span that lasted d has at most d of CPU time, so at most d/g samples on average, each standing for g or less. For any
//! r > 1 the number r^samples · exp(-(r-1)·d/g) is then 1 or less on average (an e-value): samples of a CPU clock are no more
//! variable than a Poisson process, as of the whole periods in a burst none is left to chance. Waits in the blocked profile
//! are in it with the same right, since CPU and blocked time of one thread fill no more than d. Such numbers may be multiplied
//! over spans, and averaged over guesses of what is wrong: how many spans, by how much, up to what length. By Markov's
//! inequality right tags then give N or more in one of N cases at the most: no load needs to be known, and many looks cost
//! what they are.

use super::account::Account;

/// How many times more samples than possible there may be.
const FACTORS: [f64; 9] = [1.1, 1.3, 1.7, 2.5, 4.0, 8.0, 20.0, 60.0, 200.0];
/// Of more samples a ns than that, blocked time is left out: a wait too many or too few would weigh too much.
const HIGHEST_RATE: f64 = 0.3e-6;
/// Which share of the spans has too many.
const SHARES: [f64; 6] = [1.0, 0.3, 0.1, 0.03, 0.01, 0.001];
/// Which part of all is looked at, from those on that have the least room for CPU time: they show most.
const PARTS: [f64; 5] = [0.03, 0.1, 0.2, 0.5, 1.0];

impl Account {
    /// What waits leave of the budget, ns. Only those count that are exact: what is chosen by chance would be chosen to please.
    fn room(&self) -> f64 {
        let exact = self.blocked.iter().filter(|(grain, _)| *grain == 0.0);
        self.budget - exact.map(|(_, nanos)| nanos).sum::<f64>()
    }

    /// The logarithm of the e-value for a factor.
    fn log_value(&self, factor: f64, grain: f64) -> f64 {
        let rate = (factor - 1.0) / grain;
        // Short waits are in the blocked profile by chance. What is left out speaks for nothing.
        let blocked: f64 = if rate > HIGHEST_RATE {
            0.0
        } else {
            let all = self.blocked.iter();
            all.map(|(grain, nanos)| match *grain {
                0.0 => nanos * rate,
                grain => nanos / grain * (rate * grain).ln_1p(),
            })
            .sum()
        };
        self.samples * factor.ln() + blocked - rate * self.budget
    }

    /// The logarithm of the e-value of this span alone, averaged over all factors.
    pub fn log_odds(&self, grain: f64) -> f64 {
        let values = FACTORS.map(|factor| self.log_value(factor, grain));
        log_sum(&values) - (FACTORS.len() as f64).ln()
    }
}

/// The logarithm of the odds of all of them together that tags are wrong: right ones give x or more with a probability of
/// exp(-x) at the most.
pub fn log_odds(accounts: &[Account], grain: f64) -> f64 {
    if accounts.is_empty() {
        return 0.0;
    }
    let mut by_room: Vec<(f64, &Account)> = accounts
        .iter()
        .map(|account| (account.room(), account))
        .collect();
    by_room.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = PARTS.map(|part| ((by_room.len() as f64 * part).ceil() as usize).max(1));
    let few = 1.0 / accounts.len() as f64;
    let shares: Vec<f64> = SHARES.iter().copied().chain([few]).collect();
    let mut values = Vec::with_capacity(FACTORS.len() * shares.len() * PARTS.len());
    for factor in FACTORS {
        let mut products = vec![0.0; shares.len()];
        for (index, (_, account)) in by_room.iter().enumerate() {
            let value = account.log_value(factor, grain);
            for (product, share) in products.iter_mut().zip(&shares) {
                *product += mixed(value, *share);
            }
            for _ in ends.iter().filter(|end| **end == index + 1) {
                values.extend_from_slice(&products);
            }
        }
    }
    log_sum(&values) - (values.len() as f64).ln()
}

/// ln(1 - share + share·exp(value)).
fn mixed(value: f64, share: f64) -> f64 {
    if share >= 1.0 {
        return value;
    }
    log_sum(&[(-share).ln_1p(), share.ln() + value])
}

/// The logarithm of a sum of exponentials.
pub fn log_sum(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() {
        most + values
            .iter()
            .map(|value| (value - most).exp())
            .sum::<f64>()
            .ln()
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::chance::Chance;
    use crate::check::charge::EXACT;
    use crate::check::ledger::wait_grain;

    const GRAIN: f64 = 10e6;
    /// Right files that are judged, and how many may raise an alarm at odds of 1,000.
    const FILES: u64 = 4_000;
    const ALARM: f64 = 6.907_755;

    fn account(samples: f64, millis: f64) -> Account {
        Account {
            samples,
            blocked: Vec::new(),
            budget: millis * 1e6,
        }
    }

    #[test]
    fn a_sample_in_a_short_span_is_no_proof_and_ten_are() {
        assert!(account(1.0, 3.0).log_odds(GRAIN) < 3.0);
        assert!(account(2.0, 3.0).log_odds(GRAIN) < ALARM);
        assert!(account(10.0, 3.0).log_odds(GRAIN) > 15.0);
        // A long one may have 10 % too many by chance, but not 100 times.
        assert!(account(110.0, 1000.0).log_odds(GRAIN) < ALARM);
        assert!(log_odds(&vec![account(110.0, 1000.0); 100], GRAIN) > ALARM);
        // The sum tells more than each: 400 spans of 3 ms with a sample in every other one.
        let many: Vec<_> = (0..400).map(|i| account(f64::from(i % 2), 3.0)).collect();
        assert!(log_odds(&many, GRAIN) > ALARM);
        assert!(log_odds(&many[..10], GRAIN) < ALARM);
    }

    #[test]
    fn a_few_wrong_spans_among_many_that_wait_are_found() {
        let mut many = vec![account(2.0, 1000.0); 20_000];
        assert!(log_odds(&many, GRAIN) < 0.0);
        many.extend(vec![account(9.0, 3.0); 3]);
        assert!(log_odds(&many, GRAIN) > ALARM);
    }

    #[test]
    fn blocked_and_cpu_time_fill_no_more_than_the_duration() {
        let with = |samples, blocked| Account {
            samples,
            blocked: vec![(0.0, blocked * 1e6)],
            budget: 1000e6,
        };
        // 900 ms of waiting leave room for 10 samples.
        assert!(log_odds(&vec![with(10.0, 900.0); 50], GRAIN) < 0.0);
        assert!(log_odds(&vec![with(20.0, 900.0); 50], GRAIN) > ALARM);
        // What was looked at now and then may be wrong by some looks.
        let mut seen = with(20.0, 900.0);
        seen.blocked[0].0 = 40e6;
        assert!(log_odds(&vec![seen; 50], GRAIN) < 0.0);
    }

    /// Spans that did nothing but compute, the worst there is, sampled by a clock or by chance.
    #[test]
    fn right_files_raise_no_alarm_in_a_thousand() {
        let mut chance = Chance::new(1);
        let mut alarms = 0;
        let mut mean = 0.0;
        for file in 0..FILES {
            let spans = [1, 3, 30, 300][(file % 4) as usize];
            let accounts: Vec<_> = (0..spans)
                .map(|_| {
                    let millis = 2000.0 * chance.uniform().powi(6) + 0.1;
                    let expected = millis * 1e6 / GRAIN;
                    let samples = if file % 3 == 0 {
                        (expected + chance.uniform()).floor()
                    } else {
                        chance.poisson(expected)
                    };
                    account(samples, millis)
                })
                .collect();
            let odds = log_odds(&accounts, GRAIN);
            mean += odds.exp() / FILES as f64;
            alarms += u64::from(odds >= ALARM);
        }
        assert!(alarms < FILES / 1000, "{alarms} of {FILES}");
        // The average that the bound rests on, with its error.
        assert!(mean < 1.3, "{mean}");
    }

    /// A right span that computes and waits by turns, as the agent's profiles have it; the budget is its duration to the ns.
    fn with_waits(chance: &mut Chance, is_timed: bool, is_clocked: bool) -> Account {
        const PERIOD: f64 = 1e6;
        const LOOK: f64 = 20e6;
        // Bursts and waits of this span, ms on average: from short to long ones.
        let burst = 10.0_f64.powf(2.5 * chance.uniform() - 1.0);
        let wait = 10.0_f64.powf(3.0 * chance.uniform() - 1.0);
        let turns = 1 + chance.below(6);
        let (mut cpu, mut duration, mut events, mut nanos) = (0.0, 0.0, 0.0, 0.0);
        let mut look = LOOK * chance.uniform();
        for turn in 0..turns {
            let runs = -1e6 * burst * (1.0 - chance.uniform()).ln();
            cpu += runs;
            duration += runs;
            if turn + 1 == turns {
                break;
            }
            let waits = -1e6 * wait * (1.0 - chance.uniform()).ln();
            if is_timed && chance.uniform() < waits / PERIOD {
                events += 1.0;
                nanos += waits.max(PERIOD);
            }
            // Each look stands for the time since the one before.
            while look < duration + waits {
                let next = LOOK * (0.5 + chance.uniform());
                if !is_timed && look >= duration {
                    events += 1.0;
                    nanos += next;
                }
                look += next;
            }
            duration += waits;
        }
        let samples = if is_clocked {
            (cpu / GRAIN + chance.uniform()).floor()
        } else {
            chance.poisson(cpu / GRAIN)
        };
        let grain = wait_grain(is_timed, PERIOD, nanos / f64::max(events, 1.0));
        Account {
            samples,
            blocked: Vec::from_iter((events > 0.0).then_some((grain, nanos))),
            budget: duration,
        }
    }

    #[test]
    fn right_files_with_cpu_and_blocked_time_raise_no_alarm_in_a_thousand() {
        let mut chance = Chance::new(2);
        let mut alarms = 0;
        let (mut mean, mut exact, mut used) = (0.0, 0, 0.0);
        for file in 0..FILES {
            let spans = [1, 3, 30, 300][(file % 4) as usize];
            let (is_timed, is_clocked) = (file % 3 > 0, file % 5 > 0);
            let accounts: Vec<_> = (0..spans)
                .map(|_| with_waits(&mut chance, is_timed, is_clocked))
                .collect();
            let all = accounts.iter().flat_map(|account| &account.blocked);
            exact += all.filter(|(grain, _)| *grain == EXACT).count();
            let budget: f64 = accounts.iter().map(|account| account.budget).sum();
            let cpu: f64 = accounts.iter().map(|account| account.samples * GRAIN).sum();
            let waits = accounts.iter().flat_map(|account| &account.blocked);
            used += (cpu + waits.map(|(_, nanos)| nanos).sum::<f64>()) / budget / FILES as f64;
            let odds = log_odds(&accounts, GRAIN);
            mean += odds.exp() / FILES as f64;
            alarms += u64::from(odds >= ALARM);
        }
        println!("{alarms} alarms of {FILES}, mean {mean}, used {used}, exact {exact}");
        // They have all that they could have, so the bound is put to the test.
        assert!(
            (0.97..1.03).contains(&used) && exact > 10_000,
            "{used}, {exact}"
        );
        assert!(alarms < FILES / 1000, "{alarms} of {FILES}");
        assert!(mean < 1.3, "{mean}");
    }
}
