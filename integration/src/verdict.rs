//! Compares each sample's tag with its frames.
//!
//! A sample is *in a request* when its innermost frame of a burner class is one of the methods
//! that burn; its tag must then name a span of that class, with that span's trace and local root.
//! A sample whose innermost burner frame is only the frame below which a request runs is *around*:
//! there a tag may be missing (a span is just being made or ended), but must not be another
//! request's. A sample of a class that never has a span must have no tag.

use std::collections::BTreeMap;
use std::fmt;

use crate::recording::{Recording, Sample, Tag};
use crate::sums::WARM_UP;
use crate::truth::{NEVER_TAGGED, SpanTruth, TruthLog};

/// Methods of a burner that burn. `serve` and `handle` only have the rest below them.
const BURNING: [&str; 2] = ["work", "burn"];
/// Time that the agent may spend between hearing of the last ends of spans in a window and asking for the names
/// of its roots, ns.
const NAMING: i64 = 3_000_000_000;
/// What the agent calls a local root whose start it did not see.
pub const UNKNOWN_NAME: &str = "<unknown>";
/// Beginnings of the names of threads that never run a request.
const NEVER_IN_A_REQUEST: [&str; 16] = [
    "GC Thread",
    "G1 ",
    "C1 Compiler",
    "C2 Compiler",
    "VM Thread",
    "VM Periodic",
    "background-",
    "echo-",
    "giver",
    "heartbeat-",
    "monitor",
    "overflow",
    "seat-",
    "storm-",
    "Signal Dispatcher",
    "Reference Handler",
];
/// Wrong samples kept for the report.
const EXAMPLES: usize = 5;

/// Numbers of samples, by `samples/count`. Those of the warm-up are judged as all others are; where they are right they
/// are counted apart, as they say nothing of the scenario.
#[derive(Debug, Default, Clone)]
pub struct Verdict {
    /// In a request.
    pub total: u64,
    /// In a request and tagged as it should be.
    pub right: u64,
    /// Of the warm-up, and tagged as it should be.
    pub warm_up: u64,
    /// In a request and tagged as something else.
    pub wrong: u64,
    /// In a request and not tagged.
    pub untagged: u64,
    /// Of no span, and not tagged.
    pub without_span: u64,
    /// Of no span, and tagged all the same.
    pub tagged_without_span: u64,
    /// Around a request's work, tag of that request or none.
    pub around: u64,
    /// Around a request's work, tag of another.
    pub around_wrong: u64,
    /// Elsewhere, with a tag of a span that the log does not know.
    pub unknown_span: u64,
    /// Right, but under the name the span had before it was renamed in the same window or later.
    pub early_name: u64,
    /// Right, but the local root's name is not known: it began before the agent came.
    pub unnamed: u64,
    /// No burner frame: the JVM's own threads, failed walks, the program's rest.
    pub elsewhere: u64,
    /// Samples that burn, by class, those without a span included.
    pub by_burner: BTreeMap<String, u64>,
    /// Some of what was wrong.
    pub examples: Vec<String>,
}

/// What the frames say.
struct Identity<'a> {
    burner: &'a str,
    burning: bool,
    /// The outermost class whose `serve` frame is visible: the local root's where the stack is
    /// whole, else one of its descendants'.
    outermost: Option<&'a str>,
}

impl Verdict {
    /// Judges every sample.
    pub fn of(recording: &Recording, log: &TruthLog) -> Verdict {
        let mut verdict = Verdict::default();
        for sample in &recording.samples {
            verdict.judge(sample, log);
        }
        verdict
    }

    /// Adds another run's numbers.
    pub fn add(&mut self, other: &Verdict) {
        self.total += other.total;
        self.right += other.right;
        self.warm_up += other.warm_up;
        self.wrong += other.wrong;
        self.untagged += other.untagged;
        self.without_span += other.without_span;
        self.tagged_without_span += other.tagged_without_span;
        self.around += other.around;
        self.around_wrong += other.around_wrong;
        self.unknown_span += other.unknown_span;
        self.early_name += other.early_name;
        self.unnamed += other.unnamed;
        self.elsewhere += other.elsewhere;
        for (burner, count) in &other.by_burner {
            *self.by_burner.entry(burner.clone()).or_default() += count;
        }
        self.examples.extend(other.examples.iter().cloned());
        self.examples.truncate(EXAMPLES);
    }

    /// Untagged among the samples in a request, 0 to 1.
    pub fn untagged_share(&self) -> f64 {
        self.untagged as f64 / self.total.max(1) as f64
    }

    /// Holds the rule that comes first: no wrong tag, ever.
    ///
    /// # Panics
    /// A tag is wrong.
    pub fn assert_no_wrong_tag(&self) {
        assert_eq!(
            (self.wrong, self.around_wrong, self.tagged_without_span),
            (0, 0, 0),
            "wrong tags (in a request, around one, without a span): {self}"
        );
    }

    /// Holds that every tag has a name: all spans began under the agent.
    ///
    /// # Panics
    /// One has none.
    pub fn assert_all_named(&self) {
        assert_eq!(
            self.unnamed, 0,
            "samples without their local root's name: {self}"
        );
    }

    /// Holds a bound on samples in a request that lost their tag, 0 to 1. Few samples get the
    /// room that chance needs; the bound itself is what many must keep.
    ///
    /// # Panics
    /// There are more.
    pub fn assert_untagged_at_most(&self, share: f64) {
        const FEW: f64 = 20.0;
        let expected = self.total as f64 * share;
        let allowed = if expected < FEW {
            expected + 3.0 * expected.sqrt() + 1.0
        } else {
            expected
        };
        assert!(
            self.untagged as f64 <= allowed,
            "more than {:.2} % untagged: {self}",
            100.0 * share
        );
    }

    /// Burning samples of a class.
    pub fn samples_of(&self, burner: &str) -> u64 {
        self.by_burner.get(burner).copied().unwrap_or(0)
    }

    fn judge(&mut self, sample: &Sample, log: &TruthLog) {
        let thread = sample.thread.as_deref().unwrap_or_default();
        if let Some(tag) = &sample.tag
            && NEVER_IN_A_REQUEST
                .iter()
                .any(|start| thread.starts_with(start))
        {
            self.tagged_without_span += sample.count;
            self.example(sample, &format!("such a thread has no span; tagged {tag}"));
            return;
        }
        let Some(identity) = identity(sample, log) else {
            self.elsewhere += sample.count;
            let unknown = sample
                .tag
                .as_ref()
                .is_some_and(|tag| !log.spans.contains_key(&tag.span));
            self.unknown_span += if unknown { sample.count } else { 0 };
            return;
        };
        if identity.burning {
            *self
                .by_burner
                .entry(identity.burner.to_owned())
                .or_default() += sample.count;
        }
        if NEVER_TAGGED.contains(&identity.burner) {
            match &sample.tag {
                None => self.without_span += sample.count,
                Some(tag) => {
                    self.tagged_without_span += sample.count;
                    self.example(sample, &format!("no span, but tagged {tag}"));
                }
            }
        } else if identity.burning {
            self.judge_in_request(sample, &identity, log);
        } else {
            self.judge_around(sample, &identity, log);
        }
    }

    fn judge_in_request(&mut self, sample: &Sample, identity: &Identity<'_>, log: &TruthLog) {
        self.total += sample.count;
        let Some(tag) = &sample.tag else {
            self.untagged += sample.count;
            return;
        };
        match flaw(tag, identity, sample.window, log) {
            None => {
                if log
                    .spans
                    .get(&tag.span)
                    .is_some_and(|span| span.name == WARM_UP)
                {
                    self.total -= sample.count;
                    self.warm_up += sample.count;
                } else {
                    self.right += sample.count;
                }
                let root_name = log.spans.get(&tag.local_root).map(|root| &root.name);
                if tag.name == UNKNOWN_NAME {
                    self.unnamed += sample.count;
                } else if root_name != Some(&tag.name) {
                    self.early_name += sample.count;
                }
            }
            Some(flaw) => {
                self.wrong += sample.count;
                self.example(sample, &format!("{flaw}; tagged {tag}"));
            }
        }
    }

    fn judge_around(&mut self, sample: &Sample, identity: &Identity<'_>, log: &TruthLog) {
        self.around += sample.count;
        let Some(tag) = &sample.tag else {
            return;
        };
        let expected = identity.outermost.unwrap_or(identity.burner);
        match log.spans.get(&tag.span) {
            // A span that the program does not make itself, such as a client call's.
            None => self.unknown_span += sample.count,
            Some(span) if log.is_family(span.local_root, expected) => {}
            Some(span) => {
                self.around_wrong += sample.count;
                self.example(
                    sample,
                    &format!(
                        "around {expected}, the span is {}'s; tagged {tag}",
                        span.burner
                    ),
                );
            }
        }
    }

    fn example(&mut self, sample: &Sample, what: &str) {
        if self.examples.len() < EXAMPLES {
            let stack: Vec<&str> = sample.frames.iter().take(12).map(AsRef::as_ref).collect();
            self.examples.push(format!(
                "{} × {what}; thread {:?}, stack {}",
                sample.count,
                sample.thread,
                stack.join(" < ")
            ));
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "in-request {} right {} wrong {} untagged {} ({:.3} %) | warm-up {} | around {} wrong {} | without a span {} tagged {} | elsewhere {}",
            self.total,
            self.right,
            self.wrong,
            self.untagged,
            100.0 * self.untagged_share(),
            self.warm_up,
            self.around,
            self.around_wrong,
            self.without_span + self.tagged_without_span,
            self.tagged_without_span,
            self.elsewhere
        )?;
        for example in &self.examples {
            write!(f, "\n  {example}")?;
        }
        Ok(())
    }
}

/// The innermost burner frame of a stack, `None` without one.
fn identity<'a>(sample: &'a Sample, log: &TruthLog) -> Option<Identity<'a>> {
    let mut burners = sample.frames.iter().filter_map(|frame| {
        let (class, method) = burner_frame(frame)?;
        log.burners.contains(class).then_some((class, method))
    });
    let (burner, method) = burners.next()?;
    let burning = BURNING.contains(&method);
    let outermost = burners
        .rfind(|(_, method)| !BURNING.contains(method))
        .map(|(class, _)| class)
        .or((!burning).then_some(burner));
    Some(Identity {
        burner,
        burning,
        outermost,
    })
}

/// Simple class and method of a frame of a burner, by the packages they live in.
pub fn burner_frame(frame: &str) -> Option<(&str, &str)> {
    let name = frame.split_once('(').map_or(frame, |(name, _)| name);
    let rest = name
        .strip_prefix("io.vtprof.truth.burn.")
        .or_else(|| name.strip_prefix("io.vtprof.demo.endpoint."))?;
    rest.split_once('.')
}

/// What is wrong with the tag of a sample that burns for a request.
fn flaw(tag: &Tag, identity: &Identity<'_>, window: (i64, i64), log: &TruthLog) -> Option<String> {
    let Some(span) = log.spans.get(&tag.span) else {
        return Some("no such span".to_owned());
    };
    let Some(root) = log.root_of(span) else {
        return Some("its local root is not in the log".to_owned());
    };
    if span.burner != identity.burner {
        return Some(format!(
            "{} burns, the span is {}'s",
            identity.burner, span.burner
        ));
    }
    if tag.trace != span.trace {
        return Some(format!("its trace is {}", span.trace));
    }
    if tag.local_root != span.local_root {
        return Some(format!("its local root is {}", span.local_root));
    }
    if let Some(class) = identity.outermost
        && !log.is_family(root.span, class)
    {
        return Some(format!(
            "below {class}, its local root is {}'s",
            root.burner
        ));
    }
    let known = tag.name == root.name || (tag.name == root.first_name && ends_after(root, window));
    if !known && tag.name != UNKNOWN_NAME {
        return Some(format!("its local root's name is {:?}", root.name));
    }
    if !overlap(span, window) {
        return Some("the span was not there in this window".to_owned());
    }
    None
}

/// A span that outlives the window may be filed under a name it did not keep.
fn ends_after(span: &SpanTruth, window: (i64, i64)) -> bool {
    span.end.is_none_or(|end| end > window.1 - NAMING)
}

fn overlap(span: &SpanTruth, window: (i64, i64)) -> bool {
    span.start <= window.1 && span.end.is_none_or(|end| end >= window.0)
}

#[cfg(test)]
mod tests;
