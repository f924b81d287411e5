//! Samples taken in JVMTI events: an allocation, a wait that is over. Unlike those of CPU time they are taken by
//! ordinary code on the thread they are of, and not in a signal handler.
//!
//! | module | noun |
//! |---|---|
//! | [`sample`] | one sample |
//! | [`object`] | the object of a sampled allocation, where it is followed |
//! | [`queue`] | how it gets from the thread that took it to the drain |
//! | [`chance`] | which waits are sampled, and what each then stands for |
//! | [`thinning`] | by which period, where there are many |
//! | [`pauses`] | when the world stood still |
//! | [`state`] | what a thread was blocked in, told from its stack |

pub mod chance;
pub mod object;
pub mod pauses;
pub mod queue;
pub mod sample;
pub mod state;
pub mod thinning;
