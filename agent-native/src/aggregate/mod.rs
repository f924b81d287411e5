//! Samples of one window, summed by stack, thread and tag; each kind for itself.
//!
//! | module | noun |
//! |---|---|
//! | [`frames`] | what the frames of a walk become: trimmed to the virtual thread, truncation named |
//! | [`weight`] | what a sample stands for |
//! | [`window`] | the sums |
//! | [`by_kind`] | one of something for each kind |
//! | [`tally`] | where what happens to a kind's samples is counted |

pub mod by_kind;
pub mod frames;
pub mod tally;
pub mod weight;
pub mod window;
