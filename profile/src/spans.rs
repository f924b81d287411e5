//! The spans that ended in a window, as OTLP `TracesData`.
//!
//! OTLP and not a format of our own, so that any trace tool reads the file. What OTLP has no field
//! for, the local root span, is the attribute `vtprof.local_root_span_id`.

mod files;

use crate::ids::{SpanId, TraceId};
use crate::otlp::trace::{
    InstrumentationScope, KeyValue, Resource, ResourceSpans, ScopeSpans, Span, Status, TracesData,
};

pub use files::{SpanFiles, SpanList, traces_to_spans};

/// Span attribute: the local root span's id, 16 hex digits.
pub const LOCAL_ROOT_ATTRIBUTE: &str = "vtprof.local_root_span_id";
/// Resource attribute: spans that ended in the window and are not in the file.
pub const LEFT_OUT_ATTRIBUTE: &str = "vtprof.spans_left_out";
/// Resource attribute: the service.
pub const SERVICE_NAME_ATTRIBUTE: &str = "service.name";

/// Role of a span, with OTLP's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SpanKind {
    /// Not said, or a number OTLP does not define.
    #[default]
    Unspecified = 0,
    /// Work inside the service.
    Internal = 1,
    /// A request served.
    Server = 2,
    /// A request made.
    Client = 3,
    /// A message sent.
    Producer = 4,
    /// A message handled.
    Consumer = 5,
}

impl SpanKind {
    /// The kind with that OTLP number.
    pub fn from_otlp(number: i32) -> Self {
        match number {
            1 => SpanKind::Internal,
            2 => SpanKind::Server,
            3 => SpanKind::Client,
            4 => SpanKind::Producer,
            5 => SpanKind::Consumer,
            _ => SpanKind::Unspecified,
        }
    }
}

/// Outcome of a span, with OTLP's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SpanStatus {
    /// Not said, or a number OTLP does not define.
    #[default]
    Unset = 0,
    /// Declared good by the application.
    Ok = 1,
    /// Failed.
    Error = 2,
}

impl SpanStatus {
    /// The status with that OTLP number.
    pub fn from_otlp(number: i32) -> Self {
        match number {
            1 => SpanStatus::Ok,
            2 => SpanStatus::Error,
            _ => SpanStatus::Unset,
        }
    }
}

/// One span that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRecord {
    /// Its trace.
    pub trace: TraceId,
    /// Its id.
    pub span: SpanId,
    /// Its parent, local or remote; `None` for the root of a trace.
    pub parent: Option<SpanId>,
    /// The topmost span of this service above it; itself when it is that span.
    pub local_root: SpanId,
    /// Final name.
    pub name: String,
    /// Role.
    pub kind: SpanKind,
    /// Start, ns since the Unix epoch.
    pub start_unix_nanos: u64,
    /// End, ns since the Unix epoch.
    pub end_unix_nanos: u64,
    /// Outcome.
    pub status: SpanStatus,
}

impl SpanRecord {
    /// Whether this span is the topmost of its service.
    pub fn is_local_root(&self) -> bool {
        self.span == self.local_root
    }

    /// Whether its times say when it began and that it ended then or later. Some exporters have 0 where they do not know.
    pub fn has_times(&self) -> bool {
        self.start_unix_nanos > 0 && self.end_unix_nanos >= self.start_unix_nanos
    }

    /// Length in ns; 0 when the clock went backwards.
    pub fn duration_nanos(&self) -> u64 {
        self.end_unix_nanos.saturating_sub(self.start_unix_nanos)
    }
}

/// The file of these spans.
pub fn spans_to_traces(
    service_name: &str,
    spans: impl IntoIterator<Item = SpanRecord>,
) -> TracesData {
    let spans = spans.into_iter().map(to_otlp).collect();
    TracesData {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![KeyValue::string(SERVICE_NAME_ATTRIBUTE, service_name)],
                dropped_attributes_count: 0,
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "vtprof".into(),
                    ..Default::default()
                }),
                spans,
                schema_url: String::new(),
            }],
            schema_url: String::new(),
        }],
    }
}

/// Notes in the file how many spans ended and are not in it.
pub fn set_left_out(traces: &mut TracesData, count: u64) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    for resource_spans in &mut traces.resource_spans {
        let resource = resource_spans.resource.get_or_insert_default();
        forget_left_out(resource);
        let noted = KeyValue::int(LEFT_OUT_ATTRIBUTE, count);
        resource.attributes.push(noted);
    }
}

/// Takes that away: it is of a file, and not of the resource.
pub(crate) fn forget_left_out(resource: &mut Resource) {
    let attributes = &mut resource.attributes;
    attributes.retain(|attribute| attribute.key != LEFT_OUT_ATTRIBUTE);
}

/// Spans that ended and are not in the file, as [`set_left_out`] noted it.
pub fn left_out(traces: &TracesData) -> u64 {
    traces
        .resource_spans
        .iter()
        .flat_map(|resource_spans| &resource_spans.resource)
        .flat_map(|resource| &resource.attributes)
        .filter(|attribute| attribute.key == LEFT_OUT_ATTRIBUTE)
        .filter_map(|attribute| u64::try_from(attribute.as_int()?).ok())
        .fold(0, u64::saturating_add)
}

fn to_otlp(record: SpanRecord) -> Span {
    Span {
        trace_id: record.trace.0.to_vec(),
        span_id: record.span.to_wire().to_vec(),
        parent_span_id: record
            .parent
            .map(|parent| parent.to_wire().to_vec())
            .unwrap_or_default(),
        name: record.name,
        kind: record.kind as i32,
        start_time_unix_nano: record.start_unix_nanos,
        end_time_unix_nano: record.end_unix_nanos,
        attributes: vec![KeyValue::string(
            LOCAL_ROOT_ATTRIBUTE,
            record.local_root.to_string(),
        )],
        status: (record.status != SpanStatus::Unset).then(|| Status {
            message: String::new(),
            code: record.status as i32,
        }),
        ..Default::default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(
        trace: u64,
        span: u64,
        parent: Option<u64>,
        local_root: u64,
    ) -> SpanRecord {
        SpanRecord {
            trace: TraceId::from_halves(0, trace),
            span: SpanId(span),
            parent: parent.map(SpanId),
            local_root: SpanId(local_root),
            name: format!("span {span}"),
            kind: SpanKind::Internal,
            start_unix_nanos: 10,
            end_unix_nanos: 30,
            status: SpanStatus::Unset,
        }
    }

    fn without_attribute(records: Vec<SpanRecord>) -> TracesData {
        named_by_none("shop", records)
    }

    /// A file of others: no span names its local root.
    fn named_by_none(service: &str, records: impl IntoIterator<Item = SpanRecord>) -> TracesData {
        let mut traces = spans_to_traces(service, records);
        for span in &mut traces.resource_spans[0].scope_spans[0].spans {
            span.attributes.clear();
        }
        traces
    }

    /// The same of these spans of one trace, each with its parent.
    pub(crate) fn file_of_others(service: &str, spans: &[(u64, Option<u64>)]) -> TracesData {
        let records = spans.iter();
        named_by_none(
            service,
            records.map(|(span, parent)| record(1, *span, *parent, *span)),
        )
    }

    fn roots(traces: &TracesData) -> Vec<u64> {
        traces_to_spans(traces)
            .spans
            .iter()
            .map(|span| span.local_root.0)
            .collect()
    }

    #[test]
    fn spans_come_back_as_they_went() {
        let records = vec![
            SpanRecord {
                status: SpanStatus::Error,
                kind: SpanKind::Server,
                ..record(1, 2, Some(99), 2)
            },
            record(1, 3, Some(2), 2),
            record(4, 5, None, 5),
        ];
        let list = traces_to_spans(&spans_to_traces("shop", records.clone()));
        assert_eq!(
            list,
            SpanList {
                spans: records,
                without_id: 0
            }
        );
    }

    #[test]
    fn without_the_attribute_the_local_root_is_the_topmost_ancestor_in_the_file() {
        // 99 is a remote parent; the child stands before its parent, as spans end inside out.
        let chain = vec![
            record(1, 4, Some(3), 0),
            record(1, 3, Some(2), 0),
            record(1, 2, Some(99), 0),
        ];
        assert_eq!(roots(&without_attribute(chain)), [2, 2, 2]);
        // The same span id in another trace is another span.
        let other = vec![record(1, 3, Some(2), 0), record(7, 2, None, 0)];
        assert_eq!(roots(&without_attribute(other)), [3, 2]);
    }

    #[test]
    fn spans_that_are_their_own_ancestors_end_the_walk() {
        let circle = vec![
            record(1, 2, Some(3), 0),
            record(1, 3, Some(2), 0),
            record(1, 4, Some(4), 0),
        ];
        let roots = roots(&without_attribute(circle));
        assert!(
            roots[..2].iter().all(|root| [2, 3].contains(root)),
            "{roots:?}"
        );
        assert_eq!(roots[2], 4);
    }

    #[test]
    fn a_chain_of_many_spans_has_one_root() {
        let chain = (1..=100_000)
            .map(|id| record(1, id, (id > 1).then(|| id - 1), 0))
            .rev()
            .collect();
        let roots = roots(&without_attribute(chain));
        assert_eq!(roots.iter().filter(|&&root| root == 1).count(), 100_000);
    }

    #[test]
    fn spans_left_out_are_noted_once_and_read_back() {
        let mut traces = spans_to_traces("shop", []);
        assert_eq!(left_out(&traces), 0);
        set_left_out(&mut traces, 3);
        set_left_out(&mut traces, 5);
        assert_eq!(left_out(&traces), 5);
    }

    #[test]
    fn spans_without_valid_ids_are_counted_and_left_aside() {
        let mut traces = spans_to_traces("shop", [record(1, 2, None, 2), record(1, 3, None, 3)]);
        traces.resource_spans[0].scope_spans[0].spans[0].span_id = vec![1, 2, 3];
        let list = traces_to_spans(&traces);
        assert_eq!((list.spans.len(), list.without_id), (1, 1));
    }
}
