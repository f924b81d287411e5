//! Adds profiles up: one table of each sort for all of them, so that memory is that of the result and not of the input.
//!
//! Texts, functions, places, stacks and sets of labels of a file are looked up once a file. A sample is then two numbers,
//! found by their hash among those that are there.

mod comments;
mod error;
mod tables;
#[cfg(test)]
mod tests;

pub use error::MergeError;

use crate::model::{
    Flaw, Frame, Function, FunctionIndex, Label, LabelValue, LocationIndex, Profile, StringIndex,
    ValueType,
};
use crate::window::Window;
use comments::Comments;
pub(crate) use tables::Tables;

/// When and how often samples were taken, of all profiles together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Times {
    period: i64,
    time_nanos: i64,
    duration_nanos: i64,
}

/// Adds profiles up; see the module.
#[derive(Debug)]
pub struct Merger {
    tables: Tables,
    sample_types: Vec<ValueType>,
    default_sample_type: Option<usize>,
    period_type: Option<ValueType>,
    times: Times,
    has_several_periods: bool,
    windows: Vec<Window>,
    comments: Comments,
    profiles: u64,
}

/// No index of a table: the entry of the file was not met yet.
const UNMET: u32 = u32::MAX;
/// No index of a table: samples with these labels do not count.
const LEFT_OUT: u32 = u32::MAX - 1;

/// What entries of a file are called in the sum.
struct Names {
    strings: Vec<u32>,
    functions: Vec<u32>,
    locations: Vec<u32>,
    stacks: Vec<u32>,
    label_sets: Vec<u32>,
    /// The frames, stack and labels at hand.
    frames: Vec<Frame>,
    stack: Vec<LocationIndex>,
    labels: Vec<Label>,
}

impl Names {
    fn none(profile: &Profile) -> Self {
        let unmet = |len: usize| vec![UNMET; len];
        Names {
            strings: unmet(profile.strings.len()),
            functions: unmet(profile.functions.len()),
            locations: unmet(profile.locations.len()),
            stacks: unmet(profile.samples.stacks.len()),
            label_sets: unmet(profile.samples.label_sets.len()),
            frames: Vec::new(),
            stack: Vec::new(),
            labels: Vec::new(),
        }
    }
}

impl Default for Merger {
    fn default() -> Self {
        Self::new()
    }
}

impl Merger {
    /// The sum of nothing.
    #[must_use]
    pub fn new() -> Self {
        Merger {
            tables: Tables::new(0),
            sample_types: Vec::new(),
            default_sample_type: None,
            period_type: None,
            times: Times::default(),
            has_several_periods: false,
            windows: Vec::new(),
            comments: Comments::default(),
            profiles: 0,
        }
    }

    /// Adds all samples of `profile`.
    ///
    /// # Errors
    /// Its values are not those of the ones before, or the sum is too large to be told by pprof. In the second case it
    /// may hold a part of `profile`.
    pub fn add(&mut self, profile: &Profile) -> Result<(), MergeError> {
        self.add_by_labels(profile, |_| true)
    }

    /// Adds those samples of `profile` for whose labels `keep` is true. It is asked once for each set of labels, not for
    /// each sample, and may take some away or change them; whatever it leaves there must be of `profile`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_by_labels(
        &mut self,
        profile: &Profile,
        mut keep: impl FnMut(&mut Vec<Label>) -> bool,
    ) -> Result<(), MergeError> {
        self.agree(profile)?;
        let mut names = Names::none(profile);
        let mut labels = Vec::new();
        for (row, values) in profile.samples.rows() {
            let mut label_set = names.label_sets[row.labels as usize];
            if label_set == UNMET {
                labels.clear();
                labels.extend_from_slice(profile.samples.label_sets.get(row.labels));
                label_set = if keep(&mut labels) {
                    self.labels(profile, &labels, &mut names)?
                } else {
                    LEFT_OUT
                };
                names.label_sets[row.labels as usize] = label_set;
            }
            if label_set != LEFT_OUT {
                let stack = self.stack(profile, row.stack, &mut names)?;
                self.tables.add(stack, label_set, values)?;
            }
        }
        self.conclude(profile);
        Ok(())
    }

    /// Profiles added so far.
    #[must_use]
    pub fn profiles(&self) -> u64 {
        self.profiles
    }

    /// Whether profiles differ in how often samples were taken, so that none of their periods tells samples of the sum.
    #[must_use]
    pub fn has_several_periods(&self) -> bool {
        self.has_several_periods
    }

    /// The sum; `None` of nothing.
    #[must_use]
    pub fn finish(self) -> Option<Profile> {
        (self.profiles > 0).then(|| {
            let mut comments = self.comments.lines();
            let without = self.profiles - self.windows.len() as u64;
            if without == 0 {
                let window = Window::together(&self.windows);
                comments.extend(window.and_then(|all| all.line(self.times.duration_nanos)));
            } else if self.times.time_nanos > 0 && self.times.duration_nanos > 0 {
                // The head tells the time of the others alone.
                comments.push(Window::line_without(without));
            }
            let sum = self.tables.into_profile(self.sample_types);
            Profile {
                default_sample_type: self.default_sample_type,
                period_type: self.period_type,
                period: self.times.period,
                time_nanos: self.times.time_nanos,
                duration_nanos: self.times.duration_nanos,
                comments,
                ..sum
            }
        })
    }

    fn agree(&mut self, profile: &Profile) -> Result<(), MergeError> {
        if self.sample_types.is_empty() {
            self.sample_types.clone_from(&profile.sample_types);
            self.tables = Tables::new(self.sample_types.len());
            self.period_type.clone_from(&profile.period_type);
            self.times.period = profile.period;
        } else if self.sample_types != profile.sample_types {
            return Err(MergeError::types(&profile.sample_types, &self.sample_types));
        }
        Ok(())
    }

    fn conclude(&mut self, profile: &Profile) {
        self.note_times(profile);
        self.default_sample_type = self.default_sample_type.or(profile.default_sample_type);
        self.comments.add(&profile.comments);
        self.profiles += 1;
    }

    /// As `go tool pprof` has them: the first start, all lengths, the longest period. Periods that count different
    /// things have no longest: then none is told.
    fn note_times(&mut self, profile: &Profile) {
        self.windows.extend(Window::of_all(profile));
        let times = &mut self.times;
        self.has_several_periods |=
            self.period_type != profile.period_type || times.period != profile.period;
        if profile.time_nanos > 0
            && (times.time_nanos == 0 || profile.time_nanos < times.time_nanos)
        {
            times.time_nanos = profile.time_nanos;
        }
        times.duration_nanos = times
            .duration_nanos
            .saturating_add(profile.duration_nanos.max(0));
        if self.period_type == profile.period_type {
            times.period = times.period.max(profile.period);
        } else {
            self.period_type = None;
            times.period = 0;
        }
    }

    fn string(
        &mut self,
        profile: &Profile,
        of: StringIndex,
        names: &mut Names,
    ) -> Result<StringIndex, Flaw> {
        let name = &mut names.strings[of.as_usize()];
        if *name == UNMET {
            *name = self.tables.string(profile.strings.get(of))?.into();
        }
        Ok((*name).into())
    }

    fn function(
        &mut self,
        profile: &Profile,
        of: FunctionIndex,
        names: &mut Names,
    ) -> Result<FunctionIndex, Flaw> {
        if names.functions[of.as_usize()] == UNMET {
            let function = profile.functions.get(of);
            let function = Function {
                name: self.string(profile, function.name, names)?,
                system_name: self.string(profile, function.system_name, names)?,
                file: self.string(profile, function.file, names)?,
                start_line: function.start_line,
            };
            names.functions[of.as_usize()] = self.tables.function(function)?.into();
        }
        Ok(names.functions[of.as_usize()].into())
    }

    fn location(
        &mut self,
        profile: &Profile,
        of: LocationIndex,
        names: &mut Names,
    ) -> Result<LocationIndex, Flaw> {
        if names.locations[of.as_usize()] == UNMET {
            let mut frames = std::mem::take(&mut names.frames);
            frames.clear();
            for frame in profile.locations.frames(of) {
                frames.push(Frame {
                    function: self.function(profile, frame.function, names)?,
                    line: frame.line,
                });
            }
            names.locations[of.as_usize()] = self.tables.location(&frames)?.into();
            names.frames = frames;
        }
        Ok(names.locations[of.as_usize()].into())
    }

    fn stack(&mut self, profile: &Profile, of: u32, names: &mut Names) -> Result<u32, Flaw> {
        if names.stacks[of as usize] == UNMET {
            let mut stack = std::mem::take(&mut names.stack);
            stack.clear();
            for location in profile.samples.stacks.get(of) {
                stack.push(self.location(profile, *location, names)?);
            }
            names.stacks[of as usize] = self.tables.stack(&stack)?;
            names.stack = stack;
        }
        Ok(names.stacks[of as usize])
    }

    fn labels(
        &mut self,
        profile: &Profile,
        labels: &[Label],
        names: &mut Names,
    ) -> Result<u32, Flaw> {
        let mut renamed = std::mem::take(&mut names.labels);
        renamed.clear();
        for label in labels {
            renamed.push(Label {
                key: self.string(profile, label.key, names)?,
                value: match label.value {
                    LabelValue::Text(text) => LabelValue::Text(self.string(profile, text, names)?),
                    LabelValue::Number { value, unit } => LabelValue::Number {
                        value,
                        unit: self.string(profile, unit, names)?,
                    },
                },
            });
        }
        let index = self.tables.labels(&mut renamed)?;
        names.labels = renamed;
        Ok(index)
    }
}
