//! The messages of OTLP traces: `opentelemetry.proto.{common,resource,trace}.v1`, in one module: profiles use few of the
//! common ones.
//!
//! Field numbers are those of opentelemetry-proto 1.x. Span events, links and trace flags are left
//! out: protobuf skips fields a reader does not know, so files that have them still read.

#[cfg(feature = "formats")]
use super::json;

/// The root message of a file of spans.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct TracesData {
    /// Spans by the resource that made them.
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// Spans of one resource.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ResourceSpans {
    /// The service and process.
    #[prost(message, optional, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub resource: Option<Resource>,
    /// Spans by instrumentation scope.
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
    /// Schema of the resource.
    #[prost(string, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub schema_url: String,
}

/// What made the spans.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Resource {
    /// Attributes such as `service.name`.
    #[prost(message, repeated, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attributes: Vec<KeyValue>,
    /// Attributes left out.
    #[prost(uint32, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub dropped_attributes_count: u32,
}

/// Spans of one instrumentation scope.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ScopeSpans {
    /// The instrumentation library.
    #[prost(message, optional, tag = "1")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub scope: Option<InstrumentationScope>,
    /// The spans.
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
    /// Schema of the spans.
    #[prost(string, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub schema_url: String,
}

/// An instrumentation library.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct InstrumentationScope {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Version.
    #[prost(string, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub version: String,
    /// Attributes.
    #[prost(message, repeated, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attributes: Vec<KeyValue>,
    /// Attributes left out.
    #[prost(uint32, tag = "4")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub dropped_attributes_count: u32,
}

/// One operation.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Span {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[cfg_attr(feature = "formats", serde(with = "json::hex"))]
    pub trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[cfg_attr(feature = "formats", serde(with = "json::hex"))]
    pub span_id: Vec<u8>,
    /// W3C `tracestate`.
    #[prost(string, tag = "3")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub trace_state: String,
    /// 8 bytes; empty for the root of a trace.
    #[prost(bytes = "vec", tag = "4")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::hex", skip_serializing_if = "json::is_default")
    )]
    pub parent_span_id: Vec<u8>,
    /// Name.
    #[prost(string, tag = "5")]
    pub name: String,
    /// `SpanKind`: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer.
    #[prost(int32, tag = "6")]
    #[cfg_attr(feature = "formats", serde(with = "json::span_kind"))]
    pub kind: i32,
    /// Start, ns since the Unix epoch.
    #[prost(fixed64, tag = "7")]
    #[cfg_attr(feature = "formats", serde(with = "json::int"))]
    pub start_time_unix_nano: u64,
    /// End, ns since the Unix epoch.
    #[prost(fixed64, tag = "8")]
    #[cfg_attr(feature = "formats", serde(with = "json::int"))]
    pub end_time_unix_nano: u64,
    /// Attributes.
    #[prost(message, repeated, tag = "9")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub attributes: Vec<KeyValue>,
    /// Attributes left out.
    #[prost(uint32, tag = "10")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub dropped_attributes_count: u32,
    /// Outcome.
    #[prost(message, optional, tag = "15")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub status: Option<Status>,
}

/// Outcome of a span.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct Status {
    /// Description of an error.
    #[prost(string, tag = "2")]
    #[cfg_attr(feature = "formats", serde(skip_serializing_if = "json::is_default"))]
    pub message: String,
    /// `StatusCode`: 0 unset, 1 ok, 2 error.
    #[prost(int32, tag = "3")]
    #[cfg_attr(
        feature = "formats",
        serde(with = "json::status_code", skip_serializing_if = "json::is_default")
    )]
    pub code: i32,
}

/// An attribute.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct KeyValue {
    /// Key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value of any type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AnyValue {
    /// The value; `None` for a null.
    #[prost(oneof = "any_value::Value", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub value: Option<any_value::Value>,
}

/// The alternatives of [`AnyValue`].
pub mod any_value {
    /// A value of one type.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        /// Text.
        #[prost(string, tag = "1")]
        String(String),
        /// Boolean.
        #[prost(bool, tag = "2")]
        Bool(bool),
        /// Integer.
        #[prost(int64, tag = "3")]
        Int(i64),
        /// Floating point number.
        #[prost(double, tag = "4")]
        Double(f64),
        /// List.
        #[prost(message, tag = "5")]
        Array(super::ArrayValue),
        /// Map.
        #[prost(message, tag = "6")]
        KeyValueList(super::KeyValueList),
        /// Bytes.
        #[prost(bytes, tag = "7")]
        Bytes(Vec<u8>),
        /// Text by its index in a dictionary of profiles.
        #[prost(int32, tag = "8")]
        StringIndex(i32),
    }
}

/// A list of values.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct ArrayValue {
    /// The values.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<AnyValue>,
}

/// A map of values.
#[derive(Clone, PartialEq, prost::Message)]
#[cfg_attr(
    feature = "formats",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, rename_all = "camelCase")
)]
pub struct KeyValueList {
    /// The entries.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<KeyValue>,
}

impl KeyValue {
    /// A text attribute.
    pub fn string(key: &str, value: impl Into<String>) -> Self {
        Self::new(key, any_value::Value::String(value.into()))
    }

    /// An integer attribute.
    pub fn int(key: &str, value: i64) -> Self {
        Self::new(key, any_value::Value::Int(value))
    }

    fn new(key: &str, value: any_value::Value) -> Self {
        KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
        }
    }

    /// The text, when the attribute is one.
    pub fn as_str(&self) -> Option<&str> {
        match self.value.as_ref()?.value.as_ref()? {
            any_value::Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, when the attribute is one.
    pub fn as_int(&self) -> Option<i64> {
        match self.value.as_ref()?.value.as_ref()? {
            any_value::Value::Int(number) => Some(*number),
            _ => None,
        }
    }
}
