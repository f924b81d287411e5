//! The query of Pyroscope's `/ingest`, which takes a profile as it is. Labels are in the name: `shop{env=prod}`.

use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use super::labels::{Labels, SERVICE};
use super::rate;
use crate::query::query;
use crate::request::Request;
use crate::window::Window;

/// What servers take a rate for that is not told.
const DEFAULT_RATE: i64 = 100;

pub(super) fn request(
    labels: &Labels,
    raw: Vec<u8>,
    window: &Window,
    kind: Kind,
    profile: &Profile,
) -> Request {
    let from = window.start_unix_ns / 1_000_000_000;
    let until = window.start_unix_ns.saturating_add(window.duration_ns);
    let rate = rate(kind, profile).filter(|rate| *rate > 0);
    let query = query(&[
        ("name", &name(labels)),
        ("format", "pprof"),
        ("from", &from.to_string()),
        ("until", &until.div_ceil(1_000_000_000).to_string()),
        ("spyName", "vtprof"),
        ("sampleRate", &rate.unwrap_or(DEFAULT_RATE).to_string()),
    ]);
    Request {
        path: format!("/ingest{query}"),
        // One that is told would have to be that of a form.
        content_type: "",
        // The body is, but that is how profiles are, and not told.
        gzip: false,
        body: raw,
        samples: 0,
    }
}

/// There is no way to escape what ends a name or a value: it becomes `_`.
fn name(labels: &Labels) -> String {
    let service = labels.service.chars().map(|c| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' | '/' => c,
        _ => '_',
    });
    let mut name: String = service.collect();
    let mut pairs: Vec<_> = labels
        .others
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    if name != labels.service {
        pairs.push((SERVICE, &labels.service));
    }
    let pairs = pairs.iter().map(|(key, value)| {
        let value = value.replace(
            |c: char| matches!(c, ',' | '{' | '}') || c.is_control(),
            "_",
        );
        format!("{key}={value}")
    });
    let pairs: Vec<_> = pairs.collect();
    if !pairs.is_empty() {
        name.push('{');
        name.push_str(&pairs.join(","));
        name.push('}');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_where_it_should_whatever_is_in_it() {
        let labels = |service: &str, value: &str| Labels {
            service: service.to_owned(),
            others: vec![("env".to_owned(), value.to_owned())],
            left_out: 0,
        };
        assert_eq!(name(&labels("shop", "prod")), "shop{env=prod}");
        assert_eq!(
            name(&labels("my {shop}", "a,b=c}\n")),
            "my__shop_{env=a_b=c__,service_name=my _shop_}"
        );
        let without = Labels {
            others: Vec::new(),
            ..labels("shop", "")
        };
        assert_eq!(name(&without), "shop");
    }
}
