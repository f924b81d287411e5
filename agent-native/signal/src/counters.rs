//! Every quantity vtprof counts, in one table: what was taken, and every way in which something is lost.
//!
//! One static array and one enum, so a counter cannot exist without a name a user can read in the
//! comments of each profile. Relaxed atomics throughout: each counter is a sum of its own, nothing is
//! published through it.

use crate::durations::Durations;
use crate::primitive::{AtomicU64, Ordering};

macro_rules! counters {
    ($( $(#[doc = $doc:literal])+ $variant:ident => $name:literal, )+) => {
        /// A counter. The doc of each says its unit.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Counter { $( $(#[doc = $doc])+ $variant, )+ }

        impl Counter {
            /// All counters, in the order of the table.
            pub const ALL: &'static [Counter] = &[ $( Counter::$variant, )+ ];

            /// The name under which users see it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Counter::$variant => $name, )+ }
            }

            /// What it counts, as its doc says it.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $( Counter::$variant => concat!($($doc),+), )+ }
            }
        }
    };
}

counters! {
    /// Signals of ours that reached the handler, until sampling was stopped. Not those of perf events that stand for no
    /// period.
    Signals => "signals.received",
    /// Timer expiries that were merged into one signal (`si_overrun`), or periods beyond the first that a thread has
    /// used since its last signal (perf); their time is in the sample's weight.
    Overruns => "signals.overruns",
    /// Signals of our number that somebody else sent; forwarded to the handler that was there before.
    SignalsForeign => "signals.foreign",
    /// Signals of a timer whose thread block is gone or belongs to another thread by now, or that has another period since.
    SignalsStale => "signals.stale",
    /// Periods of signals that reached the handler after sampling was stopped; in no other counter.
    SignalsLate => "signals.after_stop",
    /// Signals of perf events that came before a period was over, or too soon after the last; the time counts at the next.
    SignalsEarly => "signals.early",
    /// Samples handed to the drain thread.
    SamplesTaken => "samples.taken",
    /// Samples of threads that are not Java's.
    SamplesNative => "samples.native_thread",
    /// Samples with a tag.
    SamplesTagged => "samples.tagged",
    /// Samples of Java threads without a context.
    SamplesUntagged => "samples.untagged",
    /// Periods lost because the ring was full.
    DroppedRingFull => "dropped.ring_full",
    /// Periods lost because other handlers kept winning the ring's head.
    DroppedRingContended => "dropped.ring_contended",
    /// Periods lost because sampling was being switched off.
    DroppedDisarmed => "dropped.disarmed",
    /// Periods of signals that came in the middle of a walk on the same thread.
    DroppedNested => "dropped.nested",
    /// Periods left out of a window whose stack store had reached its bound; their time is in one named frame.
    DroppedStoreFull => "dropped.store_full",
    /// Samples whose tag was being rewritten at that very moment: left untagged.
    TagBusy => "untagged.record_busy",
    /// Samples of a context whose span had ended: left untagged.
    TagEnded => "untagged.span_ended",
    /// Samples of a context whose span the agent never saw start, or forgot: left untagged.
    TagUnknown => "untagged.span_unknown",
    /// Contexts that found no place in the record table: untagged until the next attach.
    ContextOverflow => "untagged.context_table_full",
    /// Contexts attached on a thread the agent does not know: untagged.
    ContextThreadUnknown => "untagged.thread_unknown",
    /// Contexts not shown to other processes, as no mount was told of that thread.
    ContextUnpublished => "published.mount_unknown",
    /// Contexts shown to other processes that were withdrawn as their span ended before their scope was closed.
    ContextWithdrawn => "published.withdrawn",
    /// Span starts that found the event queue full: that span stays untagged.
    SpanStartsDropped => "spans.starts_dropped",
    /// Span ends that found the event queue full.
    SpanEndsDropped => "spans.ends_dropped",
    /// Ended spans left out of the spans file because its bound was reached.
    SpansLeftOut => "spans.left_out",
    /// Spans collected without having been ended.
    SpansNeverEnded => "spans.never_ended",
    /// Spans started.
    SpansStarted => "spans.started",
    /// Spans ended.
    SpansEnded => "spans.ended",
    /// Walks for which no buffer was free.
    WalkNoBuffer => "failed.no_walk_buffer",
    /// AsyncGetCallTrace 0: no Java frame on the stack (a thread starting or ending, or one inside the VM).
    WalkNoJavaFrame => "failed.no_java_frame",
    /// AsyncGetCallTrace -1: class load events were off.
    WalkNoClassLoad => "failed.no_class_load",
    /// AsyncGetCallTrace -2: a collection was going on.
    WalkGcActive => "failed.gc_active",
    /// AsyncGetCallTrace -3: not in Java, last frame unknown.
    WalkUnknownNotJava => "failed.unknown_not_java",
    /// AsyncGetCallTrace -4: not in Java, stack not walkable.
    WalkNotWalkableNotJava => "failed.not_walkable_not_java",
    /// AsyncGetCallTrace -5: in Java, frame unknown.
    WalkUnknownJava => "failed.unknown_java",
    /// AsyncGetCallTrace -6: in Java, stack not walkable.
    WalkNotWalkableJava => "failed.not_walkable_java",
    /// AsyncGetCallTrace -7: thread in an unknown state.
    WalkUnknownState => "failed.unknown_state",
    /// AsyncGetCallTrace -8: thread exiting.
    WalkThreadExit => "failed.thread_exit",
    /// AsyncGetCallTrace -9: deoptimisation under way.
    WalkDeopt => "failed.deoptimization",
    /// AsyncGetCallTrace -10: safepoint.
    WalkSafepoint => "failed.safepoint",
    /// Walks not begun, since the interrupted code had faults blocked.
    WalkFaultsBlocked => "failed.faults_blocked",
    /// Walks that faulted; contained.
    WalkFaulted => "failed.faulted",
    /// Samples of time in the kernel, which did not signal for it: without privilege it does so for user code alone.
    WalkInKernel => "failed.in_kernel",
    /// Walks from one of HotSpot's stubs, which AsyncGetCallTrace does not know.
    StubsMet => "stubs.interrupted",
    /// Those of them that were walked from the stub's caller after all; the others count as failed.
    StubsWalked => "stubs.walked",
    /// Faults in walks that were HotSpot's own probing reads (SafeFetch) and went to its handler; no loss.
    FaultsHandedOn => "faults.handed_on",
    /// Any other answer of AsyncGetCallTrace.
    WalkOther => "failed.other",
    /// Stacks cut at the greatest depth.
    TruncatedDepth => "truncated.depth",
    /// Stacks of virtual threads whose older frames are in the heap, on a JVM where they are not read there.
    TruncatedFrozen => "truncated.frozen_frames",
    /// The same, before the self-test of reading them has passed.
    TruncatedUntested => "truncated.self_test_pending",
    /// The same, after the self-test has failed.
    TruncatedDistrusted => "truncated.self_test_failed",
    /// The same, where frames were being frozen or thawed at that very moment.
    TruncatedInTransit => "truncated.freeze_or_thaw",
    /// The same, where a collection was going on or came in between.
    TruncatedCollecting => "truncated.gc_active",
    /// The same, where the walk faulted; contained.
    TruncatedFaulted => "truncated.faulted",
    /// The same, of continuations that are no virtual thread's.
    TruncatedForeign => "truncated.foreign_continuation",
    /// The same, where a return address led to no known place in known code.
    TruncatedUnknownCode => "truncated.unknown_code",
    /// The same, where a chunk did not look like one.
    TruncatedMalformed => "truncated.malformed_chunk",
    /// The same, where a method has no id.
    TruncatedNoMethodId => "truncated.no_method_id",
    /// The same, where the walk did not end in the thread's root.
    TruncatedRootNotReached => "truncated.root_not_reached",
    /// The same, where a concurrent collector had not brought a reference up to date (ZGC).
    TruncatedStale => "truncated.stale_reference",
    /// The same, where AsyncGetCallTrace itself has gone past the thread's last frame.
    TruncatedMisread => "truncated.misread_stack",
    /// Stubs whose caller could not be read: a fault, contained.
    StubsFaulted => "stubs.faulted",
    /// Stacks whose leaf was about to return, its frame down already, walked as if it were still up.
    EpiloguesWalked => "stacks.returning",
    /// Stacks of virtual threads completed from the heap.
    StacksCompleted => "stacks.completed",
    /// Frames of Java methods for which a name was asked.
    NamesAsked => "names.asked",
    /// Frames whose method could not be named (its class is gone).
    NamesUnresolved => "names.unresolved",
    /// Timers the kernel refused; those threads are not sampled.
    TimersRefused => "timers.refused",
    /// Perf events that were refused, or would have taken too many descriptors; those threads have a timer.
    PerfRefused => "perf.refused",
    /// Threads beyond the greatest number of thread blocks; not sampled.
    ThreadsOverflow => "threads.overflow",
    /// Threads under a timer by now, over the whole run.
    ThreadsSeen => "threads.seen",
    /// CPU time of threads before their timer was made, in ns; in no sample.
    CpuBeforeTimerNs => "unsampled.cpu_before_timer_ns",
    /// Time in which nothing was sampled, inside a window, for a change of rates that then failed, in ns.
    UnsampledSwitchNs => "unsampled.switch_ns",
    /// CPU time inside the handler, in ns, by the clock of the thread that it interrupts. What the kernel takes to deliver a
    /// signal and to return from it is outside.
    HandlerNs => "agent.handler_ns",
    /// Time that the handler took to complete stacks, in ns; of a thread that loses its CPU meanwhile more than its CPU time.
    CompletionNs => "agent.completion_ns",
    /// Mounts at which a thread's references to frozen frames were brought up to date (ZGC).
    MountsHealed => "agent.mounts_healed",
    /// Time that took, in ns.
    HealingNs => "agent.healing_ns",
    /// CPU time of closing windows, in ns: names of roots, files, old files. Part of the drain's; what a window cost is in the next.
    ExportNs => "agent.export_ns",
    /// CPU time of threads of the application in taking samples of events, in ns: measured at one sample in sixteen, which stands for all.
    CaptureNs => "agent.event_capture_ns",
    /// Profile windows that could not be written.
    WindowsFailed => "windows.write_failed",
    /// Old windows removed to keep within `keep=`.
    WindowsPruned => "windows.pruned",
    /// Samples of allocations handed to the drain thread.
    AllocTaken => "alloc.samples",
    /// Samples of allocations lost because their queue was full.
    AllocQueueFull => "alloc.dropped_queue_full",
    /// Samples of allocations left out of a window whose stack store had reached its bound; what they stand for is in one named frame.
    AllocStoreFull => "alloc.dropped_store_full",
    /// Samples of allocations that came while sampling was stopped.
    AllocStopped => "alloc.dropped_stopped",
    /// Samples of allocations for which JVMTI gave no stack.
    AllocNoStack => "alloc.dropped_no_stack",
    /// First samples of threads that were there before allocations were sampled: what they stand for is not known.
    AllocFirst => "alloc.dropped_first",
    /// Samples of allocations in a context whose span had ended: left untagged.
    AllocSpanEnded => "alloc.untagged_span_ended",
    /// Samples of allocations in a context whose span the agent never saw start, or forgot: left untagged.
    AllocSpanUnknown => "alloc.untagged_span_unknown",
    /// Stacks of allocations cut at the greatest depth.
    AllocCut => "alloc.truncated_depth",
    /// Objects of sampled allocations that were followed to see whether they stay in use.
    LiveTaken => "live.samples",
    /// Objects not followed, since the queue of allocations was full.
    LiveQueueFull => "live.dropped_queue_full",
    /// Objects whose stack found no room; what they stand for is in one named frame.
    LiveStoreFull => "live.dropped_store_full",
    /// Objects in use of a window that was thrown away, as sampling was stopped.
    LiveStopped => "live.dropped_stopped",
    /// Objects not followed, since the JVM gave no reference.
    LiveNoReference => "live.dropped_no_reference",
    /// Objects allocated in a context whose span had ended: left untagged.
    LiveSpanEnded => "live.untagged_span_ended",
    /// Objects allocated in a context whose span the agent never saw start, or forgot: left untagged.
    LiveSpanUnknown => "live.untagged_span_unknown",
    /// Stacks of allocations of followed objects cut at the greatest depth.
    LiveCut => "live.truncated_depth",
    /// Objects followed that were found to be gone.
    LiveCollected => "live.collected",
    /// Objects followed no longer, or not from the start, to make room; others stand for them.
    LiveThinned => "live.thinned",
    /// Samples of waits handed to the drain thread.
    BlockedTaken => "blocked.samples",
    /// Samples of waits lost because their queue was full.
    BlockedQueueFull => "blocked.dropped_queue_full",
    /// Samples of waits left out of a window whose stack store had reached its bound; what they stand for is in one named frame.
    BlockedStoreFull => "blocked.dropped_store_full",
    /// Samples of waits that came while sampling was stopped.
    BlockedStopped => "blocked.dropped_stopped",
    /// Samples of waits in a context whose span had ended: left untagged.
    BlockedSpanEnded => "blocked.untagged_span_ended",
    /// Samples of waits in a context whose span the agent never saw start, or forgot: left untagged.
    BlockedSpanUnknown => "blocked.untagged_span_unknown",
    /// Stacks of waits cut at the greatest depth.
    BlockedCut => "blocked.truncated_depth",
    /// Samples of waits lost because the JVM gave no stack.
    BlockedNoStack => "blocked.dropped_no_stack",
    /// Waits whose time without a carrier was not looked for, as too many began at once: it counts for what was waited for.
    BlockedUnwatched => "blocked.unwatched",
    /// CPU time of the thread that looks for waits for a carrier, in ns.
    BlockedDelaysCpuNs => "agent.blocked_delays_ns",
    /// Signals of the wall engine that reached the handler, until sampling was stopped. Each is in one of the seven after the next.
    WallSignals => "wall.signals",
    /// Of those signals the ones that came with one of CPU time, of which the kernel then keeps one: no loss.
    WallMerged => "wall.merged",
    /// Samples by the wall clock handed to the drain thread.
    WallTaken => "wall.samples",
    /// Signals of the wall engine that met a thread in no context, where only others are sampled.
    WallNoContext => "wall.no_context",
    /// Signals of the wall engine whose thread is gone, or is Java's no more.
    WallStale => "wall.stale",
    /// Samples by the wall clock lost because the ring was full.
    WallRingFull => "wall.dropped_ring_full",
    /// Samples by the wall clock lost because other handlers kept winning the ring's head.
    WallRingContended => "wall.dropped_ring_contended",
    /// Samples by the wall clock lost because sampling was being switched off.
    WallDisarmed => "wall.dropped_disarmed",
    /// Samples by the wall clock lost because they came in the middle of a walk on the same thread.
    WallNested => "wall.dropped_nested",
    /// Signals of the wall engine that came after sampling was stopped; in no other counter.
    WallLate => "wall.after_stop",
    /// Visits of threads that had not run since their last sample, which was repeated.
    WallRepeated => "wall.repeated",
    /// Such visits that are in no profile: the sample was lost, or there was no room for it.
    WallRepeatsLost => "wall.dropped_repeats",
    /// Visits of threads whose signal was on its way still; the time is in the sample that it gives.
    WallUnanswered => "wall.unanswered",
    /// Signals that the kernel refused to queue.
    WallRefused => "wall.refused",
    /// Samples by the wall clock left out of a window whose stack store had reached its bound; their time is in one named frame.
    WallStoreFull => "wall.dropped_store_full",
    /// Samples by the wall clock that came while sampling was stopped.
    WallStopped => "wall.dropped_stopped",
    /// Samples by the wall clock whose tag was being rewritten at that very moment: left untagged.
    WallBusy => "wall.untagged_record_busy",
    /// Samples by the wall clock in a context whose span had ended: left untagged.
    WallSpanEnded => "wall.untagged_span_ended",
    /// Samples by the wall clock in a context whose span the agent never saw start, or forgot: left untagged.
    WallSpanUnknown => "wall.untagged_span_unknown",
    /// Stacks of samples by the wall clock cut at the greatest depth.
    WallCut => "wall.truncated_depth",
    /// Stacks of samples by the wall clock that lack their older frames, or were misread; each names the reason.
    WallTruncated => "wall.truncated_frozen_frames",
    /// Walks by the wall clock that failed; each sample names the reason, or has the stack that its thread told later.
    WallFailed => "wall.failed_walks",
    /// CPU time inside the handler of the wall engine's signals, in ns, as that of the others.
    WallHandlerNs => "agent.wall_handler_ns",
    /// Samples of waits for a lock handed to the drain thread.
    LockTaken => "lock.samples",
    /// Samples of waits for a lock lost because their queue was full.
    LockQueueFull => "lock.dropped_queue_full",
    /// Samples of waits for a lock left out of a window whose stack store had reached its bound; what they stand for is in one named frame.
    LockStoreFull => "lock.dropped_store_full",
    /// Samples of waits for a lock that came while sampling was stopped.
    LockStopped => "lock.dropped_stopped",
    /// Samples of waits for a lock in a context whose span had ended: left untagged.
    LockSpanEnded => "lock.untagged_span_ended",
    /// Samples of waits for a lock in a context whose span the agent never saw start, or forgot: left untagged.
    LockSpanUnknown => "lock.untagged_span_unknown",
    /// Stacks of waits for a lock cut at the greatest depth.
    LockCut => "lock.truncated_depth",
    /// Samples of waits for a lock lost because the JVM gave no stack, or no class of the lock.
    LockNoStack => "lock.dropped_no_stack",
    /// Waits for a lock that found no place among those that are remembered.
    LockOverflow => "lock.dropped_too_many",
    /// Monitors entered after a wait whose beginning was not seen: it began before sampling did, or was the way out of `Object.wait`.
    LockNoBeginning => "lock.dropped_no_beginning",
    /// Waits for a lock whose end nobody told.
    LockNoEnd => "lock.dropped_no_end",
    /// Samples of waits for a lock that were drawn by a longer period than was asked for, as there were too many; no loss.
    LockThinned => "lock.samples_thinned",
    /// Looks at the owner of a lock handed to the drain thread.
    LockOwnerTaken => "lock_owner.samples",
    /// Looks at owners lost because their queue was full.
    LockOwnerQueueFull => "lock_owner.dropped_queue_full",
    /// Looks at owners left out of a window whose stack store had reached its bound; what they stand for is in one named frame.
    LockOwnerStoreFull => "lock_owner.dropped_store_full",
    /// Looks at owners that came while sampling was stopped.
    LockOwnerStopped => "lock_owner.dropped_stopped",
    /// Looks at owners in a context whose span had ended: left untagged.
    LockOwnerSpanEnded => "lock_owner.untagged_span_ended",
    /// Looks at owners in a context whose span the agent never saw start, or forgot: left untagged.
    LockOwnerSpanUnknown => "lock_owner.untagged_span_unknown",
    /// Stacks of owners cut at the greatest depth.
    LockOwnerCut => "lock_owner.truncated_depth",
    /// Looks at locks for which the JVM named no owner: handed over at that moment, shared, or a monitor that a virtual thread has. The lock's class stands alone.
    LockOwnerNobody => "lock_owner.without_owner",
    /// Looks at owners that may have given the lock away meanwhile: the lock's class stands alone.
    LockOwnerChanged => "lock_owner.without_proof",
    /// Looks at owners that have ended, or for which the JVM gave no stack: the lock's class stands alone.
    LockOwnerNoStack => "lock_owner.without_stack",
    /// Looks at owners whose context changed meanwhile: left untagged.
    LockOwnerUnsure => "lock_owner.untagged_context_changed",
    /// Times that rates were halved because the agent took more CPU time than `max_overhead` allows.
    BudgetLowered => "budget.lowered",
    /// Times that they were doubled again, up to what was asked for.
    BudgetRaised => "budget.raised",
    /// Requests by `vtprof ctl` that were answered.
    CtlRequests => "ctl.requests",
    /// Connections to its socket that were turned away: another user's, no request, or one that did not come in time.
    CtlRefused => "ctl.refused",
}

const COUNT: usize = Counter::ALL.len();

/// A set of counters. There is one static set ([`COUNTERS`]); tests make their own.
pub struct Counters {
    values: [AtomicU64; COUNT],
    /// How long signals were in the handler.
    pub handler: Durations,
    /// How long AsyncGetCallTrace took of that, where it was called once.
    pub walk: Durations,
    /// How long completing a stack took.
    pub completion: Durations,
}

impl Counters {
    /// All zero.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            values: [const { AtomicU64::new(0) }; COUNT],
            handler: Durations::new(),
            walk: Durations::new(),
            completion: Durations::new(),
        }
    }

    /// All zero. Loom's atomics are not made at compile time.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            values: core::array::from_fn(|_| AtomicU64::new(0)),
            handler: Durations::new(),
            walk: Durations::new(),
            completion: Durations::new(),
        }
    }

    /// Adds `n`. Async-signal-safe, from any thread.
    pub fn add(&self, counter: Counter, n: u64) {
        if let Some(value) = self.values.get(counter as usize) {
            value.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// The sum so far. Async-signal-safe, from any thread.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.values
            .get(counter as usize)
            .map_or(0, |value| value.load(Ordering::Relaxed))
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

/// The counters of this process.
#[cfg(not(loom))]
pub static COUNTERS: Counters = Counters::new();

/// What walks by the wall clock meet, under the names that it has for those by CPU time. In no profile: there each is
/// in [`Counter::WallFailed`] or [`Counter::WallTruncated`], so that what is lost of CPU time is told by itself.
#[cfg(not(loom))]
pub static WALL_WALKS: Counters = Counters::new();

/// The sum so far of what walks of either kind have met.
#[cfg(not(loom))]
#[must_use]
pub fn of_all_walks(counter: Counter) -> u64 {
    COUNTERS.get(counter) + WALL_WALKS.get(counter)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        let mut names: Vec<_> = Counter::ALL.iter().map(|c| c.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Counter::ALL.len());
    }

    #[test]
    fn an_addition_reaches_its_own_counter_and_no_other() {
        let counters = Counters::new();
        for (i, counter) in Counter::ALL.iter().enumerate() {
            counters.add(*counter, i as u64 + 1);
        }
        for (i, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(counters.get(*counter), i as u64 + 1, "{}", counter.name());
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::{sync::Arc, thread};

    /// Two handlers and a drain that reads in between: nothing is lost, and no sum ever shrinks.
    #[test]
    fn loom_additions_beside_each_other_are_all_there_and_a_reader_never_sees_less_than_before() {
        loom::model(|| {
            let counters = Arc::new(Counters::new());
            let adder = |n: u64| {
                let counters = Arc::clone(&counters);
                thread::spawn(move || {
                    counters.add(Counter::Signals, n);
                    counters.add(Counter::Overruns, 1);
                })
            };
            let adders = [adder(3), adder(5)];
            let first = counters.get(Counter::Signals);
            let second = counters.get(Counter::Signals);
            assert!([0, 3, 5, 8].contains(&first) && second >= first);
            for adder in adders {
                adder.join().unwrap();
            }
            assert_eq!(counters.get(Counter::Signals), 8);
            assert_eq!(counters.get(Counter::Overruns), 2);
        });
    }
}
