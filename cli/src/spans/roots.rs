//! Local root spans: what profiles say they cost, joined with what span files say they were.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{KeyIndices, Profile};
use vtprof_profile::spans::{SpanKind, SpanList, SpanRecord, SpanStatus};
use vtprof_profile::window::Window;

use crate::figures::{Sum, widened};
use crate::lineage::Lineage;
use crate::measure::Reader;
use crate::tags::{TagKeys, Tags};

use super::columns::{ColumnId, Costs};
use super::filter::Filter;

/// One local root span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its id; a text, because files of others may have ids that are no 16 hex digits.
    pub id: String,
    pub trace: Option<String>,
    /// Final name where known, else the latest of the profiles.
    pub name: Option<String>,
    /// When the profile began that `name` is from.
    named_at: i64,
    pub costs: Costs,
    /// From the start of the first window with a sample of it to the end of the last, ns since the Unix epoch.
    sampled: Option<(i128, i128)>,
    /// Only for spans of a span file.
    pub ended: Option<Ended>,
}

impl Root {
    fn new(id: String) -> Self {
        Root {
            id,
            trace: None,
            name: None,
            named_at: 0,
            costs: Costs::default(),
            sampled: None,
            ended: None,
        }
    }

    /// Adds a sample.
    fn charge(&mut self, tags: &Tags<'_>, cost: Cost<'_>, profile: &Profile) {
        cost.add_to(&mut self.costs);
        if let Some(window) = Window::of(profile) {
            self.note_sampled((window.start.into(), window.end.into()));
        }
        self.note_trace(tags.trace);
        self.note_name(tags.name, profile.time_nanos);
    }

    /// Adds what was charged to a span below it.
    fn take_in(&mut self, below: Root) {
        self.costs.add_all(&below.costs);
        below
            .sampled
            .into_iter()
            .for_each(|times| self.note_sampled(times));
        self.note_trace(below.trace.as_deref());
        self.note_name(below.name.as_deref(), below.named_at);
    }

    fn note_sampled(&mut self, times: (i128, i128)) {
        self.sampled = Some(widened(self.sampled, times));
    }

    fn note_trace(&mut self, trace: Option<&str>) {
        if self.trace.is_none() {
            self.trace = trace.map(str::to_owned);
        }
    }

    fn note_name(&mut self, name: Option<&str>, time: i64) {
        if let Some(name) = name
            && self.ended.is_none()
            && (self.name.is_none() || time >= self.named_at)
        {
            self.name = Some(name.to_owned());
            self.named_at = time;
        }
    }

    /// Start and end, ns since the Unix epoch, as well as they are known.
    pub fn times(&self) -> Option<(i128, i128)> {
        let ended = self.ended.map(|ended| {
            let start = i128::from(ended.start_unix_nanos);
            (start, start + i128::from(ended.duration_nanos))
        });
        ended.or(self.sampled)
    }
}

/// What a span file says of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub start_unix_nanos: u64,
    pub duration_nanos: u64,
    pub kind: SpanKind,
    pub status: SpanStatus,
}

/// What one sample adds.
#[derive(Clone, Copy)]
struct Cost<'a> {
    column: ColumnId,
    sum: Sum,
    state: Option<&'a Arc<str>>,
}

impl Cost<'_> {
    fn add_to(self, costs: &mut Costs) {
        costs.add(self.column, self.sum, self.state);
    }
}

/// All local root spans, and the cost that belongs to none.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    roots: Vec<Root>,
    index: HashMap<String, usize>,
    /// What samples say that name a trace, or none, and the current span alone: another may be its root.
    stand_ins: HashMap<(Option<String>, String), Root>,
    lineage: Lineage,
    /// Samples with a name, but no id.
    pub named_only: HashMap<String, Costs>,
    /// Samples without a tag.
    pub untagged: Costs,
    /// What belongs to spans that are not listed.
    pub not_listed: Costs,
    /// How many these are.
    pub roots_not_listed: usize,
    /// Those of them that ended.
    pub ended_not_listed: usize,
    /// All samples.
    pub whole: Costs,
    /// Spans in span files, local roots or not.
    pub spans_read: u64,
    /// Spans that ended and that the writer left out of its file.
    pub spans_left_out: u64,
    /// Spans that have no valid id.
    pub spans_without_id: u64,
    /// Local roots whose times do not say how long they were.
    pub spans_without_times: u64,
}

impl Roots {
    /// Adds the samples of a profile to a column.
    pub fn add_profile(&mut self, profile: &Profile, column: ColumnId, reader: Reader) {
        let keys = TagKeys::of(profile);
        let label = Kind::of(profile).and_then(Kind::label);
        let state_keys =
            label.map_or_else(KeyIndices::default, |label| profile.strings.find(label));
        let mut states: HashMap<&str, Arc<str>> = HashMap::new();
        for sample in profile.samples.iter() {
            let sum = reader.sum(&sample);
            let state = sample.text(&state_keys).map(|text| {
                let text = profile.strings.get(text);
                Arc::clone(states.entry(text).or_insert_with(|| Arc::from(text)))
            });
            let cost = Cost {
                column,
                sum,
                state: state.as_ref(),
            };
            cost.add_to(&mut self.whole);
            let tags = keys.read(profile, &sample);
            self.add_sample(&tags, cost, profile);
        }
    }

    /// As if no profile had been read, only span files.
    pub fn forget_profiles(&mut self) {
        (self.named_only, self.untagged, self.whole) = Default::default();
        self.stand_ins.clear();
        self.roots.retain_mut(|root| {
            (root.costs, root.sampled) = Default::default();
            root.ended.is_some()
        });
        self.index_anew();
    }

    /// Sets aside the costs of all that are not to be listed. For the end, when all is read.
    pub fn list_only(&mut self, filter: &Filter) {
        if filter.is_open() {
            return;
        }
        let before = self.roots.len();
        let not_listed = &mut self.not_listed;
        let ended_not_listed = &mut self.ended_not_listed;
        self.roots.retain(|root| {
            let is_listed = filter.lets_through(root);
            if !is_listed {
                not_listed.add_all(&root.costs);
                *ended_not_listed += usize::from(root.ended.is_some());
            }
            is_listed
        });
        self.named_only.retain(|name, costs| {
            let is_listed = filter.lets_name_through(name);
            if !is_listed {
                not_listed.add_all(costs);
            }
            is_listed
        });
        self.roots_not_listed = before - self.roots.len();
        self.index.clear();
    }

    fn add_sample(&mut self, tags: &Tags<'_>, cost: Cost<'_>, profile: &Profile) {
        if let Some(root) = self.charged(tags) {
            root.charge(tags, cost, profile);
            return;
        }
        cost.add_to(match tags.name {
            Some(name) => self.named_only.entry(name.to_owned()).or_default(),
            None => &mut self.untagged,
        });
    }

    /// The root that a sample is charged to, or what stands in for it.
    fn charged(&mut self, tags: &Tags<'_>) -> Option<&mut Root> {
        let id = tags.root?;
        if !tags.stands_in {
            return Some(self.root(id));
        }
        let key = (tags.trace.map(str::to_owned), id.to_owned());
        let stand_in = self.stand_ins.entry(key);
        Some(stand_in.or_insert_with(|| Root::new(id.to_owned())))
    }

    /// Adds what a profile calls its local roots, and no cost.
    pub fn add_names(&mut self, profile: &Profile) {
        let keys = TagKeys::of(profile);
        let mut seen = HashSet::new();
        for sample in profile.samples.iter() {
            if seen.insert(keys.root_and_name(profile, &sample)) {
                let tags = keys.read(profile, &sample);
                if let Some(root) = self.charged(&tags) {
                    root.note_name(tags.name, profile.time_nanos);
                }
            }
        }
    }

    /// Takes the last names that others have noted for the roots of samples, and no root that is not there. Before it is settled.
    pub fn take_names(&mut self, others: &Roots) {
        for root in &mut self.roots {
            if let Some(other) = others.find(&root.id).and_then(|place| others.get(place)) {
                root.note_name(other.name.as_deref(), other.named_at);
            }
        }
        for (key, stand_in) in &mut self.stand_ins {
            if let Some(other) = others.stand_ins.get(key) {
                stand_in.note_name(other.name.as_deref(), other.named_at);
            }
        }
    }

    /// The last name that profiles have for the root of a sample, and when the profile began. Before it is settled.
    pub fn last_name(&self, tags: &Tags<'_>) -> Option<(&str, i64)> {
        let id = tags.root?;
        let root = if tags.stands_in {
            let key = (tags.trace.map(str::to_owned), id.to_owned());
            self.stand_ins.get(&key)
        } else {
            self.get(self.find(id)?)
        };
        let root = root?;
        Some((root.name.as_deref()?, root.named_at))
    }

    /// Finds the local roots of samples that do not name them. For the end, when all is read.
    pub fn settle(&mut self) {
        self.lineage.settle();
        let mut stand_ins: Vec<_> = std::mem::take(&mut self.stand_ins).into_iter().collect();
        // Of names of one time the last stays, of traces the first: they are to be the same in each run.
        stand_ins.sort_by(|a, b| a.0.cmp(&b.0));
        for ((trace, span), stand_in) in stand_ins {
            let tags = Tags {
                trace: trace.as_deref(),
                span: Some(&span),
                stands_in: true,
                ..Tags::default()
            };
            let root = self.lineage.root_of(&tags);
            let id = root.map_or(span, |root| root.to_string());
            self.root(&id).take_in(stand_in);
        }
    }

    /// Adds the spans of a span file. Their names are final and override those of profiles, where a
    /// window may have closed before the span was renamed.
    pub fn add_spans(&mut self, list: SpanList, left_out: u64) {
        self.spans_read += list.spans.len() as u64;
        self.spans_left_out = self.spans_left_out.saturating_add(left_out);
        self.spans_without_id += list.without_id;
        self.spans_without_times += list.roots_without_times();
        self.lineage.add(&list.spans);
        let is_request = |span: &SpanRecord| span.is_local_root() && span.has_times();
        for span in list.spans.into_iter().filter(is_request) {
            let root = self.root(&span.span.to_string());
            root.trace = Some(span.trace.to_string());
            root.ended = Some(Ended {
                start_unix_nanos: span.start_unix_nanos,
                duration_nanos: span.duration_nanos(),
                kind: span.kind,
                status: span.status,
            });
            root.name = Some(span.name).filter(|name| !name.is_empty());
        }
    }

    fn root(&mut self, id: &str) -> &mut Root {
        let index = self.find(id).unwrap_or_else(|| {
            let id = id
                .parse::<SpanId>()
                .map_or_else(|_| id.to_owned(), |id| id.to_string());
            self.index.insert(id.clone(), self.roots.len());
            self.roots.push(Root::new(id));
            self.roots.len() - 1
        });
        &mut self.roots[index]
    }

    /// Leaves out spans that are not wanted.
    pub fn retain(&mut self, keep: impl FnMut(&Root) -> bool) {
        self.roots.retain(keep);
        self.index_anew();
    }

    fn index_anew(&mut self) {
        let ids = self.roots.iter().map(|root| root.id.clone());
        self.index = ids.zip(0..).collect();
    }

    /// The span of that id, in whatever form a file has it.
    pub fn find(&self, id: &str) -> Option<usize> {
        // One form for ids of any writer, or the samples and the span would not meet.
        self.index.get(id).copied().or_else(|| {
            let normal = id.parse::<SpanId>().ok()?.to_string();
            self.index.get(&normal).copied()
        })
    }

    /// The local root of a sample, once all is [settled](Self::settle).
    pub fn find_of(&self, tags: &Tags<'_>) -> Option<usize> {
        match self.lineage.root_of(tags) {
            Some(root) => self.find(&root.to_string()),
            None => self.find(tags.root?),
        }
    }

    /// The root at a place that [`find`](Self::find) told.
    pub fn get(&self, place: usize) -> Option<&Root> {
        self.roots.get(place)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// All roots, in the order that [`find`](Self::find) tells.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter()
    }

    /// Whether any span file told of a local root.
    pub fn has_durations(&self) -> bool {
        self.roots.iter().any(|root| root.ended.is_some())
    }

    /// Longest first, then those whose duration is not known, by their cost in the first column.
    pub fn slowest_first(&self, lead: Option<ColumnId>) -> Vec<&Root> {
        let mut roots: Vec<_> = self.roots.iter().collect();
        roots.sort_by(|a, b| {
            let key = |root: &Root| {
                Reverse((
                    root.ended.map(|ended| ended.duration_nanos),
                    root.costs.of_lead(lead).value,
                ))
            };
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        roots
    }
}
