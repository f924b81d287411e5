//! OS threads: which there are, and a CPU timer for each.
//!
//! | module | noun |
//! |---|---|
//! | [`registry`] | who is under a timer, by kernel thread id |
//! | [`timer`] | one POSIX timer on one thread's CPU clock |
//! | [`tasks`] | what the kernel says runs in this process |
//! | [`name`] | thread names, digits folded |

pub mod name;
#[cfg(test)]
pub mod patience;
pub mod registry;
pub mod tasks;
pub mod timer;
