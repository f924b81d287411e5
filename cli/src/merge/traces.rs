//! Spans in focus.

use std::collections::{HashMap, HashSet};

use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::otlp::trace::TracesData;
use vtprof_profile::spans::traces_to_spans;

use crate::focus::Focus;

/// Leaves only spans that are in focus, as samples under them would be.
pub fn keep(traces: &mut TracesData, focus: &[Focus]) {
    let list = traces_to_spans(traces);
    let names: HashMap<(TraceId, SpanId), &str> = list
        .spans
        .iter()
        .map(|span| ((span.trace, span.span), span.name.as_str()))
        .collect();
    let wanted: HashSet<(TraceId, SpanId)> = list
        .spans
        .iter()
        .filter(|span| {
            focus.iter().all(|focus| match focus {
                Focus::Span(id) => span.span == *id,
                Focus::Root(id) => span.local_root == *id,
                Focus::Trace(id) => span.trace == *id,
                Focus::Name(name) => names
                    .get(&(span.trace, span.local_root))
                    .is_some_and(|root| root == name),
            })
        })
        .map(|span| (span.trace, span.span))
        .collect();
    for scope in traces
        .resource_spans
        .iter_mut()
        .flat_map(|resource| &mut resource.scope_spans)
    {
        scope.spans.retain(|span| {
            let ids = TraceId::from_wire(&span.trace_id).zip(SpanId::from_wire(&span.span_id));
            ids.is_some_and(|ids| wanted.contains(&ids))
        });
    }
}
