//! Which kind of profile is shown. A folder of the agent has files of several kinds, whose values are not added:
//! a byte is no nanosecond, and of two kinds of time one may contain the other.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;

use crate::args::InputArgs;
use crate::figures::plural;
use crate::text::note;

/// What is to be done with a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It counts.
    Take,
    /// It counts, and whatever profile was taken before does not.
    TakeAnew,
    /// It does not.
    LeaveOut,
}

/// Shows the kind asked for, else the first in the order of [`Kind`] that is there. Profiles of others, whose kind
/// is not known, are left to their sample types.
#[derive(Debug, Default)]
pub struct Selection {
    /// `--kind`.
    asked: Option<Kind>,
    /// See [`wanted`].
    wanted: Option<Kind>,
    taken: Option<(Kind, i128)>,
    /// Whether one of no known kind counts.
    unknown_taken: bool,
    left_out: BTreeMap<Kind, i128>,
    /// Those of no known kind.
    unknown_left_out: i128,
}

/// The kind that is asked for: by its name, else by a sample type that it alone has.
pub fn wanted(asked: Option<Kind>, sample_type: Option<&str>) -> Option<Kind> {
    asked.or_else(|| Kind::with_sample_type(sample_type?))
}

impl Selection {
    pub fn new(args: &InputArgs) -> Self {
        Selection {
            asked: args.kind,
            wanted: wanted(args.kind, args.sample_type.as_deref()),
            ..Selection::default()
        }
    }

    /// Judges the next profile.
    pub fn judge(&mut self, profile: &Profile) -> Choice {
        let is_in = |kind: &Kind| kind.is_in(profile);
        let Some(kind) = self.wanted.filter(is_in).or_else(|| Kind::of(profile)) else {
            if self.asked.is_some() {
                self.unknown_left_out += 1;
                return Choice::LeaveOut;
            }
            self.unknown_taken = true;
            return Choice::Take;
        };
        let is_wanted = match (self.wanted, self.taken) {
            (Some(wanted), _) => kind == wanted,
            (None, Some((taken, _))) => kind <= taken,
            (None, None) => true,
        };
        if !is_wanted {
            *self.left_out.entry(kind).or_default() += 1;
            return Choice::LeaveOut;
        }
        match &mut self.taken {
            Some((taken, profiles)) if *taken == kind => {
                *profiles += 1;
                Choice::Take
            }
            taken => match taken.replace((kind, 1)) {
                Some((before, profiles)) => {
                    self.left_out.insert(before, profiles);
                    Choice::TakeAnew
                }
                None => Choice::Take,
            },
        }
    }

    /// Says what was left out, where nobody has asked for that.
    ///
    /// # Errors
    /// The kind asked for is not among the inputs, but others are.
    pub fn conclude(&self) -> Result<()> {
        let of = |(kind, profiles): (&Kind, &i128)| {
            plural(*profiles, &format!("{} profile", kind.name()))
        };
        let mut others: Vec<_> = self.left_out.iter().map(of).collect();
        if self.unknown_left_out > 0 {
            others.push(plural(self.unknown_left_out, "other profile"));
        }
        let others = others.join(", ");
        match (self.wanted, self.taken) {
            _ if others.is_empty() => {}
            (Some(wanted), None) if !self.unknown_taken => {
                bail!(
                    "no {} profile among the inputs, only {others}",
                    wanted.name()
                )
            }
            (Some(_), _) => {}
            (None, taken) => {
                let shown = taken.map_or("", |(kind, _)| kind.name());
                note(&format!(
                    "{others} left out, {shown} is shown: kinds are not added up, --kind names another"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::Message;
    use vtprof_profile::builder::{ProfileBuilder, ValueType};

    fn profile(types: &[ValueType<'_>]) -> Profile {
        let profile = ProfileBuilder::new(types, types[0], 1).finish();
        Profile::from_bytes(&profile.encode_to_vec()).expect("a profile")
    }

    fn of(kind: Kind) -> Profile {
        profile(&[kind.count(), kind.amount()])
    }

    fn judged(mut selection: Selection, kinds: &[Kind]) -> (Vec<Choice>, Selection) {
        let choices = kinds
            .iter()
            .map(|kind| selection.judge(&of(*kind)))
            .collect();
        (choices, selection)
    }

    #[test]
    fn cpu_is_taken_wherever_among_the_files_it_comes() {
        use Choice::{LeaveOut, Take, TakeAnew};
        use Kind::{Alloc, Blocked, Cpu};
        for (kinds, expected) in [
            (&[Cpu, Alloc, Cpu][..], &[Take, LeaveOut, Take][..]),
            (
                &[Alloc, Alloc, Cpu, Alloc],
                &[Take, Take, TakeAnew, LeaveOut],
            ),
            (&[Blocked, Alloc, Cpu], &[Take, TakeAnew, TakeAnew]),
            (&[Blocked, Blocked], &[Take, Take]),
        ] {
            let (choices, selection) = judged(Selection::default(), kinds);
            assert_eq!(choices, expected, "{kinds:?}");
            let shown = selection.taken.map_or(0, |(_, profiles)| profiles);
            let left_out: i128 = selection.left_out.values().sum();
            assert_eq!(shown + left_out, kinds.len() as i128, "{kinds:?}");
        }
    }

    #[test]
    fn the_kind_asked_for_is_taken_alone_and_missed_where_it_is_not() {
        let asked = |kind| Selection {
            asked: Some(kind),
            wanted: wanted(Some(kind), None),
            ..Selection::default()
        };
        let kinds = [Kind::Cpu, Kind::Alloc, Kind::Cpu];
        let (choices, selection) = judged(asked(Kind::Alloc), &kinds);
        assert_eq!(choices, [Choice::LeaveOut, Choice::Take, Choice::LeaveOut]);
        assert!(selection.conclude().is_ok());
        let (_, mut selection) = judged(asked(Kind::Blocked), &kinds);
        let error = selection.conclude().expect_err("none").to_string();
        assert_eq!(
            error,
            "no blocked profile among the inputs, only 2 cpu profiles, 1 alloc profile"
        );
        let foreign = profile(&[ValueType {
            kind: "goroutine",
            unit: "count",
        }]);
        let choice = selection.judge(&foreign);
        assert_eq!(choice, Choice::LeaveOut);
        let error = selection.conclude().expect_err("none").to_string();
        assert!(
            error.ends_with("1 alloc profile, 1 other profile"),
            "{error}"
        );
        let any = Selection::default().judge(&foreign);
        assert_eq!(any, Choice::Take);
    }
}
