//! All inputs together: one profile of each kind, added up, and the spans. For questions that need several kinds at once,
//! or the spans before the samples. What it holds is bounded by what is distinct in the inputs.

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::SpanList;

use crate::args::FilesArgs;
use crate::by_kind::ByKind;
pub use crate::by_kind::OfKind;
use crate::input::{self, Loaded};
use crate::spans::roots::Roots;
use crate::text::note_roots_without_times;

/// See the module.
#[derive(Debug, Default)]
pub struct Bundle {
    /// In the order of [`Kind`]; others first, one for each set of sample types.
    pub profiles: Vec<OfKind>,
    /// Spans that ended, of all files.
    pub spans: SpanList,
    /// Spans that ended and are in no file.
    pub spans_left_out: u64,
    /// What profiles call their local roots, by the time of each file: a sum does not say when a name was given.
    pub names: Roots,
}

impl Bundle {
    /// Reads all. A profile of several kinds is of the one asked for; names are noted where they are asked for.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub fn read(args: &FilesArgs, asked: Option<Kind>, needs_names: bool) -> Result<Self> {
        let mut bundle = Bundle::default();
        let mut sums = ByKind::new(asked);
        input::read_all(args, |loaded| {
            match loaded {
                Loaded::Profile(profile) => {
                    if needs_names {
                        bundle.names.add_names(&profile);
                    }
                    sums.of(&profile).add(&profile)?;
                }
                Loaded::Spans { list, left_out } => {
                    bundle.spans.spans.extend(list.spans);
                    bundle.spans.without_id += list.without_id;
                    bundle.spans_left_out = bundle.spans_left_out.saturating_add(left_out);
                }
            }
            Ok(())
        })?;
        note_roots_without_times(bundle.spans.roots_without_times());
        bundle.profiles = sums.finish()?;
        Ok(bundle)
    }

    /// The profile of that kind.
    pub fn of(&self, kind: Kind) -> Option<&OfKind> {
        self.profiles.iter().find(|of| of.kind == Some(kind))
    }
}
