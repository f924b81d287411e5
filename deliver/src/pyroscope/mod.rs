//! The form of Pyroscope.
//!
//! A part of a profile is a request: what a server refuses it refuses whole, and what it has taken is not sent again.
//!
//! | module | noun |
//! |---|---|
//! | [`labels`] | the labels of a series |
//! | [`series`] | what a kind is called there |
//! | [`push`] | the messages of `push.v1.PusherService/Push` |
//! | [`ingest`] | the query of `/ingest`, for servers that do not know Push |
//!
//! Pyroscope makes a series of each set of text labels that samples have, but for the ids of spans and traces: so these
//! are the only ones that go along.

mod ingest;
mod labels;
mod push;
mod series;

use prost::Message;
use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use crate::form::Formed;
use crate::identity::{Identity, Part};
use crate::origin::Origin;
use crate::parts::{self, Bounds, Id, Keys, MOST_BYTES, Recipe, Unfit};
use crate::window::Window;
use labels::Labels;
pub(crate) use push::PATH as PUSH;
use series::{Names, Series};

/// Which span's id samples carry as `span_id`, by which Grafana asks for a span's profile: it selects that id alone,
/// without those of child spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PushSpan {
    /// That of the local root, which so has all that its request did in this process. Its span has the attribute
    /// `pyroscope.profile.id`.
    #[default]
    Root,
    /// That of the span that ran.
    Current,
}

/// What a server is asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `POST /push.v1.PusherService/Push`.
    #[default]
    Push,
    /// `POST /ingest`. Trace ids do not go along, since only servers that know Push can take them, and names of kinds
    /// follow from those of sample types.
    Ingest,
}

/// The form, and what of it can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pyroscope {
    /// What the server is asked by.
    pub endpoint: Endpoint,
    /// Whose id is `span_id`.
    pub span: PushSpan,
    /// Whether samples carry `trace_id`. Pyroscope before 2.1 makes a series of each.
    pub trace_ids: bool,
}

impl Default for Pyroscope {
    fn default() -> Self {
        Pyroscope {
            endpoint: Endpoint::default(),
            span: PushSpan::default(),
            trace_ids: true,
        }
    }
}

/// Pyroscope's defaults: `-validation.max-profile-stacktrace-samples` and the size.
const BOUNDS: Bounds = Bounds {
    samples: 16_000,
    bytes: MOST_BYTES,
};

/// As above (`max-profile-stacktrace-depth`). Of a deeper stack the server would take the leaf away, and say nothing.
const DEPTH: usize = 1_000;

/// As above (`max-profile-symbol-value-length`), bytes. A longer text the server would cut, if need be within a character,
/// and then refuse the profile for it.
const LONGEST_TEXT: usize = 65_535;

const SPAN_DIGITS: usize = 16;
const TRACE_DIGITS: usize = 32;

impl Pyroscope {
    /// The window, a request or more for each kind that has a sample.
    pub(crate) fn requests(&self, origin: &Origin, window: &Window) -> Formed {
        let mut formed = Formed::default();
        let labels = Labels::of(origin);
        formed.left_out.labels = labels.left_out;
        for (kind, profile) in &window.profiles {
            let series = match self.endpoint {
                Endpoint::Push => Series::of(*kind, Names::Pyroscope),
                Endpoint::Ingest => Series::of(*kind, Names::Telling),
            };
            let mut ids = Vec::from([self.span_label()]);
            if self.trace_ids && self.endpoint == Endpoint::Push {
                ids.push(Id {
                    from: "trace_id",
                    to: "trace_id",
                    digits: TRACE_DIGITS,
                });
            }
            let recipe = Recipe {
                sample_types: &series.sample_types,
                period_type: series.period_type,
                period: series.period.unwrap_or(profile.period),
                keys: Keys::Ids(&ids),
                depth: DEPTH,
                longest_text: LONGEST_TEXT,
                comments: false,
                send_empty: false,
            };
            let encode = |part: Profile, number| {
                let raw = gzip::compress(&part.encode_to_vec())
                    .map_err(|error| Unfit::Broken(error.to_string()))?;
                let id = Part {
                    window_start_unix_ns: window.start_unix_ns,
                    kind: *kind,
                    number,
                    sample_type: 0,
                };
                Ok(match self.endpoint {
                    Endpoint::Push => {
                        push::request(&series, &labels, raw, Identity::of(origin, id))
                    }
                    Endpoint::Ingest => ingest::request(&labels, raw, window, *kind, profile),
                })
            };
            parts::add(profile, &recipe, BOUNDS, encode, &mut formed);
        }
        formed
    }

    fn span_label(&self) -> Id {
        let from = match self.span {
            PushSpan::Root => "local_root_span_id",
            PushSpan::Current => "span_id",
        };
        let to = match self.endpoint {
            Endpoint::Push => "span_id",
            // What it was called first. Newer servers take it for the other.
            Endpoint::Ingest => "profile_id",
        };
        let digits = SPAN_DIGITS;
        Id { from, to, digits }
    }
}

/// Whether a period is one of time, and how often a second that is.
fn rate(kind: Kind, profile: &Profile) -> Option<i64> {
    match kind {
        Kind::Cpu | Kind::Wall => 1_000_000_000_i64.checked_div(profile.period),
        Kind::Alloc | Kind::Live | Kind::Blocked | Kind::Lock | Kind::LockOwner => None,
    }
}
