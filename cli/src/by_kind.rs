//! Profiles added up, those whose values are the same together.

use vtprof_profile::kind::Kind;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::{Profile, ValueType};

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
pub struct ByKind(Vec<(Option<Kind>, Vec<ValueType>, Merger)>);

impl ByKind {
    /// What a profile of that kind and with those values is to be added to.
    pub fn of(&mut self, profile: &Profile) -> &mut Merger {
        let types = &profile.sample_types;
        let known = self.0.iter().position(|(_, known, _)| known == types);
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            let kind = Kind::of(profile);
            self.0.push((kind, types.clone(), Merger::new()));
        }
        &mut self.0[at].2
    }

    /// Whether none was asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sums, in the order of [`Kind`]; others first, one for each set of sample types.
    pub fn finish(mut self) -> Vec<OfKind> {
        self.0.sort_by_key(|(kind, _, _)| *kind);
        let sums = self.0.into_iter().filter_map(|(kind, _, merger)| {
            let files = merger.profiles();
            Some(OfKind {
                kind,
                profile: merger.finish()?,
                files,
            })
        });
        sums.collect()
    }
}
