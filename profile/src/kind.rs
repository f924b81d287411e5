//! The kinds of profile vtprof writes: what each counts, and how its files are called. One table, for who
//! writes them and who reads them. Values of different kinds are never added.

use crate::builder::ValueType;
use crate::model::Profile;

/// A kind of profile. Readers that may show one kind alone take the first of this order that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CPU time.
    Cpu,
    /// Memory allocated.
    Alloc,
    /// Memory allocated and still in use when the window ended: of a moment, and not of the window.
    Live,
    /// Time in which a thread waited.
    Blocked,
    /// Time that passed for a thread, whether it ran or waited.
    Wall,
    /// Time in which a thread waited for a lock, by the stack that waited.
    Lock,
    /// The same time, by the stack of whoever had the lock.
    LockOwner,
}

/// What there is to know of a kind.
struct Row {
    name: &'static str,
    count: ValueType<'static>,
    amount: ValueType<'static>,
    period: ValueType<'static>,
    counts_samples: bool,
    label: Option<&'static str>,
}

const fn value(kind: &'static str, unit: &'static str) -> ValueType<'static> {
    ValueType { kind, unit }
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: [Kind; 7] = [
        Kind::Cpu,
        Kind::Alloc,
        Kind::Live,
        Kind::Blocked,
        Kind::Wall,
        Kind::Lock,
        Kind::LockOwner,
    ];

    const fn row(self) -> Row {
        match self {
            Kind::Cpu => Row {
                name: "cpu",
                count: value("samples", "count"),
                amount: value("cpu", "nanoseconds"),
                period: value("cpu", "nanoseconds"),
                counts_samples: true,
                label: None,
            },
            // The names that Go's heap profiles have (`runtime/pprof`), which other tools know.
            Kind::Alloc => Row {
                name: "alloc",
                count: value("alloc_objects", "count"),
                amount: value("alloc_space", "bytes"),
                period: value("space", "bytes"),
                counts_samples: false,
                label: None,
            },
            // As above.
            Kind::Live => Row {
                name: "live",
                count: value("inuse_objects", "count"),
                amount: value("inuse_space", "bytes"),
                period: value("space", "bytes"),
                counts_samples: false,
                label: None,
            },
            Kind::Blocked => Row {
                name: "blocked",
                count: value("events", "count"),
                amount: value("blocked", "nanoseconds"),
                period: value("blocked", "nanoseconds"),
                counts_samples: false,
                label: Some("state"),
            },
            Kind::Wall => Row {
                name: "wall",
                count: value("wall_samples", "count"),
                amount: value("wall", "nanoseconds"),
                period: value("wall", "nanoseconds"),
                counts_samples: true,
                label: None,
            },
            // The names that Go's mutex profiles have.
            Kind::Lock => Row {
                name: "lock",
                count: value("contentions", "count"),
                amount: value("delay", "nanoseconds"),
                period: value("delay", "nanoseconds"),
                counts_samples: false,
                label: None,
            },
            Kind::LockOwner => Row {
                name: "lock_owner",
                count: value("owner_contentions", "count"),
                amount: value("owner_delay", "nanoseconds"),
                period: value("owner_delay", "nanoseconds"),
                counts_samples: false,
                label: None,
            },
        }
    }

    /// Its name, which stands between hyphens in the names of its files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its first sample type: how many.
    #[must_use]
    pub const fn count(self) -> ValueType<'static> {
        self.row().count
    }

    /// Its second sample type, which viewers show first: how much.
    #[must_use]
    pub const fn amount(self) -> ValueType<'static> {
        self.row().amount
    }

    /// What its period counts.
    #[must_use]
    pub const fn period(self) -> ValueType<'static> {
        self.row().period
    }

    /// Whether its first value is the number of samples taken. Else it is an estimate of what happened, and a
    /// file does not say how many samples that stands on.
    #[must_use]
    pub const fn counts_samples(self) -> bool {
        self.row().counts_samples
    }

    /// Whether a profile is of a moment, the end of its window: then one of several is shown, and they are not added.
    #[must_use]
    pub const fn is_of_a_moment(self) -> bool {
        matches!(self, Kind::Live)
    }

    /// Key of the label that only samples of this kind have.
    #[must_use]
    pub const fn label(self) -> Option<&'static str> {
        self.row().label
    }

    /// The kind of a profile, by what its samples are measured in: names of files can be anything once they were
    /// copied. The first that is in it; `None` for what vtprof does not write.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.is_in(profile))
    }

    /// Whether a profile has values of this kind. Some files of others have those of several.
    #[must_use]
    pub fn is_in(self, profile: &Profile) -> bool {
        let amount = self.amount();
        let mut types = profile.sample_types.iter();
        types.any(|found| found.kind == amount.kind && found.unit == amount.unit)
    }

    /// The kind that has a sample type called so.
    #[must_use]
    pub fn with_sample_type(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| [kind.count(), kind.amount()].iter().any(|t| t.kind == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;
    use crate::builder::ProfileBuilder;

    #[test]
    fn no_two_kinds_share_a_name_or_a_sample_type() {
        let mut names: Vec<_> = Kind::ALL.map(Kind::name).to_vec();
        let mut types: Vec<_> = Kind::ALL
            .iter()
            .flat_map(|kind| [kind.count().kind, kind.amount().kind])
            .collect();
        for list in [&mut names, &mut types] {
            let all = list.len();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), all, "{list:?}");
        }
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
            assert_eq!(Kind::with_sample_type(kind.amount().kind), Some(kind));
            assert!(!kind.name().contains('-'), "it ends at a hyphen");
            assert_eq!(kind.count().unit, "count");
        }
        assert_eq!(Kind::from_name("spans"), None);
        assert_eq!(Kind::with_sample_type("inuse"), None);
    }

    #[test]
    fn a_profile_tells_its_kind_by_what_it_measures() {
        let of = |types: &[ValueType<'_>]| {
            let profile = ProfileBuilder::new(types, types[0], 1).finish();
            Kind::of(&Profile::from_bytes(&profile.encode_to_vec()).unwrap())
        };
        for kind in Kind::ALL {
            assert_eq!(of(&[kind.count(), kind.amount()]), Some(kind));
        }
        assert_eq!(of(&[value("cpu", "microseconds")]), None);
        assert_eq!(of(&[value("contentions", "count")]), None);
    }
}
