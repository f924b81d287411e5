//! Which samples are added up, and under which labels.

use std::collections::HashMap;

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::{Label, Profile, Sample, StringIndex};
use vtprof_profile::otlp::trace::TracesData;
use vtprof_profile::spans::SpanFiles;

use crate::args::MergeArgs;
use crate::by_kind::ByKind;
use crate::flame::condition::Condition;
use crate::pending::Pending;
use crate::tags::{RootAndName, TagKeys};

/// See the module.
pub struct Filter<'a> {
    focus: Condition,
    roll_up: bool,
    drop_labels: &'a [String],
    pending: Pending,
    spans: SpanFiles,
    /// For each of these whether a sample had it.
    is_met: Vec<bool>,
    has_match: bool,
}

impl<'a> Filter<'a> {
    pub fn new(args: &'a MergeArgs, asked: Option<Kind>) -> Self {
        Filter {
            focus: Condition::of_focus(&args.focus),
            roll_up: args.roll_up,
            drop_labels: &args.drop_labels,
            pending: Pending::new(&args.focus, args.roll_up, asked),
            spans: SpanFiles::default(),
            is_met: vec![false; args.drop_labels.len()],
            has_match: false,
        }
    }

    /// A profile may tell names, whether its samples are added or not.
    pub fn note_names(&mut self, profile: &Profile) {
        self.pending.note_names(profile);
    }

    /// Adds what counts of `profile`, now or [at the end](Self::finish).
    pub fn add(&mut self, profile: &mut Profile, sums: &mut ByKind) -> Result<()> {
        if self.pending.hold(profile)? {
            return Ok(());
        }
        self.add_to(profile, sums.of(profile))
    }

    /// Spans may tell what counts.
    pub fn add_spans(&mut self, traces: &TracesData) {
        if self.pending.needs_spans() {
            self.spans.add(traces);
        }
    }

    /// Adds what was waiting for the last of the inputs.
    pub fn finish(&mut self, sums: &mut ByKind) -> Result<()> {
        let spans = std::mem::take(&mut self.spans);
        self.pending.add_spans(spans.finish());
        for mut of in self.pending.finish() {
            let sum = sums.of(&of.profile);
            self.add_to(&mut of.profile, sum)?;
        }
        Ok(())
    }

    /// What is in focus is told by the labels as they are in the file.
    fn add_to(&mut self, profile: &mut Profile, sum: &mut Merger) -> Result<()> {
        let is_plain = self.focus.is_empty() && !self.roll_up && self.drop_labels.is_empty();
        if is_plain {
            return Ok(sum.add(profile)?);
        }
        let keys = TagKeys::of(profile);
        let roots = self.roots_of_stand_ins(profile, &keys)?;
        let profile = &*profile;
        let dropped = self.drop_labels.iter();
        let dropped: Vec<_> = dropped.map(|name| profile.strings.find(name)).collect();
        sum.add_by_labels(profile, |labels| {
            if !self.focus.is_empty() {
                let tags = keys.read(profile, &of_labels(labels));
                if !self.focus.takes(&tags, self.pending.root_of(&tags)) {
                    return false;
                }
                self.has_match = true;
            }
            if self.roll_up {
                let named = keys.root_and_name(profile, &of_labels(labels));
                keys.roll_up(labels, named, roots.get(&named).copied());
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

    /// The local roots of samples whose labels do not name them, where they are to be rolled up, as texts of `profile`.
    fn roots_of_stand_ins(
        &self,
        profile: &mut Profile,
        keys: &TagKeys,
    ) -> Result<HashMap<RootAndName, StringIndex>> {
        let mut ids = HashMap::new();
        if self.roll_up {
            for sample in profile.samples.iter() {
                let tags = keys.read(profile, &sample);
                if tags.stands_in
                    && let Some(root) = self.pending.root_of(&tags)
                {
                    let key = keys.root_and_name(profile, &sample);
                    ids.entry(key).or_insert_with(|| root.id.clone());
                }
            }
        }
        let texts = ids
            .into_iter()
            .map(|(key, id)| Ok((key, profile.strings.push(&id)?)));
        texts.collect()
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
