//! Why a virtual thread's stack lacks its older frames: each reason by name, counted.

use crate::counters::Counter;

/// Why a stack ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u32)]
pub enum Truncation {
    /// Frozen frames are not read on this JVM.
    Unsupported = 1,
    /// Frozen frames are read once the self-test has passed; it has not yet.
    Untested = 2,
    /// The self-test failed.
    Distrusted = 3,
    /// Frames are being thawed or frozen at that very moment.
    InTransit = 4,
    /// A collection was going on, or one came in between.
    Collecting = 5,
    /// The walk faulted; contained.
    Faulted = 6,
    /// The continuation is no virtual thread's.
    Foreign = 7,
    /// Code that is not known, or not at that place.
    UnknownCode = 8,
    /// A chunk that does not look like one.
    Malformed = 9,
    /// A method without an id.
    NoMethodId = 10,
    /// The walk ended, but not in the thread's root.
    RootNotReached = 11,
    /// A reference that a concurrent collector has not brought up to date.
    Stale = 12,
    /// The walk has missed the end of the continuation that the thread is in.
    Misread = 13,
}

impl Truncation {
    /// All reasons.
    pub const ALL: [Self; 13] = [
        Self::Unsupported,
        Self::Untested,
        Self::Distrusted,
        Self::InTransit,
        Self::Collecting,
        Self::Faulted,
        Self::Foreign,
        Self::UnknownCode,
        Self::Malformed,
        Self::NoMethodId,
        Self::RootNotReached,
        Self::Stale,
        Self::Misread,
    ];

    /// The reason of that number; `None` for 0 and what is none.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|reason| *reason as u32 == number)
    }

    /// Its counter, whose name after the dot is the reason as users see it.
    #[must_use]
    pub const fn counter(self) -> Counter {
        match self {
            Self::Unsupported => Counter::TruncatedFrozen,
            Self::Untested => Counter::TruncatedUntested,
            Self::Distrusted => Counter::TruncatedDistrusted,
            Self::InTransit => Counter::TruncatedInTransit,
            Self::Collecting => Counter::TruncatedCollecting,
            Self::Faulted => Counter::TruncatedFaulted,
            Self::Foreign => Counter::TruncatedForeign,
            Self::UnknownCode => Counter::TruncatedUnknownCode,
            Self::Malformed => Counter::TruncatedMalformed,
            Self::NoMethodId => Counter::TruncatedNoMethodId,
            Self::RootNotReached => Counter::TruncatedRootNotReached,
            Self::Stale => Counter::TruncatedStale,
            Self::Misread => Counter::TruncatedMisread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Truncation;

    #[test]
    fn every_reason_comes_back_from_its_number_and_has_a_counter_of_its_own() {
        let mut names: Vec<_> = Truncation::ALL.map(|r| r.counter().name()).into();
        for reason in Truncation::ALL {
            assert_eq!(Truncation::from_number(reason as u32), Some(reason));
        }
        assert_eq!(Truncation::from_number(0), None);
        names.dedup();
        assert_eq!(names.len(), Truncation::ALL.len());
        assert!(names.iter().all(|name| name.starts_with("truncated.")));
    }
}
