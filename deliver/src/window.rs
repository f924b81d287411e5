//! What is delivered: the profiles of one window of time.

use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

/// One window, all kinds that have something to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Its start, ns since the Unix epoch. No two windows of a process have it in common.
    pub start_unix_ns: u64,
    /// Its length, ns.
    pub duration_ns: u64,
    /// A profile for each kind; the first carries the counters as comments, as its file does.
    pub profiles: Vec<(Kind, Profile)>,
}
