//! Where OpenTelemetry's variables say that profiles go, and what they say of the process.
//!
//! `opentelemetry.io/docs/specs/otel/protocol/exporter/` (1.50): the endpoint of one signal is used as it is, that of all has
//! the signal's path added; of headers, certificate and timeout the signal's own wins.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use vtprof_profile::spans::SERVICE_NAME_ATTRIBUTE;

use crate::secret::Secret;
use crate::target::{Address, Backend, Target};

/// Where a collector is if nobody says.
const DEFAULT: &str = "http://localhost:4318";

/// The target of `push=otlp`; `lookup` finds a variable.
///
/// # Errors
/// The variable that cannot be used and why; no value is quoted.
pub fn otlp(lookup: impl Fn(&str) -> Option<String>) -> Result<Target, String> {
    let set = |name: String| {
        let value = lookup(&name).filter(|value| !value.trim().is_empty())?;
        Some((name, value.trim().to_owned()))
    };
    let either = |what: &str| {
        set(format!("OTEL_EXPORTER_OTLP_PROFILES_{what}"))
            .or_else(|| set(format!("OTEL_EXPORTER_OTLP_{what}")))
    };
    let fail = |name: &str, why: &str| Err(format!("{name}: {why}"));
    if let Some((name, protocol)) = either("PROTOCOL")
        && protocol != "http/protobuf"
    {
        let why = "vtprof speaks http/protobuf alone: say where to with push=otlp+http://HOST:4318";
        return fail(&name, why);
    }
    let own = set("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT".to_owned());
    let is_own = own.is_some();
    let (name, endpoint) = own
        .or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned()))
        .unwrap_or_else(|| (String::new(), DEFAULT.to_owned()));
    let address = match Address::parse(&endpoint) {
        Ok(address) if is_own => address.whole(),
        Ok(address) => address,
        Err(error) => return fail(&name, &format!("it is not {error}")),
    };
    let mut target = Target::new(Backend::Otlp, address);
    // Both, the signal's own last, so that it wins.
    for name in [
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
    ] {
        for (key, value) in pairs(&lookup(name).unwrap_or_default()) {
            let key = key.to_ascii_lowercase();
            if !key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            {
                return fail(name, "a name that no header can have");
            }
            let value = match Secret::new(&value) {
                Ok(value) => value,
                Err(why) => return fail(name, &format!("the value of {key}: {why}")),
            };
            target.headers.retain(|(known, _)| *known != key);
            target.headers.push((key, value));
        }
    }
    target.ca = either("CERTIFICATE").map(|(_, path)| PathBuf::from(path));
    if let Some((name, millis)) = either("TIMEOUT") {
        let millis = millis.parse().ok().filter(|millis| *millis > 0);
        let Some(millis) = millis else {
            return fail(&name, "it is not a number of milliseconds");
        };
        target.timeout = Duration::from_millis(millis).min(Duration::from_secs(60));
    }
    Ok(target)
}

/// Variables that are given, say how to reach the collector, and are not heeded.
#[must_use]
pub fn unheeded(lookup: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let kinds = ["", "PROFILES_"];
    let names = ["CLIENT_CERTIFICATE", "CLIENT_KEY"];
    let all = names.iter().flat_map(|name| {
        kinds
            .iter()
            .map(move |kind| format!("OTEL_EXPORTER_OTLP_{kind}{name}"))
    });
    all.filter(|name| lookup(name).is_some_and(|value| !value.trim().is_empty()))
        .collect()
}

/// The service's name among `OTEL_RESOURCE_ATTRIBUTES`.
#[must_use]
pub fn service(text: &str) -> Option<String> {
    let (_, name) = pairs(text)
        .into_iter()
        .find(|(key, _)| key == SERVICE_NAME_ATTRIBUTE)?;
    (!name.trim().is_empty()).then_some(name)
}

/// `OTEL_RESOURCE_ATTRIBUTES`: what it says but `service.name`.
#[must_use]
pub fn resource(text: &str) -> Vec<(String, String)> {
    let mut all = pairs(text);
    all.retain(|(key, _)| key != SERVICE_NAME_ATTRIBUTE);
    all
}

/// `k=v,k=v`, percent-encoded, as in `OTEL_RESOURCE_ATTRIBUTES`. What is no pair is left out; of two of one name the last
/// stays.
#[must_use]
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        percent_decode_str(text.trim())
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (key, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let key = decoded(key);
        if !key.is_empty() {
            pairs.retain(|(known, _)| *known != key);
            pairs.push((key, decoded(value)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TIMEOUT;

    fn of(variables: &[(&str, &str)]) -> Result<Target, String> {
        otlp(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const PATH: &str = "/v1development/profiles";

    #[test]
    fn the_endpoint_of_profiles_is_used_as_it_is_and_that_of_all_has_the_path_added() {
        for (variables, url) in [
            (&[][..], "http://localhost:4318/v1development/profiles"),
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1/x/")],
                "https://c:1/x/v1development/profiles",
            ),
            (
                &[
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1"),
                    ("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://p:2/in"),
                ],
                "http://p:2/in",
            ),
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
                "http://localhost:4318/v1development/profiles",
            ),
        ] {
            assert_eq!(of(variables).unwrap().address.url(PATH), url);
        }
    }

    #[test]
    fn what_is_said_of_profiles_wins_over_what_is_said_of_all() {
        let target = of(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1%2C2, X-B=all,=no,nothing"),
            ("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "x-b=own"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/all"),
            ("OTEL_EXPORTER_OTLP_PROFILES_CERTIFICATE", "/own"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000"),
        ])
        .unwrap();
        let headers: Vec<_> = target
            .headers
            .iter()
            .map(|(key, value)| (key.as_str(), value.expose()))
            .collect();
        assert_eq!(headers, [("a", "1,2"), ("x-b", "own")]);
        assert_eq!(target.ca, Some("/own".into()));
        assert_eq!(target.timeout, Duration::from_secs(2));
        assert_eq!(of(&[]).unwrap().timeout, TIMEOUT);
    }

    #[test]
    fn what_cannot_be_used_is_named_and_never_quoted() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "hunter2:4317"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:hunter2@h"),
            ("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "hunter2"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%0a%0dx"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "hunter2"),
        ] {
            let error = of(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(name), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn keys_of_a_client_that_are_not_used_are_named_and_not_quoted() {
        let given = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_PROFILES_CLIENT_KEY" => Some("hunter2".to_owned()),
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE" => Some(" ".to_owned()),
            _ => None,
        };
        assert_eq!(unheeded(given), ["OTEL_EXPORTER_OTLP_PROFILES_CLIENT_KEY"]);
    }

    #[test]
    fn a_service_s_name_is_decoded_and_an_empty_one_is_none() {
        for (text, name) in [
            ("a=b,service.name=my%20shop", Some("my shop")),
            ("service.name=", None),
            ("service.name", None),
            ("service.namespace=x", None),
            ("service.name=a,service.name=b", Some("b")),
        ] {
            assert_eq!(service(text).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn attributes_are_decoded_and_the_service_is_told_apart() {
        let pairs = resource(
            "service.name=shop,deployment.environment=a%20b%3Dc,host.id = 7 ,x=1,x=2,=3,4",
        );
        let expected = [
            ("deployment.environment", "a b=c"),
            ("host.id", "7"),
            ("x", "2"),
        ];
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(pairs, expected);
    }
}
