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
#[derive(Debug, Default)]
pub struct Lineage {
    /// Ascending once it is settled.
    below: Vec<Below>,
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
    }

    /// The local root of samples that name the current span alone; `None` where that is not known to be below another.
    pub fn root_of(&self, tags: &Tags<'_>) -> Option<SpanId> {
        if self.below.is_empty() || !tags.stands_in {
            return None;
        }
        let span: SpanId = tags.span?.parse().ok()?;
        let trace = tags.trace.and_then(|trace| trace.parse::<TraceId>().ok());
        let first = self.below.partition_point(|below| below.span < span);
        let known = self.below[first..].iter();
        let mut roots = known
            .take_while(|below| below.span == span)
            .filter(|below| trace.is_none_or(|trace| trace == below.trace))
            .map(|below| below.root);
        let root = roots.next()?;
        // The same id in two traces, and no label says which: nobody knows.
        roots.all(|other| other == root).then_some(root)
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
        let lineage = lineage(&[(1, 5, 2), (3, 5, 4), (1, 6, 2), (1, 2, 2)]);
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
        assert_eq!(root(6, Some(9)), None);
        assert_eq!(root(2, Some(1)), None, "it is its own");
        assert_eq!(root(7, None), None);
    }
}
