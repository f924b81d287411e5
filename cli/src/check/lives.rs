//! How long spans lived, and whether several threads may have worked for one at once.

use std::collections::{HashMap, HashSet};

use vtprof_profile::ids::SpanId;
use vtprof_profile::spans::{SpanList, SpanRecord};

/// A child that goes on for longer than that after its parent's end works beside whatever comes next, ns.
const TRAILING: u64 = 1_000_000;

/// One span that ended, or a local root with all below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Life {
    /// First start and last end, ns since the Unix epoch.
    pub start: f64,
    pub end: f64,
    /// Time in which any of it was open, ns.
    pub open: f64,
    /// Whether its spans overlap in time, none being an ancestor of the other.
    pub fan_out: bool,
    /// Of the local root.
    pub name: String,
    /// Its own name.
    pub own_name: String,
    pub local_root: SpanId,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Lives {
    /// Each span by itself.
    pub spans: HashMap<SpanId, Life>,
    /// Local roots with all below them.
    pub roots: HashMap<SpanId, Life>,
}

impl Lives {
    pub fn of(list: &SpanList) -> Self {
        let mut families: HashMap<SpanId, Vec<&SpanRecord>> = HashMap::new();
        // One that was exported twice would overlap itself.
        let mut seen = HashSet::new();
        let once = |span: &&SpanRecord| span.has_times() && seen.insert((span.trace, span.span));
        for span in list.spans.iter().filter(once) {
            families.entry(span.local_root).or_default().push(span);
        }
        let mut lives = Lives::default();
        for (root, family) in families {
            // Without its root it is not known what else was open.
            let Some(head) = family.iter().find(|span| span.span == root) else {
                continue;
            };
            let name = head.name.clone();
            let fan_out = has_fan_out(&family);
            for span in &family {
                let life = life_of(&[span], fan_out, &name, span);
                lives.spans.insert(span.span, life);
            }
            lives
                .roots
                .insert(root, life_of(&family, fan_out, &name, head));
        }
        lives
    }
}

fn life_of(family: &[&SpanRecord], fan_out: bool, name: &str, head: &SpanRecord) -> Life {
    let mut times: Vec<_> = family
        .iter()
        .map(|span| {
            (
                span.start_unix_nanos,
                span.end_unix_nanos.max(span.start_unix_nanos),
            )
        })
        .collect();
    times.sort_unstable();
    let (mut open, mut to) = (0, 0);
    for (start, end) in &times {
        open += end.saturating_sub((*start).max(to));
        to = to.max(*end);
    }
    Life {
        start: times.first().map_or(0.0, |(start, _)| *start as f64),
        end: to as f64,
        open: open as f64,
        fan_out,
        name: name.to_owned(),
        own_name: head.name.clone(),
        local_root: head.local_root,
    }
}

/// Whether children of one span overlap, or go on beyond their parent.
fn has_fan_out(family: &[&SpanRecord]) -> bool {
    let by_id: HashMap<SpanId, &SpanRecord> =
        family.iter().map(|span| (span.span, *span)).collect();
    let mut children: HashMap<SpanId, Vec<(u64, u64)>> = HashMap::new();
    for span in family {
        let Some(parent) = span.parent.and_then(|parent| by_id.get(&parent)) else {
            continue;
        };
        if span.end_unix_nanos > parent.end_unix_nanos.saturating_add(TRAILING) {
            return true;
        }
        children
            .entry(parent.span)
            .or_default()
            .push((span.start_unix_nanos, span.end_unix_nanos));
    }
    children.into_values().any(|mut times| {
        times.sort_unstable();
        // Clocks of spans are exact to the microsecond at best.
        times
            .windows(2)
            .any(|two| two[1].0.saturating_add(1_000) < two[0].1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::ids::TraceId;
    use vtprof_profile::spans::{SpanKind, SpanStatus};

    const MS: u64 = 1_000_000;

    fn span(id: u64, parent: Option<u64>, start: u64, end: u64) -> SpanRecord {
        SpanRecord {
            trace: TraceId::from_halves(0, 1),
            span: SpanId(id),
            parent: parent.map(SpanId),
            local_root: SpanId(1),
            name: format!("span {id}"),
            kind: SpanKind::Internal,
            start_unix_nanos: start * MS,
            end_unix_nanos: end * MS,
            status: SpanStatus::Unset,
        }
    }

    fn root(spans: Vec<SpanRecord>) -> Life {
        let list = SpanList {
            spans,
            without_id: 0,
        };
        Lives::of(&list).roots[&SpanId(1)].clone()
    }

    #[test]
    fn children_one_after_the_other_and_within_each_other_are_no_fan_out() {
        let life = root(vec![
            span(1, None, 100, 200),
            span(2, Some(1), 110, 150),
            span(3, Some(2), 120, 130),
            span(4, Some(1), 150, 190),
        ]);
        assert!(!life.fan_out);
        assert_eq!((life.open, life.name.as_str()), (100e6, "span 1"));
    }

    #[test]
    fn children_that_overlap_or_outlive_their_parent_are_one() {
        let overlapping = [
            span(1, None, 100, 200),
            span(2, Some(1), 110, 150),
            span(3, Some(1), 120, 190),
        ];
        assert!(root(overlapping.to_vec()).fan_out);
        let late = root(vec![span(1, None, 100, 200), span(2, Some(1), 190, 300)]);
        assert!(late.fan_out);
        assert_eq!((late.start, late.end, late.open), (100e6, 300e6, 200e6));
        let gap = root(vec![span(1, None, 100, 200), span(2, Some(1), 250, 300)]);
        assert_eq!(gap.open, 150e6);
    }
}
