//! Spans of several files, those of one resource together: writers begin new files, and a child may be in another than its
//! parent.

use std::collections::HashMap;

use prost::Message as _;

use super::{LOCAL_ROOT_ATTRIBUTE, SpanKind, SpanRecord, SpanStatus, forget_left_out};
use crate::ids::{SpanId, TraceId};
use crate::otlp::trace::{Resource, Span, TracesData};

/// Spans and their local roots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpanList {
    /// Spans with valid ids, in file order.
    pub spans: Vec<SpanRecord>,
    /// Spans left aside because their trace or span id is missing or of the wrong length.
    pub without_id: u64,
}

impl SpanList {
    /// Spans whose times do not say how long they were.
    #[must_use]
    pub fn without_times(&self) -> u64 {
        let without = self.spans.iter().filter(|span| !span.has_times());
        without.count() as u64
    }

    /// Those of them that are local roots: they are no requests. Of others nobody needs the times who asks whose they are.
    #[must_use]
    pub fn roots_without_times(&self) -> u64 {
        let roots = self.spans.iter().filter(|span| span.is_local_root());
        roots.filter(|span| !span.has_times()).count() as u64
    }
}

/// See the module. Files of others do not name local roots: there it is the topmost ancestor that the same resource has in
/// any of the files.
#[derive(Debug, Clone, Default)]
pub struct SpanFiles {
    resources: Vec<OfResource>,
    /// By the resource as it is encoded.
    by_resource: HashMap<Vec<u8>, usize>,
    without_id: u64,
}

#[derive(Debug, Clone, Default)]
struct OfResource {
    spans: Vec<SpanRecord>,
    /// Places of those whose local root is not named.
    rootless: Vec<usize>,
}

/// The spans of a file.
pub fn traces_to_spans(traces: &TracesData) -> SpanList {
    let mut files = SpanFiles::default();
    files.add(traces);
    files.finish()
}

impl SpanFiles {
    /// Adds the spans of a file.
    pub fn add(&mut self, traces: &TracesData) {
        for resource_spans in &traces.resource_spans {
            let at = self.place(key(resource_spans.resource.as_ref()));
            let of_resource = &mut self.resources[at];
            let scopes = &resource_spans.scope_spans;
            for span in scopes.iter().flat_map(|scope| &scope.spans) {
                match record(span) {
                    Some((record, names_root)) => of_resource.push(record, !names_root),
                    None => self.without_id += 1,
                }
            }
        }
    }

    /// Adds what others hold.
    pub fn join(&mut self, other: SpanFiles) {
        self.without_id += other.without_id;
        let mut keys: Vec<_> = other.by_resource.into_iter().collect();
        keys.sort_by_key(|(_, at)| *at);
        for ((key, _), of_resource) in keys.into_iter().zip(other.resources) {
            let at = self.place(key);
            let known = &mut self.resources[at];
            let first = known.spans.len();
            known.spans.extend(of_resource.spans);
            let rootless = of_resource.rootless.into_iter();
            known.rootless.extend(rootless.map(|at| first + at));
        }
    }

    /// Whether each span names its local root, so that no other file can tell more.
    #[must_use]
    pub fn name_all_roots(&self) -> bool {
        self.resources.iter().all(|of| of.rootless.is_empty())
    }

    /// All of them.
    #[must_use]
    pub fn finish(self) -> SpanList {
        let mut spans = Vec::new();
        for mut of_resource in self.resources {
            of_resource.find_roots();
            spans.append(&mut of_resource.spans);
        }
        SpanList {
            spans,
            without_id: self.without_id,
        }
    }

    fn place(&mut self, key: Vec<u8>) -> usize {
        let next = self.resources.len();
        let at = *self.by_resource.entry(key).or_insert(next);
        if at == next {
            self.resources.push(OfResource::default());
        }
        at
    }
}

/// What makes two resources the same.
fn key(resource: Option<&Resource>) -> Vec<u8> {
    let Some(mut resource) = resource.cloned() else {
        return Vec::new();
    };
    forget_left_out(&mut resource);
    resource.encode_to_vec()
}

/// A span with valid ids, and whether it names its local root; else it stands for that itself.
fn record(span: &Span) -> Option<(SpanRecord, bool)> {
    let trace = TraceId::from_wire(&span.trace_id)?;
    let id = SpanId::from_wire(&span.span_id)?;
    let named_root = span
        .attributes
        .iter()
        .find(|attribute| attribute.key == LOCAL_ROOT_ATTRIBUTE)
        .and_then(|attribute| attribute.as_str()?.parse().ok());
    let record = SpanRecord {
        trace,
        span: id,
        parent: SpanId::from_wire(&span.parent_span_id),
        local_root: named_root.unwrap_or(id),
        name: span.name.clone(),
        kind: SpanKind::from_otlp(span.kind),
        start_unix_nanos: span.start_time_unix_nano,
        end_unix_nanos: span.end_time_unix_nano,
        status: SpanStatus::from_otlp(span.status.as_ref().map_or(0, |status| status.code)),
    };
    Some((record, named_root.is_some()))
}

impl OfResource {
    fn push(&mut self, span: SpanRecord, is_rootless: bool) {
        if is_rootless {
            self.rootless.push(self.spans.len());
        }
        self.spans.push(span);
    }

    /// Sets the local root of those that name none to their topmost ancestor.
    fn find_roots(&mut self) {
        if self.rootless.is_empty() {
            return;
        }
        let spans = &mut self.spans;
        let index: HashMap<(TraceId, SpanId), usize> = spans
            .iter()
            .enumerate()
            .map(|(i, span)| ((span.trace, span.span), i))
            .collect();
        // Roots found so far, so that a long chain is walked once and not once from each of its spans.
        let mut roots: Vec<Option<SpanId>> = vec![None; spans.len()];
        let mut chain = Vec::new();
        for start in self.rootless.iter().copied() {
            chain.clear();
            let mut at = start;
            let root = loop {
                if let Some(root) = roots[at] {
                    break root;
                }
                // Marked while on the way up: a file may claim that a span is its own ancestor.
                roots[at] = Some(spans[at].span);
                chain.push(at);
                let parent = spans[at]
                    .parent
                    .and_then(|parent| index.get(&(spans[at].trace, parent)));
                match parent {
                    Some(&parent) => at = parent,
                    None => break spans[at].span,
                }
            };
            for &i in &chain {
                roots[i] = Some(root);
            }
            spans[start].local_root = root;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::set_left_out;
    use crate::spans::tests::file_of_others;

    fn joined(files: &[TracesData]) -> Vec<(u64, u64)> {
        let mut all = SpanFiles::default();
        for traces in files {
            let mut file = SpanFiles::default();
            file.add(traces);
            all.join(file);
        }
        let spans = all.finish().spans.into_iter();
        spans.map(|span| (span.span.0, span.local_root.0)).collect()
    }

    #[test]
    fn a_child_finds_its_root_in_any_file_of_the_same_resource() {
        let mut with_note = file_of_others("shop", &[(3, Some(2)), (5, Some(4))]);
        set_left_out(&mut with_note, 7);
        let files = [
            file_of_others("shop", &[(4, Some(3))]),
            file_of_others("other", &[(6, Some(2))]),
            with_note,
            file_of_others("shop", &[(2, Some(99))]),
        ];
        assert_eq!(joined(&files), [(4, 2), (3, 2), (5, 2), (2, 2), (6, 6)]);
    }

    #[test]
    fn where_each_span_names_its_root_no_other_file_is_asked() {
        let mut named = file_of_others("shop", &[(3, Some(2))]);
        let span = &mut named.resource_spans[0].scope_spans[0].spans[0];
        let root = crate::otlp::trace::KeyValue::string(LOCAL_ROOT_ATTRIBUTE, "0000000000000003");
        span.attributes.push(root);
        let mut files = SpanFiles::default();
        files.add(&named);
        assert!(files.name_all_roots());
        // The root that it names stays, whatever is above it.
        let above = file_of_others("shop", &[(2, None)]);
        assert_eq!(joined(&[named, above.clone()]), [(3, 3), (2, 2)]);
        files.add(&above);
        assert!(!files.name_all_roots());
    }
}
