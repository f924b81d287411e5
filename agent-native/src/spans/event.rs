//! What the shim reports, handed from application threads to the drain through a bounded queue.
//!
//! A full queue drops the report and counts it. A span whose start was dropped stays untagged: the book
//! does not know it. When the end of one was dropped, nobody can say which are open: the drain then forgets
//! all of them.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_queue::ArrayQueue;
use vtprof_profile::spans::SpanRecord;
use vtprof_signal::counters::{Counter, Counters};

/// Reports the queue holds: at one drain in 50 ms, 300,000 spans a second (two reports each).
pub const CAPACITY: usize = 32_768;

/// One report.
#[derive(Debug)]
pub enum SpanEvent {
    /// A span started.
    Started {
        span: u64,
        root: u64,
        /// Name at the start; of local roots only, and it may change.
        root_name: Option<String>,
    },
    /// A span ended.
    Ended {
        /// ns of CLOCK_MONOTONIC, the clock of the samples.
        at_ns: u64,
        record: Box<SpanRecord>,
    },
    /// A span is known no longer: collected without an end, or pushed out of the shim's table.
    Lost { span: u64 },
}

/// The queue.
pub struct SpanEvents {
    queue: ArrayQueue<SpanEvent>,
    /// Whether an end was dropped. Pair: Release in `push`, Acquire in `take_ends_dropped`.
    ends_dropped: AtomicBool,
    counters: &'static Counters,
}

impl SpanEvents {
    pub fn new(counters: &'static Counters) -> Self {
        Self {
            queue: ArrayQueue::new(CAPACITY),
            ends_dropped: AtomicBool::new(false),
            counters,
        }
    }

    /// Adds a report; from any thread.
    pub fn push(&self, event: SpanEvent) {
        let (total, dropped) = match event {
            SpanEvent::Started { .. } => (Counter::SpansStarted, Counter::SpanStartsDropped),
            SpanEvent::Ended { .. } => (Counter::SpansEnded, Counter::SpanEndsDropped),
            SpanEvent::Lost { .. } => (Counter::SpansNeverEnded, Counter::SpanEndsDropped),
        };
        self.counters.add(total, 1);
        if let Err(event) = self.queue.push(event) {
            self.counters.add(dropped, 1);
            if !matches!(event, SpanEvent::Started { .. }) {
                self.ends_dropped.store(true, Ordering::Release);
            }
        }
    }

    /// Whether an end was dropped since this was last asked.
    pub fn take_ends_dropped(&self) -> bool {
        self.ends_dropped.swap(false, Ordering::Acquire)
    }

    /// Reports that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Takes the oldest report.
    pub fn pop(&self) -> Option<SpanEvent> {
        self.queue.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts_and_remembers_that_an_end_was_among_it() {
        let counters = Box::leak(Box::new(Counters::new()));
        let events = SpanEvents::new(counters);
        let start = |span| SpanEvent::Started {
            span,
            root: span,
            root_name: None,
        };
        for span in 0..=CAPACITY as u64 {
            events.push(start(span));
        }
        assert_eq!(counters.get(Counter::SpanStartsDropped), 1);
        assert!(!events.take_ends_dropped());
        events.push(SpanEvent::Lost { span: 1 });
        assert_eq!(counters.get(Counter::SpanEndsDropped), 1);
        assert!(events.take_ends_dropped());
        assert!(!events.take_ends_dropped());
    }
}
