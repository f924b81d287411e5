//! What the page shows, put together from profiles and spans; `columns` has how it is written.
//!
//! The stacks of all kinds are one tree. A row says what a node's own samples of one group of spans add up to; whatever is
//! chosen on the page, endpoint, span, comparison, is a choice of groups.

use std::collections::HashSet;
use std::io::Write;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Profile, ValueType};
use vtprof_profile::spans::SpanList;

use super::class::FrameClass;
use super::columns::{Document, Endpoints, Frames, GroupColumns, Names, Nodes};
use super::condition::Condition;
use super::groups::{BINS_PER_OCTAVE, Group, Groups, Side};
use super::stacks::{Stacks, Walker};
use super::sums::{Measured, Rows, sample_counts};
use super::texts::Texts;
use crate::figures::FEW;
use crate::measure::Chooser;
use crate::spans::columns::ColumnId;
use crate::spans::endpoints;
use crate::spans::roots::Roots;
use crate::tags::TagKeys;

/// Spans that stand for themselves, at most.
const SINGLE_SPANS: usize = 20_000;

pub use super::columns::About;

/// A profile and how many files it is the sum of.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// What is shown of it, where it has several; `None` for what vtprof does not write.
    pub kind: Option<Kind>,
    pub profile: &'a Profile,
    pub files: u64,
}

/// Puts a document together.
pub struct Builder {
    texts: Texts,
    stacks: Stacks,
    groups: Vec<Group>,
    endpoints: Vec<endpoints::Endpoint>,
    measured: Vec<Measured>,
    compares: bool,
}

impl Builder {
    /// Nothing yet.
    pub fn new() -> Self {
        Builder {
            texts: Texts::default(),
            stacks: Stacks::new(),
            groups: Vec::new(),
            endpoints: Vec::new(),
            measured: Vec::new(),
            compares: false,
        }
    }

    /// Adds what of these inputs is wanted. Once for each side. `names` are what is known beside the profiles of when they
    /// were given: a part that is a sum does not say it.
    ///
    /// # Errors
    /// A profile that cannot be read by its sample types.
    pub fn add(
        &mut self,
        side: Side,
        parts: &[Part<'_>],
        spans: impl IntoIterator<Item = SpanList>,
        names: &Roots,
        wanted: &Condition,
    ) -> Result<()> {
        self.add_with(side, parts, spans, (names, wanted), None)
    }

    /// The same, with a span that stands for itself however fast it was.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_with(
        &mut self,
        side: Side,
        parts: &[Part<'_>],
        spans: impl IntoIterator<Item = SpanList>,
        (names, wanted): (&Roots, &Condition),
        root: Option<SpanId>,
    ) -> Result<()> {
        self.compares |= side == Side::Base;
        let mut roots = roots_of(parts, spans, names)?;
        let taken = take(parts, &mut roots, wanted);
        let first = self.groups.len() as u32;
        let mut named = wanted.named();
        named.extend(root.map(|root| root.to_string()));
        let mut groups = Groups::of(side, &roots, &named, SINGLE_SPANS, first);
        for (part, is_taken) in parts.iter().zip(&taken) {
            self.add_profile(side, *part, &roots, &mut groups, is_taken)?;
        }
        let groups = groups.into_list();
        if side == Side::Shown {
            let names: HashSet<_> = groups
                .iter()
                .filter_map(|g| g.endpoint.as_deref())
                .collect();
            self.endpoints = endpoints::of(&roots, Some(ColumnId::nth(0)));
            // Of samples with a name and no id those that are not wanted have no group.
            self.endpoints
                .retain(|endpoint| names.contains(endpoint.name.as_str()));
        }
        self.groups.extend(groups);
        Ok(())
    }

    fn add_profile(
        &mut self,
        side: Side,
        part: Part<'_>,
        roots: &Roots,
        groups: &mut Groups,
        is_taken: &[bool],
    ) -> Result<()> {
        let profile = part.profile;
        let (counts, counted) = sample_counts(profile)?;
        let known = self
            .measured
            .iter()
            .position(|of| of.types == profile.sample_types);
        let at = known.unwrap_or_else(|| {
            self.measured
                .push(Measured::of(part.kind, profile, counted.clone()));
            self.measured.len() - 1
        });
        let measured = &mut self.measured[at];
        for (all, this) in measured.counted.iter_mut().zip(counted) {
            *all &= this;
        }
        let width = measured.types.len() + 1;
        let rows = &mut measured.sides[side as usize];
        rows.files += part.files;
        rows.note_window(profile);
        let keys = TagKeys::of(profile);
        let mut walker = Walker::new(profile);
        for (sample, is_taken) in profile.samples.iter().zip(is_taken) {
            if !is_taken {
                continue;
            }
            let tags = keys.read(profile, &sample);
            let root = roots.find_of(&tags);
            let node = walker.leaf(&sample, &mut self.stacks, &mut self.texts);
            let group = groups.of_sample(&tags, root);
            let samples = counts.map_or(0, |reader| reader.sum(&sample).samples);
            rows.add((node, group), width, sample.values, samples)?;
        }
        Ok(())
    }

    /// Whether a side has no sample.
    pub fn is_empty(&self, side: Side) -> bool {
        let mut sides = self.measured.iter().map(|of| &of.sides[side as usize]);
        sides.all(Rows::is_empty)
    }

    /// The document, as gzipped JSON.
    ///
    /// # Errors
    /// None that is known: it is written into memory.
    pub fn finish(self, about: &About<'_>) -> Result<Vec<u8>> {
        let document = self.document(about);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut gzip, &document).context("document")?;
        gzip.flush()?;
        Ok(gzip.finish()?)
    }

    fn document<'a>(mut self, about: &'a About<'a>) -> Document<'a> {
        let ordered = self.stacks.ordered(&self.texts);
        let nodes = Nodes {
            up: (0..)
                .zip(&ordered.nodes)
                .map(|(id, node)| id - node.parent)
                .collect(),
            frame: ordered.nodes.iter().map(|node| node.frame).collect(),
        };
        let mut frames = Frames::default();
        for frame in self.stacks.frames() {
            let class = FrameClass::of(self.texts.get(frame.name), self.texts.get(frame.file));
            frames.name.push(frame.name);
            frames.file.push(frame.file);
            frames.class.push(class as u8);
        }
        let mut names = Names::default();
        let endpoints = Endpoints::of(&self.endpoints, &mut names, &mut self.texts);
        let groups = GroupColumns::of(&self.groups, &mut names, &mut self.texts);
        self.measured
            .sort_by_key(|of| of.kind.map_or(0, |kind| 1 + kind as usize));
        let measured = self.measured.iter();
        Document {
            format: 1,
            about,
            few: FEW as u32,
            bins_per_octave: BINS_PER_OCTAVE,
            compares: self.compares,
            nodes,
            frames,
            endpoint_names: names.texts,
            endpoints,
            groups,
            profiles: measured.map(|of| of.columns(&ordered.number)).collect(),
            texts: self.texts.into_list(),
        }
    }
}

/// All local root spans. Of `names` those of the samples are taken, where they are later.
fn roots_of(
    parts: &[Part<'_>],
    spans: impl IntoIterator<Item = SpanList>,
    names: &Roots,
) -> Result<Roots> {
    let mut roots = Roots::default();
    let mut kinds: Vec<&[ValueType]> = Vec::new();
    let mut sorted: Vec<_> = parts.iter().collect();
    sorted.sort_by_key(|part| part.kind);
    for Part { kind, profile, .. } in sorted {
        let types = profile.sample_types.as_slice();
        let column = kinds.iter().position(|known| *known == types);
        let column = column.unwrap_or_else(|| {
            kinds.push(types);
            kinds.len() - 1
        });
        let amount = kind.map(|kind| kind.amount().kind);
        let reader = Chooser::new(amount).reader(profile)?;
        roots.add_profile(profile, ColumnId::nth(column), reader);
    }
    roots.take_names(names);
    for list in spans {
        roots.add_spans(list, 0);
    }
    roots.settle();
    Ok(roots)
}

/// Which samples of each part are wanted. Local root spans that are not are left out, but not before: without them samples
/// would be judged by their labels, which may be those of a child or an earlier name.
fn take(parts: &[Part<'_>], roots: &mut Roots, wanted: &Condition) -> Vec<Vec<bool>> {
    if wanted.is_empty() {
        let all = |part: &Part<'_>| vec![true; part.profile.samples.len()];
        return parts.iter().map(all).collect();
    }
    let mut sampled = vec![false; roots.len()];
    let mut taken = Vec::new();
    for Part { profile, .. } in parts {
        let keys = TagKeys::of(profile);
        let samples = profile.samples.iter();
        let is_taken = samples.map(|sample| {
            let tags = keys.read(profile, &sample);
            let place = roots.find_of(&tags);
            let is_taken = wanted.takes(&tags, place.and_then(|place| roots.get(place)));
            if let Some(place) = place {
                sampled[place] |= is_taken;
            }
            is_taken
        });
        taken.push(is_taken.collect());
    }
    let mut sampled = sampled.into_iter();
    roots.retain(|root| sampled.next() == Some(true) || wanted.takes_root(root));
    taken
}
