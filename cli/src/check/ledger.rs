//! What profiles charge to each span: CPU time by window, threads, and blocked time.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};
use vtprof_profile::comments;
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{KeyIndices, Profile, Sample};
use vtprof_profile::window::Window;

use super::charge::{Charge, EXACT, WindowId};
use super::code::Code;
use super::names::{Names, names};

/// Coarsest step by which a kernel charges CPU time to timers, ns. A timer of a shorter period fires no more often, and each
/// sample stands for more periods.
const TICK: f64 = 4e6;
/// Platform threads are looked at so often whether they wait, ns.
const VISIT: f64 = 20e6;
/// Leaves of waits for which a virtual thread leaves its carrier: they are timed, and not looked at now and then. The last one
/// goes on at the end of a window.
const TIMED: [&str; 3] = [
    "java.lang.VirtualThread.yieldContinuation",
    "jdk.internal.vm.Continuation.yield",
    "[still blocked]",
];

/// The span that a label names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The span itself.
    Current,
    /// The local root and all below it.
    Root,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    label: Option<String>,
    /// Start and end, ns since the Unix epoch; `None` where a profile does not say.
    pub windows: Vec<Option<(f64, f64)>>,
    charges: HashMap<(Level, Names), Charge>,
    threads: HashMap<String, usize>,
    /// Of the first level.
    code: Code<Names>,
    /// What one sample of CPU time stands for at the most, ns.
    pub grain: f64,
    pub cpu_profiles: usize,
    pub blocked_profiles: usize,
    /// CPU time in all samples, ns, and how many they are.
    pub whole: (f64, f64),
}

/// Where one profile keeps the labels.
struct Keys {
    levels: Vec<(Level, KeyIndices)>,
    thread: KeyIndices,
}

impl Ledger {
    /// Reads spans from that label, else from vtprof's own.
    pub fn new(label: Option<&str>) -> Self {
        Ledger {
            label: label.map(str::to_owned),
            ..Ledger::default()
        }
    }

    /// Adds a profile; of kinds that say nothing of CPU or blocked time, nothing.
    ///
    /// # Errors
    /// It does not say how many samples its values stand on.
    pub fn add(&mut self, profile: &Profile) -> Result<()> {
        match Kind::of(profile) {
            Some(Kind::Cpu) => self.add_cpu(profile),
            Some(Kind::Blocked) => {
                self.add_blocked(profile);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn keys(&self, profile: &Profile) -> Keys {
        let find = |text: &str| profile.strings.find(text);
        let levels = match &self.label {
            // The spans say whether it is a local root.
            Some(label) => vec![(Level::Current, find(label))],
            None => vec![
                (Level::Current, find("span_id")),
                (Level::Root, find("local_root_span_id")),
            ],
        };
        let names = ["thread", "thread name", "thread_name"];
        let thread = profile.strings.find_any(&names);
        Keys { levels, thread }
    }

    fn add_cpu(&mut self, profile: &Profile) -> Result<()> {
        let position = |kinds: &[&str], unit: &str| {
            let mut types = profile.sample_types.iter();
            types.position(|t| kinds.contains(&t.kind.as_str()) && t.unit == unit)
        };
        let Some(value) = position(&["cpu"], "nanoseconds") else {
            return Ok(());
        };
        let count = position(&["samples", "sample", "cpu-samples"], "count");
        let is_period = profile
            .period_type
            .as_ref()
            .is_some_and(|t| t.kind == "cpu" && t.unit == "nanoseconds");
        let period = if is_period {
            profile.period as f64
        } else {
            0.0
        };
        if count.is_none() && period <= 0.0 {
            bail!(
                "it says neither how many samples there are nor their period: nothing can be told of chance"
            );
        }
        let window = self.window(profile);
        let keys = self.keys(profile);
        let (mut nanos_in_all, mut samples_in_all) = (0.0, 0.0);
        for sample in profile.samples.iter() {
            let at = |index| value_at(&sample, index);
            let nanos = at(value);
            let samples = count.map_or_else(|| nanos / period, at);
            nanos_in_all += nanos;
            samples_in_all += samples;
            let thread = self.thread(profile, &keys, &sample);
            for (index, (level, keys)) in keys.levels.iter().enumerate() {
                if let Some(names) = names(profile, &sample, keys) {
                    if index == 0 {
                        self.code.add(profile, &sample, names, samples);
                    }
                    let charge = self.charges.entry((*level, names)).or_default();
                    charge.add(window, nanos, samples);
                    let is_new = |thread: &usize| !charge.threads.contains(thread);
                    if charge.threads.len() < 2
                        && let Some(thread) = thread.filter(is_new)
                    {
                        charge.threads.push(thread);
                    }
                }
            }
        }
        let mean = if samples_in_all > 0.0 {
            nanos_in_all / samples_in_all
        } else {
            0.0
        };
        let grain = period.max(mean).max(achieved(profile)).max(tick(profile));
        self.grain = self.grain.max(grain);
        self.whole.0 += nanos_in_all;
        self.whole.1 += samples_in_all;
        self.cpu_profiles += 1;
        Ok(())
    }

    fn add_blocked(&mut self, profile: &Profile) {
        let amount = Kind::Blocked.amount();
        let types = &profile.sample_types;
        let position = |kind: &str| types.iter().position(|t| t.kind == kind);
        let (Some(value), Some(count)) =
            (position(amount.kind), position(Kind::Blocked.count().kind))
        else {
            return;
        };
        let keys = self.keys(profile);
        let timed: Vec<bool> = profile
            .functions
            .iter()
            .map(|(_, function)| {
                let name = profile.strings.get(function.name);
                TIMED.iter().any(|leaf| name.starts_with(leaf))
            })
            .collect();
        for sample in profile.samples.iter() {
            let at = |index| value_at(&sample, index);
            let (nanos, events) = (at(value), at(count).max(1.0));
            let is_timed = profile
                .frames(&sample)
                .next()
                .is_some_and(|leaf| timed[leaf.function.as_usize()]);
            let grain = wait_grain(is_timed, profile.period as f64, nanos / events);
            for (level, keys) in &keys.levels {
                if let Some(names) = names(profile, &sample, keys) {
                    let charge = self.charges.entry((*level, names)).or_default();
                    charge.add_blocked(grain, nanos);
                }
            }
        }
        self.blocked_profiles += 1;
    }

    fn window(&mut self, profile: &Profile) -> WindowId {
        let known = Window::of(profile).filter(|window| window.end > window.start);
        self.windows
            .push(known.map(|window| (window.start as f64, window.end as f64)));
        WindowId(self.windows.len() - 1)
    }

    fn thread(&mut self, profile: &Profile, keys: &Keys, sample: &Sample<'_>) -> Option<usize> {
        let name = folded(profile.strings.get(sample.text(&keys.thread)?));
        let next = self.threads.len();
        Some(*self.threads.entry(name).or_insert(next))
    }

    /// Start and end of a window.
    pub fn times(&self, window: WindowId) -> Option<(f64, f64)> {
        self.windows[window.0]
    }

    /// The charges of a level by span. Ids are read as most of the spans understand them.
    pub fn charges(
        &self,
        level: Level,
        is_span: impl Fn(SpanId) -> bool,
    ) -> HashMap<SpanId, &Charge> {
        let of_level = || self.charges.iter().filter(move |((of, _), _)| *of == level);
        let known = |id: &Option<SpanId>| usize::from(id.is_some_and(&is_span));
        let (hex, decimal) = of_level().fold((0, 0), |(hex, decimal), ((_, names), _)| {
            (hex + known(&names.hex), decimal + known(&names.decimal))
        });
        of_level()
            .filter_map(|((_, names), charge)| {
                let id = if decimal > hex {
                    names.decimal
                } else {
                    names.hex
                };
                Some((id?, charge))
            })
            .collect()
    }

    /// Endpoints whose samples run code of their own.
    pub fn own_code<'a>(&self, endpoint: impl Fn(SpanId) -> Option<&'a str>) -> HashSet<&'a str> {
        self.code.own(|names| {
            let of = |id: Option<SpanId>| id.and_then(&endpoint);
            of(names.hex).or_else(|| of(names.decimal))
        })
    }

    /// Whether any sample has a span at that level.
    pub fn has(&self, level: Level) -> bool {
        self.charges.keys().any(|(of, _)| *of == level)
    }
}

/// What waits of one stack stand for at the most, ns each, where they are so long on average.
pub fn wait_grain(is_timed: bool, period: f64, mean: f64) -> f64 {
    if !is_timed {
        // It stands for the time since the look before, which is long where threads are many.
        2.0 * VISIT.max(mean)
    } else if mean >= 2.0 * period {
        EXACT
    } else {
        period
    }
}

/// Threads of one pool have one name but for numbers.
fn folded(name: &str) -> String {
    let mut folded = String::new();
    for c in name.chars() {
        match c {
            '0'..='9' if folded.ends_with('0') => {}
            '0'..='9' => folded.push('0'),
            c => folded.push(c),
        }
    }
    folded
}

/// A value of a sample; one below zero is none.
fn value_at(sample: &Sample<'_>, index: usize) -> f64 {
    let value = sample.values.get(index).copied().unwrap_or(0);
    value.max(0) as f64
}

/// Perf events need no tick.
fn tick(profile: &Profile) -> f64 {
    let mut words = profile
        .comments
        .iter()
        .flat_map(|line| line.split_whitespace());
    if words.any(|word| word.starts_with("engine=perf")) {
        0.0
    } else {
        TICK
    }
}

/// The period that a vtprof has come to, as its profile says; 0 where it does not.
fn achieved(profile: &Profile) -> f64 {
    let key = "period.achieved_ns";
    let known = comments::figure(&profile.comments, comments::WINDOW, key);
    known.map_or(0.0, |nanos| nanos as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_pool_are_one() {
        assert_eq!(folded("pool-12-thread-345"), "pool-0-thread-0");
        assert_eq!(
            folded("ForkJoinPool-1-worker-9"),
            folded("ForkJoinPool-1-worker-10")
        );
        assert_ne!(folded("http-1"), folded("pool-1"));
    }
}
