//! Collapsed (folded) stacks, as `stackcollapse-*` and async-profiler write them and flame graphs are made of: a line a
//! stack, frames from the root parted by semicolons, then a blank and a whole number.
//!
//! There are neither labels nor lines nor several values in it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use thiserror::Error;

use super::functions::{sum, value};
use crate::bounds::check_frames;
use crate::merge::Tables;
use crate::model::{Flaw, Frame, Function, LocationIndex, Profile, ValueType};

/// Stands for a stack without a frame, which a line cannot tell from one without a name.
pub const NO_STACK: &str = "[no stack]";

/// What async-profiler puts behind a frame's name to tell its sort (`ann`): interpreted, compiled, inlined, C1, kernel.
const SORTS: [&str; 5] = ["_[0]", "_[j]", "_[i]", "_[1]", "_[k]"];

/// Where no number is less than this, they are no samples but times or bytes: of samples, some stack has few.
const LEAST: u64 = 100_000;
/// What numbers are of which nothing is told.
pub const SAMPLES: &str = "samples";
/// What they are where they cannot be that.
pub const VALUES: &str = "values";

/// Text that is no collapsed stacks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CollapsedError {
    /// A line without a number at its end.
    #[error("line {line}: no whole number at its end: not collapsed stacks")]
    NoNumber {
        /// Its number, from 1.
        line: usize,
    },
    /// No line.
    #[error("no stack in it")]
    Empty,
    /// What `flame --base` and `difffolded.pl` write.
    #[error(
        "two numbers on each line: the difference of two profiles, which has no one sum; give those it was made of, or, where the first is a part of a name, convert it with --value-type samples/count"
    )]
    Difference,
    /// Too much of it.
    #[error("line {line}: {flaw}")]
    Full {
        /// Number of the line, from 1.
        line: usize,
        /// What is full.
        flaw: Flaw,
    },
}

/// Reads stacks, whose numbers are of that type. Where none is told they are [`SAMPLES`], or [`VALUES`] where they are too
/// large for that. Bytes that are no UTF-8 are replaced; what async-profiler says of a frame's sort is left out, as the same
/// method is one function however it ran.
///
/// # Errors
/// A line without a number, or no line; two numbers on each line where no type is told.
pub fn read(bytes: &[u8], told: Option<ValueType>) -> Result<Profile, CollapsedError> {
    let mut tables = Tables::new(1);
    let mut stack = Vec::new();
    let (mut has_line, mut are_two) = (false, told.is_none());
    let mut stacks = HashSet::new();
    let mut least = None;
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let text = text.trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        has_line = true;
        let blank = text.iter().rposition(|byte| byte.is_ascii_whitespace());
        let (frames, number) = text.split_at(blank.map_or(0, |blank| blank + 1));
        let number: i64 = std::str::from_utf8(number)
            .ok()
            .and_then(|number| number.parse().ok())
            .ok_or(CollapsedError::NoNumber { line })?;
        // In a difference a stack is on one line, and what is left of names that end in numbers often on several.
        are_two = are_two && before_number(frames).is_some_and(|stack| stacks.insert(stack));
        let frames = String::from_utf8_lossy(frames);
        let frames = frames.trim_ascii_end();
        if number != 0 {
            let number = number.unsigned_abs();
            least = Some(least.map_or(number, |least: u64| least.min(number)));
        }
        add(&mut tables, &mut stack, frames, number)
            .map_err(|flaw| CollapsedError::Full { line, flaw })?;
    }
    if !has_line {
        return Err(CollapsedError::Empty);
    }
    if are_two {
        return Err(CollapsedError::Difference);
    }
    let value_type = told.unwrap_or_else(|| {
        let are_large = least.is_some_and(|least| least >= LEAST);
        ValueType {
            kind: if are_large { VALUES } else { SAMPLES }.to_owned(),
            unit: "count".to_owned(),
        }
    });
    Ok(tables.into_profile(vec![value_type]))
}

/// What is before a number at the end, if there is one.
fn before_number(frames: &[u8]) -> Option<&[u8]> {
    let frames = frames.trim_ascii_end();
    let blank = frames.iter().rposition(u8::is_ascii_whitespace)?;
    let (stack, number) = frames.split_at(blank + 1);
    let number: Result<i64, _> = std::str::from_utf8(number).ok()?.parse();
    number.is_ok().then(|| stack.trim_ascii_end())
}

/// Adds a line. `stack` is there to be used again.
fn add(
    tables: &mut Tables,
    stack: &mut Vec<LocationIndex>,
    frames: &str,
    number: i64,
) -> Result<(), Flaw> {
    stack.clear();
    if !frames.is_empty() && frames != NO_STACK {
        for frame in frames.rsplit(';') {
            let mut sorts = SORTS.iter();
            let name = sorts.find_map(|sort| frame.strip_suffix(sort));
            let name = name.unwrap_or(frame);
            let function = Function {
                name: tables.string(if name.is_empty() { "[unnamed]" } else { name })?,
                system_name: tables.string("")?,
                file: tables.string("")?,
                start_line: 0,
            };
            let function = tables.function(function)?;
            stack.push(tables.location(&[Frame { function, line: 0 }])?);
        }
    }
    check_frames(stack.len())?;
    let stack = tables.stack(stack)?;
    let labels = tables.labels(&mut [])?;
    tables.add(stack, labels, &[number])
}

/// A name as a frame of a line. What would end a frame or a line is replaced, `;` by `:`, what controls by a blank; and the
/// blank before a number at the end by `_`, as of two numbers readers take the first for a value as well.
pub fn frame(name: &str) -> String {
    let clean = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    let mut name: String = name.chars().map(clean).collect();
    let is_number = |text: &str| {
        let mut bytes = text.bytes();
        !text.is_empty() && bytes.all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if let Some((head, tail)) = name.rsplit_once(' ')
        && is_number(tail)
    {
        name = format!("{head}_{tail}");
    }
    name
}

/// Writes the sums of that sample type by stacks of functions, named as [`frame`] has it; those of 0 are left out.
///
/// # Errors
/// Those of the writer.
pub fn write(profile: &Profile, sample_type: usize, out: &mut impl Write) -> io::Result<()> {
    let mut names = HashMap::new();
    for (index, function) in profile.functions.iter() {
        names.insert(index, frame(profile.strings.get(function.name)));
    }
    for stack in sum(profile, |function| function.name) {
        let value = value(stack.values.get(sample_type).copied().unwrap_or(0))?;
        if value == 0 {
            continue;
        }
        let mut first = true;
        for function in &stack.stack {
            if !std::mem::take(&mut first) {
                out.write_all(b";")?;
            }
            out.write_all(names.get(function).map_or("", String::as_str).as_bytes())?;
        }
        if first {
            out.write_all(NO_STACK.as_bytes())?;
        }
        writeln!(out, " {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_neither_itself_nor_its_line_nor_in_a_number() {
        for (name, written) in [
            ("a;b\nc", "a:b c"),
            ("GET /item 7", "GET /item_7"),
            ("step 1 2.5", "step 1_2.5"),
            ("GET /item7", "GET /item7"),
            ("page 7a", "page 7a"),
            ("7", "7"),
            ("end ", "end "),
        ] {
            assert_eq!(frame(name), written);
        }
    }
}
