//! The JSON encoding of OTLP: ids are hexadecimal, other bytes base64, numbers of 64 bits text, enumerations numbers.
//! Read is what protobuf's own JSON has beside that: 64-bit numbers as numbers, enumerations by name.

use std::fmt;
use std::marker::PhantomData;

use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::trace::{AnyValue, ArrayValue, KeyValueList, any_value};

/// Whether protobuf would leave a field of that value out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// As much of a text as a line may have.
fn shown(text: &str) -> &str {
    const LONGEST: usize = 80;
    let end = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// A number of 64 bits.
pub(super) trait Int: fmt::Display + Default + Sized {
    fn of(number: i128) -> Option<Self>;
}

impl Int for i64 {
    fn of(number: i128) -> Option<Self> {
        number.try_into().ok()
    }
}

impl Int for u64 {
    fn of(number: i128) -> Option<Self> {
        number.try_into().ok()
    }
}

struct IntVisitor<T>(PhantomData<T>);

impl<T: Int> Visitor<'_> for IntVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 64-bit number, as text or not")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::of(number.into()).ok_or_else(|| E::custom(format_args!("{number} is out of range")))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::of(number.into()).ok_or_else(|| E::custom(format_args!("{number} is out of range")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let number = text.parse().ok().and_then(T::of);
        number.ok_or_else(|| E::custom(format_args!("{:?} is no 64-bit number", shown(text))))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// A number, for `serde(with)`.
pub(super) mod int {
    use super::*;

    pub fn serialize<T: Int, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T: Int, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(IntVisitor(PhantomData))
    }
}

/// Numbers, for `serde(with)`.
pub(super) mod ints {
    use super::*;

    struct One<T>(T);

    impl<'de, T: Int> Deserialize<'de> for One<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            int::deserialize(deserializer).map(One)
        }
    }

    struct All<T>(PhantomData<T>);

    impl<'de, T: Int> Visitor<'de> for All<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of 64-bit numbers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut numbers = Vec::new();
            while let Some(One(number)) = list.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }
    }

    pub fn serialize<T: Int, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(values.len()))?;
        for value in values {
            list.serialize_element(&value.to_string())?;
        }
        list.end()
    }

    pub fn deserialize<'de, T: Int, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(All(PhantomData))
    }
}

struct BytesVisitor {
    encoding: data_encoding::Encoding,
    name: &'static str,
}

impl Visitor<'_> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes as {}", self.name)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        self.encoding.decode(text.as_bytes()).map_err(|error| {
            E::custom(format_args!(
                "{:?} is not {}: {error}",
                shown(text),
                self.name
            ))
        })
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<u8>, E> {
        Ok(Vec::new())
    }
}

/// Ids, for `serde(with)`.
pub(super) mod hex {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_any(BytesVisitor {
            encoding: HEXLOWER_PERMISSIVE,
            name: "hexadecimal",
        })
    }
}

/// Bytes that are no id, for `serde(with)`.
pub(super) mod base64 {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_any(BytesVisitor {
            encoding: BASE64,
            name: "base64",
        })
    }
}

/// Values of an enumeration, for `serde(with)`.
macro_rules! enumeration {
    ($module:ident, [$($name:literal),*]) => {
        pub(super) mod $module {
            use super::*;

            struct Number;

            impl Visitor<'_> for Number {
                type Value = i32;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a value of an enumeration")
                }

                fn visit_i64<E: Error>(self, number: i64) -> Result<i32, E> {
                    // As with protobuf, a value of tomorrow is one that nobody knows.
                    Ok(number.try_into().unwrap_or(-1))
                }

                fn visit_u64<E: Error>(self, number: u64) -> Result<i32, E> {
                    Ok(number.try_into().unwrap_or(-1))
                }

                fn visit_str<E: Error>(self, name: &str) -> Result<i32, E> {
                    let number = [$($name),*].iter().position(|known| *known == name);
                    number
                        .and_then(|number| number.try_into().ok())
                        .ok_or_else(|| E::custom(format_args!("{:?} is no value of this", shown(name))))
                }

                fn visit_unit<E: Error>(self) -> Result<i32, E> {
                    Ok(0)
                }
            }

            pub fn serialize<S: Serializer>(
                number: &i32,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_i32(*number)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<i32, D::Error> {
                deserializer.deserialize_any(Number)
            }
        }
    };
}

enumeration!(
    span_kind,
    [
        "SPAN_KIND_UNSPECIFIED",
        "SPAN_KIND_INTERNAL",
        "SPAN_KIND_SERVER",
        "SPAN_KIND_CLIENT",
        "SPAN_KIND_PRODUCER",
        "SPAN_KIND_CONSUMER"
    ]
);
enumeration!(
    status_code,
    ["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"]
);

/// [`AnyValue`] as JSON has it: an object with one of these.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnyJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bool_value: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    int_value: Option<IntJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    double_value: Option<DoubleJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    array_value: Option<ArrayValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kvlist_value: Option<KeyValueList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_value: Option<BytesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value_strindex: Option<i32>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct IntJson(#[serde(with = "int")] i64);

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct BytesJson(#[serde(with = "base64")] Vec<u8>);

/// JSON has no number for these: protobuf writes `"NaN"`, `"Infinity"`, `"-Infinity"`.
struct DoubleJson(f64);

impl Serialize for DoubleJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("NaN"),
            number if number > 0.0 => serializer.serialize_str("Infinity"),
            _ => serializer.serialize_str("-Infinity"),
        }
    }
}

impl<'de> Deserialize<'de> for DoubleJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Double;
        impl Visitor<'_> for Double {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
                Ok(number)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
                Ok(number as f64)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
                Ok(number as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
                text.parse()
                    .map_err(|_| E::custom(format_args!("{text:?} is no number")))
            }
        }
        deserializer.deserialize_any(Double).map(DoubleJson)
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use any_value::Value;
        let json = AnyJson::deserialize(deserializer)?;
        let value = json
            .string_value
            .map(Value::String)
            .or(json.bool_value.map(Value::Bool))
            .or(json.int_value.map(|IntJson(number)| Value::Int(number)))
            .or(json
                .double_value
                .map(|DoubleJson(number)| Value::Double(number)))
            .or(json.array_value.map(Value::Array))
            .or(json.kvlist_value.map(Value::KeyValueList))
            .or(json.bytes_value.map(|BytesJson(bytes)| Value::Bytes(bytes)))
            .or(json.string_value_strindex.map(Value::StringIndex));
        Ok(AnyValue { value })
    }
}

impl Serialize for AnyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use any_value::Value;
        let mut json = AnyJson::default();
        match self.value.clone() {
            None => {}
            Some(Value::String(text)) => json.string_value = Some(text),
            Some(Value::Bool(is)) => json.bool_value = Some(is),
            Some(Value::Int(number)) => json.int_value = Some(IntJson(number)),
            Some(Value::Double(number)) => json.double_value = Some(DoubleJson(number)),
            Some(Value::Array(list)) => json.array_value = Some(list),
            Some(Value::KeyValueList(list)) => json.kvlist_value = Some(list),
            Some(Value::Bytes(bytes)) => json.bytes_value = Some(BytesJson(bytes)),
            Some(Value::StringIndex(index)) => json.string_value_strindex = Some(index),
        }
        json.serialize(serializer)
    }
}
