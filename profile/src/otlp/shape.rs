//! What a message of OTLP becomes when it is decoded, before it is: an empty message is two bytes, and a span without a
//! field more than two hundred.

use std::mem::size_of;

use super::profiles::{
    Function, KeyValueAndUnit, Line, Link, Location, Mapping, Profile, ProfilesDictionary,
    ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
};
use super::trace::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, Resource, ResourceSpans,
    ScopeSpans, Span, Status,
};
use crate::bounds::{Budget, Of};
use crate::model::fields::Fields;
use crate::model::{Flaw, ModelError};

/// As deep as prost goes down into a message, and a JSON reader, too.
const DEEPEST: u32 = 100;

/// A message: its size in memory, and those in it by the numbers of their fields.
#[derive(Debug)]
pub(crate) struct Shape {
    size: usize,
    parts: &'static [(u64, &'static Shape)],
}

const fn shape<T>(parts: &'static [(u64, &'static Shape)]) -> Shape {
    Shape {
        size: size_of::<T>(),
        parts,
    }
}

/// [`TracesData`](super::trace::TracesData).
pub(crate) static TRACES: Shape = shape::<()>(&[(1, &RESOURCE_SPANS)]);
static RESOURCE_SPANS: Shape = shape::<ResourceSpans>(&[(1, &RESOURCE), (2, &SCOPE_SPANS)]);
static RESOURCE: Shape = shape::<Resource>(&[(1, &KEY_VALUE)]);
static SCOPE_SPANS: Shape = shape::<ScopeSpans>(&[(1, &SCOPE), (2, &SPAN)]);
static SCOPE: Shape = shape::<InstrumentationScope>(&[(3, &KEY_VALUE)]);
static SPAN: Shape = shape::<Span>(&[(9, &KEY_VALUE), (15, &STATUS)]);
static STATUS: Shape = shape::<Status>(&[]);
static KEY_VALUE: Shape = shape::<KeyValue>(&[(2, &ANY_VALUE)]);
static ANY_VALUE: Shape = shape::<AnyValue>(&[(5, &ARRAY), (6, &MAP)]);
static ARRAY: Shape = shape::<ArrayValue>(&[(1, &ANY_VALUE)]);
static MAP: Shape = shape::<KeyValueList>(&[(1, &KEY_VALUE)]);

/// [`ProfilesData`](super::profiles::ProfilesData).
pub(crate) static PROFILES: Shape = shape::<()>(&[(1, &RESOURCE_PROFILES), (2, &DICTIONARY)]);
static RESOURCE_PROFILES: Shape =
    shape::<ResourceProfiles>(&[(1, &RESOURCE), (2, &SCOPE_PROFILES)]);
static SCOPE_PROFILES: Shape = shape::<ScopeProfiles>(&[(1, &SCOPE), (2, &PROFILE)]);
static PROFILE: Shape = shape::<Profile>(&[(1, &VALUE_TYPE), (2, &SAMPLE), (5, &VALUE_TYPE)]);
static VALUE_TYPE: Shape = shape::<ValueType>(&[]);
static SAMPLE: Shape = shape::<Sample>(&[]);
static DICTIONARY: Shape = shape::<ProfilesDictionary>(&[
    (1, &MAPPING),
    (2, &LOCATION),
    (3, &FUNCTION),
    (4, &LINK),
    (6, &ATTRIBUTE),
    (7, &STACK),
]);
static MAPPING: Shape = shape::<Mapping>(&[]);
static LOCATION: Shape = shape::<Location>(&[(3, &LINE)]);
static LINE: Shape = shape::<Line>(&[]);
static FUNCTION: Shape = shape::<Function>(&[]);
static LINK: Shape = shape::<Link>(&[]);
static ATTRIBUTE: Shape = shape::<KeyValueAndUnit>(&[(2, &ANY_VALUE)]);
static STACK: Shape = shape::<Stack>(&[]);

/// Walks over the messages in one, whose first byte is that far in the file.
///
/// # Errors
/// Not protobuf, or more than a file of this size may become; each with the byte where it is met.
pub(crate) fn check(
    bytes: &[u8],
    shape: &Shape,
    start: usize,
    budget: &mut Budget,
) -> Result<(), ModelError> {
    walk(bytes, shape, start, 0, budget)
}

fn walk(
    bytes: &[u8],
    shape: &Shape,
    start: usize,
    depth: u32,
    budget: &mut Budget,
) -> Result<(), ModelError> {
    for field in Fields::new(bytes) {
        let field = field.map_err(|error| error.further(start))?;
        let part = shape.parts.iter().find(|part| part.0 == field.number);
        let (Some((_, part)), Some(payload)) = (part, field.payload) else {
            continue;
        };
        budget
            .spend(Of::Decoded, part.size)
            .map_err(|flaw| at(start + field.offset, flaw))?;
        // What is deeper is refused when it is decoded.
        if depth < DEEPEST {
            let start = start + field.end - payload.len();
            walk(payload, part, start, depth + 1, budget)?;
        }
    }
    Ok(())
}

fn at(offset: usize, flaw: Flaw) -> ModelError {
    ModelError::Entry {
        part: "message",
        offset,
        flaw,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::otlp::trace::TracesData;

    fn traces(resource_spans: ResourceSpans) -> Vec<u8> {
        TracesData {
            resource_spans: vec![resource_spans],
        }
        .encode_to_vec()
    }

    #[test]
    fn a_million_empty_spans_are_refused_before_they_are_decoded_and_spans_that_say_something_are_not()
     {
        let of = |span: Span, count| {
            let scope = ScopeSpans {
                spans: vec![span; count],
                ..ScopeSpans::default()
            };
            let bytes = traces(ResourceSpans {
                scope_spans: vec![scope],
                ..ResourceSpans::default()
            });
            let result = check(&bytes, &TRACES, 0, &mut Budget::of(bytes.len()));
            (bytes.len(), result)
        };
        let (bytes, result) = of(Span::default(), 1_000_000);
        assert!(bytes < 2_100_000, "{bytes}");
        let error = result.expect_err("too many").to_string();
        assert!(error.starts_with("message at byte "), "{error}");
        assert!(
            error.contains(" bytes of decoded messages, too many for a file of "),
            "{error}"
        );
        let small = Span {
            trace_id: vec![1; 16],
            span_id: vec![1; 8],
            ..Span::default()
        };
        assert_eq!(of(small, 1_000_000).1, Ok(()));
        assert_eq!(of(Span::default(), 100_000).1, Ok(()));
    }

    #[test]
    fn what_is_broken_deep_inside_is_told_by_its_byte_in_the_file() {
        let resource = Resource {
            attributes: vec![KeyValue::string("k", "v")],
            ..Resource::default()
        };
        let mut bytes = traces(ResourceSpans {
            resource: Some(resource),
            ..ResourceSpans::default()
        });
        let value = bytes.len() - 3;
        assert_eq!(bytes[value..], [0x0a, 1, b'v']);
        bytes[value + 1] = 9;
        let error = check(&bytes, &TRACES, 1_000, &mut Budget::of(bytes.len())).expect_err("cut");
        assert_eq!(
            error.to_string(),
            format!(
                "field at byte {}: cut short: 9 bytes announced, 1 left",
                1_000 + value
            )
        );
    }

    #[test]
    fn lists_in_lists_end_where_decoding_does() {
        let mut bytes = Vec::new();
        for _ in 0..10_000 {
            for key in [0x0a, 0x2a] {
                let mut outer = vec![key];
                prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
                outer.append(&mut bytes);
                bytes = outer;
            }
        }
        let mut budget = Budget::of(bytes.len());
        assert_eq!(check(&bytes, &ANY_VALUE, 0, &mut budget), Ok(()));
        assert!(AnyValue::decode(bytes.as_slice()).is_err());
    }
}
