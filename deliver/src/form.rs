//! In which form a back end wants its profiles, and what of a window becomes of it.

use crate::origin::Origin;
use crate::otlp;
use crate::pprof;
use crate::pyroscope::{self, Endpoint, Pyroscope};
use crate::request::Request;
use crate::window::Window;

/// What is asked for by a target's scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `pyroscope+https://…`
    Pyroscope(Pyroscope),
    /// `otlp+https://…`
    Otlp,
    /// `pprof+https://…`
    Pprof,
}

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
    /// Samples of the window's profiles that are in no request: alone larger than a request may be, or not well-formed.
    /// With those of the requests they are all of the window.
    pub samples: u64,
    /// Stacks whose oldest frames were taken away, as the server takes no deeper ones. Their samples are there.
    pub cut_stacks: u64,
    /// Static labels that are not sent with this window: too many, too long, of a name that is the server's own.
    pub labels: u64,
    /// Lines of comments that are not sent: no room in the first request of their profile.
    pub comments: u64,
    /// Why the first of the samples is not there, for one line of the log.
    pub why: Option<String>,
}

impl LeftOut {
    /// Adds `other`.
    pub fn add(&mut self, other: LeftOut) {
        self.samples += other.samples;
        self.cut_stacks += other.cut_stacks;
        self.labels += other.labels;
        self.comments += other.comments;
        self.why = self.why.take().or(other.why);
    }
}

impl Form {
    /// The window in this form. The same window of the same origin gives the same requests, ids included.
    #[must_use]
    pub fn requests(&self, origin: &Origin, window: &Window) -> Formed {
        match self {
            Form::Pyroscope(pyroscope) => pyroscope.requests(origin, window),
            Form::Otlp => otlp::requests(origin, window),
            Form::Pprof => pprof::requests(origin, window),
        }
    }

    /// The form for a server that does not know this one: which answers its requests with 404, 405 or 415.
    #[must_use]
    pub fn fallback(&self) -> Option<Form> {
        match self {
            Form::Pyroscope(pyroscope) if pyroscope.endpoint == Endpoint::Push => {
                Some(Form::Pyroscope(Pyroscope {
                    endpoint: Endpoint::Ingest,
                    ..*pyroscope
                }))
            }
            Form::Pyroscope(_) | Form::Otlp | Form::Pprof => None,
        }
    }

    /// Whether a request with that path is of this form, and not of an older one.
    #[must_use]
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.fallback().is_none() || path.starts_with(pyroscope::PUSH)
    }
}
