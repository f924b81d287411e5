//! Which value of a sample is shown, the same over all files, and how many samples it stands on.

use anyhow::{Result, bail};
use serde::Serialize;
use vtprof_profile::formats::collapsed::{SAMPLES, VALUES};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Profile, Sample, ValueType};
use vtprof_profile::window::Window;

use crate::figures::{self, Sum, plural};
use crate::text::printable;

/// The chosen sample type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// E.g. `cpu`.
    pub kind: String,
    /// E.g. `nanoseconds`.
    pub unit: String,
}

/// Chooses a sample type by the first profile and finds it again in the others.
#[derive(Debug, Clone)]
pub struct Chooser {
    wanted: Option<String>,
    measure: Option<Measure>,
    /// Whether every file so far said how many samples a value stands on.
    counted: bool,
    window: Option<(i64, i64)>,
    profiles: usize,
}

/// Reads sums out of the samples of one profile.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    value: usize,
    count: Count,
}

#[derive(Debug, Clone, Copy)]
enum Count {
    /// A sample type counts them.
    Column(usize),
    /// Each stands for a period of the value shown.
    Period(i64),
    /// The file does not say; the records of a file are merged samples and count for nothing.
    Unknown,
}

impl Chooser {
    pub fn new(wanted: Option<&str>) -> Self {
        Chooser {
            wanted: wanted.map(str::to_owned),
            measure: None,
            counted: true,
            window: None,
            profiles: 0,
        }
    }

    /// How to read this profile.
    ///
    /// # Errors
    /// It has no values of the wanted kind, or none of the kind and unit that the first had.
    pub fn reader(&mut self, profile: &Profile) -> Result<Reader> {
        let types = &profile.sample_types;
        let found = match (&self.measure, &self.wanted) {
            (Some(measure), _) => types
                .iter()
                .position(|t| is(t, &measure.kind, &measure.unit)),
            (None, Some(kind)) => profile.sample_type(kind),
            (None, None) => {
                let amount = Kind::of(profile).map(Kind::amount);
                let amount = amount.and_then(|amount| profile.sample_type(amount.kind));
                let default = profile.default_sample_type.or(amount);
                default.or(types.len().checked_sub(1))
            }
        };
        let Some((index, value_type)) = found.and_then(|index| Some((index, types.get(index)?)))
        else {
            let missing = match (&self.measure, &self.wanted) {
                (Some(measure), _) => format!(
                    "{}/{}, which the files before have",
                    measure.kind, measure.unit
                ),
                (None, wanted) => wanted.clone().unwrap_or_default(),
            };
            let has: Vec<_> = types
                .iter()
                .map(|t| format!("{}/{}", t.kind, t.unit))
                .collect();
            let why = if is_told_by_numbers(self.measure.as_ref(), types) {
                ": collapsed stacks are values where all their numbers are 100,000 or more, else samples; convert --value-type KIND/UNIT tells what they are"
            } else {
                ""
            };
            bail!("no sample type {missing}; it has {}{why}", has.join(", "));
        };
        self.measure = Some(Measure {
            kind: value_type.kind.clone(),
            unit: value_type.unit.clone(),
        });

        let count = match count_column(profile) {
            Some(column) => Count::Column(column),
            None if tells_by_period(profile)
                && profile.period > 0
                && profile.period_type.as_ref() == Some(value_type) =>
            {
                Count::Period(profile.period)
            }
            None => Count::Unknown,
        };
        self.counted &= !matches!(count, Count::Unknown);
        self.profiles += 1;
        if let Some(Window { start, end, .. }) = Window::of(profile) {
            self.window = Some(figures::widened(self.window, (start, end)));
        }
        Ok(Reader {
            value: index,
            count,
        })
    }

    /// The same for a sum of profiles that are counted one by one, which may not say how many samples it stands on.
    ///
    /// # Errors
    /// As [`reader`](Self::reader).
    pub fn reader_of_sum(&mut self, sum: &Profile) -> Result<Reader> {
        let mut of_sum = self.clone();
        let reader = of_sum.reader(sum)?;
        self.counted = of_sum.counted;
        Ok(reader)
    }

    /// The chosen sample type; `None` before the first profile.
    pub fn measure(&self) -> Option<&Measure> {
        self.measure.as_ref()
    }

    /// Whether sums know their number of samples.
    pub fn counted(&self) -> bool {
        self.counted
    }

    /// Relative standard error of such a sum; `None` where not all of it knows its number of samples.
    pub fn error(&self, sum: Sum) -> Option<f64> {
        figures::relative_error(sum.samples).filter(|_| self.counted)
    }

    /// Profiles read.
    pub fn profiles(&self) -> usize {
        self.profiles
    }

    /// One line for people: what was measured, on how much.
    pub fn summary(&self, whole: Sum) -> String {
        let Some(measure) = &self.measure else {
            return "no profile".to_owned();
        };
        let mut line = format!(
            "{}: {}",
            measure.kind,
            figures::value(whole.value, &measure.unit)
        );
        if self.counted {
            line += &format!(", {}", plural(whole.samples, "sample"));
        }
        line += &format!(", {}", plural(self.profiles as i128, "profile"));
        if let Some((start, end)) = self.window
            && end > start
        {
            line += &format!(
                " over {}",
                figures::nanos(i128::from(end) - i128::from(start))
            );
        }
        printable(&line)
    }

    /// From the first start to the last end, ns since the Unix epoch.
    pub fn window(&self) -> Option<(i64, i64)> {
        self.window
    }
}

impl Reader {
    pub fn sum(&self, sample: &Sample<'_>) -> Sum {
        let at = |index: usize| sample.values.get(index).copied().map_or(0, i128::from);
        let value = at(self.value);
        let samples = match self.count {
            Count::Column(column) => at(column),
            Count::Period(period) => (value + i128::from(period) / 2) / i128::from(period),
            Count::Unknown => 0,
        };
        Sum { value, samples }
    }
}

fn count_column(profile: &Profile) -> Option<usize> {
    let mut types = profile.sample_types.iter();
    types.position(|of| is(of, "samples", "count"))
}

/// Whether nothing but its period could tell the samples of a profile.
pub fn tells_by_period(profile: &Profile) -> bool {
    // Else what is counted may be an estimate, and one sample may stand for many periods.
    let is_of_samples = Kind::of(profile).is_none_or(Kind::counts_samples);
    is_of_samples && count_column(profile).is_none()
}

/// Whether a file lacks what those before it have because of the size of its numbers, as collapsed stacks say no type.
fn is_told_by_numbers(measure: Option<&Measure>, types: &[ValueType]) -> bool {
    let told = [SAMPLES, VALUES];
    let is_told = |kind: &str, unit: &str| told.contains(&kind) && unit == "count";
    measure.is_some_and(|measure| is_told(&measure.kind, &measure.unit))
        && matches!(types, [only] if is_told(&only.kind, &only.unit))
}

fn is(value_type: &ValueType, kind: &str, unit: &str) -> bool {
    value_type.kind == kind && value_type.unit == unit
}
