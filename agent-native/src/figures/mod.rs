//! What the agent says of itself, in one list: for `status`, for metrics, for whoever asks from Java.

use vtprof_signal::counters::Counter;

use crate::session::Session;

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
    /// Its value.
    pub value: f64,
}

/// All of them, in a fixed order.
#[must_use]
pub fn all(session: &Session) -> Vec<Figure> {
    let counters = session.shared.counters;
    Counter::ALL
        .iter()
        .map(|counter| Figure {
            name: counter.name(),
            nature: Nature::Counter,
            value: counters.get(*counter) as f64,
        })
        .collect()
}
