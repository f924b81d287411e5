//! Which samples are on a side of a document.

use std::collections::HashSet;

use vtprof_profile::ids::SpanId;

use crate::focus::Focus;
use crate::spans::roots::Root;
use crate::tags::Tags;

/// All that is asked of a sample; nothing takes all.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// All must hold.
    pub focus: Vec<Focus>,
    /// One of these, where there are some.
    pub roots: Vec<SpanId>,
}

impl Condition {
    /// All of that.
    pub fn of_focus(focus: &[Focus]) -> Self {
        Condition {
            focus: focus.to_vec(),
            roots: Vec::new(),
        }
    }

    /// Whether it takes all.
    pub fn is_empty(&self) -> bool {
        self.focus.is_empty() && self.roots.is_empty()
    }

    /// Whether a sample counts. Its local root and its name are those of `root` where that is known: labels may name a child
    /// span alone, and a window may have closed before the last name was given.
    pub fn takes(&self, tags: &Tags<'_>, root: Option<&Root>) -> bool {
        let name = root.and_then(|root| root.name.as_deref()).or(tags.name);
        let id = root.map(|root| root.id.as_str()).or(tags.root);
        let tags = Tags {
            name,
            root: id,
            ..*tags
        };
        let named = |id: &SpanId| {
            let root = tags.root.and_then(|root| root.parse::<SpanId>().ok());
            root == Some(*id)
        };
        self.focus.iter().all(|focus| focus.matches(&tags))
            && (self.roots.is_empty() || self.roots.iter().any(named))
    }

    /// Whether a local root span counts that has no sample.
    pub fn takes_root(&self, root: &Root) -> bool {
        let tags = Tags {
            trace: root.trace.as_deref(),
            span: Some(&root.id),
            root: Some(&root.id),
            stands_in: false,
            name: root.name.as_deref(),
        };
        self.takes(&tags, None)
    }

    /// Spans that are named one by one.
    pub fn named(&self) -> HashSet<String> {
        let of_focus = self.focus.iter().filter_map(|focus| match focus {
            Focus::Root(id) => Some(id.to_string()),
            _ => None,
        });
        let roots = self.roots.iter().map(SpanId::to_string);
        of_focus.chain(roots).collect()
    }
}
