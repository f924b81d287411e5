//! What a thread was blocked in, told from the frames at which it was parked or waits.
//!
//! In one table. The youngest frames are those of the machinery that parks; the first above them that is not of it
//! decides, and if nobody knows that one, it is the application's own and the state is `other`. So nothing deeper
//! in a stack can mislead.
//!
//! A virtual thread that leaves its carrier does so in `VirtualThread.yieldContinuation`; without that frame
//! (JDK 24+) it waited to enter a monitor, and its leaf is the method that enters. A class that another thread
//! loads or initialises looks the same, and is waited for by a lock, too.
//!
//! An OS thread that waits ([`Standing`]) does so in a native method, whose name says it, or in the VM: to enter a
//! monitor, which the VM tells, or because the world is stopped. One that has no CPU, and is in no system call that a
//! signal ends, waits for a disk if that is what its native method does. Else it may wait for a CPU, or may have lost its
//! own to whoever looks: not told apart, so it is in no state.

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
    /// Nothing: the thread had yielded.
    Runnable,
    /// A collection that stopped the world.
    Gc,
    /// Parked by code that the table does not know.
    Other,
}

/// What is known, beside its stack, of an OS thread that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its leaf is a native method.
    pub is_native: bool,
    /// It enters a monitor.
    pub enters: bool,
    /// It had no CPU, and was in no wait that a signal ends.
    pub is_ready: bool,
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
    // An OS thread, be it one that carries a pinned virtual thread.
    ("jdk.internal.misc.Unsafe.park", Told::Parks),
    // `sleep` (JDK 17), `sleep0`, `sleepNanos0`.
    ("java.lang.Thread.sleep", Told::Is(State::Sleep)),
    ("java.lang.Thread.yield", Told::Is(State::Runnable)),
    // Those of the older socket implementation, and name service.
    ("java.net.", Told::Is(State::Io)),
    ("java.io.", Told::Is(State::Io)),
    ("sun.nio.fs.", Told::Is(State::Io)),
    ("java.lang.ProcessImpl.", Told::Is(State::Queue)),
    ("java.lang.ProcessHandleImpl.", Told::Is(State::Queue)),
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
            Self::Gc => "gc",
            Self::Other => "other",
        }
    }

    /// What a virtual thread with that stack, leaf first, was blocked in.
    pub fn of(stack: &[Location]) -> Self {
        Self::told(names(stack), false)
    }

    /// What an OS thread with that stack waits in, if that is known; `in_pause` while the world was stopped for a
    /// collection.
    pub fn of_standing(stack: &[Location], standing: Standing, in_pause: bool) -> Option<Self> {
        Self::told_of_standing(names(stack), standing, in_pause)
    }

    fn told_of_standing<'a>(
        frames: impl Iterator<Item = &'a str>,
        standing: Standing,
        in_pause: bool,
    ) -> Option<Self> {
        let told = standing.is_native.then(|| Self::told(frames, true));
        if standing.is_ready {
            return told.filter(|state| *state == Self::Io);
        }
        Some(if let Some(state) = told {
            state
        } else if in_pause {
            Self::Gc
        } else if standing.enters {
            Self::Lock
        } else {
            Self::Other
        })
    }

    /// `yields`: that the thread left its carrier, or waits in a native method, need not be told by a frame.
    fn told<'a>(frames: impl Iterator<Item = &'a str>, mut yields: bool) -> Self {
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

fn names(stack: &[Location]) -> impl Iterator<Item = &str> {
    stack.iter().map(|location| location.function.name.as_str())
}

#[cfg(test)]
mod tests;
