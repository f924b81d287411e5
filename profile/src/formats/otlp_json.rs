//! OTLP in JSON: one document, or one a line as the Collector's file exporter writes them.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Document, FormatError, speedscope};
use crate::bounds::{Budget, Of};
use crate::model::ModelError;
use crate::otlp::profiles::{ProfilesData, ProfilesDictionary, ResourceProfiles};
use crate::otlp::read_within;
use crate::otlp::trace::{ResourceSpans, TracesData};

/// Whatever a document may be, by its fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Any {
    resource_spans: Option<Vec<ResourceSpans>>,
    resource_profiles: Option<Vec<ResourceProfiles>>,
    dictionary: Option<ProfilesDictionary>,
    resource_metrics: Option<IgnoredAny>,
    resource_logs: Option<IgnoredAny>,
    /// Of speedscope.
    shared: Option<IgnoredAny>,
}

/// Hands each document to `take`. Metrics and logs, which an exporter may write into the same file, are left out.
pub(super) fn read(
    bytes: &[u8],
    budget: &mut Budget,
    mut take: impl FnMut(Document),
) -> Result<(), FormatError> {
    count_objects(bytes, budget).map_err(FormatError::Expands)?;
    let documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Any>();
    let mut found = false;
    let mut count = 0;
    for document in documents {
        count += 1;
        let any = document.map_err(FormatError::Json)?;
        if any.shared.is_some() {
            for profile in
                speedscope::read_within(bytes, budget).map_err(FormatError::Speedscope)?
            {
                take(Document::Profile(Box::new(profile)));
            }
            return Ok(());
        }
        found |= any.resource_metrics.is_some() || any.resource_logs.is_some();
        if let Some(resource_spans) = any.resource_spans {
            found = true;
            take(Document::Traces(TracesData { resource_spans }));
        }
        if let Some(resource_profiles) = any.resource_profiles {
            found = true;
            let data = ProfilesData {
                resource_profiles,
                dictionary: any.dictionary,
            };
            for profile in read_within(&data, budget).map_err(FormatError::Profiles)? {
                take(Document::Profile(Box::new(profile)));
            }
        }
    }
    if found {
        Ok(())
    } else {
        Err(FormatError::OtherJson { documents: count })
    }
}

/// Counts objects: one without a field is two bytes, and a span without a field more than two hundred. A list may stand for
/// any of them, with its fields in order, so one in a list is counted as well, but for those that begin with a number, as
/// stacks of speedscope do: no message that does is large beside its bytes.
fn count_objects(bytes: &[u8], budget: &mut Budget) -> Result<(), ModelError> {
    let mut is_text = false;
    let mut is_escaped = false;
    // The byte before that is no blank, and where the list in a list begins whose first byte is yet to come.
    let mut before = 0;
    let mut list = None;
    let mut spend = |offset| {
        budget
            .spend(Of::Objects, 1)
            .map_err(ModelError::at("object", offset))
    };
    for (offset, &byte) in bytes.iter().enumerate() {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            continue;
        }
        if let Some(start) = list.take()
            && !matches!(byte, b'0'..=b'9' | b'-')
        {
            spend(start)?;
        }
        match byte {
            b'"' => is_text = true,
            b'{' => spend(offset)?,
            b'[' if matches!(before, b'[' | b',') => list = Some(offset),
            _ => {}
        }
        before = byte;
    }
    Ok(())
}
