//! What the page shows, as it is written into it: tables of columns, all numbers, texts once.
//!
//! The stacks of all kinds are one tree. A row says what a node's own samples of one group of spans add up to; whatever is
//! chosen on the page, endpoint, span, comparison, is a choice of groups.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Profile, ValueType};
use vtprof_profile::spans::{SpanList, SpanStatus};

use super::class::FrameClass;
use super::condition::Condition;
use super::groups::{BINS_PER_OCTAVE, Group, Groups, Side};
use super::stacks::{NodeId, Stacks, Walker};
use super::texts::{TextId, Texts};
use crate::figures::FEW;
use crate::measure::{Chooser, Reader};
use crate::spans::columns::ColumnId;
use crate::spans::endpoints;
use crate::spans::roots::Roots;
use crate::tags::TagKeys;
use crate::text::{printable, shortened};

/// Spans that stand for themselves, at most.
const SINGLE_SPANS: usize = 20_000;

/// A profile and how many files it is the sum of.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    pub profile: &'a Profile,
    pub files: u64,
}

/// Profiles of one kind, or of one set of sample types.
struct Measured {
    kind: Option<Kind>,
    types: Vec<ValueType>,
    default: usize,
    /// For each type, whether it is known how many samples a value stands on.
    counted: Vec<bool>,
    sides: [Rows; 2],
}

/// Sums by node and group.
#[derive(Default)]
struct Rows {
    known: HashMap<(NodeId, u32), usize>,
    keys: Vec<(NodeId, u32)>,
    /// For each row a value of each type, then the number of samples.
    values: Vec<i64>,
    window: Option<(i64, i64)>,
    files: u64,
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

    /// Adds what of these inputs is wanted. Once for each side.
    ///
    /// # Errors
    /// A profile that cannot be read by its sample types.
    pub fn add(
        &mut self,
        side: Side,
        parts: &[Part<'_>],
        spans: impl IntoIterator<Item = SpanList>,
        wanted: &Condition,
    ) -> Result<()> {
        self.add_with(side, parts, spans, wanted, None)
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
        wanted: &Condition,
        root: Option<SpanId>,
    ) -> Result<()> {
        self.compares |= side == Side::Base;
        let roots = roots_of(parts, spans, wanted)?;
        let first = self.groups.len() as u32;
        let mut named = wanted.named();
        named.extend(root.map(|root| root.to_string()));
        let mut groups = Groups::of(side, &roots, &named, SINGLE_SPANS, first);
        for part in parts {
            self.add_profile(side, *part, &roots, &mut groups, wanted)?;
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
        wanted: &Condition,
    ) -> Result<()> {
        let profile = part.profile;
        let (counts, counted) = sample_counts(profile)?;
        let known = self
            .measured
            .iter()
            .position(|of| of.types == profile.sample_types);
        let at = known.unwrap_or_else(|| {
            self.measured.push(Measured::of(profile, counted.clone()));
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
        for sample in profile.samples.iter() {
            let tags = keys.read(profile, &sample);
            let root = tags.root.and_then(|id| roots.find(id));
            if !wanted.takes(&tags, root.and_then(|root| roots.get(root))) {
                continue;
            }
            let node = walker.leaf(&sample, &mut self.stacks, &mut self.texts);
            let group = groups.of_sample(&tags, root).0;
            let samples = counts.map_or(0, |reader| reader.sum(&sample).samples);
            rows.add((node, group), width, sample.values, samples);
        }
        Ok(())
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

/// All local root spans that are wanted.
fn roots_of(
    parts: &[Part<'_>],
    spans: impl IntoIterator<Item = SpanList>,
    wanted: &Condition,
) -> Result<Roots> {
    let mut roots = Roots::default();
    let mut kinds: Vec<&[ValueType]> = Vec::new();
    let mut sorted: Vec<_> = parts.iter().map(|part| part.profile).collect();
    sorted.sort_by_key(|profile| Kind::of(profile));
    for profile in sorted {
        let types = profile.sample_types.as_slice();
        let column = kinds.iter().position(|known| *known == types);
        let column = column.unwrap_or_else(|| {
            kinds.push(types);
            kinds.len() - 1
        });
        let amount = Kind::of(profile).map(|kind| kind.amount().kind);
        let reader = Chooser::new(amount).reader(profile)?;
        roots.add_profile(profile, ColumnId::nth(column), reader);
    }
    for list in spans {
        roots.add_spans(list, 0);
    }
    if wanted.is_empty() {
        return Ok(roots);
    }
    let mut sampled = vec![false; roots.len()];
    for part in parts {
        let keys = TagKeys::of(part.profile);
        for sample in part.profile.samples.iter() {
            let tags = keys.read(part.profile, &sample);
            let place = tags.root.and_then(|id| roots.find(id));
            if let Some(place) = place
                && !sampled[place]
            {
                sampled[place] = wanted.takes(&tags, roots.get(place));
            }
        }
    }
    let mut sampled = sampled.into_iter();
    roots.retain(|root| sampled.next() == Some(true) || wanted.takes_root(root));
    Ok(roots)
}

/// How to read the number of samples, and for which types that is what a value stands on.
fn sample_counts(profile: &Profile) -> Result<(Option<Reader>, Vec<bool>)> {
    let mut counts = None;
    let mut counted = Vec::new();
    for value_type in &profile.sample_types {
        let mut chooser = Chooser::new(Some(&value_type.kind));
        let reader = chooser.reader(profile)?;
        counted.push(chooser.counted());
        if chooser.counted() && counts.is_none() {
            counts = Some(reader);
        }
    }
    Ok((counts, counted))
}

impl Measured {
    fn of(profile: &Profile, counted: Vec<bool>) -> Self {
        let kind = Kind::of(profile);
        let amount = kind.and_then(|kind| profile.sample_type(kind.amount().kind));
        let last = profile.sample_types.len() - 1;
        Measured {
            kind,
            types: profile.sample_types.clone(),
            default: amount.or(profile.default_sample_type).unwrap_or(last),
            counted,
            sides: Default::default(),
        }
    }

    fn columns(&self, number: &[NodeId]) -> ProfileColumns {
        let width = self.types.len();
        let types = self.types.iter().zip(&self.counted);
        let sides = self.sides.iter().map(|rows| rows.columns(number, width));
        ProfileColumns {
            name: self.kind.map(Kind::name),
            default: self.default,
            types: types
                .map(|(of, counted)| TypeColumn {
                    name: printable(&shortened(&of.kind)),
                    unit: printable(&shortened(&of.unit)),
                    counted: *counted,
                    // Beside another type that stands on them, they are no value of their own.
                    is_count: width > 1 && of.kind == "samples" && of.unit == "count",
                })
                .collect(),
            sides: sides.collect(),
        }
    }
}

impl Rows {
    fn add(&mut self, key: (NodeId, u32), width: usize, values: &[i64], samples: i128) {
        let next = self.keys.len();
        let row = *self.known.entry(key).or_insert(next);
        if row == next {
            self.keys.push(key);
            self.values.resize(self.values.len() + width, 0);
        }
        let sums = &mut self.values[row * width..][..width];
        let samples = i64::try_from(samples).unwrap_or(i64::MAX);
        for (sum, value) in sums.iter_mut().zip(values.iter().chain([&samples])) {
            *sum = sum.saturating_add(*value);
        }
    }

    fn note_window(&mut self, profile: &Profile) {
        if profile.time_nanos <= 0 {
            return;
        }
        let start = profile.time_nanos;
        let end = start.saturating_add(profile.duration_nanos.max(0));
        let (first, last) = self.window.unwrap_or((start, end));
        self.window = Some((first.min(start), last.max(end)));
    }

    fn columns(&self, number: &[NodeId], types: usize) -> RowColumns {
        let mut order: Vec<(NodeId, u32, usize)> = self
            .keys
            .iter()
            .enumerate()
            .map(|(row, (node, group))| (number[*node as usize], *group, row))
            .collect();
        order.sort_unstable();
        let mut columns = RowColumns {
            node: Vec::with_capacity(order.len()),
            group: Vec::with_capacity(order.len()),
            values: vec![Vec::with_capacity(order.len()); types + 1],
            window_millis: self
                .window
                .map(|(start, end)| (start / 1_000_000, end / 1_000_000)),
            files: self.files,
        };
        let mut before = 0;
        for (node, group, row) in order {
            columns.node.push(node - before);
            before = node;
            columns.group.push(group);
            let values = &self.values[row * (types + 1)..];
            for (column, value) in columns.values.iter_mut().zip(values) {
                column.push(*value);
            }
        }
        columns
    }
}

/// What a document says of itself.
#[derive(Debug, Default, Serialize)]
pub struct About<'a> {
    pub title: &'a str,
    pub version: &'a str,
    /// What is to be known of the inputs, a line each.
    pub notes: &'a [String],
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    about: &'a About<'a>,
    few: u32,
    bins_per_octave: f64,
    compares: bool,
    nodes: Nodes,
    frames: Frames,
    /// Endpoints' names; `endpoints` has those of the side that is shown, groups name all by their place here.
    endpoint_names: Vec<TextId>,
    endpoints: Endpoints,
    groups: GroupColumns,
    profiles: Vec<ProfileColumns>,
    texts: Vec<String>,
}

/// In an order in which parents come first and a node's subtree follows it.
#[derive(Serialize)]
struct Nodes {
    /// How far back its parent is.
    up: Vec<u32>,
    frame: Vec<u32>,
}

#[derive(Default, Serialize)]
struct Frames {
    name: Vec<TextId>,
    file: Vec<TextId>,
    class: Vec<u8>,
}

#[derive(Default)]
struct Names {
    texts: Vec<TextId>,
    known: HashMap<String, u32>,
}

impl Names {
    fn add(&mut self, name: &str, texts: &mut Texts) -> u32 {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let at = self.texts.len() as u32;
        self.texts.push(texts.add(&printable(&shortened(name))));
        self.known.insert(name.to_owned(), at);
        at
    }
}

/// In the order of their cost. Durations are in ns, null where none ended.
#[derive(Default, Serialize)]
struct Endpoints {
    name: Vec<u32>,
    ended: Vec<usize>,
    p50: Vec<Option<u64>>,
    p95: Vec<Option<u64>>,
    p99: Vec<Option<u64>>,
    max: Vec<Option<u64>>,
}

impl Endpoints {
    fn of(endpoints: &[endpoints::Endpoint], names: &mut Names, texts: &mut Texts) -> Self {
        let mut columns = Endpoints::default();
        for endpoint in endpoints {
            columns.name.push(names.add(&endpoint.name, texts));
            columns.ended.push(endpoint.durations.len());
            columns.p50.push(endpoint.duration_percentile(50));
            columns.p95.push(endpoint.duration_percentile(95));
            columns.p99.push(endpoint.duration_percentile(99));
            columns.max.push(endpoint.duration_percentile(100));
        }
        columns
    }
}

/// -1 where something is not known or is of no span.
#[derive(Default, Serialize)]
struct GroupColumns {
    side: Vec<u8>,
    endpoint: Vec<i64>,
    bin: Vec<i32>,
    spans: Vec<u64>,
    ended: Vec<u64>,
    /// Of groups that are one span: their numbers, then what is known of each.
    single: Vec<u32>,
    id: Vec<String>,
    trace: Vec<Option<String>>,
    start_millis: Vec<i64>,
    duration: Vec<Option<u64>>,
    status: Vec<Option<&'static str>>,
}

impl GroupColumns {
    fn of(groups: &[Group], names: &mut Names, texts: &mut Texts) -> Self {
        let mut columns = GroupColumns::default();
        for (number, group) in (0..).zip(groups) {
            let endpoint = group.endpoint.as_deref();
            let endpoint = endpoint.map(|name| names.add(name, texts));
            columns.side.push(group.side as u8);
            columns.endpoint.push(endpoint.map_or(-1, i64::from));
            columns.bin.push(group.bin.map_or(-1, i32::from));
            columns.spans.push(group.spans);
            columns.ended.push(group.ended);
            let Some(root) = &group.root else {
                continue;
            };
            let clean = |text: &str| printable(&shortened(text));
            let start = root.ended.map(|ended| ended.start_unix_nanos / 1_000_000);
            columns.single.push(number);
            columns.id.push(clean(&root.id));
            columns.trace.push(root.trace.as_deref().map(clean));
            columns
                .start_millis
                .push(start.map_or(-1, |start| start as i64));
            columns
                .duration
                .push(root.ended.map(|ended| ended.duration_nanos));
            columns
                .status
                .push(root.ended.map(|ended| match ended.status {
                    SpanStatus::Unset => "unset",
                    SpanStatus::Ok => "ok",
                    SpanStatus::Error => "error",
                }));
        }
        columns
    }
}

#[derive(Serialize)]
struct ProfileColumns {
    /// Of the kind; null for what vtprof does not write.
    name: Option<&'static str>,
    default: usize,
    types: Vec<TypeColumn>,
    /// What is shown, then the base.
    sides: Vec<RowColumns>,
}

#[derive(Serialize)]
struct TypeColumn {
    name: String,
    unit: String,
    counted: bool,
    is_count: bool,
}

#[derive(Serialize)]
struct RowColumns {
    /// How far behind that of the row before.
    node: Vec<u32>,
    group: Vec<u32>,
    /// A column a type, then the number of samples.
    values: Vec<Vec<i64>>,
    window_millis: Option<(i64, i64)>,
    files: u64,
}
