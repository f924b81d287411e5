//! Entries of a dictionary as those of a profile's tables.
//!
//! All profiles of a message share a dictionary, and a sample names whole stacks and lists of it in a few bytes. So each
//! entry is looked at once a profile, however often it is named, and what that takes is counted ([`crate::bounds`]).

use std::borrow::Cow;
use std::ops::Range;

use super::memo::{Memo, of};
use super::profiles::{KeyValueAndUnit, Location, ProfilesDictionary, ValueType};
use super::trace::{AnyValue, any_value};
use super::write_profiles::{SPAN_LABEL, TRACE_LABEL};
use crate::bounds::{Budget, Of, check_frames};
use crate::ids::{SpanId, TraceId};
use crate::merge::Tables;
use crate::model::{
    self, Flaw, Frame, FunctionIndex, Label, LabelValue, LocationIndex, StringIndex,
};

const UNKNOWN: &str = "[unknown]";

/// A stack of the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stack {
    index: u32,
    /// Inlined ones included.
    frames: usize,
}

/// A dictionary, and what is known of its entries.
pub(super) struct Known<'a> {
    dictionary: &'a ProfilesDictionary,
    /// Number of the profile at hand.
    profile: u32,
    strings: Memo<StringIndex>,
    functions: Memo<FunctionIndex>,
    locations: Memo<(LocationIndex, usize)>,
    stacks: Memo<Stack>,
    /// Where its labels are, and bytes of their texts.
    attributes: Memo<(Range<usize>, usize)>,
    /// What attributes of the profile at hand are.
    labels: Vec<Label>,
}

impl<'a> Known<'a> {
    pub fn of(dictionary: &'a ProfilesDictionary) -> Self {
        Known {
            dictionary,
            profile: 0,
            strings: Memo::of(dictionary.string_table.len()),
            functions: Memo::of(dictionary.function_table.len()),
            locations: Memo::of(dictionary.location_table.len()),
            stacks: Memo::of(dictionary.stack_table.len()),
            attributes: Memo::of(dictionary.attribute_table.len()),
            labels: Vec::new(),
        }
    }
}

/// A text of a value.
enum Text<'a> {
    Indexed(i32),
    Plain(Cow<'a, str>),
}

/// The tables of a profile that are filled from a dictionary.
pub(super) struct Entries<'a, 'm> {
    dictionary: &'a ProfilesDictionary,
    known: &'m mut Known<'a>,
    budget: &'m mut Budget,
    tables: Tables,
}

impl<'a, 'm> Entries<'a, 'm> {
    /// Empty tables of the next profile, whose samples have `width` values.
    pub fn of(known: &'m mut Known<'a>, width: usize, budget: &'m mut Budget) -> Self {
        // No message has 2^32 profiles: each is of bytes that it has.
        known.profile = known.profile.wrapping_add(1);
        known.labels.clear();
        Entries {
            dictionary: known.dictionary,
            known,
            budget,
            tables: Tables::new(width),
        }
    }

    pub fn into_profile(self, sample_types: Vec<model::ValueType>) -> model::Profile {
        self.tables.into_profile(sample_types)
    }

    /// Adds a sample of that stack and these labels.
    pub fn add(&mut self, stack: Stack, labels: &mut [Label], values: &[i64]) -> Result<(), Flaw> {
        self.budget.spend(Of::SampleFrames, stack.frames)?;
        let labels = self.tables.labels(labels)?;
        self.tables.add(stack.index, labels, values)
    }

    fn text(&self, index: i32) -> Result<&'a str, Flaw> {
        let len = self.dictionary.string_table.len();
        match of(&self.dictionary.string_table, index) {
            Some(text) => Ok(text),
            // What a file says by leaving it out needs no table.
            None if index == 0 => Ok(""),
            None => Err(Flaw::String {
                index: index.into(),
                len,
            }),
        }
    }

    /// The text in the tables.
    fn string(&mut self, index: i32) -> Result<StringIndex, Flaw> {
        if let Some(known) = self.known.strings.get(index, self.known.profile) {
            return Ok(known);
        }
        let text = self.text(index)?;
        self.budget.spend(Of::Entries, 1)?;
        let string = self.new_string(text)?;
        self.known.strings.set(index, self.known.profile, string);
        Ok(string)
    }

    fn new_string(&mut self, text: &str) -> Result<StringIndex, Flaw> {
        self.budget.spend(Of::Text, text.len())?;
        self.tables.string(text)
    }

    pub fn value_type(&mut self, of: &ValueType) -> Result<model::ValueType, Flaw> {
        let mut text = |index| {
            let text = self.text(index)?;
            self.budget.spend(Of::Text, text.len())?;
            Ok::<_, Flaw>(text.to_owned())
        };
        Ok(model::ValueType {
            kind: text(of.type_strindex)?,
            unit: text(of.unit_strindex)?,
        })
    }

    fn attribute(&self, index: i32) -> Result<&'a KeyValueAndUnit, Flaw> {
        of(&self.dictionary.attribute_table, index).ok_or(dangling("attribute", index))
    }

    /// Key of an attribute.
    pub fn key(&self, attribute: i32) -> Result<&'a str, Flaw> {
        self.text(self.attribute(attribute)?.key_strindex)
    }

    /// Adds the texts of an attribute that is comments.
    pub fn lines(&mut self, attribute: i32, lines: &mut Vec<String>) -> Result<(), Flaw> {
        let attribute = self.attribute(attribute)?;
        let mut texts = Vec::new();
        self.texts(attribute.value.as_ref(), &mut String::new(), &mut texts)?;
        for text in texts {
            let text = match text {
                Text::Indexed(index) => Cow::Borrowed(self.text(index)?),
                Text::Plain(text) => text,
            };
            self.budget.spend(Of::Comments, 1)?;
            self.budget.spend(Of::Text, text.len())?;
            lines.push(text.into_owned());
        }
        Ok(())
    }

    /// Adds the labels that tell of a link.
    pub fn link(&mut self, index: i32, labels: &mut Vec<Label>) -> Result<(), Flaw> {
        let link = of(&self.dictionary.link_table, index).ok_or(dangling("link", index))?;
        let ids = [
            (
                TRACE_LABEL,
                TraceId::from_wire(&link.trace_id).map(|id| id.to_string()),
            ),
            (
                SPAN_LABEL,
                SpanId::from_wire(&link.span_id).map(|id| id.to_string()),
            ),
        ];
        for (key, id) in ids {
            if let Some(id) = id {
                let key = self.tables.string(key)?;
                let value = LabelValue::Text(self.tables.string(&id)?);
                labels.push(Label { key, value });
            }
        }
        Ok(())
    }

    /// Adds the labels that an attribute is.
    pub fn labels(&mut self, index: i32, labels: &mut Vec<Label>) -> Result<(), Flaw> {
        let known = self.known.attributes.get(index, self.known.profile);
        let (range, text) = match known {
            Some(known) => known,
            None => {
                let first = self.known.labels.len();
                let text = self.make_labels(self.attribute(index)?)?;
                let made = (first..self.known.labels.len(), text);
                let profile = self.known.profile;
                self.known.attributes.set(index, profile, made.clone());
                made
            }
        };
        self.budget.spend(Of::Labels, range.len())?;
        self.budget.spend(Of::SampleText, text)?;
        labels.extend_from_slice(self.known.labels.get(range).unwrap_or_default());
        Ok(())
    }

    /// Adds the labels of an attribute to those known; bytes of their texts.
    fn make_labels(&mut self, attribute: &'a KeyValueAndUnit) -> Result<usize, Flaw> {
        let key = self.string(attribute.key_strindex)?;
        let value = attribute.value.as_ref();
        if let Some(any_value::Value::Int(number)) = value.and_then(|value| value.value.as_ref()) {
            let value = LabelValue::Number {
                value: *number,
                unit: self.string(attribute.unit_strindex)?,
            };
            self.known.labels.push(Label { key, value });
            return Ok(0);
        }
        let mut texts = Vec::new();
        self.texts(value, &mut String::new(), &mut texts)?;
        self.budget.spend(Of::Labels, texts.len())?;
        let mut bytes = 0_usize;
        for text in texts {
            let len = match &text {
                Text::Indexed(index) => self.text(*index)?.len(),
                Text::Plain(text) => text.len(),
            };
            // In pprof an empty text is none.
            if len == 0 {
                continue;
            }
            bytes = bytes.saturating_add(len);
            let value = match text {
                Text::Indexed(index) => self.string(index)?,
                Text::Plain(text) => self.new_string(&text)?,
            };
            let value = LabelValue::Text(value);
            self.known.labels.push(Label { key, value });
        }
        Ok(bytes)
    }

    /// A value as text; of a list each of its entries. `before` is the keys of the maps that it is in. Values without a text
    /// are counted, too: an attribute of many of them may be named again and again.
    fn texts(
        &mut self,
        value: Option<&'a AnyValue>,
        before: &mut String,
        texts: &mut Vec<Text<'a>>,
    ) -> Result<(), Flaw> {
        use any_value::Value;
        self.budget.spend(Of::Entries, 1)?;
        let text = match value.and_then(|value| value.value.as_ref()) {
            None => return Ok(()),
            Some(Value::Array(list)) => {
                for value in &list.values {
                    self.texts(Some(value), before, texts)?;
                }
                return Ok(());
            }
            Some(Value::KeyValueList(list)) => {
                let len = before.len();
                for entry in &list.values {
                    before.push_str(&entry.key);
                    before.push('=');
                    self.texts(entry.value.as_ref(), before, texts)?;
                    before.truncate(len);
                }
                return Ok(());
            }
            Some(Value::StringIndex(index)) if before.is_empty() => {
                texts.push(Text::Indexed(*index));
                return Ok(());
            }
            Some(Value::StringIndex(index)) => self.text(*index)?.into(),
            Some(Value::String(text)) => text.as_str().into(),
            Some(Value::Bool(is)) => is.to_string().into(),
            Some(Value::Int(number)) => number.to_string().into(),
            Some(Value::Double(number)) => number.to_string().into(),
            Some(Value::Bytes(bytes)) => {
                let hex = |byte: &u8| format!("{byte:02x}");
                bytes.iter().map(hex).collect::<String>().into()
            }
        };
        texts.push(Text::Plain(if before.is_empty() {
            text
        } else {
            self.budget.spend(Of::Text, before.len() + text.len())?;
            format!("{before}{text}").into()
        }));
        Ok(())
    }

    pub fn stack(&mut self, index: i32) -> Result<Stack, Flaw> {
        if let Some(known) = self.known.stacks.get(index, self.known.profile) {
            return Ok(known);
        }
        let locations = match of(&self.dictionary.stack_table, index) {
            Some(stack) => stack.location_indices.as_slice(),
            None if index == 0 => &[],
            None => return Err(dangling("stack", index)),
        };
        let mut stack = Vec::new();
        let mut frames = 0;
        for location in locations {
            let (location, of_location) = self.location(*location)?;
            frames += of_location;
            stack.push(location);
        }
        check_frames(frames)?;
        self.budget.spend(Of::SharedFrames, frames)?;
        let index_there = self.tables.stack(&stack)?;
        let stack = Stack {
            index: index_there,
            frames,
        };
        self.known.stacks.set(index, self.known.profile, stack);
        Ok(stack)
    }

    /// With the number of its frames.
    fn location(&mut self, index: i32) -> Result<(LocationIndex, usize), Flaw> {
        if let Some(known) = self.known.locations.get(index, self.known.profile) {
            return Ok(known);
        }
        let location =
            of(&self.dictionary.location_table, index).ok_or(dangling("location", index))?;
        self.budget.spend(Of::Entries, 1)?;
        // Before they are looked at: another stack may have it, but not one of fewer frames.
        check_frames(location.lines.len())?;
        let mut frames = Vec::new();
        for line in &location.lines {
            frames.push(Frame {
                function: self.function(line.function_index)?,
                line: line.line,
            });
        }
        if frames.is_empty() {
            let name = self.address(location)?;
            let function = self.named(&name)?;
            frames.push(Frame { function, line: 0 });
        }
        let location = (self.tables.location(&frames)?, frames.len());
        self.known
            .locations
            .set(index, self.known.profile, location);
        Ok(location)
    }

    fn function(&mut self, index: i32) -> Result<FunctionIndex, Flaw> {
        if index == 0 {
            return self.named(UNKNOWN);
        }
        if let Some(known) = self.known.functions.get(index, self.known.profile) {
            return Ok(known);
        }
        let function =
            of(&self.dictionary.function_table, index).ok_or(dangling("function", index))?;
        self.budget.spend(Of::Entries, 1)?;
        let system_name = self.text(function.system_name_strindex)?;
        // Who reads functions reads the texts of each.
        let texts = [function.name_strindex, function.filename_strindex];
        for text in texts {
            let text = self.text(text)?;
            self.budget.spend(Of::Text, text.len())?;
        }
        self.budget.spend(Of::Text, system_name.len())?;
        let name = match self.text(function.name_strindex)? {
            "" if system_name.is_empty() => self.tables.string(UNKNOWN)?,
            "" => self.string(function.system_name_strindex)?,
            _ => self.string(function.name_strindex)?,
        };
        let function = model::Function {
            name,
            system_name: self.string(function.system_name_strindex)?,
            file: self.string(function.filename_strindex)?,
            start_line: function.start_line,
        };
        let function = self.tables.function(function)?;
        self.known
            .functions
            .set(index, self.known.profile, function);
        Ok(function)
    }

    /// A function of that name, of which nothing else is known.
    fn named(&mut self, name: &str) -> Result<FunctionIndex, Flaw> {
        let name = self.tables.string(name)?;
        let none: StringIndex = self.tables.string("")?;
        self.tables.function(model::Function {
            name,
            system_name: none,
            file: none,
            start_line: 0,
        })
    }

    /// What stands for a location without a function: `object+0xoffset` where the object is known, else the address.
    fn address(&mut self, location: &Location) -> Result<String, Flaw> {
        if location.address == 0 {
            return Ok(UNKNOWN.to_owned());
        }
        let index = location.mapping_index;
        if index == 0 {
            return Ok(format!("{:#x}", location.address));
        }
        let mapping =
            of(&self.dictionary.mapping_table, index).ok_or(dangling("mapping", index))?;
        let path = self.text(mapping.filename_strindex)?;
        let object = path.rsplit('/').next().unwrap_or(path);
        if object.is_empty() {
            return Ok(format!("{:#x}", location.address));
        }
        self.budget.spend(Of::Text, object.len())?;
        let in_file = location
            .address
            .wrapping_sub(mapping.memory_start)
            .wrapping_add(mapping.file_offset);
        Ok(format!("{object}+{in_file:#x}"))
    }
}

fn dangling(table: &'static str, index: i32) -> Flaw {
    Flaw::Index {
        table,
        index: index.into(),
    }
}
