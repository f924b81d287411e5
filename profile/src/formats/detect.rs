//! Which format a file has, by its bytes: names can be anything once a file was copied.

use prost::Message;
use thiserror::Error;

use super::collapsed::{self, CollapsedError};
use super::speedscope::SpeedscopeError;
use super::{Format, otlp_json};
use crate::bounds::Budget;
use crate::model::fields::Fields;
use crate::model::{Flaw, ModelError, Profile, ValueType};
use crate::otlp::profiles::ProfilesData;
use crate::otlp::trace::{ResourceSpans, TracesData};
use crate::otlp::{ProfilesError, read_within, shape};

/// Begins what zstd compressed.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Length in front of each message of the Collector's file exporter (`format: proto`), big-endian.
const PREFIX: usize = 4;
/// Key of field 1 as a message: each of OTLP begins with one.
const FIELD_1: u8 = 0x0a;

/// One of what a file holds.
#[derive(Debug)]
pub enum Document {
    /// A profile.
    Profile(Box<Profile>),
    /// Spans.
    Traces(TracesData),
}

/// A file that cannot be read.
#[derive(Debug, Error)]
pub enum FormatError {
    /// It looks like pprof, or like nothing else.
    #[error(transparent)]
    Pprof(#[from] ModelError),
    /// Neither JSON nor anything else.
    #[error("not the JSON of OTLP or speedscope: {0}")]
    Json(serde_json::Error),
    /// JSON of something else.
    #[error(
        "JSON, but neither OTLP traces or profiles nor speedscope: none of its {documents} documents has their fields"
    )]
    OtherJson {
        /// How many there are.
        documents: usize,
    },
    /// OTLP traces by their form, but not in their fields.
    #[error("looks like OTLP spans, but is not: {0}")]
    Traces(ModelError),
    /// More would come of it than a file of this size may hold.
    #[error("{0}")]
    Expands(ModelError),
    /// One of the length-prefixed messages of a file.
    #[error("message at byte {offset}: {reason}")]
    Message {
        /// Where it starts in the uncompressed file.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It should be OTLP.
    #[error("neither OTLP traces nor profiles: {0}")]
    NoOtlp(Foreign),
    /// OTLP profiles that contradict themselves.
    #[error("OTLP profiles: {0}")]
    Profiles(ProfilesError),
    /// Stacks that are no stacks.
    #[error(transparent)]
    Collapsed(#[from] CollapsedError),
    /// Not as speedscope has it.
    #[error("speedscope: {0}")]
    Speedscope(SpeedscopeError),
    /// A compression that is not read.
    #[error(
        "compressed with zstd, which is not read: decompress it, or let the Collector export without"
    )]
    Zstd,
}

/// What in a message no message of OTLP has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Foreign {
    /// No field at all.
    #[error("it has no field")]
    Nothing,
    /// No field of protobuf.
    #[error(transparent)]
    Wire(ModelError),
    /// A field that none has.
    #[error("field {number} at byte {offset} is of something else")]
    Field {
        /// Its number.
        number: u64,
        /// Where it starts in the uncompressed file.
        offset: usize,
    },
    /// The fields of profiles, but not in themselves.
    #[error("it looks like OTLP profiles, but is not: {0}")]
    Profiles(String),
}

/// What is known of a file before it is read.
#[derive(Debug, Clone, Default)]
pub struct Hint {
    /// Its format. Collapsed stacks are read as such only where this says so, as any text could be some; everything else
    /// tells itself.
    pub format: Option<Format>,
    /// What the numbers of collapsed stacks are; the numbers tell where nothing does.
    pub value_type: Option<ValueType>,
}

/// Reads an uncompressed file and hands what is in it to `take`, one by one.
///
/// # Errors
/// A file of no known format, or one that contradicts it.
pub fn read(bytes: &[u8], hint: &Hint, mut take: impl FnMut(Document)) -> Result<(), FormatError> {
    let profile = |profile: Profile| Document::Profile(Box::new(profile));
    let mut budget = Budget::of(bytes.len());
    // Some editors mark UTF-8.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match hint.format {
        Some(Format::Collapsed) => {
            take(profile(collapsed::read(bytes, hint.value_type.clone())?));
            return Ok(());
        }
        Some(Format::Pprof) => {
            take(profile(Profile::from_bytes(bytes)?));
            return Ok(());
        }
        Some(Format::OtlpJson | Format::Speedscope) => {
            return otlp_json::read(bytes, &mut budget, take);
        }
        Some(Format::OtlpProto) | None => {}
    }
    if bytes.starts_with(&ZSTD) || bytes.get(PREFIX..).is_some_and(|b| b.starts_with(&ZSTD)) {
        return Err(FormatError::Zstd);
    }
    if is_json(bytes) {
        return otlp_json::read(bytes, &mut budget, take);
    }
    if is_prefixed(bytes) {
        return read_prefixed(bytes, &mut budget, take);
    }
    match read_otlp(bytes, 0, &mut budget)? {
        Otlp::Documents(documents) => documents.into_iter().for_each(take),
        Otlp::Not(foreign) if hint.format == Some(Format::OtlpProto) && !bytes.is_empty() => {
            return Err(FormatError::NoOtlp(foreign));
        }
        Otlp::Not(_) => take(profile(Profile::from_bytes(bytes)?)),
    }
    Ok(())
}

/// A brace first, which begins no message. A line end, which may stand before, does begin one.
fn is_json(bytes: &[u8]) -> bool {
    let first = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
    let is_brace = first.is_some_and(|first| bytes[first] == b'{');
    is_brace && (first == Some(0) || Fields::new(bytes).any(|field| field.is_err()))
}

/// Whether the first message has its length before it. No message begins with a byte so small: its first field would have
/// the number 0. What the message then begins with tells it from zeros.
fn is_prefixed(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| *first < 8) && bytes.get(PREFIX) == Some(&FIELD_1)
}

fn read_prefixed(
    bytes: &[u8],
    budget: &mut Budget,
    mut take: impl FnMut(Document),
) -> Result<(), FormatError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let wrong = |reason: String| FormatError::Message { offset, reason };
        let (len, after) = rest
            .split_first_chunk::<PREFIX>()
            .ok_or_else(|| wrong("cut short: no length".to_owned()))?;
        let len = u32::from_be_bytes(*len) as usize;
        let message = after.split_at_checked(len);
        let (message, after) = message.ok_or_else(|| {
            wrong(format!(
                "cut short: {len} bytes announced, {} left",
                after.len()
            ))
        })?;
        let otlp = read_otlp(message, offset + PREFIX, budget);
        match otlp.map_err(|error| wrong(error.to_string()))? {
            Otlp::Documents(documents) => documents.into_iter().for_each(&mut take),
            Otlp::Not(_) if message.is_empty() => {}
            Otlp::Not(foreign) => return Err(wrong(FormatError::NoOtlp(foreign).to_string())),
        }
        rest = after;
    }
    Ok(())
}

/// A message that may be of OTLP.
enum Otlp {
    Documents(Vec<Document>),
    /// Its fields are others.
    Not(Foreign),
}

/// The message as OTLP, which begins at byte `start` of the file. Traces have field 1 only, profiles fields 1 and 2, and
/// pprof needs strings.
fn read_otlp(bytes: &[u8], start: usize, budget: &mut Budget) -> Result<Otlp, FormatError> {
    let mut last = 0;
    for field in Fields::new(bytes) {
        let field = match field {
            Ok(field) => field,
            Err(error) => return Ok(Otlp::Not(Foreign::Wire(error.further(start)))),
        };
        if field.payload.is_none() || !(1..=2).contains(&field.number) {
            return Ok(Otlp::Not(Foreign::Field {
                number: field.number,
                offset: start + field.offset,
            }));
        }
        last = field.number.max(last);
    }
    match last {
        0 => Ok(Otlp::Not(Foreign::Nothing)),
        1 => read_traces(bytes, start, budget),
        _ => read_profiles(bytes, start, budget),
    }
}

fn read_traces(bytes: &[u8], start: usize, budget: &mut Budget) -> Result<Otlp, FormatError> {
    shape::check(bytes, &shape::TRACES, start, budget).map_err(|error| {
        match is_expansion(&error) {
            true => FormatError::Expands(error),
            false => FormatError::Traces(error),
        }
    })?;
    let traces = TracesData::decode(bytes)
        .map_err(|error| FormatError::Traces(undecoded(bytes, start, &error)))?;
    Ok(Otlp::Documents(vec![Document::Traces(traces)]))
}

fn read_profiles(bytes: &[u8], start: usize, budget: &mut Budget) -> Result<Otlp, FormatError> {
    // A profile of pprof whose strings were cut off has these fields, too.
    let not = |reason: String| Ok(Otlp::Not(Foreign::Profiles(reason)));
    match shape::check(bytes, &shape::PROFILES, start, budget) {
        Ok(()) => {}
        Err(error) if is_expansion(&error) => return Err(FormatError::Expands(error)),
        Err(error) => return not(error.to_string()),
    }
    let data = match ProfilesData::decode(bytes) {
        Ok(data) => data,
        Err(error) => return not(error.to_string()),
    };
    let profiles = read_within(&data, budget).map_err(FormatError::Profiles)?;
    let documents = profiles.into_iter().map(Box::new).map(Document::Profile);
    Ok(Otlp::Documents(documents.collect()))
}

fn is_expansion(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Entry {
            flaw: Flaw::Expands { .. },
            ..
        }
    )
}

/// What prost says of traces, with the offset of the part that it says it of.
fn undecoded(bytes: &[u8], start: usize, error: &prost::DecodeError) -> ModelError {
    let mut parts = Fields::new(bytes).flatten();
    let part = parts.find_map(|field| {
        let error = ResourceSpans::decode(field.payload?).err()?;
        Some((field.offset, error))
    });
    let (offset, error) = part.map_or((0, error.to_string()), |(offset, error)| {
        (offset, error.to_string())
    });
    ModelError::Entry {
        part: "resource",
        offset: start + offset,
        flaw: Flaw::Wire(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::spans_to_traces;

    fn refusal(bytes: &[u8], format: Option<Format>) -> String {
        let hint = Hint {
            format,
            ..Hint::default()
        };
        let result = read(bytes, &hint, |_| ());
        result.expect_err("refused").to_string()
    }

    #[test]
    fn what_is_no_otlp_is_told_by_its_byte() {
        let otlp = Some(Format::OtlpProto);
        let traces = spans_to_traces("shop", []).encode_to_vec();
        let with = |more: &[u8]| [traces.as_slice(), more].concat();
        let at = traces.len();
        assert_eq!(
            refusal(&with(&[0x3a, 0]), otlp),
            format!("neither OTLP traces nor profiles: field 7 at byte {at} is of something else")
        );
        assert_eq!(
            refusal(&with(&[0x0a, 9]), otlp),
            format!(
                "neither OTLP traces nor profiles: field at byte {at}: cut short: 9 bytes announced, 0 left"
            )
        );
        // A resource whose schema is no UTF-8, behind one that is good.
        let error = refusal(&with(&[0x0a, 3, 0x1a, 1, 0xff]), None);
        let start = format!("looks like OTLP spans, but is not: resource at byte {at}: ");
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains("UTF-8"), "{error}");
    }

    #[test]
    fn a_message_behind_its_length_is_told_by_its_byte_in_the_file() {
        let traces = spans_to_traces("shop", []).encode_to_vec();
        let len = u32::try_from(traces.len()).expect("short").to_be_bytes();
        let mut bytes = [len.as_slice(), &traces, &[0, 0, 0, 4, 0x0a, 2, 0x0a, 7]].concat();
        let at = 4 + traces.len();
        let error = refusal(&bytes, None);
        let inside = at + 4 + 2;
        assert_eq!(
            error,
            format!(
                "message at byte {at}: looks like OTLP spans, but is not: field at byte {inside}: cut short: 7 bytes announced, 0 left"
            )
        );
        bytes.truncate(at);
        assert!(read(&bytes, &Hint::default(), |_| ()).is_ok());
    }

    #[test]
    fn json_of_something_else_is_told_with_how_much_of_it_there_is() {
        assert_eq!(
            refusal(b"{\"a\":1} {\"b\":{}}", None),
            "JSON, but neither OTLP traces or profiles nor speedscope: none of its 2 documents has their fields"
        );
    }
}
