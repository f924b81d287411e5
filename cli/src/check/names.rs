//! Ids of spans as files have them, in hex or decimal.

use vtprof_profile::ids::SpanId;
use vtprof_profile::model::{KeyIndices, LabelValue, Profile, Sample};

/// An id as files have it: which of the two it is, the spans will tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Names {
    pub hex: Option<SpanId>,
    pub decimal: Option<SpanId>,
}

/// The id of a sample, whatever it is written in; zero means none.
pub fn names(profile: &Profile, sample: &Sample<'_>, keys: &KeyIndices) -> Option<Names> {
    let label = sample
        .labels
        .iter()
        .find(|label| keys.contains(&label.key))?;
    let (hex, decimal) = match label.value {
        LabelValue::Text(text) => {
            let text = profile.strings.get(text);
            (text.parse().ok(), text.parse::<u64>().ok())
        }
        // 64 bits, whatever the sign.
        LabelValue::Number { value, .. } => (None, Some(value.cast_unsigned())),
    };
    let names = Names {
        hex,
        decimal: decimal.filter(|id| *id != 0).map(SpanId),
    };
    (names.hex.is_some() || names.decimal.is_some()).then_some(names)
}
