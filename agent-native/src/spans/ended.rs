//! The spans that ended in a window, for the spans file. At the bound the shortest go: the file is there to
//! find slow requests in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use vtprof_profile::spans::SpanRecord;

/// Spans a window at the most.
pub const BOUND: usize = 50_000;

struct ByDuration(u64, SpanRecord);

impl PartialEq for ByDuration {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for ByDuration {}
impl PartialOrd for ByDuration {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ByDuration {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// See the module.
pub struct EndedSpans {
    heap: BinaryHeap<Reverse<ByDuration>>,
    bound: usize,
    left_out: u64,
}

impl EndedSpans {
    pub fn new(bound: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            bound,
            left_out: 0,
        }
    }

    /// Adds a span; `false` when it or a shorter one was left out for it.
    pub fn add(&mut self, record: SpanRecord) -> bool {
        self.heap
            .push(Reverse(ByDuration(record.duration_nanos(), record)));
        if self.heap.len() <= self.bound {
            return true;
        }
        self.heap.pop();
        self.left_out += 1;
        false
    }

    /// The spans in order of their end, and how many were left out; empty afterwards.
    pub fn take(&mut self) -> (Vec<SpanRecord>, u64) {
        let mut spans: Vec<_> = std::mem::take(&mut self.heap)
            .into_iter()
            .map(|Reverse(entry)| entry.1)
            .collect();
        spans.sort_by_key(|span| span.end_unix_nanos);
        (spans, std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::ids::{SpanId, TraceId};
    use vtprof_profile::spans::{SpanKind, SpanStatus};

    fn span(id: u64, duration: u64) -> SpanRecord {
        SpanRecord {
            trace: TraceId::from_halves(1, 1),
            span: SpanId(id),
            parent: None,
            local_root: SpanId(id),
            name: String::new(),
            kind: SpanKind::Server,
            start_unix_nanos: 1000,
            end_unix_nanos: 1000 + duration,
            status: SpanStatus::Unset,
        }
    }

    #[test]
    fn at_the_bound_the_shortest_go_and_are_counted() {
        let mut ended = EndedSpans::new(3);
        for (id, duration) in [(1, 50), (2, 10), (3, 70), (4, 60), (5, 1)] {
            ended.add(span(id, duration));
        }
        let (spans, left_out) = ended.take();
        let ids: Vec<_> = spans.iter().map(|s| s.span.0).collect();
        assert_eq!((ids, left_out), (vec![1, 4, 3], 2));
        assert_eq!(ended.take().1, 0);
    }
}
