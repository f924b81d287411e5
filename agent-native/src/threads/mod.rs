//! OS threads: which there are, and what signals each as it uses CPU time.
//!
//! | module | noun |
//! |---|---|
//! | [`registry`] | who is under a timer, by kernel thread id |
//! | [`ticker`] | what signals a thread: one of the two below |
//! | [`timer`] | one POSIX timer on one thread's CPU clock |
//! | [`perf`] | one perf event on one thread's CPU time |
//! | [`tasks`] | what the kernel says runs in this process |
//! | [`own`] | the agent's own, and what each has used |
//! | [`name`] | thread names, digits folded |

pub mod name;
pub mod own;
#[cfg(test)]
pub mod patience;
pub mod perf;
pub mod registry;
pub mod tasks;
pub mod ticker;
pub mod timer;
