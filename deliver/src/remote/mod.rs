//! What the process is told from afar: whether to profile, what and how finely. Whoever can answer at `config_url` can
//! switch profiling on and off and nothing else; when in doubt it is off.
//!
//! | module | noun |
//! |---|---|
//! | [`document`] | what is said there, and its bounds |
//! | [`signature`] | whether it is said by the right one |
//! | [`policy`] | what follows from one poll after the other |
//! | [`wanted`] | that, as the agent is to have it |
//! | [`poller`] | who asks, and when |

pub mod document;
pub mod policy;
pub mod poller;
pub mod signature;
pub mod wanted;

/// Largest document that is read, bytes.
pub const LARGEST: usize = 64 << 10;
