//! Profiles of OTLP as those of the model. What [`write_profiles`](super::write_profiles) makes of one comes back as it was.

use thiserror::Error;

use prost::Message;

use super::entries::{Entries, Known};
use super::profiles::{Profile, ProfilesData, Sample, ScopeProfiles};
use super::write_profiles::{COMMENT_ATTRIBUTE, DEFAULT_TYPE_ATTRIBUTE};
use crate::bounds::{Budget, MOST_COLUMNS, Of};
use crate::model::{self, Flaw, Label};

/// A message that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfilesError {
    /// Profiles, and nothing that they point into.
    #[error("profiles without a dictionary")]
    NoDictionary,
    /// A profile that does not say what its values are.
    #[error("profile {profile}: no sample type")]
    NoSampleType {
        /// Which, counted from 0 over the whole message.
        profile: usize,
    },
    /// Something in a profile points nowhere.
    #[error("profile {profile}: {flaw}")]
    Profile {
        /// Which, counted from 0 over the whole message.
        profile: usize,
        /// What is wrong.
        flaw: Flaw,
    },
    /// Something in a sample points nowhere.
    #[error("profile {profile}, sample {sample}: {flaw}")]
    Sample {
        /// The profile, counted from 0 over the whole message.
        profile: usize,
        /// The sample, counted from 0.
        sample: usize,
        /// What is wrong.
        flaw: Flaw,
    },
}

/// The profiles. Those of one scope and time that count different things of the same become one of several sample types.
///
/// # Errors
/// A message that contradicts itself.
pub fn read_profiles(data: &ProfilesData) -> Result<Vec<model::Profile>, ProfilesError> {
    read_within(data, &mut Budget::of(data.encoded_len()))
}

/// As [`read_profiles`], of a file that has spent some of its allowances.
pub(crate) fn read_within(
    data: &ProfilesData,
    budget: &mut Budget,
) -> Result<Vec<model::Profile>, ProfilesError> {
    let scopes = data.resource_profiles.iter();
    let scopes = scopes.flat_map(|resource| &resource.scope_profiles);
    let mut read = Vec::new();
    let mut first = 0;
    let mut known = data.dictionary.as_ref().map(Known::of);
    for scope in scopes {
        let Some(known) = &mut known else {
            return Err(ProfilesError::NoDictionary);
        };
        read_scope(scope, (known, budget), first, &mut read)?;
        first += scope.profiles.len();
    }
    Ok(read)
}

fn read_scope(
    scope: &ScopeProfiles,
    (known, budget): (&mut Known<'_>, &mut Budget),
    first: usize,
    read: &mut Vec<model::Profile>,
) -> Result<(), ProfilesError> {
    let default = scope.scope.as_ref().and_then(|scope| {
        let mut attributes = scope.attributes.iter();
        let default = attributes.find(|attribute| attribute.key == DEFAULT_TYPE_ATTRIBUTE);
        default?.as_str()
    });
    let mut at = 0;
    while let Some(head) = scope.profiles.get(at) {
        let mut types = Vec::new();
        for (offset, profile) in scope.profiles[at..].iter().take(MOST_COLUMNS).enumerate() {
            let number = first + at + offset;
            let Some(sample_type) = &profile.sample_type else {
                return Err(ProfilesError::NoSampleType { profile: number });
            };
            if offset > 0 && (!is_of_one(head, profile) || types.contains(sample_type)) {
                break;
            }
            types.push(*sample_type);
        }
        let columns = &scope.profiles[at..at + types.len()];
        let number = first + at;
        let of_first = |flaw| ProfilesError::Profile {
            profile: number,
            flaw,
        };
        budget.spend(Of::Profiles, 1).map_err(of_first)?;
        let entries = Entries::of(known, columns.len(), budget);
        let mut profile = Reader { columns, entries }.read(number)?;
        let is_default = |t: &model::ValueType| Some(t.kind.as_str()) == default;
        profile.default_sample_type = profile.sample_types.iter().position(is_default);
        read.push(profile);
        at += columns.len();
    }
    Ok(())
}

/// Whether two profiles can be columns of one.
fn is_of_one(one: &Profile, other: &Profile) -> bool {
    (one.time_unix_nano, one.duration_nano, one.period)
        == (other.time_unix_nano, other.duration_nano, other.period)
        && one.period_type == other.period_type
        && one.attribute_indices == other.attribute_indices
}

/// Reads profiles that are columns of one.
struct Reader<'a, 'm> {
    columns: &'m [Profile],
    entries: Entries<'a, 'm>,
}

impl Reader<'_, '_> {
    fn read(mut self, first: usize) -> Result<model::Profile, ProfilesError> {
        let mut sample_types = Vec::new();
        let mut labels = Vec::new();
        for (column, profile) in self.columns.iter().enumerate() {
            let number = first + column;
            let of_profile = |flaw| ProfilesError::Profile {
                profile: number,
                flaw,
            };
            let sample_type = profile.sample_type.as_ref();
            let sample_type = sample_type.ok_or(ProfilesError::NoSampleType { profile: number })?;
            sample_types.push(self.entries.value_type(sample_type).map_err(of_profile)?);
            for (at, sample) in profile.samples.iter().enumerate() {
                self.sample(sample, column, &mut labels)
                    .map_err(|flaw| ProfilesError::Sample {
                        profile: number,
                        sample: at,
                        flaw,
                    })?;
            }
        }
        let of_first = |flaw| ProfilesError::Profile {
            profile: first,
            flaw,
        };
        let head = &self.columns[0];
        let period_type = head.period_type.as_ref();
        let period_type = period_type.map(|t| self.entries.value_type(t)).transpose();
        let period_type = period_type.map_err(of_first)?;
        let comments = self.comments(head).map_err(of_first)?;
        let mut profile = self.entries.into_profile(sample_types);
        profile.period_type = period_type;
        profile.period = head.period;
        profile.time_nanos = head.time_unix_nano.try_into().unwrap_or(i64::MAX);
        profile.duration_nanos = head.duration_nano.try_into().unwrap_or(i64::MAX);
        profile.comments = comments;
        Ok(profile)
    }

    fn comments(&mut self, profile: &Profile) -> Result<Vec<String>, Flaw> {
        let mut lines = Vec::new();
        for index in &profile.attribute_indices {
            if self.entries.key(*index)? == COMMENT_ATTRIBUTE {
                self.entries.lines(*index, &mut lines)?;
            }
        }
        Ok(lines)
    }

    /// Adds a sample. `labels` is there to be used again.
    fn sample(
        &mut self,
        sample: &Sample,
        column: usize,
        labels: &mut Vec<Label>,
    ) -> Result<(), Flaw> {
        let stack = self.entries.stack(sample.stack_index)?;
        labels.clear();
        if sample.link_index != 0 {
            self.entries.link(sample.link_index, labels)?;
        }
        for index in &sample.attribute_indices {
            self.entries.labels(*index, labels)?;
        }
        let value = match sample.values.as_slice() {
            // Each point in time counts for one.
            [] => sample.timestamps_unix_nano.len() as i64,
            values => values.iter().copied().fold(0, i64::saturating_add),
        };
        let mut values = [0; MOST_COLUMNS];
        let values = &mut values[..self.columns.len()];
        values[column] = value;
        self.entries.add(stack, labels, values)
    }
}
