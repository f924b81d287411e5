//! A hundred thousand answers, most of them hostile, against an oracle that knows the rules and nothing of the code.

use std::sync::OnceLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::super::wanted::{ALLOC, Choice, EVERY, HERTZ};
use super::*;

const ANSWERS: u32 = 100_000;

fn pair() -> &'static Ed25519KeyPair {
    static PAIR: OnceLock<Ed25519KeyPair> = OnceLock::new();
    PAIR.get_or_init(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap())
}

fn key() -> Key {
    Key::parse(&BASE64_STANDARD.encode(pair().public_key().as_ref())).unwrap()
}

fn sign(body: &[u8]) -> String {
    BASE64_STANDARD.encode(pair().sign(body).as_ref())
}

fn document(text: &str) -> Poll {
    Poll::Document {
        body: text.as_bytes().to_vec(),
        signature: None,
        etag: Some("\"1\"".to_owned()),
    }
}

const ON: &str = r#"{"enabled": true}"#;

#[test]
fn it_is_off_until_a_document_says_on_and_after_three_polls_that_cannot_be_read() {
    let mut policy = Policy::new("shop", None);
    assert!(!policy.wanted().on);
    assert!(
        !policy.after(Poll::Unchanged).wanted.on,
        "nothing is no document"
    );
    assert!(policy.after(document(ON)).wanted.on);
    let gone = || Poll::Unreadable("answers 404".to_owned());
    for _ in 0..3 {
        assert!(policy.after(gone()).wanted.on);
        assert!(policy.after(gone()).wanted.on);
        assert!(
            policy.after(Poll::Unchanged).wanted.on,
            "read again in between"
        );
    }
    policy.after(gone());
    policy.after(gone());
    assert_eq!(policy.after(gone()).wanted, Wanted::off());
    assert_eq!(policy.etag(), None);
    assert!(
        !policy.after(Poll::Unchanged).wanted.on,
        "nobody asked that"
    );
    assert!(policy.after(document(ON)).wanted.on);
}

#[test]
fn where_documents_are_signed_who_answers_304_does_not_keep_it_on() {
    let text = r#"{"enabled": true, "serial": 1}"#;
    let signed = || Poll::Document {
        body: text.as_bytes().to_vec(),
        signature: Some(sign(text.as_bytes())),
        etag: Some("\"1\"".to_owned()),
    };
    let mut policy = Policy::new("shop", Some(key()));
    assert!(policy.after(signed()).wanted.on);
    assert_eq!(policy.etag(), None, "nothing is asked that a 304 answers");
    assert!(policy.after(Poll::Unchanged).wanted.on);
    assert!(policy.after(Poll::Unchanged).wanted.on);
    let last = policy.after(Poll::Unchanged);
    assert_eq!(last.wanted, Wanted::off());
    assert!(last.why.is_some());
    assert!(policy.after(signed()).wanted.on);
}

#[test]
fn an_invalid_document_switches_off_at_once() {
    for bad in [
        "",
        "{}",
        "[true]",
        "[true, 7, \"shop\", 200]",
        "{\"enabled\": true, \"x\": 1}",
        &" ".repeat(70_000),
    ] {
        let mut policy = Policy::new("shop", None);
        policy.after(document(ON));
        let outcome = policy.after(document(bad));
        assert_eq!(outcome.wanted, Wanted::off());
        assert!(outcome.why.is_some());
    }
}

#[test]
fn a_document_of_somebody_else_or_for_somebody_else_or_of_the_past_is_not_obeyed() {
    let signed = |text: &str| Poll::Document {
        body: text.as_bytes().to_vec(),
        signature: Some(sign(text.as_bytes())),
        etag: None,
    };
    let on = |serial: u64| signed(&format!(r#"{{"enabled": true, "serial": {serial}}}"#));
    let mut policy = Policy::new("shop", Some(key()));
    assert!(
        !policy
            .after(document(r#"{"enabled": true, "serial": 1}"#))
            .wanted
            .on
    );
    assert!(
        !policy.after(signed(ON)).wanted.on,
        "signed without a serial"
    );
    assert!(policy.after(on(5)).wanted.on);
    assert!(policy.after(on(5)).wanted.on);
    assert!(!policy.after(on(4)).wanted.on, "an old one");
    assert!(policy.after(on(6)).wanted.on);
    let Poll::Document { body, .. } = on(7) else {
        unreachable!()
    };
    let forged = Poll::Document {
        body,
        signature: Some(sign(b"another")),
        etag: None,
    };
    assert!(!policy.after(forged).wanted.on);
    let for_them = signed(r#"{"enabled": true, "serial": 8, "service": "bank"}"#);
    assert!(!policy.after(for_them).wanted.on);
    let for_us = signed(r#"{"enabled": true, "serial": 8, "service": "shop"}"#);
    assert!(policy.after(for_us).wanted.on);
}

/// The rules, once more and otherwise: over values of JSON, without types of ours.
struct Oracle {
    is_signed: bool,
    on: bool,
    can_be_unchanged: bool,
    unreadable: u32,
    highest: Option<u64>,
}

impl Oracle {
    fn after(&mut self, poll: &Poll, is_doubled: bool) {
        match poll {
            Poll::Unchanged if self.can_be_unchanged => self.unreadable = 0,
            Poll::Unchanged | Poll::Unreadable(_) => {
                self.unreadable += 1;
                if self.unreadable >= 3 {
                    (self.on, self.can_be_unchanged) = (false, false);
                }
            }
            Poll::Document {
                body,
                signature,
                etag,
            } => match self.judge(body, signature.as_deref(), is_doubled) {
                Some((on, serial)) => {
                    self.unreadable = 0;
                    self.on = on;
                    self.can_be_unchanged = etag.is_some() && !self.is_signed;
                    self.highest = serial.or(self.highest);
                }
                None => (self.on, self.can_be_unchanged) = (false, false),
            },
        }
    }

    /// Whether it says on, and its serial; `None` for one that is not to be obeyed.
    fn judge(
        &self,
        body: &[u8],
        signature: Option<&str>,
        is_doubled: bool,
    ) -> Option<(bool, Option<u64>)> {
        let is_right = || !self.is_signed || signature == Some(&sign(body));
        if body.len() > 65_536 || is_doubled || !is_right() {
            return None;
        }
        let value: Value = serde_json::from_slice(body).ok()?;
        let object = value.as_object()?;
        for (key, value) in object {
            let is_good = match key.as_str() {
                "enabled" => value.is_boolean(),
                "serial" => value.is_u64(),
                "service" => value == "shop",
                "cpu_hz" | "wall_hz" | "blocked_hz" | "lock_hz" | "alloc_bytes" => {
                    *value == Value::Bool(false) || value.as_f64().is_some_and(|it| it > 0.0)
                }
                "every_seconds" => value.as_f64().is_some_and(|it| it > 0.0),
                "labels" => value.as_object().is_some_and(|labels| {
                    labels.len() <= 30
                        && labels.iter().all(|(name, text)| {
                            !name.is_empty()
                                && name.len() <= 128
                                && !name.chars().any(char::is_control)
                                && text.as_str().is_some_and(|text| text.len() <= 1024)
                        })
                }),
                _ => false,
            };
            if !is_good {
                return None;
            }
        }
        let serial = object.get("serial").and_then(Value::as_u64);
        let on = object.get("enabled")?.as_bool()?;
        let is_new = match (self.highest, serial) {
            (Some(highest), Some(serial)) => serial >= highest,
            (Some(_), None) => false,
            (None, _) => serial.is_some() || !self.is_signed,
        };
        is_new.then_some((on, serial))
    }
}

/// Answers, of a seed.
struct Hostile {
    is_signed: bool,
    chance: fastrand::Rng,
    serial: u64,
}

impl Hostile {
    fn number(&mut self) -> String {
        const NUMBERS: [&str; 24] = [
            "0",
            "-0",
            "-1",
            "1",
            "9.99",
            "10",
            "50",
            "99.5",
            "100",
            "200",
            "200.4",
            "201",
            "1000",
            "100000",
            "4294967296",
            "18446744073709551615",
            "18446744073709551616",
            "1e308",
            "1e309",
            "-1e308",
            "1e-308",
            "NaN",
            "\"100\"",
            "null",
        ];
        match self.chance.u32(0..4) {
            0 => self.chance.choice(NUMBERS).unwrap_or("0").to_owned(),
            1 => "false".to_owned(),
            2 => self.chance.u32(1..500).to_string(),
            _ => format!("{}", self.chance.f64() * 400.0),
        }
    }

    /// A document, most often a valid one, and whether a key is in it twice.
    fn text(&mut self) -> (String, bool) {
        let mut parts = Vec::new();
        if self.chance.u32(0..50) > 0 {
            let enabled = ["true", "true", "true", "false", "1", "\"true\""];
            let most = if self.chance.u32(0..10) == 0 { 6 } else { 4 };
            let index = self.chance.usize(0..most);
            parts.push(format!("\"enabled\": {}", enabled[index]));
        }
        if self.chance.u32(0..20) > 0 {
            self.serial += 1;
            let back = if self.chance.u32(0..20) == 0 { 5 } else { 0 };
            parts.push(format!("\"serial\": {}", self.serial.saturating_sub(back)));
        }
        for name in [
            "cpu_hz",
            "wall_hz",
            "blocked_hz",
            "lock_hz",
            "alloc_bytes",
            "every_seconds",
        ] {
            if self.chance.u32(0..6) == 0 {
                let number = if name == "every_seconds" || self.chance.bool() {
                    self.chance.u32(1..100_000).to_string()
                } else {
                    self.number()
                };
                parts.push(format!("\"{name}\": {number}"));
            }
        }
        if self.chance.u32(0..10) == 0 {
            let labels = [
                json!({"zone": "a"}),
                json!({"": "a"}),
                json!({"a": 1}),
                json!([]),
            ];
            parts.push(format!("\"labels\": {}", labels[self.chance.usize(0..4)]));
        }
        if self.chance.u32(0..20) == 0 {
            let services = ["shop", "bank"];
            parts.push(format!(
                "\"service\": \"{}\"",
                services[self.chance.usize(0..2)]
            ));
        }
        if self.chance.u32(0..40) == 0 {
            parts.push("\"run\": \"rm -rf /\"".to_owned());
        }
        self.chance.shuffle(&mut parts);
        let is_doubled = !parts.is_empty() && self.chance.u32(0..60) == 0;
        if is_doubled {
            parts.push(parts[0].clone());
        }
        (format!("{{{}}}", parts.join(", ")), is_doubled)
    }

    /// Values without their names, in the order in which keys are declared: an array is no document, whatever is in it.
    fn nameless(&mut self) -> String {
        self.serial += 1;
        let serial = self.serial.to_string();
        let all = [
            "true", &serial, "\"shop\"", "200", "200", "200", "200", "1048576", "10", "{}",
        ];
        let count = self.chance.usize(1..=all.len());
        let text = format!("[{}]", all[..count].join(", "));
        match self.chance.u32(0..4) {
            0 => format!(" \n{text}"),
            1 => format!("[{text}]"),
            2 => format!("{{\"enabled\": true, \"serial\": {serial}, \"labels\": {text}}}"),
            _ => text,
        }
    }

    /// Random JSON.
    fn value(&mut self, depth: u32) -> Value {
        match self.chance.u32(0..if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => json!(self.chance.bool()),
            2 => json!(self.chance.f64() * 1e9),
            3 => json!(self.chance.alphanumeric().to_string()),
            4 => (0..self.chance.usize(0..4))
                .map(|_| self.value(depth - 1))
                .collect(),
            _ => {
                let mut names = ["enabled", "cpu_hz", "x", "serial"];
                self.chance.shuffle(&mut names);
                let count = self.chance.usize(0..4);
                let pairs = names.into_iter().take(count);
                Value::Object(
                    pairs
                        .map(|name| (name.to_owned(), self.value(depth - 1)))
                        .collect(),
                )
            }
        }
    }

    fn poll(&mut self) -> (Poll, bool) {
        let (mut body, mut is_doubled) = match self.chance.u32(0..100) {
            0..4 => return (Poll::Unchanged, false),
            4..12 => return (Poll::Unreadable("answers 500".to_owned()), false),
            12..20 => (self.value(4).to_string().into_bytes(), false),
            20..22 => {
                let length = self.chance.usize(0..70_000);
                ((0..length).map(|_| self.chance.u8(..)).collect(), false)
            }
            22..24 => (
                format!("{}{}", " ".repeat(65_530), self.text().0).into_bytes(),
                false,
            ),
            24..28 => (self.nameless().into_bytes(), false),
            _ => {
                let (text, is_doubled) = self.text();
                (text.into_bytes(), is_doubled)
            }
        };
        if self.chance.u32(0..6) == 0 && !body.is_empty() {
            for _ in 0..self.chance.usize(1..4) {
                let index = self.chance.usize(0..body.len());
                match self.chance.u32(0..3) {
                    0 => body[index] = self.chance.u8(..),
                    1 => body.truncate(index + 1),
                    _ => body.insert(index, self.chance.u8(b' '..b'~')),
                }
            }
            // Whether it still is, is not known: such a one is left to the other ninety-nine thousand.
            if is_doubled {
                body.clear();
                is_doubled = false;
            }
        }
        let signature = match self.chance.u32(0..20) {
            0 => None,
            1 => Some("AAAA".to_owned()),
            2 => Some(sign(b"another")),
            // Nobody looks at it where there is no key.
            _ => self.is_signed.then(|| sign(&body)),
        };
        let etag = self.chance.bool().then(|| "\"x\"".to_owned());
        let poll = Poll::Document {
            body,
            signature,
            etag,
        };
        (poll, is_doubled)
    }
}

#[test]
fn of_a_hundred_thousand_answers_none_brings_it_above_its_bounds_or_on_where_it_should_be_off() {
    let (mut on, mut off, mut at_bounds) = (0_u32, 0_u32, 0_u32);
    for is_signed in [true, false] {
        let mut hostile = Hostile {
            is_signed,
            chance: fastrand::Rng::with_seed(u64::from(is_signed) + 1),
            serial: 0,
        };
        let new = || Policy::new("shop", is_signed.then(key));
        let fresh = || Oracle {
            is_signed,
            on: false,
            can_be_unchanged: false,
            unreadable: 0,
            highest: None,
        };
        let (mut policy, mut oracle) = (new(), fresh());
        for n in 0..ANSWERS / 2 {
            // A process does not live for ever; and a serial that a fuzzed byte made huge ends all others.
            if n % 50 == 0 {
                (policy, oracle) = (new(), fresh());
                hostile.serial = 0;
            }
            let (poll, is_doubled) = hostile.poll();
            oracle.after(&poll, is_doubled);
            let wanted = policy.after(poll.clone()).wanted;
            assert_eq!(wanted.on, oracle.on, "{n} {is_signed}: {poll:?}");
            assert!(wanted.is_within_bounds(), "{n}: {wanted:?}");
            if wanted.on {
                on += 1;
            } else {
                off += 1;
            }
            let bounds = [Choice::At(HERTZ.0), Choice::At(HERTZ.1)];
            let alloc = [Choice::At(ALLOC.0), Choice::At(ALLOC.1)];
            at_bounds += u32::from(bounds.contains(&wanted.cpu) || alloc.contains(&wanted.alloc));
            at_bounds += u32::from(wanted.every == Some(EVERY.1));
        }
    }
    // The test has seen both, and what was brought to its bounds.
    assert!(
        on > ANSWERS / 10 && off > ANSWERS / 10,
        "{on} on, {off} off"
    );
    assert!(at_bounds > ANSWERS / 100, "{at_bounds}");
}
