//! What a thread was blocked in, told from the frames at which it was parked.
//!
//! In one table. The youngest frames are those of the machinery that parks; the first above them that is not of it
//! decides, and if nobody knows that one, it is the application's own and the state is `other`. So nothing deeper
//! in a stack can mislead.
//!
//! A virtual thread that leaves its carrier does so in `VirtualThread.yieldContinuation`; without that frame
//! (JDK 24+) it waited to enter a monitor, and its leaf is the method that enters. A class that another thread
//! loads or initialises looks the same, and is waited for by a lock, too.

use crate::aggregate::frames::Location;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// A monitor, or a lock of `java.util.concurrent`.
    Lock,
    /// A socket or a file.
    Io,
    /// `Thread.sleep`.
    Sleep,
    /// A condition, a future, a queue, the end of another thread: something that another has to bring.
    Queue,
    /// Nothing: the thread yielded, and waited for a carrier.
    Runnable,
    /// Parked by code that the table does not know.
    Other,
}

/// What a frame says of those above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It parks for whoever called it.
    Parks,
    /// It acquires an AbstractQueuedSynchronizer: a lock, unless its caller is one of [`Told::Gate`].
    Acquires,
    /// A synchronizer that nobody holds: acquiring it is waiting for others.
    Gate,
    /// That.
    Is(State),
}

/// Beginnings of `class.method`; the first that fits counts. Names of JDK 21 to 27, in which they differ only where
/// two lines say so.
const TABLE: &[(&str, Told)] = &[
    ("jdk.internal.vm.Continuation.", Told::Parks),
    (YIELDS, Told::Parks),
    (
        "java.lang.VirtualThread.tryYield",
        Told::Is(State::Runnable),
    ),
    ("java.lang.VirtualThread.sleep", Told::Is(State::Sleep)),
    ("java.lang.VirtualThread.park", Told::Parks),
    // JDK 21.
    ("jdk.internal.misc.VirtualThreads.park", Told::Parks),
    // An anonymous class with a number that changes.
    ("java.lang.System$", Told::Parks),
    ("java.util.concurrent.locks.LockSupport.", Told::Parks),
    // Poller, NioSocketImpl, SocketChannelImpl, DatagramChannelImpl, …
    ("sun.nio.ch.", Told::Is(State::Io)),
    (WAITS, Told::Is(State::Queue)),
    (
        "java.util.concurrent.locks.AbstractQueuedSynchronizer.",
        Told::Acquires,
    ),
    (
        "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.",
        Told::Acquires,
    ),
    ("java.util.concurrent.CountDownLatch.", Told::Gate),
    // ConditionObject and ConditionNode.
    (
        "java.util.concurrent.locks.AbstractQueuedSynchronizer$Condition",
        Told::Is(State::Queue),
    ),
    (
        "java.util.concurrent.locks.AbstractQueuedLongSynchronizer$Condition",
        Told::Is(State::Queue),
    ),
    // StampedLock; the others come by way of acquiring.
    ("java.util.concurrent.locks.", Told::Is(State::Lock)),
    ("java.util.concurrent.", Told::Is(State::Queue)),
];

/// In which a virtual thread leaves its carrier.
const YIELDS: &str = "java.lang.VirtualThread.yieldContinuation";
/// Leaf of a virtual thread in `Object.wait` (JDK 24+), which is `wait0`.
const WAITS: &str = "java.lang.Object.wait";

impl State {
    /// Text of the label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Io => "io",
            Self::Sleep => "sleep",
            Self::Queue => "queue",
            Self::Runnable => "runnable",
            Self::Other => "other",
        }
    }

    /// What a virtual thread with that stack, leaf first, was blocked in.
    pub fn of(stack: &[Location]) -> Self {
        Self::told(stack.iter().map(|location| location.function.name.as_str()))
    }

    fn told<'a>(frames: impl Iterator<Item = &'a str>) -> Self {
        let mut yields = false;
        let mut acquires = false;
        for frame in frames {
            yields |= frame.starts_with(YIELDS);
            let told = TABLE
                .iter()
                .find(|(start, _)| frame.starts_with(start))
                .map(|(_, told)| *told);
            match told {
                Some(Told::Parks) => {}
                Some(Told::Acquires) if yields => acquires = true,
                Some(Told::Gate) if yields => return Self::Queue,
                Some(Told::Is(state)) if yields && !acquires => return state,
                _ if acquires => return Self::Lock,
                _ if yields => return Self::Other,
                _ if frame.starts_with(WAITS) => return Self::Queue,
                // A frame without a name, or a stack without frames.
                _ if frame.starts_with('[') => return Self::Other,
                _ => return Self::Lock,
            }
        }
        if acquires { Self::Lock } else { Self::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARK_21: [&str; 5] = [
        "java.lang.VirtualThread.yieldContinuation",
        "java.lang.VirtualThread.park",
        "java.lang.System$2.parkVirtualThread",
        "jdk.internal.misc.VirtualThreads.park",
        "java.util.concurrent.locks.LockSupport.park",
    ];
    const PARK_25: [&str; 4] = [
        "java.lang.VirtualThread.yieldContinuation",
        "java.lang.VirtualThread.parkNanos",
        "java.lang.System$1.parkVirtualThread",
        "java.util.concurrent.locks.LockSupport.parkNanos",
    ];

    fn told(frames: &[&str]) -> State {
        State::told(frames.iter().copied())
    }

    /// Parked by whatever follows, on either JDK.
    fn parked(frames: &[&str]) -> State {
        let states = [&PARK_21[..], &PARK_25[..]].map(|park| {
            let all: Vec<_> = park.iter().chain(frames).copied().collect();
            told(&all)
        });
        assert_eq!(states[0], states[1], "{frames:?}");
        states[0]
    }

    #[test]
    fn the_frame_that_parked_tells_what_for() {
        const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
        let aqs = |method: &str| format!("{AQS}{method}");
        let acquire = aqs(".acquire");
        let shared = aqs(".acquireSharedInterruptibly");
        let node = aqs("$ConditionNode.block");
        let condition = aqs("$ConditionObject.await");
        let mine = "com.acme.Shop.order";
        for (frames, state) in [
            (
                vec![
                    &*acquire,
                    "java.util.concurrent.locks.ReentrantLock.lock",
                    mine,
                ],
                State::Lock,
            ),
            (vec![&*acquire, "com.acme.Mutex.lock", mine], State::Lock),
            (vec![&*acquire], State::Lock),
            (
                vec![
                    &*acquire,
                    &*shared,
                    "java.util.concurrent.Semaphore.acquire",
                    mine,
                ],
                State::Lock,
            ),
            (
                vec![
                    &*acquire,
                    &*shared,
                    "java.util.concurrent.CountDownLatch.await",
                    mine,
                ],
                State::Queue,
            ),
            // Signalled, but the lock is not free yet.
            (vec![&*acquire, &*condition, mine], State::Lock),
            (
                vec![
                    &*node,
                    "java.util.concurrent.ForkJoinPool.managedBlock",
                    &*condition,
                    "java.util.concurrent.LinkedBlockingQueue.take",
                ],
                State::Queue,
            ),
            (
                vec!["java.util.concurrent.locks.StampedLock.acquireWrite", mine],
                State::Lock,
            ),
            (
                vec![
                    "java.util.concurrent.CompletableFuture$Signaller.block",
                    mine,
                ],
                State::Queue,
            ),
            (
                vec![
                    "java.util.concurrent.LinkedTransferQueue$DualNode.await",
                    mine,
                ],
                State::Queue,
            ),
            (
                vec!["sun.nio.ch.Poller.poll", "sun.nio.ch.NioSocketImpl.park"],
                State::Io,
            ),
            (
                vec![
                    "sun.nio.ch.Poller$Request.awaitFinish",
                    "sun.nio.ch.Poller.poll",
                ],
                State::Io,
            ),
            (vec![mine, "sun.nio.ch.Poller.poll"], State::Other),
            (
                vec!["[unloaded method]", "java.lang.Thread.sleep"],
                State::Other,
            ),
            (vec![], State::Other),
        ] {
            assert_eq!(parked(&frames), state, "{frames:?}");
        }
    }

    #[test]
    fn sleep_and_yield_have_frames_of_their_own() {
        let of = |method| told(&[YIELDS, "java.lang.VirtualThread.parkNanos", method]);
        assert_eq!(of("java.lang.VirtualThread.sleepNanos"), State::Sleep);
        let of = |method| told(&[YIELDS, method, "java.lang.Thread.yield"]);
        assert_eq!(of("java.lang.VirtualThread.tryYield"), State::Runnable);
        let whole = told(&["jdk.internal.vm.Continuation.yield", YIELDS, "a.B.c"]);
        assert_eq!(whole, State::Other, "frames of continuations are no leaf");
    }

    #[test]
    fn without_a_yield_it_was_a_monitor() {
        assert_eq!(told(&["com.acme.Shop.order", "a.B.c"]), State::Lock);
        assert_eq!(
            told(&["java.lang.Object.wait0", "java.lang.Object.wait"]),
            State::Queue
        );
        // Whatever class the method that enters a monitor is of.
        for leaf in [
            "sun.nio.ch.Poller.poll",
            "java.util.concurrent.CountDownLatch.await",
        ] {
            assert_eq!(told(&[leaf, "a.B.c"]), State::Lock, "{leaf}");
        }
        assert_eq!(told(&["[unknown method]"]), State::Other);
        assert_eq!(told(&[]), State::Other);
    }

    #[test]
    fn no_line_of_the_table_hides_behind_an_earlier_one() {
        for (at, (start, _)) in TABLE.iter().enumerate() {
            let hides = TABLE[..at]
                .iter()
                .find(|(earlier, _)| start.starts_with(earlier));
            assert!(hides.is_none(), "{start} behind {:?}", hides.map(|h| h.0));
        }
    }
}
