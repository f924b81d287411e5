//! Methods whose class is redefined: which version of its lines a sample is of.
//!
//! Redefinition moves a jmethodID to the new version of its method
//! (`VM_RedefineClasses::update_jmethod_ids`), so one id has other lines before and after; when in between it
//! moved cannot be told. Frames of the old version that run on have no id, or, where the bytecode is the
//! same, the new one's, whose lines are right for them.

use std::collections::HashMap;
use std::sync::Arc;

use super::symbolizer::Method;

/// A sample is drained at the latest so long after it was taken.
const LATEST_NS: u64 = 10_000_000_000;

/// A step of a redefinition, told by whoever watches it. Times are those of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These methods will have other lines from some moment on.
    Begun { at_ns: u64, methods: Box<[u64]> },
    /// They have them now.
    Ended { at_ns: u64, methods: Box<[u64]> },
    /// Steps were lost: nothing is known of what came before.
    Lost,
}

/// Which version of a method a sample is of.
#[derive(Debug)]
pub enum Version {
    /// The one the JVM tells of now.
    Present,
    /// One that was known before.
    Before(Arc<Method>),
    /// One whose lines are not known.
    Unknown,
}

#[derive(Debug, Default)]
struct Change {
    begun_ns: u64,
    /// `None` while it goes on.
    ended_ns: Option<u64>,
    /// How many of its redefinitions go on.
    open: u32,
    /// From when on `before` is right.
    before_ns: u64,
    before: Option<Arc<Method>>,
}

/// See the module. Used by the drain thread alone.
#[derive(Debug, Default)]
pub struct Changes {
    methods: HashMap<u64, Change>,
    /// Up to when no line is known.
    blind_ns: u64,
}

impl Changes {
    /// The version that `time_ns` had.
    pub fn version(&self, id: u64, time_ns: u64) -> Version {
        let Some(change) = self.methods.get(&id) else {
            if time_ns < self.blind_ns {
                return Version::Unknown;
            }
            return Version::Present;
        };
        if change.ended_ns.is_some_and(|ended| time_ns > ended) {
            return Version::Present;
        }
        match &change.before {
            Some(method) if (change.before_ns..change.begun_ns).contains(&time_ns) => {
                Version::Before(Arc::clone(method))
            }
            _ => Version::Unknown,
        }
    }

    /// Takes a step; `forget` takes what is remembered of a method out of the cache.
    pub fn take(
        &mut self,
        step: Step,
        now_ns: u64,
        mut forget: impl FnMut(u64) -> Option<Arc<Method>>,
    ) {
        match step {
            Step::Lost => {
                self.methods = HashMap::new();
                self.blind_ns = now_ns;
            }
            Step::Begun { at_ns, methods } => {
                for id in methods {
                    let before = forget(id);
                    let change = self.methods.entry(id).or_default();
                    // Of redefinitions at once, what was before the first counts.
                    if change.open == 0 {
                        change.begun_ns = at_ns;
                        change.before_ns = change.ended_ns.take().map_or(0, |ended| ended + 1);
                        change.before = before;
                    }
                    change.open += 1;
                }
            }
            Step::Ended { at_ns, methods } => {
                for id in methods {
                    // Asked for in between, it may be of either version.
                    forget(id);
                    // Not there: new, or its beginning was lost.
                    let change = self.methods.entry(id).or_default();
                    change.open = change.open.saturating_sub(1);
                    if change.open == 0 {
                        change.ended_ns = Some(at_ns);
                    }
                }
            }
        }
    }

    /// Forgets those that ended so long ago that no sample from before can come any more.
    pub fn expire(&mut self, now_ns: u64) {
        self.methods.retain(|_, change| {
            change
                .ended_ns
                .is_none_or(|ended| now_ns.saturating_sub(ended) < LATEST_NS)
        });
    }
}
