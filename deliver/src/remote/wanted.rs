//! What the agent is to do.

use std::fmt;
use std::time::Duration;

/// Finest and coarsest rate that may be set from afar, Hz.
pub const HERTZ: (u32, u32) = (10, 200);
/// Shortest and longest interval of uploads that may be.
pub const EVERY: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(3600));
/// Fewest and most bytes between two samples of allocations that may be.
pub const ALLOC: (u32, u32) = (128 << 10, 1 << 30);

/// What is said of one kind, in its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// Nothing: as the options have it.
    #[default]
    Local,
    /// Not at all.
    Off,
    /// That.
    At(u32),
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    /// Whether anything is sampled.
    pub on: bool,
    /// CPU, Hz.
    pub cpu: Choice,
    /// Wall clock, Hz.
    pub wall: Choice,
    /// Blocked time: 1 / the wait that is sampled for sure, Hz.
    pub blocked: Choice,
    /// Waits for locks, likewise.
    pub lock: Choice,
    /// Allocations: bytes between two samples.
    pub alloc: Choice,
    /// Length of a window; `None` as the options have it.
    pub every: Option<Duration>,
    /// Labels beside those of the options; they win over them.
    pub labels: Vec<(String, String)>,
}

impl Wanted {
    /// Nothing is sampled.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// Whether it is within the bounds of what may be set from afar.
    #[must_use]
    pub fn is_within_bounds(&self) -> bool {
        let is_in = |choice: Choice, (least, most): (u32, u32)| match choice {
            Choice::Local | Choice::Off => true,
            Choice::At(value) => (least..=most).contains(&value),
        };
        [self.cpu, self.wall, self.blocked, self.lock]
            .into_iter()
            .all(|choice| is_in(choice, HERTZ))
            && is_in(self.alloc, ALLOC)
            && self
                .every
                .is_none_or(|every| (EVERY.0..=EVERY.1).contains(&every))
    }

    /// What is another from `before` to this: a line each, with both values.
    #[must_use]
    pub fn changes(&self, before: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut change = |name: &str, old: String, new: String| {
            if old != new {
                lines.push(format!("{name} from {old} to {new}"));
            }
        };
        let on = |wanted: &Self| if wanted.on { "on" } else { "off" }.to_owned();
        change("profiling", on(before), on(self));
        let hertz = |choice| Spelled(choice, "hz").to_string();
        for (name, old, new) in [
            ("cpu", before.cpu, self.cpu),
            ("wall", before.wall, self.wall),
            ("blocked", before.blocked, self.blocked),
            ("lock", before.lock, self.lock),
        ] {
            change(name, hertz(old), hertz(new));
        }
        let bytes = |choice| Spelled(choice, " bytes").to_string();
        change("alloc", bytes(before.alloc), bytes(self.alloc));
        let every = |wanted: &Self| {
            wanted
                .every
                .map_or_else(|| LOCAL.to_owned(), |every| format!("{}s", every.as_secs()))
        };
        change("every", every(before), every(self));
        change("labels", labels(before), labels(self));
        lines
    }
}

/// What stands for "as the options have it".
const LOCAL: &str = "the option's";

struct Spelled(Choice, &'static str);

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Choice::Local => f.write_str(LOCAL),
            Choice::Off => f.write_str("off"),
            Choice::At(value) => write!(f, "{value}{}", self.1),
        }
    }
}

fn labels(wanted: &Wanted) -> String {
    let pairs: Vec<_> = wanted
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    if pairs.is_empty() {
        "none".to_owned()
    } else {
        pairs.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_a_line_with_the_old_value_and_the_new() {
        let wanted = Wanted {
            on: true,
            cpu: Choice::At(50),
            alloc: Choice::At(1 << 20),
            every: Some(Duration::from_secs(30)),
            labels: vec![("zone".to_owned(), "a\nb".to_owned())],
            ..Wanted::default()
        };
        assert_eq!(wanted.changes(&wanted), [""; 0]);
        let lines = wanted.changes(&Wanted::off());
        let expected = [
            "profiling from off to on",
            "cpu from the option's to 50hz",
            "alloc from the option's to 1048576 bytes",
            "every from the option's to 30s",
            "labels from none to zone=\"a\\nb\"",
        ];
        assert_eq!(lines, expected);
        assert_eq!(Wanted::off().changes(&wanted).len(), lines.len());
    }
}
