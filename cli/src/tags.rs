//! The labels that tie a sample to a span.

use vtprof_profile::model::{KeyIndices, Label, LabelValue, Profile, Sample, StringIndex};

/// Where one profile keeps its tag labels' keys, looked up once.
pub struct TagKeys {
    trace: KeyIndices,
    span: KeyIndices,
    root: KeyIndices,
    name: KeyIndices,
}

/// The tag labels of one sample; empty texts count as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags<'a> {
    /// 32 hex digits.
    pub trace: Option<&'a str>,
    /// The current span, 16 hex digits.
    pub span: Option<&'a str>,
    /// The local root span, 16 hex digits. Files for Pyroscope have one span id, which is the
    /// local root's; it stands in where this label is absent.
    pub root: Option<&'a str>,
    /// Whether it does. It is another's id then where spans have the current span below another.
    pub stands_in: bool,
    /// Final name of the local root span.
    pub name: Option<&'a str>,
}

/// Which samples are of one local root and of one name, within a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RootAndName {
    root: Option<StringIndex>,
    /// Trace and current span, where there is no root.
    stand_in: Option<(Option<StringIndex>, StringIndex)>,
    name: Option<StringIndex>,
}

impl TagKeys {
    pub fn of(profile: &Profile) -> Self {
        TagKeys {
            trace: profile.strings.find("trace_id"),
            span: profile.strings.find("span_id"),
            root: profile.strings.find("local_root_span_id"),
            name: profile.strings.find("span_name"),
        }
    }

    /// The texts by which [`read`](Self::read) tells the local root and its name: what is the same here is so there.
    pub fn root_and_name(&self, profile: &Profile, sample: &Sample<'_>) -> RootAndName {
        let text = |keys: &KeyIndices| {
            sample
                .text(keys)
                .filter(|text| !profile.strings.get(*text).is_empty())
        };
        let root = text(&self.root);
        RootAndName {
            root,
            stand_in: match root {
                Some(_) => None,
                None => text(&self.span).map(|span| (text(&self.trace), span)),
            },
            name: text(&self.name),
        }
    }

    pub fn read<'a>(&self, profile: &'a Profile, sample: &Sample<'_>) -> Tags<'a> {
        let text = |keys: &KeyIndices| {
            sample
                .text(keys)
                .map(|text| profile.strings.get(text))
                .filter(|text| !text.is_empty())
        };
        let (span, root) = (text(&self.span), text(&self.root));
        Tags {
            trace: text(&self.trace),
            span,
            root: root.or(span),
            stands_in: root.is_none() && span.is_some(),
            name: text(&self.name),
        }
    }

    /// Makes the local root span the current one: that which the labels name, as [`root_and_name`](Self::root_and_name) tells
    /// it of them, else `known`.
    pub fn roll_up(&self, labels: &mut [Label], named: RootAndName, known: Option<StringIndex>) {
        if let Some(root) = named.root.or(known) {
            for label in labels {
                if self.span.contains(&label.key) {
                    label.value = LabelValue::Text(root);
                }
            }
        }
    }
}
