//! Tells a profile from a list of spans by content: names can be anything once a file was copied.

use prost::{DecodeError, Message};

use crate::model::fields::Fields;
use crate::otlp::trace::TracesData;

/// What an uncompressed file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// No byte, which is also what a list of no spans looks like.
    Empty,
    /// OTLP spans.
    Spans(TracesData),
    /// Anything else; whether it is a profile, [`crate::model::Profile::from_bytes`] will say.
    Other,
}

impl Content {
    /// Looks at the bytes: a list of spans has field 1 only, and no profile can (it needs strings).
    ///
    /// # Errors
    /// Field 1 only, but what is in it are no spans.
    pub fn of(bytes: &[u8]) -> Result<Content, DecodeError> {
        if bytes.is_empty() {
            return Ok(Content::Empty);
        }
        let only_field_1 = Fields::new(bytes)
            .all(|field| field.is_ok_and(|field| field.number == 1 && field.payload.is_some()));
        if only_field_1 {
            TracesData::decode(bytes).map(Content::Spans)
        } else {
            Ok(Content::Other)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{ProfileBuilder, ValueType};
    use crate::spans::spans_to_traces;

    #[test]
    fn spans_and_profiles_are_told_apart_even_when_empty() {
        let spans = spans_to_traces("shop", []);
        assert_eq!(
            Content::of(&spans.encode_to_vec()),
            Ok(Content::Spans(spans))
        );
        let cpu = ValueType {
            kind: "cpu",
            unit: "nanoseconds",
        };
        let profile = ProfileBuilder::new(&[cpu], cpu, 1).finish();
        assert_eq!(Content::of(&profile.encode_to_vec()), Ok(Content::Other));
        assert_eq!(Content::of(&[]), Ok(Content::Empty));
        assert_eq!(Content::of(b"{\"resourceSpans\":[]}"), Ok(Content::Other));
    }

    #[test]
    fn a_profile_whose_first_field_could_be_spans_is_a_profile() {
        let unset = crate::pprof::Profile {
            sample_type: vec![crate::pprof::ValueType::default()],
            string_table: vec![Vec::new()],
            ..Default::default()
        };
        assert_eq!(Content::of(&unset.encode_to_vec()), Ok(Content::Other));
    }
}
