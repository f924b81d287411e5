//! All inputs together: one profile of each kind, added up, and the spans. For questions that need several kinds at once,
//! or the spans before the samples. What it holds is bounded by what is distinct in the inputs.

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::Profile;
use vtprof_profile::spans::SpanList;

use crate::args::FilesArgs;
use crate::input::{self, Loaded};

/// Profiles of one kind.
#[derive(Debug)]
pub struct OfKind {
    /// `None` for what vtprof does not write.
    pub kind: Option<Kind>,
    /// Their sum.
    pub profile: Profile,
    /// How many files it is of.
    pub files: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Bundle {
    /// In the order of [`Kind`]; others first, one for each set of sample types.
    pub profiles: Vec<OfKind>,
    /// Spans that ended, of all files.
    pub spans: SpanList,
    /// Spans that ended and are in no file.
    pub spans_left_out: u64,
}

impl Bundle {
    /// Reads all.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub fn read(args: &FilesArgs) -> Result<Self> {
        let mut bundle = Bundle::default();
        let mut mergers: Vec<(Option<Kind>, Vec<_>, Merger)> = Vec::new();
        input::read_all(args, |loaded| {
            match loaded {
                Loaded::Profile(profile) => {
                    let known = mergers
                        .iter()
                        .position(|(_, types, _)| *types == profile.sample_types);
                    let at = known.unwrap_or_else(|| {
                        let kind = Kind::of(&profile);
                        mergers.push((kind, profile.sample_types.clone(), Merger::new()));
                        mergers.len() - 1
                    });
                    mergers[at].2.add(&profile)?;
                }
                Loaded::Spans { list, left_out } => {
                    bundle.spans.spans.extend(list.spans);
                    bundle.spans.without_id += list.without_id;
                    bundle.spans_left_out = bundle.spans_left_out.saturating_add(left_out);
                }
            }
            Ok(())
        })?;
        for (kind, _, merger) in mergers {
            let files = merger.profiles();
            if let Some(profile) = merger.finish() {
                bundle.profiles.push(OfKind {
                    kind,
                    profile,
                    files,
                });
            }
        }
        bundle.profiles.sort_by_key(|of| of.kind);
        Ok(bundle)
    }

    /// The profile of that kind.
    pub fn of(&self, kind: Kind) -> Option<&OfKind> {
        self.profiles.iter().find(|of| of.kind == Some(kind))
    }
}
