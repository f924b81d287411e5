//! The top-level fields of a protobuf message, one at a time, with their offsets.
//!
//! Why beside prost: prost decodes a message as a whole, which for a profile means every table at
//! once in its most expensive form, and its errors have no offset. The entries themselves are
//! decoded by prost.

use std::ops::Range;

use super::error::{Flaw, ModelError};

/// One field: its number, where it starts, and its bytes when it has any.
pub(crate) struct Field<'a> {
    pub number: u64,
    pub offset: usize,
    /// Where the next begins.
    #[cfg(feature = "formats")]
    pub end: usize,
    /// `None` for numbers, which the header message decodes.
    pub payload: Option<&'a [u8]>,
}

/// Iterates over fields; ends after the first error.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes, at: 0 }
    }

    fn read(&mut self) -> Result<Field<'a>, Flaw> {
        let offset = self.at;
        let key = self.varint()?;
        let number = key >> 3;
        if number == 0 {
            return Err(wire("field number 0: not protobuf"));
        }
        let payload = match key & 7 {
            0 => {
                self.varint()?;
                None
            }
            1 => {
                self.take(8)?;
                None
            }
            2 => {
                let len = self.varint()?;
                Some(self.take(len)?)
            }
            5 => {
                self.take(4)?;
                None
            }
            other => {
                return Err(wire(&format!(
                    "wire type {other}: not a protobuf this reader knows"
                )));
            }
        };
        Ok(Field {
            number,
            offset,
            #[cfg(feature = "formats")]
            end: self.at,
            payload,
        })
    }

    /// The number here.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Flaw> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Flaw> {
        let mut value = 0;
        for (shift, &byte) in (0..64).step_by(7).zip(&self.bytes[self.at..]) {
            value |= u64::from(byte & 0x7f) << shift;
            self.at += 1;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(match self.rest() {
            [] => wire("cut short: 1 bytes announced, 0 left"),
            _ => wire("a number of more than 64 bits: not protobuf"),
        })
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], Flaw> {
        let rest = self.rest();
        let taken = usize::try_from(len)
            .ok()
            .and_then(|len| rest.get(..len))
            .ok_or_else(|| {
                wire(&format!(
                    "cut short: {len} bytes announced, {} left",
                    rest.len()
                ))
            })?;
        self.at += taken.len();
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ModelError>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.at;
        if offset >= self.bytes.len() {
            return None;
        }
        let field = self.read().map_err(ModelError::at("field", offset));
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

fn wire(reason: &str) -> Flaw {
    Flaw::Wire(reason.to_owned())
}

/// The bytes of a message, and between which two the fields of each number are. Writers put those of one number together, so
/// a table is found without walking over the others again.
pub(super) struct Framed<'a> {
    bytes: &'a [u8],
    ranges: [Range<usize>; TABLES],
}

/// Numbers of tables are below.
const TABLES: usize = 8;

impl<'a> Framed<'a> {
    /// Walks over the whole message once, so that a cut or foreign file is reported by offset before a table is filled from
    /// it.
    pub fn check(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let mut ranges: [Range<usize>; TABLES] = Default::default();
        let mut fields = Fields::new(bytes);
        while let Some(field) = fields.next() {
            let field = field?;
            let number = usize::try_from(field.number).ok();
            if let Some(range) = number.and_then(|number| ranges.get_mut(number)) {
                if range.end == 0 {
                    range.start = field.offset;
                }
                range.end = fields.at;
            }
        }
        Ok(Framed { bytes, ranges })
    }

    /// A walk over the fields of that number, and whatever is between them.
    fn fields(&self, number: u64) -> Fields<'a> {
        let range = usize::try_from(number)
            .ok()
            .and_then(|number| self.ranges.get(number))
            .cloned()
            .unwrap_or(0..self.bytes.len());
        Fields {
            bytes: &self.bytes[..range.end],
            at: range.start,
        }
    }
}

/// Calls `entry` with offset and bytes of each field of that number.
pub(super) fn each<'a>(
    framed: &Framed<'a>,
    number: u64,
    part: &'static str,
    mut entry: impl FnMut(usize, &'a [u8]) -> Result<(), Flaw>,
) -> Result<(), ModelError> {
    for field in framed.fields(number) {
        let field = field?;
        if field.number != number {
            continue;
        }
        let payload = field
            .payload
            .ok_or_else(|| wire("a number where a message should be: not pprof"));
        payload
            .and_then(|payload| entry(field.offset, payload))
            .map_err(ModelError::at(part, field.offset))?;
    }
    Ok(())
}

/// Decodes one entry into `message`, whose memory is used again.
pub(super) fn decode_into<M: prost::Message>(message: &mut M, payload: &[u8]) -> Result<(), Flaw> {
    message.clear();
    message
        .merge(payload)
        .map_err(|e| Flaw::Wire(e.to_string()))
}

/// A table's next index. The last two are left free, for side tables that note more than an index.
pub(crate) fn index(len: usize) -> Result<u32, Flaw> {
    u32::try_from(len)
        .ok()
        .filter(|index| *index < u32::MAX - 1)
        .ok_or(Flaw::TooMany)
}
