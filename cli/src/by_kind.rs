//! Profiles added up, those whose values are the same together.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::{Profile, ValueType};

use crate::measure;
use crate::text::note;

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
pub struct ByKind {
    asked: Option<Kind>,
    sums: Vec<(Option<Kind>, Merger)>,
    /// By sample types: of others there may be as many as there are profiles.
    known: HashMap<Vec<ValueType>, usize>,
}

impl ByKind {
    /// None yet. One with values of the kind asked for is of that kind, whatever others it has.
    pub fn new(asked: Option<Kind>) -> Self {
        ByKind {
            asked,
            ..ByKind::default()
        }
    }

    /// What a profile of that kind and with those values is to be added to.
    pub fn of(&mut self, profile: &Profile) -> &mut Merger {
        let known = self.known.get(&profile.sample_types).copied();
        let at = known.unwrap_or(self.sums.len());
        if known.is_none() {
            let asked = self.asked.filter(|kind| kind.is_in(profile));
            let kind = asked.or_else(|| Kind::of(profile));
            self.known.insert(profile.sample_types.clone(), at);
            self.sums.push((kind, Merger::new()));
        }
        &mut self.sums[at].1
    }

    /// Whether none was asked for.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The sums in the order of [`Kind`], one for each set of sample types.
    pub fn finish_apart(self) -> Vec<OfKind> {
        let sums = self.sums.into_iter().filter_map(|(kind, merger)| {
            let files = merger.profiles();
            let is_of_one_period = !merger.has_several_periods();
            let mut profile = merger.finish()?;
            if !is_of_one_period && measure::tells_by_period(&profile) {
                // The longest of them would tell too few.
                profile.period = 0;
            }
            Some(OfKind {
                kind,
                profile,
                files,
            })
        });
        let mut sums: Vec<_> = sums.collect();
        sums.sort_by_key(|of| of.kind);
        sums
    }

    /// The sums, in the order of [`Kind`]; others first, one for each set of sample types. Of a kind there is one, with
    /// the sample types that all of its profiles have.
    ///
    /// # Errors
    /// A sum is too large.
    pub fn finish(self) -> Result<Vec<OfKind>> {
        let mut kinds = Vec::new();
        let mut rest = self.finish_apart().into_iter().peekable();
        while let Some(first) = rest.next() {
            let kind = first.kind;
            let mut same = vec![first];
            while let Some(next) = rest.next_if(|of| of.kind == kind && kind.is_some()) {
                same.push(next);
            }
            kinds.push(add_up(same)?);
        }
        Ok(kinds)
    }
}

/// The sum of profiles of one kind, of which there is one at least.
fn add_up(mut sums: Vec<OfKind>) -> Result<OfKind> {
    share_columns(&mut sums.iter_mut().collect::<Vec<_>>());
    let mut first = sums.swap_remove(0);
    if sums.is_empty() {
        return Ok(first);
    }
    let mut sum = Merger::new();
    sum.add(&first.profile)?;
    for of in &sums {
        sum.add(&of.profile)?;
        first.files += of.files;
    }
    let is_of_one_period = sums
        .iter()
        .all(|of| of.profile.period == first.profile.period);
    first.profile = sum.finish().unwrap_or(first.profile);
    if !is_of_one_period {
        // Where a count is left out, samples would be told by the longest of them.
        first.profile.period = 0;
    }
    Ok(first)
}

/// Leaves profiles of one kind the sample types that all of them have, and says which go: the kind's amount, which all do
/// have, last, as viewers show it.
pub fn share_columns(all: &mut [&mut OfKind]) {
    let types: Vec<_> = all
        .iter()
        .map(|of| of.profile.sample_types.clone())
        .collect();
    let (Some(kind), Some(first)) = (all.first().and_then(|of| of.kind), types.first()) else {
        return;
    };
    if types.iter().all(|types| types == first) {
        return;
    }
    let is_in_all = |of: &&ValueType| types.iter().all(|types| types.contains(of));
    let mut shared: Vec<_> = first.iter().filter(is_in_all).collect();
    shared.sort_by_key(|of| of.kind == kind.amount().kind);
    shared.dedup();
    for (of, types) in all.iter_mut().zip(&types) {
        let place = |shared: &&ValueType| types.iter().position(|of| of == *shared);
        let columns: Vec<_> = shared.iter().filter_map(place).collect();
        of.profile.keep_columns(&columns);
    }
    let lost = types.iter().flatten().filter(|of| !shared.contains(of));
    let lost: BTreeSet<_> = lost.map(|of| format!("{}/{}", of.kind, of.unit)).collect();
    if !lost.is_empty() {
        let names: Vec<_> = lost.iter().map(String::as_str).collect();
        note(&format!(
            "{} left out: not all {} profiles have {}",
            names.join(", "),
            kind.name(),
            if lost.len() == 1 { "it" } else { "them" }
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::Message;
    use vtprof_profile::builder::{self, ProfileBuilder};

    #[test]
    fn each_set_of_sample_types_is_a_sum_and_is_found_as_fast_where_they_are_very_many() {
        const SETS: usize = 20_000;
        let mut sums = ByKind::new(None);
        let mut profile = {
            let unit = "count";
            let value_type = builder::ValueType { kind: "0", unit };
            let bytes = ProfileBuilder::new(&[value_type], value_type, 1).finish();
            Profile::from_bytes(&bytes.encode_to_vec()).expect("a profile")
        };
        // With a walk over all sets for each 800 million steps.
        for number in (0..SETS).chain(0..SETS) {
            profile.sample_types[0].kind = number.to_string();
            sums.of(&profile).add(&profile).expect("small");
        }
        let finished = sums.finish().expect("small");
        assert_eq!(finished.len(), SETS);
        assert!(finished.iter().all(|of| of.files == 2));
    }
}
