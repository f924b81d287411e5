//! Which samples are added up, and under which labels.

use anyhow::Result;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::{Label, Profile, Sample};

use crate::args::MergeArgs;
use crate::focus::Focus;
use crate::tags::TagKeys;

/// See the module.
pub struct Filter<'a> {
    focus: &'a [Focus],
    roll_up: bool,
    drop_labels: &'a [String],
    /// For each of these whether a sample had it.
    is_met: Vec<bool>,
    has_match: bool,
}

impl<'a> Filter<'a> {
    pub fn new(args: &'a MergeArgs) -> Self {
        Filter {
            focus: &args.focus,
            roll_up: args.roll_up,
            drop_labels: &args.drop_labels,
            is_met: vec![false; args.drop_labels.len()],
            has_match: false,
        }
    }

    /// Adds what counts of `profile`. What is in focus is told by the labels as they are in the file.
    pub fn add(&mut self, profile: &Profile, sum: &mut Merger) -> Result<()> {
        let is_plain = self.focus.is_empty() && !self.roll_up && self.drop_labels.is_empty();
        if is_plain {
            return Ok(sum.add(profile)?);
        }
        let keys = TagKeys::of(profile);
        let dropped = self.drop_labels.iter();
        let dropped: Vec<_> = dropped.map(|name| profile.strings.find(name)).collect();
        sum.add_by_labels(profile, |labels| {
            if !self.focus.is_empty() {
                let tags = keys.read(profile, &of_labels(labels));
                if !self.focus.iter().all(|focus| focus.matches(&tags)) {
                    return false;
                }
                self.has_match = true;
            }
            if self.roll_up {
                keys.roll_up(labels);
            }
            for (keys, is_met) in dropped.iter().zip(&mut self.is_met) {
                let before = labels.len();
                labels.retain(|label| !keys.contains(&label.key));
                *is_met |= labels.len() < before;
            }
            true
        })?;
        Ok(())
    }

    /// Labels to drop that no sample had.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        let all = self.drop_labels.iter().zip(&self.is_met);
        all.filter(|(_, is_met)| !**is_met)
            .map(|(label, _)| label.as_str())
    }

    /// Whether there is a focus, and no sample in it.
    pub fn matched_nothing(&self) -> bool {
        !self.focus.is_empty() && !self.has_match
    }
}

/// A sample of which nothing but its labels matters.
fn of_labels(labels: &[Label]) -> Sample<'_> {
    Sample {
        stack: &[],
        values: &[],
        labels,
    }
}
