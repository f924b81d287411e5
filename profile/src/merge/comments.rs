//! What profiles say of themselves, of all of them: lines of facts once each, counters, sums of windows and what was sent
//! added up.

use std::collections::{BTreeMap, HashSet};

use crate::comments::{COUNTERS, COVERED, PUSH, SESSION_START, WINDOW, figures};

/// How a figure of several windows is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sum {
    /// All of them together.
    Added,
    /// The largest.
    Largest,
    /// It, where it is the same for all.
    Same,
    /// Not at all: a median has no sum.
    Left,
}

fn sum_of(key: &str) -> Sum {
    match key {
        "process.cpu_ns" | "sampled.cpu_ns" | "samples.wanted" | "samples.dropped"
        | "samples.failed" | "samples.truncated" => Sum::Added,
        // Of all of the agent's threads, and of each.
        _ if key.starts_with("agent.") && key.ends_with("_cpu_ns") => Sum::Added,
        _ if key.ends_with("_most") => Sum::Largest,
        "samples.late_ns"
        | "agent.heap_bytes"
        | "agent.methods_remembered"
        | "agent.methods_noted" => Sum::Largest,
        "period.wanted_ns" | "period.achieved_ns" | "start.monotonic_ns" | SESSION_START => {
            Sum::Same
        }
        _ => Sum::Left,
    }
}

/// Whether a figure of what is sent tells what waited then, and not what was added.
fn is_waiting(key: &str) -> bool {
    key.ends_with("_waiting") || key.contains(".waiting_")
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Comments {
    facts: Vec<String>,
    known_facts: HashSet<String>,
    /// `None` where windows differ, or one has it and another has not.
    window: BTreeMap<String, Option<i128>>,
    counters: BTreeMap<String, i128>,
    push: BTreeMap<String, i128>,
    has_window: bool,
    has_counters: bool,
    has_push: bool,
}

impl Comments {
    pub fn add(&mut self, lines: &[String]) {
        for line in lines {
            if let Some(counters) = line.strip_prefix(COUNTERS) {
                self.has_counters = true;
                for (key, count) in figures(counters) {
                    let sum = self.counters.entry(key.to_owned()).or_default();
                    *sum = sum.saturating_add(count);
                }
            } else if let Some(push) = line.strip_prefix(PUSH) {
                self.has_push = true;
                for (key, figure) in figures(push) {
                    let known = self.push.entry(key.to_owned()).or_default();
                    *known = if is_waiting(key) {
                        figure.max(*known)
                    } else {
                        known.saturating_add(figure)
                    };
                }
            } else if let Some(window) = line.strip_prefix(WINDOW) {
                self.add_window(window);
            } else if line.starts_with(COVERED) {
                // Of one part; that of the sum is the merger's to tell.
            } else if self.known_facts.insert(line.clone()) {
                self.facts.push(line.clone());
            }
        }
    }

    fn add_window(&mut self, window: &str) {
        let is_first = !std::mem::replace(&mut self.has_window, true);
        let figures: BTreeMap<_, _> = figures(window).collect();
        for (key, known) in &mut self.window {
            if sum_of(key) == Sum::Same && !figures.contains_key(key.as_str()) {
                *known = None;
            }
        }
        for (key, figure) in figures {
            self.add_figure(key, figure, is_first);
        }
    }

    fn add_figure(&mut self, key: &str, figure: i128, is_first: bool) {
        let how = sum_of(key);
        if how == Sum::Left {
            return;
        }
        match self.window.get_mut(key) {
            None => {
                // One that windows before have not is not the same for all.
                let known = is_first || how != Sum::Same;
                self.window.insert(key.to_owned(), known.then_some(figure));
            }
            Some(known) => {
                *known = known.and_then(|before| match how {
                    Sum::Added => Some(before.saturating_add(figure)),
                    Sum::Largest => Some(before.max(figure)),
                    Sum::Same | Sum::Left => (before == figure).then_some(before),
                });
            }
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.facts.clone();
        let joined = |pairs: Vec<(&String, i128)>| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            pairs.join(" ")
        };
        if self.has_window {
            let known = self.window.iter();
            let known = known.filter_map(|(key, value)| Some((key, (*value)?)));
            lines.push(format!("{WINDOW}{}", joined(known.collect())));
        }
        if self.has_counters {
            let all = self.counters.iter().map(|(key, value)| (key, *value));
            lines.push(format!("{COUNTERS}{}", joined(all.collect())));
        }
        if self.has_push {
            let all = self.push.iter().map(|(key, value)| (key, *value));
            lines.push(format!("{PUSH}{}", joined(all.collect())));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(windows: &[&[&str]]) -> Vec<String> {
        let mut comments = Comments::default();
        for window in windows {
            let lines: Vec<_> = window.iter().map(|line| (*line).to_owned()).collect();
            comments.add(&lines);
        }
        comments.lines()
    }

    #[test]
    fn counters_are_added_and_facts_are_told_once() {
        let lines = sum(&[
            &[
                "agent=vtprof 1",
                "counters (those not named are 0): a.b=1 c=2",
            ],
            &["agent=vtprof 1", "counters (those not named are 0): c=3"],
            &["agent=vtprof 2", "counters (those not named are 0): "],
        ]);
        assert_eq!(
            lines,
            [
                "agent=vtprof 1",
                "agent=vtprof 2",
                "counters (those not named are 0): a.b=1 c=5"
            ]
        );
    }

    #[test]
    fn what_was_sent_is_added_and_of_what_waited_the_most_is_told() {
        let begin = "push (those not named are 0): ";
        let [one, two, none] = [
            "push.requests_delivered=2 push.requests_waiting=5 push.waiting_bytes=70",
            "push.attempts=1 push.requests_delivered=3 push.requests_waiting=4 push.waiting_bytes=90",
            "",
        ]
        .map(|figures| format!("{begin}{figures}"));
        assert_eq!(
            sum(&[&[&one], &[&two], &["x"], &[&none]]),
            [
                "x".to_owned(),
                format!(
                    "{begin}push.attempts=1 push.requests_delivered=5 push.requests_waiting=5 push.waiting_bytes=90"
                )
            ]
        );
        assert_eq!(sum(&[&[&none], &[&none]]), [begin]);
    }

    #[test]
    fn figures_of_windows_are_summed_each_in_its_way() {
        let window = |wanted, cpu, late, start| {
            format!(
                "window: period.wanted_ns={wanted} process.cpu_ns={cpu} samples.late_ns={late} start.monotonic_ns={start} handler.median_ns=7"
            )
        };
        let (one, two) = (window(10, 5, 3, 100), window(10, 6, 2, 200));
        assert_eq!(
            sum(&[&[&one], &[&two]]),
            ["window: period.wanted_ns=10 process.cpu_ns=11 samples.late_ns=3"]
        );
        let other = window(20, 1, 9, 100);
        assert_eq!(
            sum(&[&[&one], &[&other], &[&one]]),
            ["window: process.cpu_ns=11 samples.late_ns=9 start.monotonic_ns=100"]
        );
    }

    #[test]
    fn a_figure_that_a_window_lacks_is_not_the_same_for_all_in_whatever_order() {
        let (with, without) = (
            "window: period.wanted_ns=10 process.cpu_ns=5",
            "window: process.cpu_ns=6",
        );
        for windows in [[with, without], [without, with]] {
            assert_eq!(
                sum(&[&windows[..1], &windows[1..]]),
                ["window: process.cpu_ns=11"]
            );
        }
    }

    #[test]
    fn sums_of_sums_are_the_sums_of_all() {
        let windows: Vec<Vec<String>> = (0..4)
            .map(|i| {
                vec![
                    "agent=vtprof 1".to_owned(),
                    format!("fact {}", i % 2),
                    format!("window: process.cpu_ns={i} samples.late_ns={i} start.monotonic_ns={i} period.wanted_ns=10"),
                    format!("counters (those not named are 0): a={i} only.{i}=1"),
                    format!("push (those not named are 0): push.attempts={i} push.samples_waiting={}", i * 7 % 5),
                ]
            })
            .collect();
        let lines = |windows: &[Vec<String>]| {
            let mut comments = Comments::default();
            windows.iter().for_each(|window| comments.add(window));
            comments.lines()
        };
        let all = lines(&windows);
        for split in 1..windows.len() {
            let parts = [lines(&windows[..split]), lines(&windows[split..])];
            assert_eq!(lines(&parts), all, "{split}");
        }
    }

    #[test]
    fn counters_that_no_number_holds_saturate() {
        let largest = format!("counters (those not named are 0): a={}", i128::MAX);
        let window = format!("window: process.cpu_ns={}", i128::MAX);
        assert_eq!(
            sum(&[&[&largest, &window], &[&largest, &window]]),
            [window.as_str(), largest.as_str()]
        );
    }

    #[test]
    fn whatever_others_write_is_kept_once() {
        assert_eq!(sum(&[&["x", "y"], &["y"], &[]]), ["x", "y"]);
        assert!(sum(&[&[], &[]]).is_empty());
    }
}
