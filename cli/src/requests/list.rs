//! All local root spans that ended.

use std::collections::HashMap;

use vtprof_profile::ids::SpanId;
use vtprof_profile::spans::{SpanList, SpanRecord, SpanStatus};

use crate::lineage::Lineage;
use crate::tags::Tags;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub root: SpanId,
    /// Final name.
    pub name: String,
    pub duration_nanos: u64,
    pub has_failed: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Requests {
    list: Vec<Request>,
    index: HashMap<SpanId, u32>,
    /// For samples that name a child span alone.
    lineage: Lineage,
}

/// Which of them count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which<'a> {
    /// Those of this name alone.
    pub name: Option<&'a str>,
    /// Also those that ended in an error.
    pub with_errors: bool,
}

impl Which<'_> {
    /// Whether one of that name and outcome does.
    pub fn takes(&self, request: &Request) -> bool {
        self.name.is_none_or(|name| name == request.name)
            && (self.with_errors || !request.has_failed)
    }
}

impl Requests {
    /// The local roots among `spans`; one that two files have counts once.
    pub fn of(spans: SpanList) -> Self {
        let mut requests = Requests::default();
        requests.lineage.add(&spans.spans);
        requests.lineage.settle();
        let is_request = |span: &SpanRecord| span.is_local_root() && span.has_times();
        for span in spans.spans.into_iter().filter(is_request) {
            let next = requests.list.len() as u32;
            if *requests.index.entry(span.span).or_insert(next) == next {
                let duration_nanos = span.duration_nanos();
                requests.list.push(Request {
                    root: span.span,
                    name: span.name,
                    duration_nanos,
                    has_failed: span.status == SpanStatus::Error,
                });
            }
        }
        requests
    }

    /// The one with that root, and its number.
    pub fn find(&self, root: SpanId) -> Option<(u32, &Request)> {
        let index = *self.index.get(&root)?;
        Some((index, &self.list[index as usize]))
    }

    /// The local root of a sample.
    pub fn root_of(&self, tags: &Tags<'_>) -> Option<SpanId> {
        let known = self.lineage.root_of(tags);
        known.or_else(|| tags.root?.parse().ok())
    }

    /// All, in order of their numbers.
    pub fn all(&self) -> &[Request] {
        &self.list
    }

    /// The numbers of those that count.
    pub fn which(&self, which: Which<'_>) -> Vec<u32> {
        let all = (0..).zip(&self.list);
        all.filter(|(_, request)| which.takes(request))
            .map(|(index, _)| index)
            .collect()
    }
}
