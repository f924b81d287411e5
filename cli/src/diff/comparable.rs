//! Whether two sides can be subtracted at all: what differs between them beside what the application did.

use std::collections::BTreeSet;

use vtprof_profile::comments;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Profile, Sample};

use crate::figures::{Sum, percent, share};
use crate::requests::Member;

use super::sides::SideName;

/// From such a difference on, in shares of all samples, stacks that are not whole move time between functions.
const MUCH: f64 = 0.02;

/// What a profile says of itself, by the beginning of the line, and what it may be the reason for.
const FACTS: [(&str, &str, &str); 4] = [
    (
        "agent=",
        "agent",
        "what is sampled and how frames are named may differ",
    ),
    (
        "jvm=",
        "JVM",
        "the JDK's own methods, its compilers and collectors may differ",
    ),
    (
        "engine=",
        "engine",
        "one may see the kernel's time, the other not",
    ),
    ("kernel=", "kernel", "its scheduler and clocks may differ"),
];

/// Shares of stacks that are not whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shares {
    truncated: Option<f64>,
    failed: Option<f64>,
}

/// A side, as far as it matters here.
pub struct Stacks<'a> {
    pub profile: &'a Profile,
    pub kind: Option<Kind>,
    pub shares: Shares,
}

/// Measures them, in the samples that count.
pub fn shares(profile: &Profile, members: &[Member], sum: impl Fn(&Sample<'_>) -> Sum) -> Shares {
    let (mut whole, mut truncated, mut failed) = (0, 0, 0);
    let begins = |function: vtprof_profile::model::FunctionIndex, with: &str| {
        let name = profile.functions.get(function).name;
        profile.strings.get(name).starts_with(with)
    };
    for (sample, member) in profile.samples.iter().zip(members) {
        if matches!(member, Member::Out(_)) {
            continue;
        }
        let value = sum(&sample).value;
        whole += value;
        // The oldest frame says so.
        let Some(oldest) = profile.frames(&sample).last() else {
            continue;
        };
        if begins(oldest.function, "[truncated") {
            truncated += value;
        } else if begins(oldest.function, "[failed") {
            failed += value;
        }
    }
    Shares {
        truncated: share(truncated, whole),
        failed: share(failed, whole),
    }
}

/// What may make the difference, one line each; of slow and fast spans of the same files only what can differ.
pub fn warnings(names: [SideName; 2], sides: [Stacks<'_>; 2], is_same: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let [first, second] = names.map(SideName::text);
    if !is_same {
        let [a, b] = [&sides[0], &sides[1]].map(|side| side.profile);
        if a.period != b.period && a.period > 0 && b.period > 0 {
            warnings.push(format!(
                "sampling periods differ, {} ({first}) and {} ({second}): short ones are seen by one side only",
                period(a),
                period(b)
            ));
        }
        for (begin, what, why) in FACTS {
            let [of_a, of_b] = [a, b].map(|profile| facts(profile, begin));
            if !of_a.is_empty() && !of_b.is_empty() && of_a != of_b {
                warnings.push(format!(
                    "{what} differs, {} ({first}) and {} ({second}): {why}",
                    list(&of_a),
                    list(&of_b)
                ));
            }
        }
        let lost = [&sides[0], &sides[1]].map(lost);
        if let [Some(of_a), Some(of_b)] = lost
            && (of_a - of_b).abs() >= MUCH
        {
            warnings.push(format!(
                "samples lost: {} ({first}) and {} ({second}), so sums are too low, and not alike",
                percent(Some(of_a)),
                percent(Some(of_b))
            ));
        }
    }
    for (what, of) in [
        (
            "truncated",
            (|shares: &Shares| shares.truncated) as fn(&Shares) -> Option<f64>,
        ),
        ("failed", |shares| shares.failed),
    ] {
        if let [Some(a), Some(b)] = [of(&sides[0].shares), of(&sides[1].shares)]
            && (a - b).abs() >= MUCH
        {
            warnings.push(format!(
                "{what} stacks: {} ({first}) and {} ({second}): what they miss looks like a difference in the functions that they lack",
                percent(Some(a)),
                percent(Some(b))
            ));
        }
    }
    warnings
}

fn period(profile: &Profile) -> String {
    let unit = profile.period_type.as_ref().map_or("", |t| &t.unit);
    crate::figures::value(profile.period.into(), unit)
}

fn facts<'a>(profile: &'a Profile, begin: &str) -> BTreeSet<&'a str> {
    let lines = profile.comments.iter();
    lines.filter_map(|line| line.strip_prefix(begin)).collect()
}

fn list(facts: &BTreeSet<&str>) -> String {
    let all: Vec<_> = facts.iter().copied().collect();
    all.join(" and ")
}

/// Samples that the agent lost, as a share of those it should have taken; `None` where it does not say.
fn lost(side: &Stacks<'_>) -> Option<f64> {
    let kind = side.kind?;
    let counters = comments::of(&side.profile.comments, comments::COUNTERS)?;
    let (mut lost, mut taken) = (0_i128, 0_i128);
    let dropped = match kind {
        Kind::Cpu => "dropped.".to_owned(),
        kind => format!("{}.dropped_", kind.name()),
    };
    let all = match kind {
        Kind::Cpu => "samples.taken".to_owned(),
        kind => format!("{}.samples", kind.name()),
    };
    for (key, count) in counters {
        // Left out by intent: sampling was stopped, or what it stands for is not known.
        if key.starts_with(&dropped) && !key.ends_with("_stopped") && !key.ends_with("_first") {
            lost = lost.saturating_add(count);
        } else if key == all {
            taken = taken.saturating_add(count);
        }
    }
    share(lost, lost.saturating_add(taken))
}
