//! The string table: all texts in one buffer.
//!
//! One buffer and not a `Vec<String>`: a file can hold millions of empty strings at two bytes each.

use super::error::{Flaw, ModelError};
use super::fields::{Framed, each, index};

const STRING_TABLE: u64 = 6;

/// A text of the profile's string table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StringIndex(u32);

impl_index!(StringIndex);

/// Where the texts that one looks for are: see [`Strings::find`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyIndices {
    /// Ascending: a file may hold a text a million times.
    indices: Vec<StringIndex>,
}

impl KeyIndices {
    /// Whether that is one of them.
    pub fn contains(&self, index: &StringIndex) -> bool {
        match self.indices.as_slice() {
            [one] => one == index,
            all => all.binary_search(index).is_ok(),
        }
    }
}

/// The texts of a profile.
#[derive(Debug)]
pub struct Strings {
    text: String,
    /// End of each string in `text`.
    ends: Vec<usize>,
}

impl Strings {
    /// No text, not even the empty one.
    #[cfg(feature = "merge")]
    pub(crate) fn none() -> Self {
        Strings {
            text: String::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn read(framed: &Framed<'_>) -> Result<Self, ModelError> {
        let mut strings = Strings {
            text: String::new(),
            ends: Vec::new(),
        };
        each(framed, STRING_TABLE, "string", |_, payload| {
            if strings.ends.is_empty() && !payload.is_empty() {
                return Err(Flaw::FirstString);
            }
            strings.push(&String::from_utf8_lossy(payload)).map(drop)
        })?;
        if strings.ends.is_empty() {
            return Err(ModelError::in_header("string table", Flaw::Missing));
        }
        Ok(strings)
    }

    /// Adds a text, also one that is there.
    ///
    /// # Errors
    /// There are as many as there can be.
    pub fn push(&mut self, text: &str) -> Result<StringIndex, Flaw> {
        let next = index(self.ends.len())?;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        Ok(StringIndex(next))
    }

    /// The index as the file has it, checked.
    pub(super) fn resolve(&self, index: i64) -> Result<StringIndex, Flaw> {
        let len = self.ends.len();
        match u32::try_from(index) {
            Ok(small) if (small as usize) < len => Ok(StringIndex(small)),
            _ => Err(Flaw::String { index, len }),
        }
    }

    /// The text. `index` must be of this table.
    pub fn get(&self, index: StringIndex) -> &str {
        let i = index.0 as usize;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[i]]
    }

    /// Every index of that text: a writer may have stored it twice, or not at all.
    pub fn find(&self, text: &str) -> KeyIndices {
        self.find_any(&[text])
    }

    /// Every index of one of these texts.
    pub fn find_any(&self, texts: &[&str]) -> KeyIndices {
        let mut start = 0;
        let mut indices = Vec::new();
        for (i, &end) in (0..).zip(&self.ends) {
            let found = &self.text.as_bytes()[start..end];
            if texts.iter().any(|text| text.as_bytes() == found) {
                indices.push(StringIndex(i));
            }
            start = end;
        }
        KeyIndices { indices }
    }

    /// All texts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.text[start..end])
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true for a profile that was read: the first string is the empty one.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
