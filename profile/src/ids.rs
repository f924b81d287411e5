//! Trace and span ids as W3C Trace Context and OpenTelemetry write them.
//!
//! Newtypes, because a trace id, a current span id and a local root span id look the same once
//! they are text, and a profile that mixes them up is a profile with wrong tags.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A 16-byte trace id. Text form: 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// An 8-byte span id as a big-endian number. Text form: 16 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub u64);

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// Not the number of digits the id has.
    #[error("'{text}' has {found} characters, an id of this kind has {wanted} hex digits")]
    Length {
        /// The text as given.
        text: String,
        /// Characters found.
        found: usize,
        /// Hex digits wanted: 32 for a trace id, 16 for a span id.
        wanted: usize,
    },
    /// A character that is no hex digit.
    #[error("'{0}' is not hexadecimal")]
    Digit(String),
    /// All zero, which W3C Trace Context defines as "no id".
    #[error("'{0}' is all zero, which means no id")]
    Zero(String),
}

impl TraceId {
    /// The id made of two big-endian halves, as Java's `long` pairs carry it.
    pub fn from_halves(hi: u64, lo: u64) -> Self {
        TraceId(((u128::from(hi) << 64) | u128::from(lo)).to_be_bytes())
    }

    /// The id in an OTLP `bytes` field; `None` unless it is 16 bytes and not all zero.
    pub fn from_wire(bytes: &[u8]) -> Option<Self> {
        let id = TraceId(bytes.try_into().ok()?);
        (!id.is_zero()).then_some(id)
    }

    /// All zero means "no trace".
    pub fn is_zero(self) -> bool {
        self.0 == [0; 16]
    }
}

impl SpanId {
    /// The id in an OTLP `bytes` field; `None` unless it is 8 bytes and not all zero.
    pub fn from_wire(bytes: &[u8]) -> Option<Self> {
        let id = SpanId(u64::from_be_bytes(bytes.try_into().ok()?));
        (!id.is_zero()).then_some(id)
    }

    /// The bytes of an OTLP `bytes` field.
    pub fn to_wire(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Zero means "no span".
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceId({self})")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpanId({self})")
    }
}

/// Reads exactly `digits` hex digits, either case. `from_str_radix` alone would take a sign.
fn parse_hex(text: &str, digits: usize) -> Result<u128, IdError> {
    let found = text.chars().count();
    if found != digits {
        return Err(IdError::Length {
            text: text.to_owned(),
            found,
            wanted: digits,
        });
    }
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(IdError::Digit(text.to_owned()));
    }
    match u128::from_str_radix(text, 16) {
        Ok(0) => Err(IdError::Zero(text.to_owned())),
        Ok(value) => Ok(value),
        Err(_) => Err(IdError::Digit(text.to_owned())),
    }
}

impl FromStr for TraceId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Ok(TraceId(parse_hex(text, 32)?.to_be_bytes()))
    }
}

impl FromStr for SpanId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let value = parse_hex(text, 16)?;
        u64::try_from(value)
            .map(SpanId)
            .map_err(|_| IdError::Digit(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_as_padded_lower_case_hex_and_read_back() {
        let trace = TraceId::from_halves(0xAB, 0xCD00);
        assert_eq!(trace.to_string(), "00000000000000ab000000000000cd00");
        assert_eq!(trace.to_string().parse(), Ok(trace));
        let span = SpanId(0xF00D);
        assert_eq!(span.to_string(), "000000000000f00d");
        assert_eq!("000000000000F00D".parse(), Ok(span));
    }

    #[test]
    fn a_text_that_is_no_id_says_what_is_wrong() {
        let length = "123"
            .parse::<SpanId>()
            .expect_err("three digits are no span id");
        assert_eq!(
            length.to_string(),
            "'123' has 3 characters, an id of this kind has 16 hex digits"
        );
        assert_eq!(
            "+00000000000f00d".parse::<SpanId>(),
            Err(IdError::Digit("+00000000000f00d".into()))
        );
        assert_eq!(
            "0000000000000000".parse::<SpanId>(),
            Err(IdError::Zero("0".repeat(16)))
        );
        assert!("é".repeat(16).parse::<SpanId>().is_err());
    }

    #[test]
    fn wire_ids_of_the_wrong_length_or_all_zero_are_no_ids() {
        assert_eq!(SpanId::from_wire(&SpanId(7).to_wire()), Some(SpanId(7)));
        assert_eq!(SpanId::from_wire(&[]), None);
        assert_eq!(SpanId::from_wire(&[0; 8]), None);
        assert_eq!(TraceId::from_wire(&[1; 15]), None);
        assert_eq!(TraceId::from_wire(&[1; 16]), Some(TraceId([1; 16])));
    }
}
