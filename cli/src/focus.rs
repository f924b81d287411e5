//! `--focus`: which samples count.

use std::str::FromStr;

use vtprof_profile::ids::{SpanId, TraceId};

use crate::tags::Tags;

/// One condition on a sample's tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Focus {
    /// This span was the current one.
    Span(SpanId),
    /// This span was the local root.
    Root(SpanId),
    /// The sample belongs to this trace.
    Trace(TraceId),
    /// The local root span has this name.
    Name(String),
}

impl Focus {
    /// Whether a sample with these tags counts. Ids are compared as numbers, so upper-case digits
    /// in a file of others do not hide a match.
    pub fn matches(&self, tags: &Tags<'_>) -> bool {
        fn is<T: FromStr + PartialEq>(text: Option<&str>, id: &T) -> bool {
            text.and_then(|text| text.parse::<T>().ok())
                .is_some_and(|found| found == *id)
        }
        match self {
            Focus::Span(id) => is(tags.span, id),
            Focus::Root(id) => is(tags.root, id),
            Focus::Trace(id) => is(tags.trace, id),
            Focus::Name(name) => tags.name == Some(name),
        }
    }
}

impl FromStr for Focus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write span=HEX, root=HEX, trace=HEX or name=ENDPOINT";
        let (key, value) = text.split_once('=').ok_or(form)?;
        match key {
            "span" => value.parse().map(Focus::Span).map_err(|e| e.to_string()),
            "root" => value.parse().map(Focus::Root).map_err(|e| e.to_string()),
            "trace" => value.parse().map(Focus::Trace).map_err(|e| e.to_string()),
            "name" => Ok(Focus::Name(value.to_owned())),
            _ => Err(format!("'{key}' is no part of a tag; {form}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_focus_looks_at_its_own_label() {
        let tags = Tags {
            trace: Some("0000000000000000000000000000000a"),
            span: Some("000000000000000B"),
            root: Some("000000000000000c"),
            stands_in: false,
            name: Some("GET /a=b"),
        };
        let matches = |text: &str| text.parse::<Focus>().expect(text).matches(&tags);
        assert!(matches("span=000000000000000b"));
        assert!(!matches("span=000000000000000c"));
        assert!(matches("root=000000000000000c"));
        assert!(matches("trace=0000000000000000000000000000000A"));
        assert!(matches("name=GET /a=b"));
        assert!(!matches("name=GET /a"));
        assert!(
            "name=GET /a"
                .parse::<Focus>()
                .is_ok_and(|focus| !focus.matches(&Tags::default()))
        );
    }

    #[test]
    fn what_is_no_focus_is_refused_with_the_form() {
        assert!(
            "span"
                .parse::<Focus>()
                .expect_err("no value")
                .starts_with("write span=HEX")
        );
        assert!(
            "tag=1"
                .parse::<Focus>()
                .expect_err("no such key")
                .starts_with("'tag' is no part of a tag")
        );
        assert!(
            "span=12"
                .parse::<Focus>()
                .expect_err("too short")
                .contains("2 characters")
        );
    }
}
