//! What is sampled how often: what was asked for, what is in force, and a change of it.
//!
//! A kind can be changed where the session was prepared for it at its start: capabilities, events and engines are there
//! then, and a change is a number.

use std::time::Duration;

use parking_lot::Mutex;
use vtprof_profile::kind::Kind;

use super::SetError;
use crate::options::value::{self, spelled};
use crate::options::{LOCK_OWNERS, Options};

/// Kinds with a rate of their own, and the option that has it.
const RATED: [(Kind, &str); 5] = [
    (Kind::Cpu, "cpu"),
    (Kind::Wall, "wall"),
    (Kind::Blocked, "blocked"),
    (Kind::Lock, "lock"),
    (Kind::Alloc, "alloc"),
];
/// The longest period that a budget leads to, ns and bytes: as long as an option may have it.
const LONGEST_NS: u64 = 1_000_000_000;
const LARGEST: u64 = 1 << 30;
/// Rates are halved so often at the most, by a budget: to a 64th.
pub const MOST_HALVINGS: u32 = 6;

/// A kind that the session was prepared for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rate {
    /// In the unit of what the kind counts; `None` while it is off.
    asked: Option<u64>,
    /// The last that was asked for.
    last: u64,
}

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// As [`RATED`]; `None` for those that the session was not prepared for.
    rates: [Option<Rate>; RATED.len()],
    /// Whether objects are followed.
    live: bool,
    /// Length of a window.
    pub every: Duration,
    /// How often all rates were halved, to keep within the budget.
    pub halvings: u32,
}

/// What is to be otherwise. Nothing where it is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// Whether samples are taken.
    pub on: Option<bool>,
    /// Periods, in the unit of what each kind counts; `None` for off. Of kinds that have a rate of their own.
    pub periods: Vec<(Kind, Option<u64>)>,
    /// Length of a window, 1 s to 24 h.
    pub every: Option<Duration>,
    /// How often all rates are halved, beside what is asked for: the budget's.
    pub halvings: Option<u32>,
}

/// The plan there is. Locked for a copy.
#[derive(Debug)]
pub struct Rates(Mutex<Plan>);

impl Rates {
    pub fn new(plan: Plan) -> Self {
        Self(Mutex::new(plan))
    }

    /// As it is now.
    pub fn plan(&self) -> Plan {
        *self.0.lock()
    }

    /// Another is in force. Under the lock of the session's phase.
    pub(super) fn put(&self, plan: Plan) {
        *self.0.lock() = plan;
    }
}

impl Plan {
    /// As asked for, without what the budget makes of it.
    pub fn unhalved(&self) -> Self {
        Self {
            halvings: 0,
            ..*self
        }
    }

    /// As the options have it; `cpu` may be another period than theirs (`stress`).
    pub fn of(options: &Options, cpu: Option<Duration>) -> Self {
        let rate = |kind| match kind {
            Kind::Cpu => cpu.map(nanos),
            _ => options.period(kind),
        };
        Self {
            rates: RATED.map(|(kind, _)| {
                rate(kind).map(|period| Rate {
                    asked: Some(period),
                    last: period,
                })
            }),
            live: options.followed().is_some(),
            every: options.every,
            halvings: 0,
        }
    }

    fn rate(&self, kind: Kind) -> Option<Rate> {
        let at = RATED.iter().position(|(rated, _)| *rated == kind)?;
        self.rates.get(at).copied().flatten()
    }

    /// Whether the session was prepared for that kind.
    pub fn is_prepared(&self, kind: Kind) -> bool {
        match kind {
            Kind::Live => self.live,
            Kind::LockOwner => self.rate(Kind::Lock).is_some(),
            Kind::Cpu | Kind::Wall | Kind::Blocked | Kind::Lock | Kind::Alloc => {
                self.rate(kind).is_some()
            }
        }
    }

    /// The period that was asked for, in the unit of what the kind counts; `None` while it is off.
    pub fn asked(&self, kind: Kind) -> Option<u64> {
        match kind {
            // Objects stay followed while allocations are off.
            Kind::Live => self
                .rate(Kind::Alloc)
                .filter(|_| self.live)
                .map(|rate| rate.last),
            Kind::LockOwner => self
                .rate(Kind::Lock)
                .and_then(|rate| rate.asked)
                .map(|_| nanos(LOCK_OWNERS)),
            Kind::Cpu | Kind::Wall | Kind::Blocked | Kind::Lock | Kind::Alloc => {
                self.rate(kind)?.asked
            }
        }
    }

    /// The period in force: what was asked for, longer where a budget would not be kept.
    pub fn period(&self, kind: Kind) -> Option<u64> {
        let asked = self.asked(kind)?;
        let most = match kind {
            Kind::LockOwner => asked,
            Kind::Alloc | Kind::Live => LARGEST,
            Kind::Cpu | Kind::Wall | Kind::Blocked | Kind::Lock => LONGEST_NS,
        };
        let halvings = self.halvings.min(MOST_HALVINGS);
        Some((asked << halvings).min(most.max(asked)))
    }

    /// As [`Plan::period`], of one that is in time.
    pub fn duration(&self, kind: Kind) -> Option<Duration> {
        self.period(kind).map(Duration::from_nanos)
    }

    /// Whether all periods in force are the other's.
    pub fn has_periods_of(&self, other: &Self) -> bool {
        let same = |kind: &Kind| self.period(*kind) == other.period(*kind);
        Kind::ALL.iter().all(same)
    }

    /// The plan with that change.
    ///
    /// # Errors
    /// The session was not prepared for a kind, or nothing would be on.
    pub fn with(mut self, change: &Change) -> Result<Self, SetError> {
        for (kind, period) in &change.periods {
            let at = RATED.iter().position(|(rated, _)| rated == kind);
            let rate = at.and_then(|at| self.rates.get_mut(at)?.as_mut());
            let rate = rate.ok_or(SetError::Unprepared(*kind))?;
            rate.asked = *period;
            rate.last = period.unwrap_or(rate.last);
        }
        if !self.rates.iter().flatten().any(|rate| rate.asked.is_some()) {
            return Err(SetError::NothingOn);
        }
        self.every = change.every.unwrap_or(self.every);
        self.halvings = change.halvings.unwrap_or(self.halvings).min(MOST_HALVINGS);
        Ok(self)
    }

    /// A kind is off all the same: the JVM has refused it. What was asked for before is still known.
    pub(super) fn leave_out(&mut self, kind: Kind) {
        let at = RATED.iter().position(|(rated, _)| *rated == kind);
        if let Some(Some(rate)) = at.and_then(|at| self.rates.get_mut(at)) {
            rate.asked = None;
        }
    }

    /// What is otherwise than it was `before`, old and new, as options have it; empty where nothing is.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let of = |plan: &Self, kind| {
            plan.period(kind)
                .map_or("off".to_owned(), |p| amount(kind, p))
        };
        let mut all: Vec<_> = RATED
            .into_iter()
            .filter(|(kind, _)| self.period(*kind) != before.period(*kind))
            .map(|(kind, name)| format!("{name}={} (was {})", of(self, kind), of(before, kind)))
            .collect();
        if self.every != before.every {
            let (now, then) = (spelled(self.every), spelled(before.every));
            all.push(format!("every={now} (was {then})"));
        }
        all
    }
}

impl Change {
    /// Reads `cpu=97hz`, `alloc=off`, `every=10s` and the like: what an option string has.
    ///
    /// # Errors
    /// In one line: what is no such word.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut change = Self::default();
        for word in words {
            let (key, text) = word
                .split_once('=')
                .ok_or_else(|| format!("{word:?} has no value: write key=value"))?;
            let rated = RATED.iter().find(|(_, name)| *name == key);
            let read = match (rated, key) {
                (Some((Kind::Cpu, _)), _) => value::period(text).map(|p| p.map(nanos)),
                (Some((Kind::Alloc, _)), _) => value::interval(text).map(|p| p.map(u64::from)),
                (Some(_), _) => value::wait(text).map(|p| p.map(nanos)),
                (None, "every") => {
                    let (least, most) = (Duration::from_secs(1), Duration::from_secs(86_400));
                    value::between(text, least, most).map(|every| {
                        change.every = Some(every);
                        None
                    })
                }
                (None, _) => {
                    let known = RATED.map(|(_, name)| name).join(", ");
                    return Err(format!(
                        "{key:?} cannot be set while vtprof runs: {known} and every can"
                    ));
                }
            };
            let period =
                read.map_err(|reason| format!("bad value {text:?} for {key}: {reason}"))?;
            change
                .periods
                .extend(rated.map(|(kind, _)| (*kind, period)));
        }
        Ok(change)
    }
}

/// An amount of a kind's unit, as an option has it.
fn amount(kind: Kind, period: u64) -> String {
    match kind {
        Kind::Alloc | Kind::Live if period.is_multiple_of(1 << 10) => format!("{}k", period >> 10),
        Kind::Alloc | Kind::Live => period.to_string(),
        // A rate need not be a whole number of ms.
        _ if !period.is_multiple_of(1_000_000) => format!("{:?}", Duration::from_nanos(period)),
        _ => spelled(Duration::from_nanos(period)),
    }
}

/// The option by which a kind is asked for.
pub(super) fn option(kind: Kind) -> &'static str {
    let rated = RATED.iter().find(|(rated, _)| *rated == kind);
    rated.map_or(kind.name(), |(_, name)| name)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pairs: &[(&str, &str)]) -> Plan {
        let mut options = Options::default();
        for (key, text) in pairs {
            options.apply(key, text, "the test").unwrap();
        }
        Plan::of(&options, options.cpu)
    }

    fn with(plan: Plan, words: &str) -> Result<Plan, String> {
        let change = Change::parse(words.split(' '))?;
        plan.with(&change).map_err(|error| error.to_string())
    }

    #[test]
    fn rates_are_set_among_the_kinds_that_were_on_at_the_start() {
        let start = plan(&[("wall", "10ms"), ("alloc", "512k"), ("live", "1k")]);
        let now = with(start, "cpu=50hz wall=off alloc=1m every=10s").unwrap();
        assert_eq!(now.period(Kind::Cpu), Some(20_000_000));
        assert_eq!(now.period(Kind::Wall), None);
        assert_eq!(now.period(Kind::Alloc), Some(1 << 20));
        assert_eq!(now.period(Kind::Live), Some(1 << 20));
        assert_eq!(now.every, Duration::from_secs(10));
        let text = now.differences(&start).join(" ");
        assert_eq!(
            text,
            "cpu=20ms (was 10ms) wall=off (was 10ms) alloc=1024k (was 512k) every=10s (was 1m)"
        );
        let again = with(now, "wall=20ms").unwrap();
        assert_eq!(
            again.period(Kind::Wall),
            Some(20_000_000),
            "off is not for good"
        );
        let quiet = with(now, "alloc=off").unwrap();
        assert_eq!(quiet.period(Kind::Alloc), None);
        assert_eq!(
            quiet.period(Kind::Live),
            Some(1 << 20),
            "those that are followed are still"
        );
        let mut refused = now;
        refused.leave_out(Kind::Alloc);
        assert_eq!(refused, quiet, "what the JVM refuses is off");
        for (words, part) in [
            ("lock=1ms", "lock="),
            ("blocked=1ms", "blocked="),
            ("cpu=off alloc=off", "stop"),
            ("live=5", "\"live\""),
            ("cpu=fast", "\"fast\""),
            ("cpu", "key=value"),
            ("every=10ms", "1s to 24h"),
            ("", "key=value"),
        ] {
            let text = with(now, words).unwrap_err();
            assert!(text.contains(part), "{words}: {text}");
            assert_eq!(text.lines().count(), 1);
        }
    }

    #[test]
    fn a_budget_lengthens_periods_up_to_what_an_option_may_have_and_gives_them_back() {
        let start = plan(&[("wall", "500ms"), ("lock", "1ms"), ("alloc", "512k")]);
        let halved = |halvings| {
            let change = Change {
                halvings: Some(halvings),
                ..Change::default()
            };
            start.with(&change).unwrap()
        };
        let slow = halved(3);
        assert_eq!(slow.period(Kind::Cpu), Some(80_000_000));
        assert_eq!(slow.period(Kind::Wall), Some(LONGEST_NS));
        assert_eq!(slow.period(Kind::Lock), Some(8_000_000));
        assert_eq!(slow.period(Kind::LockOwner), start.period(Kind::LockOwner));
        assert_eq!(slow.period(Kind::Alloc), Some(4 << 20));
        assert_eq!(slow.asked(Kind::Cpu), Some(10_000_000));
        assert_eq!(halved(99).halvings, MOST_HALVINGS);
        assert_eq!(halved(0), start);
        assert!(halved(0).has_periods_of(&start) && !slow.has_periods_of(&start));
        // What is asked for meanwhile is halved as well.
        let asked = with(slow, "cpu=20ms").unwrap();
        assert_eq!(asked.period(Kind::Cpu), Some(160_000_000));
    }
}
