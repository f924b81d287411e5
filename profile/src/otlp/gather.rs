//! Spans of many messages in one, those of one resource together: an exporter sends a resource again with each batch, and a
//! child in another batch than its parent.

use std::collections::HashMap;

use prost::Message;

use super::trace::{ResourceSpans, ScopeSpans, TracesData};
use crate::spans::{forget_left_out, left_out, set_left_out};

/// See the module.
#[derive(Debug, Default)]
pub struct Gathered {
    resources: Vec<ResourceSpans>,
    /// By the resource as it is encoded.
    by_resource: HashMap<Vec<u8>, usize>,
    /// By the number of the resource and the scope as it is encoded.
    by_scope: HashMap<(usize, Vec<u8>), usize>,
    left_out: u64,
}

impl Gathered {
    /// Adds all spans of a message, in order. One that was exported twice is there twice.
    pub fn add(&mut self, traces: TracesData) {
        self.left_out = self.left_out.saturating_add(left_out(&traces));
        for mut resource_spans in traces.resource_spans {
            if let Some(resource) = &mut resource_spans.resource {
                // It is told of all together.
                forget_left_out(resource);
            }
            let scopes = std::mem::take(&mut resource_spans.scope_spans);
            let next = self.resources.len();
            let key = resource_spans.encode_to_vec();
            let at = *self.by_resource.entry(key).or_insert(next);
            if at == next {
                self.resources.push(resource_spans);
            }
            for scope in scopes {
                self.add_scope(at, scope);
            }
        }
    }

    fn add_scope(&mut self, resource: usize, mut scope: ScopeSpans) {
        let spans = std::mem::take(&mut scope.spans);
        let scopes = &mut self.resources[resource].scope_spans;
        let key = (resource, scope.encode_to_vec());
        let at = *self.by_scope.entry(key).or_insert(scopes.len());
        if at == scopes.len() {
            scopes.push(scope);
        }
        scopes[at].spans.extend(spans);
    }

    /// All, in the order of their first span.
    #[must_use]
    pub fn finish(self) -> TracesData {
        let mut resources = self.resources;
        if self.left_out > 0 {
            // At the first resource alone: readers add up what stands at each.
            let mut first = TracesData {
                resource_spans: vec![
                    resources
                        .first_mut()
                        .map(std::mem::take)
                        .unwrap_or_default(),
                ],
            };
            set_left_out(&mut first, self.left_out);
            let noted = first.resource_spans.into_iter();
            resources.splice(..1.min(resources.len()), noted);
        }
        TracesData {
            resource_spans: resources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::tests::file_of_others;
    use crate::spans::traces_to_spans;

    fn gathered(messages: impl IntoIterator<Item = TracesData>) -> TracesData {
        let mut all = Gathered::default();
        messages.into_iter().for_each(|message| all.add(message));
        all.finish()
    }

    #[test]
    fn a_child_finds_its_root_in_another_message_of_the_same_resource_only() {
        let traces = gathered([
            file_of_others("shop", &[(3, Some(2))]),
            file_of_others("other", &[(4, Some(2))]),
            file_of_others("shop", &[(2, Some(9))]),
        ]);
        assert_eq!(traces.resource_spans.len(), 2);
        let list = traces_to_spans(&traces);
        let roots: Vec<_> = list
            .spans
            .iter()
            .map(|span| (span.span.0, span.local_root.0))
            .collect();
        assert_eq!(roots, [(3, 2), (2, 2), (4, 4)]);
    }

    #[test]
    fn spans_left_out_are_those_of_all_messages() {
        let with = |service, count| {
            let mut traces = file_of_others(service, &[]);
            set_left_out(&mut traces, count);
            traces
        };
        let traces = gathered([with("shop", 2), with("other", 0), with("shop", 5)]);
        assert_eq!(left_out(&traces), 7);
        assert_eq!(traces.resource_spans.len(), 2);
        // A resource whose note was taken away is still the same.
        let again = gathered([traces.clone(), traces]);
        assert_eq!((again.resource_spans.len(), left_out(&again)), (2, 14));
        assert_eq!(gathered([]), TracesData::default());
    }
}
