//! What a process says of itself to readers outside: `opentelemetry.proto.processcontext.v1development`, as in OTEP 4719
//! (7 April 2026).

use prost::Message;

use super::trace::{AnyValue, ArrayValue, KeyValue, Resource, any_value};

/// How a process publishes the contexts of its threads (OTEP 4947).
pub const SCHEMA_VERSION_ATTRIBUTE: &str = "threadlocal.schema_version";
/// Names of the attributes in those contexts.
pub const KEY_MAP_ATTRIBUTE: &str = "threadlocal.attribute_key_map";

/// The payload.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessContext {
    /// The service and process.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// What else readers need. Keys are unique.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<KeyValue>,
}

impl ProcessContext {
    /// Of a process with that resource, whose threads publish contexts without attributes by that schema.
    #[must_use]
    pub fn of_threads(resource: Vec<KeyValue>, schema: &str) -> Self {
        let no_keys = AnyValue {
            value: Some(any_value::Value::Array(ArrayValue::default())),
        };
        Self {
            resource: Some(Resource {
                attributes: resource,
                dropped_attributes_count: 0,
            }),
            attributes: vec![
                KeyValue::string(SCHEMA_VERSION_ATTRIBUTE, schema),
                KeyValue {
                    key: KEY_MAP_ATTRIBUTE.to_owned(),
                    value: Some(no_keys),
                },
            ],
        }
    }

    /// As protobuf.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_context_is_byte_by_byte_what_the_schema_says() {
        let context = ProcessContext::of_threads(vec![KeyValue::string("a", "b")], "s1");
        let mut expected = Vec::<u8>::new();
        // resource (1) { attributes (1) { key (1) "a", value (2) { string_value (1) "b" } } }
        expected.extend(b"\x0a\x0a\x0a\x08\x0a\x01a\x12\x03\x0a\x01b");
        // attributes (2) { key (1) …, value (2) { string_value (1) "s1" } }
        expected.extend(b"\x12\x22\x0a\x1athreadlocal.schema_version\x12\x04\x0a\x02s1");
        // attributes (2) { key (1) …, value (2) { array_value (5) {} } }
        expected.extend(b"\x12\x23\x0a\x1dthreadlocal.attribute_key_map\x12\x02\x2a\x00");
        assert_eq!(context.to_bytes(), expected);
    }
}
