//! The spans of a document. The slowest of each endpoint stand for themselves; of the others, those of one endpoint that
//! lasted about as long are one group, so that a document of a million spans stays readable.

use std::collections::{HashMap, HashSet};

use crate::spans::endpoints::NO_NAME;
use crate::spans::roots::{Ended, Root, Roots};
use crate::tags::Tags;

/// Bins of durations for each doubling.
pub const BINS_PER_OCTAVE: f64 = 4.0;

/// A group of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// Which samples a group is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// What is shown.
    Shown = 0,
    /// What it is compared with.
    Base = 1,
}

/// One span, several, or samples that belong to none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub side: Side,
    /// Name of the local root spans; `None` for samples without a tag.
    pub endpoint: Option<String>,
    /// Where it is a single span.
    pub root: Option<Identity>,
    /// Bin of its durations; `None` where they are not known.
    pub bin: Option<u16>,
    /// Spans in it that ended.
    pub ended: u64,
    /// Spans in it.
    pub spans: u64,
}

/// A span that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub id: String,
    pub trace: Option<String>,
    pub ended: Option<Ended>,
}

/// The groups of one side.
#[derive(Debug)]
pub struct Groups {
    side: Side,
    first: u32,
    list: Vec<Group>,
    /// By the place of a root.
    of_root: Vec<GroupId>,
    /// Samples with a name and no id.
    named: HashMap<String, GroupId>,
    untagged: Option<GroupId>,
}

/// The bin of a duration in ns.
pub fn bin(nanos: u64) -> u16 {
    ((nanos.max(1) as f64).log2() * BINS_PER_OCTAVE).floor() as u16
}

impl Groups {
    /// Of all these roots; the first is called `first`. `single` of them stand for themselves, and those that are `named`.
    pub fn of(
        side: Side,
        roots: &Roots,
        named: &HashSet<String>,
        single: usize,
        first: u32,
    ) -> Self {
        let mut groups = Groups {
            side,
            first,
            list: Vec::new(),
            of_root: Vec::new(),
            named: HashMap::new(),
            untagged: None,
        };
        let single = singles(roots, single);
        let mut merged: HashMap<(&str, Option<u16>), GroupId> = HashMap::new();
        for (index, root) in roots.iter().enumerate() {
            let endpoint = name_of(root);
            let bin = root.ended.map(|ended| bin(ended.duration_nanos));
            let group = if single.contains(&index) || named.contains(&root.id) {
                let identity = Identity {
                    id: root.id.clone(),
                    trace: root.trace.clone(),
                    ended: root.ended,
                };
                groups.push(Some(endpoint), Some(identity), bin)
            } else {
                *merged
                    .entry((endpoint, bin))
                    .or_insert_with(|| groups.push(Some(endpoint), None, bin))
            };
            let entry = &mut groups.list[(group.0 - first) as usize];
            entry.spans += 1;
            entry.ended += u64::from(root.ended.is_some());
            groups.of_root.push(group);
        }
        groups
    }

    fn push(
        &mut self,
        endpoint: Option<&str>,
        root: Option<Identity>,
        bin: Option<u16>,
    ) -> GroupId {
        let id = GroupId(self.first + self.list.len() as u32);
        self.list.push(Group {
            side: self.side,
            endpoint: endpoint.map(str::to_owned),
            root,
            bin,
            ended: 0,
            spans: 0,
        });
        id
    }

    /// The group of a sample with these tags, whose local root is at `root`.
    pub fn of_sample(&mut self, tags: &Tags<'_>, root: Option<usize>) -> GroupId {
        if let Some(root) = root {
            return self.of_root[root];
        }
        match tags.name {
            Some(name) => {
                if let Some(&known) = self.named.get(name) {
                    return known;
                }
                let group = self.push(Some(name), None, None);
                self.named.insert(name.to_owned(), group);
                group
            }
            None => {
                let known = self.untagged;
                let group = known.unwrap_or_else(|| self.push(None, None, None));
                self.untagged = Some(group);
                group
            }
        }
    }

    /// All.
    pub fn into_list(self) -> Vec<Group> {
        self.list
    }
}

/// What endpoint a root belongs to.
fn name_of(root: &Root) -> &str {
    root.name.as_deref().unwrap_or(NO_NAME)
}

/// Places of the spans that stand for themselves: the slowest of each endpoint, then its second, and so on.
fn singles(roots: &Roots, count: usize) -> HashSet<usize> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut ranked: Vec<_> = roots
        .slowest_first(None)
        .into_iter()
        .filter_map(|root| {
            let rank = seen.entry(name_of(root)).or_default();
            *rank += 1;
            Some((*rank, roots.find(&root.id)?))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let first = ranked.into_iter().take(count);
    first.map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::ids::{SpanId, TraceId};
    use vtprof_profile::spans::{SpanKind, SpanList, SpanRecord, SpanStatus};

    fn roots(spans: &[(u64, &str, u64)]) -> Roots {
        let record = |(id, name, millis): &(u64, &str, u64)| SpanRecord {
            trace: TraceId::from_halves(0, 1),
            span: SpanId(*id),
            parent: None,
            local_root: SpanId(*id),
            name: (*name).to_owned(),
            kind: SpanKind::Server,
            start_unix_nanos: 1,
            end_unix_nanos: 1 + millis * 1_000_000,
            status: SpanStatus::Unset,
        };
        let mut roots = Roots::default();
        let list = SpanList {
            spans: spans.iter().map(record).collect(),
            without_id: 0,
        };
        roots.add_spans(list, 0);
        roots
    }

    #[test]
    fn the_slowest_of_each_endpoint_stand_for_themselves_and_the_others_by_length() {
        let roots = roots(&[
            (1, "a", 900),
            (2, "a", 800),
            (3, "a", 10),
            (4, "a", 10),
            (5, "b", 1),
            (6, "a", 300),
        ]);
        let groups = Groups::of(Side::Shown, &roots, &HashSet::new(), 3, 0);
        let single: Vec<_> = groups.list.iter().filter_map(|g| g.root.as_ref()).collect();
        let ids: Vec<_> = single.iter().map(|root| root.id.as_str()).collect();
        assert_eq!(
            ids,
            ["0000000000000001", "0000000000000002", "0000000000000005"]
        );
        // The two of 10 ms are one group, that of 300 ms another.
        assert_eq!(groups.of_root[2], groups.of_root[3]);
        assert_ne!(groups.of_root[2], groups.of_root[5]);
        assert_eq!(groups.list.iter().map(|g| g.ended).sum::<u64>(), 6);
    }

    #[test]
    fn a_span_that_is_named_stands_for_itself_however_fast() {
        let roots = roots(&[(1, "a", 900), (2, "a", 1)]);
        let named = HashSet::from(["0000000000000002".to_owned()]);
        let groups = Groups::of(Side::Shown, &roots, &named, 0, 0);
        let single: Vec<_> = groups.list.iter().filter_map(|g| g.root.as_ref()).collect();
        assert_eq!(single.len(), 1);
        assert_eq!(single[0].id, "0000000000000002");
    }

    #[test]
    fn a_bin_is_a_quarter_of_a_doubling() {
        assert_eq!((bin(0), bin(1), bin(2)), (0, 0, 4));
        assert_eq!(bin(1 << 20), 80);
        assert_eq!(bin((1 << 20) - 1), 79);
        assert_eq!(bin(u64::MAX), 256);
    }
}
