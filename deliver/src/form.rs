//! In which form a back end wants its profiles, and what of a window becomes of it.

use crate::request::Request;

/// A window as requests, which can be sent in any order, each at most once with success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formed {
    /// What is to be sent.
    pub requests: Vec<Request>,
    /// What is in none of them.
    pub left_out: LeftOut,
}

/// What the form has no place for, or its servers refuse. Each is for a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Samples of the window's profiles that are in no request.
    pub samples: u64,
    /// Stacks whose oldest frames were taken away, as the server takes no deeper ones. Their samples are there.
    pub cut_stacks: u64,
    /// Static labels that are not sent with this window.
    pub labels: u64,
    /// Lines of comments that are not sent.
    pub comments: u64,
    /// Why the first of the samples is not there, for one line of the log.
    pub why: Option<String>,
}
