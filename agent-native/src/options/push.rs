//! Where windows are sent, and how: the keys that begin with `push`, and `label.NAME`.
//!
//! What these keys hold may lead to a secret, so a bad value of theirs is not quoted.

use std::path::PathBuf;

use vtprof_deliver::office::DiskSpool;
use vtprof_deliver::pyroscope::PushSpan;
use vtprof_deliver::secret::Secret;
use vtprof_deliver::target::{Scheme, Target};

use super::value;

/// Most targets: each has a thread.
const TARGETS: usize = 4;
/// What a message shows in place of a value.
pub const HIDDEN: &str = "<not shown>";
/// What stands for nothing in a list.
const NONE: &str = "-";

/// One that windows go to.
#[derive(Clone, PartialEq, Debug)]
pub enum To {
    /// That one.
    Target(Box<Target>),
    /// A Collector; OpenTelemetry's variables say where.
    Collector,
}

/// See the module.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Push {
    /// Targets; none: nothing is sent.
    pub to: Vec<To>,
    /// Whose id Pyroscope gets.
    pub span: PushSpan,
    /// Whether it gets no trace ids.
    pub without_trace_ids: bool,
    /// What goes before the token, for each target or for all.
    pub auth: Vec<Option<Scheme>>,
    /// Files of tokens, likewise.
    pub token_files: Vec<Option<PathBuf>>,
    /// `X-Scope-OrgID`, likewise.
    pub tenants: Vec<Option<Secret>>,
    /// Certificates to trust beside the system's.
    pub ca: Option<PathBuf>,
    /// Where what cannot be sent waits.
    pub spool: Option<DiskSpool>,
    /// Static labels.
    pub labels: Vec<(String, String)>,
}

/// Keys of this module, as a message names them.
pub const KEYS: [&str; 9] = [
    "label.NAME",
    "push",
    "push_auth",
    "push_ca",
    "push_span",
    "push_spool",
    "push_tenant",
    "push_token_file",
    "push_trace_ids",
];

/// Whether a key is one of them.
pub fn knows(key: &str) -> bool {
    KEYS.contains(&key) && key != "label.NAME" || label(key).is_some()
}

/// The name of a label, of `label.NAME`.
fn label(key: &str) -> Option<&str> {
    key.strip_prefix("label.").filter(|name| !name.is_empty())
}

impl Push {
    /// Whether any of its keys was given.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Applies one key.
    ///
    /// # Errors
    /// What the value should be.
    pub fn apply(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "push" => self.to = list(text, to)?,
            "push_auth" => self.auth = list(text, |part| optional(part, scheme))?,
            "push_ca" => self.ca = Some(file(text)?),
            "push_span" => {
                let words = [("root", PushSpan::Root), ("current", PushSpan::Current)];
                self.span = value::word(text, &words)?;
            }
            "push_trace_ids" => {
                let words = [("on", false), ("off", true)];
                self.without_trace_ids = value::word(text, &words)?;
            }
            "push_spool" => self.spool = Some(spool(text)?),
            "push_tenant" => self.tenants = list(text, |part| optional(part, tenant))?,
            "push_token_file" => self.token_files = list(text, |part| optional(part, file))?,
            _ => {
                let name = label(key).ok_or("label.NAME=VALUE")?;
                let value = value::name(text).map_err(|_| "a text")?;
                self.labels.retain(|(known, _)| known != name);
                self.labels.push((name.to_owned(), value));
            }
        }
        Ok(())
    }
}

/// `a,b`.
fn list<T>(text: &str, part: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let parts: Result<Vec<_>, _> = text.split(',').map(|text| part(text.trim())).collect();
    parts.and_then(|parts| match parts.len() {
        1..=TARGETS => Ok(parts),
        _ => Err(format!("one to {TARGETS}, with a comma between")),
    })
}

fn optional<T>(text: &str, value: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    (text != NONE).then(|| value(text)).transpose()
}

fn to(text: &str) -> Result<To, String> {
    if text == "otlp" {
        return Ok(To::Collector);
    }
    Target::parse(text).map(|target| To::Target(Box::new(target)))
}

/// `bearer`, `basic:NAME`, or another word.
fn scheme(text: &str) -> Result<Scheme, String> {
    const WANTED: &str = "bearer, basic:NAME or the word that goes before the token; the token itself comes from push_token_file=FILE or VTPROF_PUSH_TOKEN";
    if let Some(name) = text.strip_prefix("basic:") {
        let is_name = !name.is_empty() && !name.contains(':') && Secret::new(name).is_ok();
        return is_name
            .then(|| Scheme::Basic(name.to_owned()))
            .ok_or_else(|| WANTED.to_owned());
    }
    let is_word = text
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    match text {
        "" | "basic" => Err(WANTED.to_owned()),
        "bearer" => Ok(Scheme::Word("Bearer".to_owned())),
        _ if is_word && text.len() <= 20 => Ok(Scheme::Word(text.to_owned())),
        _ => Err(WANTED.to_owned()),
    }
}

fn tenant(text: &str) -> Result<Secret, String> {
    Secret::new(text).map_err(|_| "a tenant's name".to_owned())
}

fn file(text: &str) -> Result<PathBuf, String> {
    value::path(text).map_err(|_| "a file".to_owned())
}

/// `DIR` or `DIR,SIZE`.
fn spool(text: &str) -> Result<DiskSpool, String> {
    const WANTED: &str = "a directory and a size, such as /var/spool/vtprof,256MiB";
    let (folder, size) = text.rsplit_once(',').unwrap_or((text, "256MiB"));
    let bytes = value::bytes(size.trim()).filter(|bytes| *bytes > 0);
    Ok(DiskSpool {
        folder: value::path(folder.trim()).map_err(|_| WANTED)?,
        bytes: bytes.ok_or(WANTED)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(key: &str, text: &str) -> Result<Push, String> {
        let mut push = Push::default();
        push.apply(key, text)?;
        Ok(push)
    }

    #[test]
    fn every_key_takes_what_its_documentation_shows() {
        assert_eq!(Push::default().to, []);
        let both = applied("push", "pyroscope+https://h:4040,otlp").unwrap().to;
        assert!(matches!(both[..], [To::Target(_), To::Collector]));
        let schemes = applied("push_auth", "bearer,basic:me,Collector,-").unwrap();
        let word = |word: &str| Some(Scheme::Word(word.to_owned()));
        let basic = Some(Scheme::Basic("me".to_owned()));
        assert_eq!(
            schemes.auth,
            [word("Bearer"), basic, word("Collector"), None]
        );
        assert_eq!(applied("push_ca", "/ca").unwrap().ca, Some("/ca".into()));
        assert!(applied("push_trace_ids", "off").unwrap().without_trace_ids);
        assert!(!Push::default().without_trace_ids);
        let span = applied("push_span", "current").unwrap().span;
        assert_eq!(span, PushSpan::Current);
        let spool = |bytes| DiskSpool {
            folder: "/s".into(),
            bytes,
        };
        for (text, bytes) in [("/s", 256 << 20), ("/s,1k", 1024)] {
            assert_eq!(
                applied("push_spool", text).unwrap().spool,
                Some(spool(bytes))
            );
        }
        let tenants = applied("push_tenant", "a").unwrap().tenants;
        assert_eq!(tenants, [Secret::new("a").ok()]);
        let files = applied("push_token_file", "/a,-").unwrap().token_files;
        assert_eq!(files, [Some("/a".into()), None]);
        let mut push = applied("label.zone", "a").unwrap();
        push.apply("label.zone", "b, c").unwrap();
        assert_eq!(push.labels, [("zone".to_owned(), "b, c".to_owned())]);
    }

    #[test]
    fn a_bad_value_is_told_what_it_should_be_and_not_what_it_is() {
        for (key, text) in [
            ("push", "hunter2"),
            ("push", "https://me:hunter2@h"),
            ("push", "pprof+https://me:hunter2@h"),
            (
                "push",
                "pprof+http://a,pprof+http://b,pprof+http://c,otlp,otlp",
            ),
            ("push_auth", "bearer hunter2"),
            ("push_auth", "basic:me:hunter2"),
            ("push_auth", "basic"),
            ("push_span", "both"),
            ("push_trace_ids", "no"),
            ("push_spool", "/s,many"),
            ("push_spool", "/s,0"),
            ("label.", "x"),
        ] {
            let reason = applied(key, text).unwrap_err();
            assert!(!reason.contains("hunter2"), "{reason}");
            assert_eq!(reason.lines().count(), 1);
        }
    }
}
