//! What the agent says of itself, in one list: for `status`, for metrics, for whoever asks from Java.
//!
//! | module | noun |
//! |---|---|
//! | [`depths`] | how full the queues to the drain were |
//! | [`text`] | the list as Prometheus reads it, and as the shim does |
//! | [`metrics`] | the thread that serves it (`metrics=`) |
//!
//! The profiles' comments have the same figures by window (`export/comments.rs`), under the same names.

pub mod depths;
pub mod metrics;
pub mod text;

use parking_lot::Mutex;
use vtprof_profile::kind::Kind;
use vtprof_signal::counters::Counter;

use crate::export::comments;
use crate::heap;
use crate::session::Session;
use crate::threads::own;
use crate::threads::timer::process_cpu_ns;

/// Whether a figure only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nature {
    /// Since the session began.
    Counter,
    /// Now.
    #[allow(dead_code)] // there is none yet
    Gauge,
}

/// One figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// As in the profiles' comments: words, dots and underscores, its unit last (`_ns`, `_bytes`) where it has one.
    pub name: &'static str,
    /// Whether it only grows.
    pub nature: Nature,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// The thread of the agent's whose CPU time it is, where it is one's.
    pub thread: Option<&'static str>,
    /// Its value, in the unit of the name.
    pub value: f64,
}

impl Figure {
    /// One that only grows.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self {
            name,
            nature: Nature::Counter,
            help,
            thread: None,
            value: value as f64,
        }
    }

    /// One of now.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self {
            name,
            nature: Nature::Gauge,
            help,
            thread: None,
            value,
        }
    }
}

/// Somebody who has figures of their own.
type Source = Box<dyn Fn() -> Vec<Figure> + Send>;

static SOURCES: Mutex<Vec<Source>> = Mutex::new(Vec::new());

/// Adds what `source` says to the list from now on: figures of a room that is not always there. It is called under a lock,
/// on whatever thread asks, and is to be quick. To be called once a room.
pub fn also(source: impl Fn() -> Vec<Figure> + Send + 'static) {
    SOURCES.lock().push(Box::new(source));
}

/// All of them, in a fixed order: what others add comes last. From any thread, attached or not; reads a file of `/proc` for
/// each thread of the agent's.
#[must_use]
pub fn all(session: &Session) -> Vec<Figure> {
    let counters = session.shared.counters;
    let mut figures: Vec<_> = Counter::ALL
        .iter()
        .map(|counter| Figure::counter(counter.name(), counter.help(), counters.get(*counter)))
        .collect();
    let sums = comments::outcomes(|counter| counters.get(counter));
    figures.extend(sums.map(|(name, help, value)| Figure::counter(name, help, value)));
    figures.extend(own::used().into_iter().map(|used| {
        let help = "CPU time of a thread of the agent's own, in ns.";
        Figure {
            thread: Some(used.thread()),
            ..Figure::counter(used.figure_name, help, used.cpu_ns)
        }
    }));
    figures.push(Figure::counter(
        "process.cpu_ns",
        "CPU time of the process, the agent's included, in ns.",
        process_cpu_ns(),
    ));
    figures.extend(gauges(session));
    for source in SOURCES.lock().iter() {
        figures.extend(source());
    }
    figures
}

fn gauges(session: &Session) -> Vec<Figure> {
    let counters = session.shared.counters;
    let mut gauges = vec![
        Figure::gauge(
            "agent.heap_bytes",
            "Memory that the agent holds, tables in full, in bytes.",
            heap::held() as f64,
        ),
        Figure::gauge(
            "agent.methods_noted",
            "Methods of classes that are there, or were when last looked for.",
            session.classes.methods() as f64,
        ),
    ];
    let wanted_ns = session.period_of(Kind::Cpu);
    if wanted_ns > 0 {
        let get = |counter| counters.get(counter);
        let achieved = comments::achieved_ns(
            wanted_ns,
            get(Counter::Signals),
            get(Counter::Signals) + get(Counter::Overruns),
        );
        let wanted = Figure::gauge(
            "period.wanted_ns",
            "CPU time between two samples of a thread that was asked for, in ns.",
            wanted_ns as f64,
        );
        let achieved = Figure::gauge(
            "period.achieved_ns",
            "CPU time between two samples of a thread since the session began, in ns.",
            achieved as f64,
        );
        gauges.extend([wanted, achieved]);
    }
    let depths = session.depths.so_far();
    gauges.extend(depths.into_iter().map(|(name, most)| {
        let help = "The most that the drain found waiting in this window.";
        Figure::gauge(name, help, most as f64)
    }));
    gauges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_room_adds_is_told_as_it_is_when_it_is_asked_for() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static SENT: AtomicU64 = AtomicU64::new(1);
        also(|| {
            let sent = SENT.load(Ordering::Relaxed);
            vec![Figure::counter("test.sent_bytes", "Sent.", sent)]
        });
        let told = || -> Vec<f64> {
            let sources = SOURCES.lock();
            let all = sources.iter().flat_map(|source| source());
            all.map(|figure| figure.value).collect()
        };
        assert_eq!(told(), [1.0]);
        SENT.store(7, Ordering::Relaxed);
        assert_eq!(told(), [7.0]);
    }
}
