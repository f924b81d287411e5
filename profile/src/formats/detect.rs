//! Which format a file has, by its bytes: names can be anything once a file was copied.

use prost::Message;
use thiserror::Error;

use super::collapsed::{self, CollapsedError};
use super::speedscope::SpeedscopeError;
use super::{Format, otlp_json};
use crate::model::fields::Fields;
use crate::model::{ModelError, Profile, ValueType};
use crate::otlp::profiles::ProfilesData;
use crate::otlp::trace::TracesData;
use crate::otlp::{ProfilesError, read_profiles};

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
    #[error("JSON, but neither OTLP traces or profiles nor speedscope")]
    OtherJson,
    /// OTLP traces by their form, but not in their fields.
    #[error("looks like OTLP spans, but is not: {0}")]
    Traces(prost::DecodeError),
    /// One of the length-prefixed messages of a file.
    #[error("message at byte {offset}: {reason}")]
    Message {
        /// Where it starts in the uncompressed file.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// It should be OTLP.
    #[error("neither OTLP traces nor profiles")]
    NoOtlp,
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

/// What is known of a file before it is read.
#[derive(Debug, Clone)]
pub struct Hint {
    /// Its format. Collapsed stacks are read as such only where this says so, as any text could be some; everything else
    /// tells itself.
    pub format: Option<Format>,
    /// What the numbers of collapsed stacks are.
    pub value_type: ValueType,
}

impl Default for Hint {
    /// Nothing, and samples.
    fn default() -> Self {
        Hint {
            format: None,
            value_type: ValueType {
                kind: "samples".to_owned(),
                unit: "count".to_owned(),
            },
        }
    }
}

/// Reads an uncompressed file and hands what is in it to `take`, one by one.
///
/// # Errors
/// A file of no known format, or one that contradicts it.
pub fn read(bytes: &[u8], hint: &Hint, mut take: impl FnMut(Document)) -> Result<(), FormatError> {
    let profile = |profile: Profile| Document::Profile(Box::new(profile));
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
        Some(Format::OtlpJson | Format::Speedscope) => return otlp_json::read(bytes, take),
        Some(Format::OtlpProto) | None => {}
    }
    if bytes.starts_with(&ZSTD) || bytes.get(PREFIX..).is_some_and(|b| b.starts_with(&ZSTD)) {
        return Err(FormatError::Zstd);
    }
    if is_json(bytes) {
        return otlp_json::read(bytes, take);
    }
    if is_prefixed(bytes) {
        return read_prefixed(bytes, take);
    }
    match read_otlp(bytes) {
        Some(Ok(documents)) => documents.into_iter().for_each(take),
        Some(Err(error)) => return Err(error),
        None if hint.format == Some(Format::OtlpProto) && !bytes.is_empty() => {
            return Err(FormatError::NoOtlp);
        }
        None => take(profile(Profile::from_bytes(bytes)?)),
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

fn read_prefixed(bytes: &[u8], mut take: impl FnMut(Document)) -> Result<(), FormatError> {
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
        match read_otlp(message) {
            Some(Ok(documents)) => documents.into_iter().for_each(&mut take),
            Some(Err(error)) => return Err(wrong(error.to_string())),
            None if message.is_empty() => {}
            None => {
                return Err(wrong("neither OTLP traces nor profiles".to_owned()));
            }
        }
        rest = after;
    }
    Ok(())
}

/// The message as OTLP; `None` where its fields are others. Traces have field 1 only, profiles fields 1 and 2, and
/// pprof needs strings.
fn read_otlp(bytes: &[u8]) -> Option<Result<Vec<Document>, FormatError>> {
    let mut last = 0;
    for field in Fields::new(bytes) {
        let field = field.ok()?;
        field.payload?;
        if !(1..=2).contains(&field.number) {
            return None;
        }
        last = field.number.max(last);
    }
    match last {
        0 => None,
        1 => {
            let traces = TracesData::decode(bytes).map_err(FormatError::Traces);
            Some(traces.map(|traces| vec![Document::Traces(traces)]))
        }
        _ => {
            // A profile of pprof whose strings were cut off has these fields, too.
            let data = ProfilesData::decode(bytes).ok()?;
            let profiles = read_profiles(&data).map_err(FormatError::Profiles);
            let document = |profile| Document::Profile(Box::new(profile));
            Some(profiles.map(|profiles| profiles.into_iter().map(document).collect()))
        }
    }
}
