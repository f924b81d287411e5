//! Which local root a span is below, of all files: samples of others name the current span alone.

use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::spans::SpanRecord;

use crate::tags::Tags;

/// A span that is no local root, 32 bytes: there may be many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Below {
    span: SpanId,
    trace: TraceId,
    root: SpanId,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Lineage {
    /// Ascending once it is settled.
    below: Vec<Below>,
    /// Spans that are below another root in another trace, ascending.
    ambiguous: Vec<SpanId>,
}

impl Lineage {
    /// Adds those of the spans that are no local roots.
    pub fn add(&mut self, spans: &[SpanRecord]) {
        let below = spans.iter().filter(|span| !span.is_local_root());
        self.below.extend(below.map(|span| Below {
            span: span.span,
            trace: span.trace,
            root: span.local_root,
        }));
    }

    /// For the end, when all is added.
    pub fn settle(&mut self) {
        self.below.sort_unstable();
        self.below.dedup();
        self.below.shrink_to_fit();
        let pairs = self.below.windows(2);
        let is_ambiguous =
            |pair: &&[Below]| pair[0].span == pair[1].span && pair[0].root != pair[1].root;
        self.ambiguous = pairs
            .filter(is_ambiguous)
            .map(|pair| pair[0].span)
            .collect();
        self.ambiguous.dedup();
    }

    /// The local root of samples that name the current span alone; `None` where that is not known to be below another.
    pub fn root_of(&self, tags: &Tags<'_>) -> Option<SpanId> {
        if self.below.is_empty() || !tags.stands_in {
            return None;
        }
        let span: SpanId = tags.span?.parse().ok()?;
        // No list is walked: any number of traces may have the same id.
        let at = |first: usize| self.below.get(first).filter(|below| below.span == span);
        let Some(trace) = tags.trace.and_then(|trace| trace.parse::<TraceId>().ok()) else {
            let first = self.below.partition_point(|below| below.span < span);
            // The same id in two traces, and no label says which: nobody knows.
            let is_known = self.ambiguous.binary_search(&span).is_err();
            return at(first).filter(|_| is_known).map(|below| below.root);
        };
        let of_trace = |first| at(first).filter(|below| below.trace == trace);
        let first = self
            .below
            .partition_point(|below| (below.span, below.trace) < (span, trace));
        of_trace(first)
            .filter(|_| of_trace(first + 1).is_none())
            .map(|below| below.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::spans::{SpanKind, SpanStatus};

    fn lineage(spans: &[(u64, u64, u64)]) -> Lineage {
        let record = |(trace, span, root): &(u64, u64, u64)| SpanRecord {
            trace: TraceId::from_halves(0, *trace),
            span: SpanId(*span),
            parent: None,
            local_root: SpanId(*root),
            name: String::new(),
            kind: SpanKind::Internal,
            start_unix_nanos: 0,
            end_unix_nanos: 0,
            status: SpanStatus::Unset,
        };
        let mut lineage = Lineage::default();
        lineage.add(&spans.iter().map(record).collect::<Vec<_>>());
        lineage.settle();
        lineage
    }

    #[test]
    fn a_span_is_found_by_its_trace_and_without_one_where_all_traces_agree() {
        let lineage = lineage(&[
            (1, 5, 2),
            (3, 5, 4),
            (1, 6, 2),
            (7, 6, 2),
            (1, 2, 2),
            (1, 8, 2),
            (1, 8, 3),
        ]);
        let root = |span: u64, trace: Option<u64>| {
            let span = SpanId(span).to_string();
            let trace = trace.map(|trace| TraceId::from_halves(0, trace).to_string());
            let tags = Tags {
                span: Some(&span),
                trace: trace.as_deref(),
                stands_in: true,
                ..Tags::default()
            };
            lineage.root_of(&tags).map(|root| root.0)
        };
        assert_eq!(root(5, Some(1)), Some(2));
        assert_eq!(root(5, Some(3)), Some(4));
        assert_eq!(root(5, None), None);
        assert_eq!(root(6, None), Some(2));
        assert_eq!(root(6, Some(7)), Some(2));
        assert_eq!(root(6, Some(9)), None);
        assert_eq!(root(8, Some(1)), None, "two files name two roots");
        assert_eq!(root(8, None), None);
        assert_eq!(root(2, Some(1)), None, "it is its own");
        assert_eq!(root(7, None), None);
    }

    #[test]
    fn an_id_of_very_many_traces_is_found_as_fast_as_another() {
        let traces: Vec<_> = (1..=200_000).map(|trace| (trace, 5, 2)).collect();
        let lineage = lineage(&traces);
        let span = SpanId(5).to_string();
        let last = TraceId::from_halves(0, 200_000).to_string();
        for trace in [None, Some(last.as_str())] {
            let tags = Tags {
                span: Some(&span),
                trace,
                stands_in: true,
                ..Tags::default()
            };
            // With a walk over all of them 40 billion steps.
            let found = (0..200_000).filter(|_| lineage.root_of(&tags) == Some(SpanId(2)));
            assert_eq!(found.count(), 200_000);
        }
    }
}
