//! What a kind is called at Pyroscope: viewers know a type of profile by the names of its series, of its sample type and
//! of its period's (`block:delay:nanoseconds:contentions:count`).

use vtprof_profile::builder::ValueType;
use vtprof_profile::kind::Kind;

/// Which names sample types have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those that Pyroscope's viewers know.
    Pyroscope,
    /// Those from which `/ingest` tells the series: nobody else does.
    Telling,
}

/// The names of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Series {
    /// `__name__`.
    pub name: &'static str,
    pub sample_types: [ValueType<'static>; 2],
    pub period_type: ValueType<'static>,
    /// `None`: the profile's own.
    pub period: Option<i64>,
}

const fn count(kind: &'static str) -> ValueType<'static> {
    let unit = "count";
    ValueType { kind, unit }
}

const fn nanos(kind: &'static str) -> ValueType<'static> {
    let unit = "nanoseconds";
    ValueType { kind, unit }
}

impl Series {
    pub fn of(kind: Kind, names: Names) -> Self {
        let own = |name| Series {
            name,
            sample_types: [kind.count(), kind.amount()],
            period_type: kind.period(),
            period: None,
        };
        // As Go's profiles of contention have it, and Grafana's Java agent: each counts, whatever it lasted.
        let waits = |name, sample_types| Series {
            name,
            sample_types,
            period_type: count("contentions"),
            period: Some(1),
        };
        match (kind, names) {
            (Kind::Cpu, _) => own("process_cpu"),
            (Kind::Wall, _) => own("wall"),
            (Kind::Alloc | Kind::Live, _) => own("memory"),
            (Kind::Blocked, Names::Pyroscope) => {
                waits("block", [count("contentions"), nanos("delay")])
            }
            (Kind::Lock, Names::Pyroscope) => waits("mutex", [kind.count(), kind.amount()]),
            // The time of those who waited, at whoever had the lock: beside the other, never added to it.
            (Kind::LockOwner, Names::Pyroscope) => waits("mutex", [kind.count(), kind.amount()]),
            (Kind::Blocked, Names::Telling) => {
                waits("block", [count("block_count"), nanos("block_duration")])
            }
            (Kind::Lock, Names::Telling) => {
                waits("mutex", [count("mutex_count"), nanos("mutex_duration")])
            }
            (Kind::LockOwner, Names::Telling) => waits(
                "mutex",
                [count("mutex_owner_count"), nanos("mutex_owner_duration")],
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn types(kind: Kind) -> Vec<String> {
        let series = Series::of(kind, Names::Pyroscope);
        let period = series.period_type;
        let types = series.sample_types.iter();
        types
            .map(|t| {
                let name = series.name;
                format!(
                    "{name}:{}:{}:{}:{}",
                    t.kind, t.unit, period.kind, period.unit
                )
            })
            .collect()
    }

    #[test]
    fn types_are_those_that_grafana_lists_and_no_two_kinds_share_one() {
        assert!(types(Kind::Cpu).contains(&"process_cpu:cpu:nanoseconds:cpu:nanoseconds".into()));
        assert!(types(Kind::Wall).contains(&"wall:wall:nanoseconds:wall:nanoseconds".into()));
        assert_eq!(
            types(Kind::Alloc),
            [
                "memory:alloc_objects:count:space:bytes",
                "memory:alloc_space:bytes:space:bytes"
            ]
        );
        assert_eq!(
            types(Kind::Live),
            [
                "memory:inuse_objects:count:space:bytes",
                "memory:inuse_space:bytes:space:bytes"
            ]
        );
        assert_eq!(
            types(Kind::Lock),
            [
                "mutex:contentions:count:contentions:count",
                "mutex:delay:nanoseconds:contentions:count"
            ]
        );
        assert_eq!(
            types(Kind::Blocked),
            [
                "block:contentions:count:contentions:count",
                "block:delay:nanoseconds:contentions:count"
            ]
        );
        let all: HashSet<_> = Kind::ALL.into_iter().flat_map(types).collect();
        assert_eq!(all.len(), 2 * Kind::ALL.len());
    }

    /// As Pyroscope's `RawProfile.metricName` does.
    fn told(types: &[ValueType<'_>]) -> &'static str {
        if types.iter().any(|t| t.kind == "wall") {
            return "wall";
        }
        let names = [
            ("cpu", "process_cpu"),
            ("alloc_", "memory"),
            ("inuse_", "memory"),
            ("mutex_", "mutex"),
            ("block_", "block"),
        ];
        for t in types {
            // What it takes `samples` for.
            let kind = if t.kind == "samples" { "cpu" } else { t.kind };
            if let Some((_, name)) = names.iter().find(|(part, _)| kind.contains(part)) {
                return name;
            }
        }
        "unknown"
    }

    #[test]
    fn ingest_tells_the_same_series_from_the_sample_types() {
        for kind in Kind::ALL {
            let series = Series::of(kind, Names::Telling);
            assert_eq!(told(&series.sample_types), series.name, "{kind:?}");
        }
    }
}
