//! Chaos: requests and deep stacks, whose truth is known, among antagonists, at the highest rate.
//!
//! | module | noun |
//! |---|---|
//! | [`plan`] | which JVM, how long, from which seed |
//! | [`watch`] | what the program says while it runs: progress, memory |
//! | [`memory`] | whether memory grew that the JVM does not explain |
//! | [`ledger`] | whether every signal is accounted for |
//! | [`run`] | from start to verdict |

pub mod ledger;
pub mod memory;
pub mod plan;
pub mod run;
pub mod watch;
