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
    /// Final name of the local root span.
    pub name: Option<&'a str>,
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

    /// The texts that [`read`](Self::read) finds as the local root's id and as its name: what is the same here is so there.
    pub fn root_and_name(
        &self,
        profile: &Profile,
        sample: &Sample<'_>,
    ) -> (Option<StringIndex>, Option<StringIndex>) {
        let text = |keys: &KeyIndices| {
            sample
                .text(keys)
                .filter(|text| !profile.strings.get(*text).is_empty())
        };
        (
            text(&self.root).or_else(|| text(&self.span)),
            text(&self.name),
        )
    }

    pub fn read<'a>(&self, profile: &'a Profile, sample: &Sample<'_>) -> Tags<'a> {
        let text = |keys: &KeyIndices| {
            sample
                .text(keys)
                .map(|text| profile.strings.get(text))
                .filter(|text| !text.is_empty())
        };
        let span = text(&self.span);
        Tags {
            trace: text(&self.trace),
            span,
            root: text(&self.root).or(span),
            name: text(&self.name),
        }
    }

    /// Makes the local root span the current one, where the labels name both.
    pub fn roll_up(&self, labels: &mut [Label]) {
        let text = |label: &&Label| matches!(label.value, LabelValue::Text(_));
        let mut roots = labels.iter().filter(text);
        let root = roots.find(|label| self.root.contains(&label.key));
        if let Some(root) = root.map(|label| label.value) {
            for label in labels {
                if self.span.contains(&label.key) {
                    label.value = root;
                }
            }
        }
    }
}
