//! Stacks of threads that have entered the monitor they waited for, and could not be walked meanwhile: from the thread
//! itself to the drain.
//!
//! AsyncGetCallTrace does not see past the stub through which compiled code enters a monitor. When the thread has it,
//! it stands in the same method still, and JVMTI tells its stack.

use crossbeam_queue::ArrayQueue;
use vtprof_signal::cookie::Cookie;
use vtprof_signal::walk::CallFrame;

/// Stacks between two drains. At one visit a tick and thread no more are asked for than visits are made.
const ROOM: usize = 1 << 10;

/// One stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Entered {
    /// Whose.
    pub place: Cookie,
    /// Which of its waits it was (`Block::begin_wait`).
    pub wait: u64,
    /// When it had the monitor, ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Youngest first.
    pub frames: Box<[CallFrame]>,
    /// There were more.
    pub is_cut: bool,
}

/// See the module.
pub struct EnteredStacks(ArrayQueue<Entered>);

impl EnteredStacks {
    /// None yet.
    pub fn new() -> Self {
        Self(ArrayQueue::new(ROOM))
    }

    /// Adds one; where there is no room it is not told, and what it was for has no stack.
    pub fn push(&self, entered: Entered) {
        let _no_room = self.0.push(entered);
    }

    /// Takes those that are there now.
    pub fn take(&self, into: &mut Vec<Entered>) {
        // Bounded, as threads may go on to push.
        into.extend(std::iter::from_fn(|| self.0.pop()).take(ROOM));
    }
}
