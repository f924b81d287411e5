//! Some samples of a profile as a profile of their own, with only what they need of its tables.

use std::borrow::Cow;
use std::collections::HashMap;

use vtprof_profile::builder::{FunctionId, LocationId, ProfileBuilder, ValueType};
use vtprof_profile::pprof::{Function, Label, Location, Profile, Sample};

use super::Bounds;
use crate::form::LeftOut;

/// Name of the frame that stands for those that were taken away, as in the agent's own stacks.
const DEEP: &str = "[truncated: depth]";

/// What a sample, a frame of it and a function take beside their texts, roughly.
const SAMPLE_BYTES: usize = 40;
const FRAME_BYTES: usize = 2;
const FUNCTION_BYTES: usize = 30;

/// A label that is an id, and its key in the part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id {
    pub from: &'static str,
    pub to: &'static str,
    /// How many it has. A text that is not so many lower-case hexadecimal digits is no id, and does not go along.
    pub digits: usize,
}

/// Which labels of a sample go along. Samples that are equal then are added up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys<'a> {
    /// Each text.
    All,
    /// These alone.
    Ids(&'a [Id]),
}

/// How parts are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe<'a> {
    /// Names of the values, as many as samples have.
    pub sample_types: &'a [ValueType<'a>],
    pub period_type: ValueType<'a>,
    pub period: i64,
    pub keys: Keys<'a>,
    /// Most frames of a stack.
    pub depth: usize,
    /// Most bytes of a function's names and file. Of a longer one its end is left.
    pub longest_text: usize,
    /// Whether comments go along.
    pub comments: bool,
    /// Whether a profile without samples is told at all.
    pub send_empty: bool,
}

impl Recipe<'_> {
    pub(super) fn comments(&self, profile: &Profile) -> Vec<String> {
        let comments = profile.comment.iter().filter(|_| self.comments);
        comments
            .map(|comment| profile.text(*comment).into_owned())
            .collect()
    }
}

/// The tables of a profile by their ids.
pub(super) struct Tables<'p> {
    profile: &'p Profile,
    locations: HashMap<u64, &'p Location>,
    functions: HashMap<u64, &'p Function>,
}

/// A part, and what is not in it.
pub(super) struct Part {
    pub builder: ProfileBuilder,
    /// How many of the samples are done with: all, or until it was full. At least one, where there is one.
    pub taken: usize,
    pub left_out: LeftOut,
}

impl<'p> Tables<'p> {
    pub fn of(profile: &'p Profile) -> Self {
        let locations = profile.location.iter();
        let functions = profile.function.iter();
        Tables {
            profile,
            locations: locations.map(|location| (location.id, location)).collect(),
            functions: functions.map(|function| (function.id, function)).collect(),
        }
    }

    pub fn part(
        &self,
        samples: &[Sample],
        recipe: &Recipe<'_>,
        comments: &[String],
        bounds: Bounds,
    ) -> Part {
        let mut builder =
            ProfileBuilder::new(recipe.sample_types, recipe.period_type, recipe.period);
        builder.set_time(self.profile.time_nanos, self.profile.duration_nanos);
        // The second value of each kind is the one that viewers show first, whatever it is called.
        if let Some(shown) = recipe.sample_types.last() {
            builder.default_sample_type(shown.kind);
        }
        for comment in comments {
            builder.comment(comment);
        }
        let mut making = Making {
            tables: self,
            builder,
            functions: HashMap::new(),
            longest_text: recipe.longest_text,
            locations: HashMap::new(),
            bytes: comments.iter().map(String::len).sum(),
            left_out: LeftOut::default(),
        };
        let mut taken = 0;
        for sample in samples {
            let full = making.builder.sample_count() >= bounds.samples;
            if full || making.bytes >= bounds.bytes {
                break;
            }
            taken += 1;
            if let Err(why) = making.add(sample, recipe) {
                making.left_out.samples += 1;
                making.left_out.why.get_or_insert(why);
            }
        }
        Part {
            builder: making.builder,
            taken,
            left_out: making.left_out,
        }
    }

    /// The labels that go along, with their keys.
    fn labels(&self, labels: &[Label], keys: Keys<'_>) -> Vec<(Cow<'p, str>, Cow<'p, str>)> {
        let texts = labels.iter().filter(|label| label.str != 0);
        let texts = texts.map(|label| (self.profile.text(label.key), self.profile.text(label.str)));
        match keys {
            Keys::All => texts.collect(),
            Keys::Ids(ids) => texts
                .filter_map(|(key, text)| {
                    let id = ids.iter().find(|id| id.from == key)?;
                    is_id(&text, id.digits).then_some((id.to.into(), text))
                })
                .collect(),
        }
    }
}

struct Making<'t, 'p> {
    tables: &'t Tables<'p>,
    builder: ProfileBuilder,
    functions: HashMap<u64, FunctionId>,
    longest_text: usize,
    /// Frames of a location, the innermost inlined one first.
    locations: HashMap<u64, Box<[LocationId]>>,
    /// What it weighs so far, roughly.
    bytes: usize,
    left_out: LeftOut,
}

impl Making<'_, '_> {
    fn add(&mut self, sample: &Sample, recipe: &Recipe<'_>) -> Result<(), String> {
        let mut stack = Vec::with_capacity(sample.location_id.len());
        for id in &sample.location_id {
            if !self.locations.contains_key(id) {
                let frames = self.frames(*id)?;
                self.locations.insert(*id, frames);
            }
            stack.extend(self.locations.get(id).into_iter().flatten());
        }
        let is_cut = stack.len() > recipe.depth;
        if is_cut {
            // The leaf is what has the time: it is the other end that goes, and a frame says so.
            let deep = self.builder.function(DEEP, DEEP, "", 0);
            stack.truncate(recipe.depth.saturating_sub(1));
            stack.push(self.builder.location(deep, 0));
        }
        let labels = self.tables.labels(&sample.label, recipe.keys);
        let labels: Vec<_> = labels.iter().map(|(key, text)| (&**key, &**text)).collect();
        let known = self.builder.sample_count();
        let added = self.builder.sample(&stack, &sample.value, &labels);
        added.map_err(|error| error.to_string())?;
        if self.builder.sample_count() > known {
            let texts: usize = labels.iter().map(|(_, text)| text.len()).sum();
            self.bytes += SAMPLE_BYTES + FRAME_BYTES * stack.len() + texts;
        }
        self.left_out.cut_stacks += u64::from(is_cut);
        Ok(())
    }

    fn frames(&mut self, id: u64) -> Result<Box<[LocationId]>, String> {
        let location = self.tables.locations.get(&id);
        let location = location.ok_or_else(|| format!("there is no location {id}"))?;
        let mut frames = Vec::with_capacity(location.line.len());
        for line in &location.line {
            let function = self.function(line.function_id)?;
            frames.push(self.builder.location(function, line.line));
        }
        if frames.is_empty() {
            return Err(format!("location {id} has no function"));
        }
        Ok(frames.into())
    }

    fn function(&mut self, id: u64) -> Result<FunctionId, String> {
        if let Some(known) = self.functions.get(&id) {
            return Ok(*known);
        }
        let function = self.tables.functions.get(&id);
        let function = function.ok_or_else(|| format!("there is no function {id}"))?;
        let text = |index| self.tables.profile.text(index);
        let (name, system_name) = (text(function.name), text(function.system_name));
        let file = text(function.filename);
        let end = |text| end(text, self.longest_text);
        let (name, system_name, file) = (end(&name), end(&system_name), end(&file));
        let line = function.start_line;
        let made = self.builder.function(name, system_name, file, line);
        self.bytes += FUNCTION_BYTES + name.len();
        self.functions.insert(id, made);
        Ok(made)
    }
}

/// The last characters, as many as have at most `most` bytes.
fn end(text: &str, most: usize) -> &str {
    let start = text.len().saturating_sub(most);
    let start = (start..=text.len()).find(|start| text.is_char_boundary(*start));
    start.and_then(|start| text.get(start..)).unwrap_or(text)
}

fn is_id(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && text.bytes().any(|b| b != b'0')
}
