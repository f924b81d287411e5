//! Where what happens to the samples of a kind is counted.
//!
//! What is lost of CPU time is counted in periods and comes before any other kind: `dropped.…`, `untagged.…`. The
//! other kinds have names of their own, in samples: an allocation is no period of CPU time.

use vtprof_profile::kind::Kind;
use vtprof_signal::counters::Counter;

/// The counters of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// Handed to the drain.
    pub taken: Counter,
    /// Lost on the way to the drain.
    pub queue_full: Counter,
    /// No room in the window.
    pub store_full: Counter,
    /// Came while sampling was stopped.
    pub stopped: Counter,
    /// Untagged: its span had ended.
    pub span_ended: Counter,
    /// Untagged: its span is not known.
    pub span_unknown: Counter,
    /// Stack cut at the greatest depth.
    pub cut: Counter,
}

impl Tally {
    /// The counters of that kind.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Cpu => Self {
                taken: Counter::SamplesTaken,
                queue_full: Counter::DroppedRingFull,
                store_full: Counter::DroppedStoreFull,
                stopped: Counter::DroppedDisarmed,
                span_ended: Counter::TagEnded,
                span_unknown: Counter::TagUnknown,
                cut: Counter::TruncatedDepth,
            },
            Kind::Alloc => Self {
                taken: Counter::AllocTaken,
                queue_full: Counter::AllocQueueFull,
                store_full: Counter::AllocStoreFull,
                stopped: Counter::AllocStopped,
                span_ended: Counter::AllocSpanEnded,
                span_unknown: Counter::AllocSpanUnknown,
                cut: Counter::AllocCut,
            },
            Kind::Live => Self {
                taken: Counter::LiveTaken,
                queue_full: Counter::LiveQueueFull,
                store_full: Counter::LiveStoreFull,
                stopped: Counter::LiveStopped,
                span_ended: Counter::LiveSpanEnded,
                span_unknown: Counter::LiveSpanUnknown,
                cut: Counter::LiveCut,
            },
            Kind::Blocked => Self {
                taken: Counter::BlockedTaken,
                queue_full: Counter::BlockedQueueFull,
                store_full: Counter::BlockedStoreFull,
                stopped: Counter::BlockedStopped,
                span_ended: Counter::BlockedSpanEnded,
                span_unknown: Counter::BlockedSpanUnknown,
                cut: Counter::BlockedCut,
            },
            Kind::Wall => Self {
                taken: Counter::WallTaken,
                queue_full: Counter::WallRingFull,
                store_full: Counter::WallStoreFull,
                stopped: Counter::WallStopped,
                span_ended: Counter::WallSpanEnded,
                span_unknown: Counter::WallSpanUnknown,
                cut: Counter::WallCut,
            },
            Kind::Lock => Self {
                taken: Counter::LockTaken,
                queue_full: Counter::LockQueueFull,
                store_full: Counter::LockStoreFull,
                stopped: Counter::LockStopped,
                span_ended: Counter::LockSpanEnded,
                span_unknown: Counter::LockSpanUnknown,
                cut: Counter::LockCut,
            },
            Kind::LockOwner => Self {
                taken: Counter::LockOwnerTaken,
                queue_full: Counter::LockOwnerQueueFull,
                store_full: Counter::LockOwnerStoreFull,
                stopped: Counter::LockOwnerStopped,
                span_ended: Counter::LockOwnerSpanEnded,
                span_unknown: Counter::LockOwnerSpanUnknown,
                cut: Counter::LockOwnerCut,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_quantities_share_a_counter_and_each_says_its_kind() {
        let mut names = Vec::new();
        for kind in Kind::ALL {
            let tally = Tally::of(kind);
            let own = [
                tally.taken,
                tally.queue_full,
                tally.store_full,
                tally.stopped,
                tally.span_ended,
                tally.span_unknown,
                tally.cut,
            ]
            .map(Counter::name);
            if kind != Kind::Cpu {
                let prefix = format!("{}.", kind.name());
                assert!(own.iter().all(|name| name.starts_with(&prefix)), "{own:?}");
            }
            names.extend(own);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 7 * Kind::ALL.len());
    }
}
