//! The file format of speedscope.app: frames by function, and for each sample type a list of stacks with their weights.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::calls::Calls;
use super::functions::{sum, value};
use super::number::{Number, Rounding};
use crate::bounds::{Budget, MOST_COLUMNS, Of, check_frames};
use crate::merge::Tables;
use crate::model::{self, Flaw, Function, Label, LabelValue, LocationIndex, ValueType};

/// Begins what we say that has written a file.
const EXPORTER: &str = "vtprof ";
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// A file that contradicts itself.
#[derive(Debug, Error)]
pub enum SpeedscopeError {
    /// Not JSON, or not this.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Something in a profile points nowhere.
    #[error("profile {profile}: {reason}")]
    Profile {
        /// Which, from 0.
        profile: usize,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema", default)]
    schema: Cow<'a, str>,
    shared: Shared<'a>,
    profiles: Vec<Profile<'a>>,
    #[serde(default)]
    name: Option<Cow<'a, str>>,
    #[serde(default)]
    active_profile_index: Option<usize>,
    #[serde(default)]
    exporter: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Frame<'a> {
    name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Profile<'a> {
    #[serde(rename_all = "camelCase")]
    Sampled {
        name: Cow<'a, str>,
        unit: Cow<'a, str>,
        #[serde(default)]
        start_value: Number,
        #[serde(default)]
        end_value: Number,
        /// From the root.
        samples: Cow<'a, [Vec<usize>]>,
        weights: Vec<Number>,
    },
    #[serde(rename_all = "camelCase")]
    Evented {
        name: Cow<'a, str>,
        unit: Cow<'a, str>,
        #[serde(default)]
        start_value: Number,
        #[serde(default)]
        end_value: Number,
        events: Vec<Event>,
    },
}

#[derive(Serialize, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: EventKind,
    frame: usize,
    at: Number,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum EventKind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

/// Writes a profile: each sample type becomes one of speedscope's, the one shown first is active. Samples are summed up by
/// functions, as there are no labels.
///
/// # Errors
/// Those of the writer.
pub fn write(profile: &model::Profile, name: &str, out: impl Write) -> io::Result<()> {
    let texts = |function: &Function| (function.name, function.file, function.start_line);
    let stacks = sum(profile, texts);
    let mut frames = Vec::new();
    let mut frame_of = HashMap::new();
    let samples: Vec<Vec<usize>> = stacks
        .iter()
        .map(|stack| {
            let frames = stack.stack.iter().map(|function| {
                *frame_of.entry(*function).or_insert_with(|| {
                    let function = profile.functions.get(*function);
                    let file = profile.strings.get(function.file);
                    frames.push(Frame {
                        name: profile.strings.get(function.name).into(),
                        file: (!file.is_empty()).then(|| file.into()),
                        line: (function.start_line > 0).then_some(function.start_line),
                    });
                    frames.len() - 1
                })
            });
            frames.collect()
        })
        .collect();
    let of_type = |(at, sample_type): (usize, &ValueType)| {
        let weights = stacks.iter().map(|stack| value(stack.values[at]));
        let weights = weights.collect::<io::Result<Vec<_>>>()?;
        let whole = weights.iter().map(|weight| i128::from(*weight)).sum();
        Ok(Profile::Sampled {
            name: sample_type.kind.clone().into(),
            unit: match sample_type.unit.as_str() {
                unit @ ("nanoseconds" | "microseconds" | "milliseconds" | "seconds" | "bytes") => {
                    unit.to_owned().into()
                }
                _ => "none".into(),
            },
            start_value: Number::Whole(0),
            end_value: Number::Whole(value(whole)?),
            samples: samples.as_slice().into(),
            weights: weights.into_iter().map(Number::Whole).collect(),
        })
    };
    let file = File {
        schema: SCHEMA.into(),
        profiles: profile
            .sample_types
            .iter()
            .enumerate()
            .map(of_type)
            .collect::<io::Result<_>>()?,
        shared: Shared { frames },
        name: Some(name.into()),
        active_profile_index: profile
            .default_sample_type
            .or(profile.sample_types.len().checked_sub(1)),
        exporter: Some(format!("{EXPORTER}{}", env!("CARGO_PKG_VERSION")).into()),
    };
    serde_json::to_writer(out, &file)?;
    Ok(())
}

/// Reads the profiles of a file. Times become nanoseconds; profiles that follow one another with the same stacks and
/// different names are sample types of one, as [`write`] makes them, in files of others where their units differ, too. Where
/// there are several then, and all are of one sample type and one unit, each is a thread, whose name its samples have as a label.
///
/// # Errors
/// Not such a file, or one that contradicts itself.
pub fn read(bytes: &[u8]) -> Result<Vec<model::Profile>, SpeedscopeError> {
    read_within(bytes, &mut Budget::of(bytes.len()))
}

/// As [`read`], of a file that has spent some of its allowances.
pub(super) fn read_within(
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<Vec<model::Profile>, SpeedscopeError> {
    let file: File<'_> = serde_json::from_slice(bytes)?;
    let mut frames = Frames::of(&file.shared.frames);
    let exporter = file.exporter.as_deref().unwrap_or_default();
    let is_ours = exporter.starts_with(EXPORTER);
    let mut all = Vec::new();
    let mut rest = file.profiles.as_slice();
    while !rest.is_empty() {
        let mut columns = 1;
        while columns < MOST_COLUMNS
            && columns < rest.len()
            && is_column(&rest[..columns], &rest[columns], is_ours)
        {
            columns += 1;
        }
        let (of, after) = rest.split_at(columns);
        all.push(of);
        rest = after;
    }
    let are_threads = are_threads(&all);
    let mut read = Vec::new();
    let mut at = 0;
    for columns in all {
        let profile = read_columns(&mut frames, columns, are_threads, budget);
        let profile = profile.map_err(|(column, reason)| SpeedscopeError::Profile {
            profile: at + column,
            reason,
        })?;
        read.push(profile);
        at += columns.len();
    }
    if let [one] = read.as_mut_slice() {
        let active = file.active_profile_index;
        one.default_sample_type = active.filter(|active| *active < one.sample_types.len());
    }
    Ok(read)
}

/// Whether profiles that are no columns of one another are of a thread each: there are several, and all have one unit.
fn are_threads(all: &[&[Profile<'_>]]) -> bool {
    let unit_of = |columns: &&[Profile<'_>]| match columns {
        [Profile::Sampled { unit, .. } | Profile::Evented { unit, .. }] => {
            Some(value_type("", unit).0)
        }
        _ => None,
    };
    let units: Option<Vec<_>> = all.iter().map(unit_of).collect();
    units.is_some_and(|units| units.len() > 1 && units.iter().all(|unit| *unit == units[0]))
}

/// Whether a profile is another value of the stacks of those before. Of other writers those of one unit are threads, which may
/// have the same stacks, too.
fn is_column(columns: &[Profile<'_>], next: &Profile<'_>, is_ours: bool) -> bool {
    let Profile::Sampled {
        name,
        unit,
        samples,
        ..
    } = next
    else {
        return false;
    };
    let is_other = |column: &Profile<'_>| match column {
        Profile::Sampled {
            name: other,
            unit: others,
            ..
        } => name != other && (is_ours || value_type("", unit).0 != value_type("", others).0),
        Profile::Evented { .. } => false,
    };
    // Those before have the samples of the first.
    let first = columns.first();
    let is_same = first.is_some_and(|first| match first {
        Profile::Sampled { samples: first, .. } => samples == first,
        Profile::Evented { .. } => false,
    });
    columns.iter().all(is_other) && is_same
}

/// The frames of a file, and where they are in the tables of the profile at hand.
struct Frames<'a> {
    frames: &'a [Frame<'a>],
    /// With the number of the profile: a file may have as many profiles as frames.
    known: Vec<Option<(usize, LocationIndex)>>,
    profile: usize,
}

impl<'a> Frames<'a> {
    fn of(frames: &'a [Frame<'a>]) -> Self {
        Frames {
            frames,
            known: vec![None; frames.len()],
            profile: 0,
        }
    }

    /// Whether there is such a frame.
    fn check(&self, frame: usize) -> Result<&'a Frame<'a>, String> {
        let of = self.frames.get(frame);
        of.ok_or_else(|| format!("frame {frame} is not in the file"))
    }

    fn location(
        &mut self,
        frame: usize,
        tables: &mut Tables,
        budget: &mut Budget,
    ) -> Result<LocationIndex, String> {
        let of = self.check(frame)?;
        // As long as the frames are.
        let known = &mut self.known[frame];
        match known {
            Some((profile, location)) if *profile == self.profile => Ok(*location),
            _ => {
                let new = location(tables, of, budget).map_err(|flaw| flaw.to_string())?;
                *known = Some((self.profile, new));
                Ok(new)
            }
        }
    }
}

/// The samples of one column.
struct Column<'a, 'f> {
    frames: &'a mut Frames<'f>,
    tables: &'a mut Tables,
    budget: &'a mut Budget,
    /// All zero, one for each column.
    values: &'a mut [i64],
    column: usize,
    /// In how many units of the profile a weight is given.
    factor: i64,
    rounding: Rounding,
    /// Of all samples.
    labels: u32,
    /// To be used again.
    stack: Vec<LocationIndex>,
}

impl Column<'_, '_> {
    /// Adds a weight of that stack, leaf first.
    fn add(&mut self, stack: impl Iterator<Item = usize>, weight: i64) -> Result<(), String> {
        self.stack.clear();
        for frame in stack {
            let location = self.frames.location(frame, self.tables, self.budget)?;
            self.stack.push(location);
        }
        self.add_stack(weight).map_err(|flaw| flaw.to_string())
    }

    fn add_stack(&mut self, weight: i64) -> Result<(), Flaw> {
        check_frames(self.stack.len())?;
        self.budget.spend(Of::StackFrames, self.stack.len())?;
        let stack = self.tables.stack(&self.stack)?;
        self.values[self.column] = weight;
        let added = self.tables.add(stack, self.labels, self.values);
        self.values[self.column] = 0;
        added
    }

    fn add_samples(&mut self, samples: &[Vec<usize>], weights: &[Number]) -> Result<(), String> {
        if samples.len() != weights.len() {
            let (samples, weights) = (samples.len(), weights.len());
            return Err(format!("{weights} weights for {samples} samples"));
        }
        for (stack, weight) in samples.iter().zip(weights) {
            let weight = self.rounding.value(*weight, self.factor)?;
            self.add(stack.iter().rev().copied(), weight)?;
        }
        Ok(())
    }

    fn add_events(
        &mut self,
        (start, end): (Number, Number),
        events: &[Event],
    ) -> Result<(), String> {
        let mut calls = Calls::default();
        let mut since = start;
        for event in events {
            let passed = event.at.minus(since);
            let passed = self.rounding.value(passed, self.factor)?;
            calls.add(passed).map_err(|flaw| flaw.to_string())?;
            since = event.at;
            match event.kind {
                EventKind::Open => {
                    self.frames.check(event.frame)?;
                    calls.open(event.frame).map_err(|flaw| flaw.to_string())?;
                }
                EventKind::Close if calls.close(event.frame) => {}
                EventKind::Close => {
                    return Err(format!("frame {} is closed but not open", event.frame));
                }
            }
        }
        // What is open goes on to the end.
        if let Some(frame) = calls.innermost() {
            match self.rounding.value(end.minus(since), self.factor)? {
                passed @ 0.. => calls.add(passed).map_err(|flaw| flaw.to_string())?,
                _ => return Err(format!("frame {frame} is open when the profile ends")),
            }
        }
        for (call, weight) in calls.weights() {
            self.add(calls.stack(call), weight)?;
        }
        Ok(())
    }
}

fn read_columns(
    frames: &mut Frames<'_>,
    columns: &[Profile<'_>],
    is_thread: bool,
    budget: &mut Budget,
) -> Result<model::Profile, (usize, String)> {
    frames.profile += 1;
    let mut tables = Tables::new(columns.len());
    let mut values = vec![0; columns.len()];
    let mut sample_types = Vec::new();
    for (at, profile) in columns.iter().enumerate() {
        let (Profile::Sampled { name, unit, .. } | Profile::Evented { name, unit, .. }) = profile;
        // A thread's name is none of what is measured.
        let (value_type, factor) = value_type(if is_thread { "" } else { name }, unit);
        sample_types.push(value_type);
        let labels = labels(&mut tables, is_thread.then_some(&**name), budget);
        let labels = labels.map_err(|flaw| (at, flaw.to_string()))?;
        let mut column = Column {
            frames,
            tables: &mut tables,
            budget,
            values: &mut values,
            column: at,
            factor,
            rounding: Rounding::default(),
            labels,
            stack: Vec::new(),
        };
        let added = match profile {
            Profile::Sampled {
                samples, weights, ..
            } => column.add_samples(samples, weights),
            Profile::Evented {
                start_value,
                end_value,
                events,
                ..
            } => column.add_events((*start_value, *end_value), events),
        };
        added.map_err(|reason| (at, reason))?;
    }
    Ok(tables.into_profile(sample_types))
}

fn location(
    tables: &mut Tables,
    frame: &Frame<'_>,
    budget: &mut Budget,
) -> Result<LocationIndex, Flaw> {
    let file = frame.file.as_deref().unwrap_or("");
    budget.spend(Of::Entries, 1)?;
    budget.spend(Of::Text, frame.name.len() + file.len())?;
    let function = Function {
        name: tables.string(&frame.name)?,
        system_name: tables.string("")?,
        file: tables.string(file)?,
        start_line: frame.line.unwrap_or(0),
    };
    let function = tables.function(function)?;
    tables.location(&[model::Frame { function, line: 0 }])
}

/// Those of samples of that thread.
fn labels(tables: &mut Tables, thread: Option<&str>, budget: &mut Budget) -> Result<u32, Flaw> {
    let Some(thread) = thread else {
        return tables.labels(&mut []);
    };
    budget.spend(Of::Text, thread.len())?;
    let label = Label {
        key: tables.string("thread")?,
        value: LabelValue::Text(tables.string(thread)?),
    };
    tables.labels(&mut [label])
}

/// What weights are, and in how many of that unit one is given. The name is the kind where [`write`] made it; others write
/// what a person is to read.
fn value_type(name: &str, unit: &str) -> (ValueType, i64) {
    let (kind, unit, factor) = match unit {
        "nanoseconds" => ("time", "nanoseconds", 1),
        "microseconds" => ("time", "nanoseconds", 1_000),
        "milliseconds" => ("time", "nanoseconds", 1_000_000),
        "seconds" => ("time", "nanoseconds", 1_000_000_000),
        "bytes" => ("space", "bytes", 1),
        _ => ("samples", "count", 1),
    };
    let is_kind = crate::builder::is_label_key(name);
    let kind = if is_kind { name } else { kind };
    let value_type = ValueType {
        kind: kind.to_owned(),
        unit: unit.to_owned(),
    };
    (value_type, factor)
}
