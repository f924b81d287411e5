//! Samples taken in JVMTI events: an allocation, a wait that is over. Unlike those of CPU time they are taken by
//! ordinary code on the thread they are of, and not in a signal handler.
//!
//! | module | noun |
//! |---|---|
//! | [`sample`] | one sample |
//! | [`queue`] | how it gets from the thread that took it to the drain |
//! | [`chance`] | which waits are sampled, and what each then stands for |
//! | [`pauses`] | when the world stood still |
//! | [`state`] | what a thread was blocked in, told from its stack |

pub mod chance;
pub mod pauses;
pub mod queue;
pub mod sample;
pub mod state;
