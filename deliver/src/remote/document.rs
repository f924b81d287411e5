//! The document: JSON, an object.
//!
//! | key | value |
//! |---|---|
//! | `enabled` | `true` or `false`; there in any case |
//! | `serial` | a whole number that grows with each document; one below the highest seen is refused. There in any case where documents are signed |
//! | `service` | the service that it is for; another's is refused |
//! | `cpu_hz`, `wall_hz`, `blocked_hz`, `lock_hz` | a rate above 0, or `false` for off; not there: as the options have it |
//! | `alloc_bytes` | bytes between two samples, above 0, or `false` |
//! | `every_seconds` | length of a window, above 0 |
//! | `labels` | an object of texts, at most 30 |
//!
//! A number beyond its bounds is brought to the nearest (rates 10 to 200 Hz, windows 10 s to an hour, 128 KiB to 1 GiB). All else
//! makes the document invalid: a key that is not here, one twice, a value of another type, a rate of 0 or less, anything after
//! its end. What is not understood is not half obeyed.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::error::Category;

use super::wanted::{ALLOC, Choice, EVERY, HERTZ, Wanted};

/// Most labels.
const LABELS: usize = 30;
/// Longest name and value of a label, bytes.
const LONGEST: (usize, usize) = (128, 1024);

/// See the module.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    /// Its number.
    pub serial: Option<u64>,
    /// Whom it is for.
    pub service: Option<String>,
    /// What it says, within bounds.
    pub wanted: Wanted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    enabled: bool,
    #[serde(default, deserialize_with = "there")]
    serial: Option<u64>,
    #[serde(default, deserialize_with = "there")]
    service: Option<String>,
    #[serde(default)]
    cpu_hz: Number,
    #[serde(default)]
    wall_hz: Number,
    #[serde(default)]
    blocked_hz: Number,
    #[serde(default)]
    lock_hz: Number,
    #[serde(default)]
    alloc_bytes: Number,
    #[serde(default, deserialize_with = "there")]
    every_seconds: Option<f64>,
    #[serde(default)]
    labels: Labels,
}

/// A value that is there is one: `null` is none.
fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

/// A number or `false`.
#[derive(Default)]
enum Number {
    #[default]
    Absent,
    Off,
    Of(f64),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number above 0, or false")
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Number, E> {
                if value {
                    return Err(E::custom("true is no rate"));
                }
                Ok(Number::Off)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Number, E> {
                self.visit_f64(value as f64)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Number, E> {
                self.visit_f64(value as f64)
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Of(value))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Texts by name, none twice.
#[derive(Default)]
struct Labels(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Labels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Vec::new();
                let mut names = HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    let is_short = name.len() <= LONGEST.0 && value.len() <= LONGEST.1;
                    let is_text = !name.is_empty() && !name.chars().any(char::is_control);
                    if !is_short || !is_text || !names.insert(name.clone()) {
                        return Err(A::Error::custom("a label that cannot be"));
                    }
                    labels.push((name, value));
                    if labels.len() > LABELS {
                        return Err(A::Error::custom("too many labels"));
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A number above 0, brought within bounds.
fn within(value: f64, least: f64, most: f64) -> Result<u32, String> {
    // Not so for what is no number either.
    if value > 0.0 {
        // In range: what is clamped is, and the bounds are of 32 bits.
        Ok(value.clamp(least, most).round() as u32)
    } else {
        Err(format!("{value} is not above 0"))
    }
}

/// What is wrong and where. Not as the error displays itself: that quotes the answer, and this goes to a terminal and a log.
fn told(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Syntax => "it is not JSON",
        Category::Eof => "it ends too soon",
        Category::Data => "a key or a value is not one that may be",
        Category::Io => "it cannot be read",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

fn choice(number: &Number, (least, most): (u32, u32)) -> Result<Choice, String> {
    match number {
        Number::Absent => Ok(Choice::Local),
        Number::Off => Ok(Choice::Off),
        Number::Of(value) => within(*value, f64::from(least), f64::from(most)).map(Choice::At),
    }
}

impl Document {
    /// Reads one.
    ///
    /// # Errors
    /// Why it is invalid, in one line.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        // By itself a struct would be read of an array, too, key by key without their names.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err("it is no object".to_owned());
        }
        let raw: Raw = serde_json::from_slice(body).map_err(|error| told(&error))?;
        let every = raw
            .every_seconds
            .map(|seconds| within(seconds, EVERY.0.as_secs_f64(), EVERY.1.as_secs_f64()))
            .transpose()?;
        Ok(Self {
            serial: raw.serial,
            service: raw.service,
            wanted: Wanted {
                on: raw.enabled,
                cpu: choice(&raw.cpu_hz, HERTZ)?,
                wall: choice(&raw.wall_hz, HERTZ)?,
                blocked: choice(&raw.blocked_hz, HERTZ)?,
                lock: choice(&raw.lock_hz, HERTZ)?,
                alloc: choice(&raw.alloc_bytes, ALLOC)?,
                every: every.map(|seconds| Duration::from_secs(u64::from(seconds))),
                labels: raw.labels.0,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Document, String> {
        Document::read(text.as_bytes())
    }

    #[test]
    fn a_whole_document_is_read_and_numbers_beyond_their_bounds_are_brought_to_them() {
        let document = read(
            r#"{"enabled": true, "serial": 7, "service": "shop", "cpu_hz": 1e308, "wall_hz": 0.001,
                "blocked_hz": 100, "lock_hz": false, "alloc_bytes": 1, "every_seconds": 3,
                "labels": {"zone": "a"}}"#,
        )
        .unwrap();
        let expected = Wanted {
            on: true,
            cpu: Choice::At(200),
            wall: Choice::At(10),
            blocked: Choice::At(100),
            lock: Choice::Off,
            alloc: Choice::At(128 << 10),
            every: Some(Duration::from_secs(10)),
            labels: vec![("zone".to_owned(), "a".to_owned())],
        };
        assert_eq!(document.wanted, expected);
        assert_eq!(document.serial, Some(7));
        let least = read(r#"{"enabled": true}"#).unwrap();
        assert!(least.wanted.on);
        assert_eq!(least.wanted.cpu, Choice::Local);
    }

    #[test]
    fn what_is_not_understood_makes_the_document_invalid() {
        for text in [
            "",
            "null",
            "[]",
            "true",
            "[true]",
            " \n[true, 7, \"shop\", 200]",
            "[true, 7, \"shop\", 200, 200, 200, 200, 1048576, 10, {}]",
            "[[true]]",
            "[{\"enabled\": true}]",
            "{}",
            "{\"enabled\": [true]}",
            "{\"enabled\": true, \"serial\": [7]}",
            "{\"enabled\": true, \"service\": [\"shop\"]}",
            "{\"enabled\": true, \"cpu_hz\": [100]}",
            "{\"enabled\": true, \"every_seconds\": [10]}",
            "{\"enabled\": true, \"labels\": [[\"a\", \"b\"]]}",
            r#"{"enabled": 1}"#,
            r#"{"enabled": "true"}"#,
            r#"{"enabled": null}"#,
            r#"{"enabled": true, "cup_hz": 1}"#,
            r#"{"enabled": true, "enabled": true}"#,
            r#"{"enabled": true} x"#,
            r#"{"enabled": true"#,
            r#"{"enabled": true, "cpu_hz": "100"}"#,
            r#"{"enabled": true, "cpu_hz": true}"#,
            r#"{"enabled": true, "cpu_hz": null}"#,
            r#"{"enabled": true, "cpu_hz": 0}"#,
            r#"{"enabled": true, "cpu_hz": -1}"#,
            r#"{"enabled": true, "cpu_hz": NaN}"#,
            r#"{"enabled": true, "cpu_hz": 1e999}"#,
            r#"{"enabled": true, "every_seconds": 0}"#,
            r#"{"enabled": true, "every_seconds": null}"#,
            r#"{"enabled": true, "serial": null}"#,
            r#"{"enabled": true, "labels": null}"#,
            r#"{"enabled": true, "serial": -1}"#,
            r#"{"enabled": true, "serial": 1.5}"#,
            r#"{"enabled": true, "labels": {"a": 1}}"#,
            r#"{"enabled": true, "labels": {"a": "x", "a": "y"}}"#,
            r#"{"enabled": true, "labels": []}"#,
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let many: Vec<_> = (0..31).map(|n| format!("\"k{n}\":\"v\"")).collect();
        let text = format!("{{\"enabled\":true,\"labels\":{{{}}}}}", many.join(","));
        assert!(read(&text).is_err());
    }
    #[test]
    fn a_fault_is_told_by_its_place_and_nothing_of_the_answer_is_repeated() {
        for (text, place) in [
            (
                "{\"enabled\": true,\n\"\\u001b]0;OWNED\": 1}",
                "a key or a value is not one that may be (line 2",
            ),
            (
                "{\"enabled\": \"OWNED\"}",
                "a key or a value is not one that may be (line 1",
            ),
            ("{\"enabled\": OWNED}", "it is not JSON (line 1, column 13)"),
            ("{\"enabled\": true, \"OWNED", "it ends too soon (line 1"),
            ("OWNED", "it is no object"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(place), "{error}");
            assert!(!error.contains("OWNED"), "{error}");
        }
    }
}
