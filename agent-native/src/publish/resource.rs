//! What is said of the process: OpenTelemetry's resource attributes as far as they are given from outside, and how to read
//! the contexts of its threads.

use vtprof_deliver::environment::resource;
use vtprof_deliver::origin::is_command;
use vtprof_profile::otlp::process_context::ProcessContext;
use vtprof_profile::otlp::trace::KeyValue;
use vtprof_profile::spans::SERVICE_NAME_ATTRIBUTE;

use crate::jvm::jni::Jni;
use crate::jvm::properties;

/// How threads publish theirs (OTEP 4947). `tls_v1` is announced for later; readers of today know this one.
const SCHEMA: &str = "tlsdesc_v1_dev";

/// What is said of this process, encoded.
pub fn payload(service: &str, jni: Jni) -> Vec<u8> {
    let property = |name| properties::get(jni, name).ok().flatten();
    let given = properties::otel(jni, "OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut attributes = attributes(&given, service);
    attributes.push(KeyValue::int("process.pid", i64::from(std::process::id())));
    for (key, property_name) in [
        ("process.runtime.name", "java.runtime.name"),
        ("process.runtime.version", "java.runtime.version"),
    ] {
        if let Some(value) = property(property_name) {
            put(&mut attributes, key, value);
        }
    }
    ProcessContext::of_threads(attributes, SCHEMA).to_bytes()
}

/// Attributes as `given`, with the service's name. Command lines are not among them, since they carry secrets.
fn attributes(given: &str, service: &str) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    for (key, value) in resource(given) {
        if !is_command(&key) {
            put(&mut attributes, &key, value);
        }
    }
    put(&mut attributes, SERVICE_NAME_ATTRIBUTE, service.to_owned());
    attributes
}

/// Keys are unique: the last wins.
fn put(attributes: &mut Vec<KeyValue>, key: &str, value: String) {
    attributes.retain(|one| one.key != key);
    attributes.push(KeyValue::string(key, value));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(given: &str) -> Vec<String> {
        let attributes = attributes(given, "shop");
        let text = |one: &KeyValue| format!("{}={}", one.key, one.as_str().unwrap());
        attributes.iter().map(text).collect()
    }

    #[test]
    fn attributes_are_those_of_the_environment_with_one_name_of_the_service_and_no_command() {
        assert_eq!(listed(""), ["service.name=shop"]);
        assert_eq!(
            listed(
                "service.name=other, a = 1 ,a=2,process.command_line=--password%3Dx,process.command=y"
            ),
            ["a=2", "service.name=shop"]
        );
    }

    #[test]
    fn values_are_percent_decoded_and_what_is_no_pair_is_passed_over() {
        assert_eq!(
            listed("x,=3,team=a%2Cb%20c,odd=100%,bad=%zz,euro=%E2%82%AC"),
            [
                "team=a,b c",
                "odd=100%",
                "bad=%zz",
                "euro=€",
                "service.name=shop"
            ]
        );
    }
}
