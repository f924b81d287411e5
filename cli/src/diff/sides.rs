//! The two sides: read, cut down to what is compared, and added up by function.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;

use crate::args::{DiffArgs, FilesArgs};
use crate::bundle::{Bundle, OfKind};
use crate::figures::Sum;
use crate::measure::{Chooser, Measure};
use crate::requests::{Left, Member, Members, Names, Requests, Speeds, Tally, Which, tally};
use crate::selection;
use crate::stats::{Exposure, Per, Side};
use crate::text::{NO_STACK, note};

use super::comparable;

/// What a side is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SideName {
    Good,
    Bad,
    Fast,
    Slow,
}

impl SideName {
    pub fn text(self) -> &'static str {
        match self {
            SideName::Good => "good",
            SideName::Bad => "bad",
            SideName::Fast => "fast",
            SideName::Slow => "slow",
        }
    }
}

/// One side.
#[derive(Debug)]
pub struct Compared {
    pub side: Side,
    pub tally: Tally,
    /// What does not count, by why.
    pub left_out: BTreeMap<Left, Sum>,
    pub files: u64,
}

/// Both, in the order in which they are subtracted: the second less the first.
#[derive(Debug)]
pub struct Comparison {
    pub names: [SideName; 2],
    pub per: Per,
    pub measure: Measure,
    pub functions: Names,
    pub sides: [Compared; 2],
    pub warnings: Vec<String>,
}

/// What is read of one side.
struct Input<'a> {
    of_kind: &'a OfKind,
    members: Vec<Member>,
    exposure: Exposure,
}

/// Reads and compares.
///
/// # Errors
/// A file cannot be read, or what is to be compared is not there.
pub fn compare(args: &DiffArgs) -> Result<Comparison> {
    if args.slow.is_some() || args.fast.is_some() {
        by_speed(args)
    } else {
        by_files(args)
    }
}

fn by_files(args: &DiffArgs) -> Result<Comparison> {
    let [good, bad] = paths(args)?.map(|files| {
        let files = FilesArgs {
            files,
            ..args.files.clone()
        };
        Bundle::read(&files, asked(args), args.name.is_some())
    });
    let mut bundles = [good?, bad?];
    let requests = [0, 1].map(|i| Requests::of(std::mem::take(&mut bundles[i].spans)));
    let of_kinds = choose([&bundles[0], &bundles[1]], args)?;
    let which = Which {
        name: args.name.as_deref(),
        with_errors: args.with_errors,
    };
    let ended = [0, 1].map(|i| requests[i].which(which).len() as u64);
    let of_a_moment = of_kinds[0].kind.is_some_and(Kind::is_of_a_moment);
    let has_time = of_kinds.iter().all(|of| of.profile.duration_nanos > 0);
    let per = match args.per {
        Some(per) => per,
        None if of_a_moment => Per::Share,
        None if ended.iter().all(|ended| *ended > 0) => Per::Request,
        None if has_time => Per::Second,
        None => Per::Share,
    };
    match per {
        Per::Request if ended.contains(&0) => bail!(
            "--per request: the {} side has no local root span that ended{}",
            if ended[0] == 0 { "good" } else { "bad" },
            args.name.as_ref().map_or_else(
                || " and did not fail; add its -spans- files".to_owned(),
                |name| format!(", called '{name}' and did not fail")
            )
        ),
        Per::Second if of_a_moment => {
            bail!("--per second: what is in use at a moment is of no length of time; --per share")
        }
        Per::Second if !has_time => {
            bail!("--per second: a file does not say how long it is of; --per share")
        }
        _ => {}
    }
    let inputs = [0, 1].map(|i| {
        let profile = &of_kinds[i].profile;
        let members = match per {
            Per::Request => Members::of_ended(profile, &requests[i], which),
            Per::Second | Per::Share => {
                Members::of_labels(profile, &requests[i], &bundles[i].names, which.name)
            }
        };
        Input {
            of_kind: of_kinds[i],
            members,
            exposure: Exposure {
                requests: ended[i],
                seconds: profile.duration_nanos as f64 / 1e9,
            },
        }
    });
    if let Some(name) = &args.name {
        let called = Which {
            with_errors: true,
            ..which
        };
        let is_anywhere = [0, 1].into_iter().any(|i| {
            let others = Member::Out(Left::Other);
            !requests[i].which(called).is_empty()
                || inputs[i].members.iter().any(|of| *of != others)
        });
        if !is_anywhere {
            bail!(
                "no request and no sample of either side is called '{name}'; `vtprof spans` lists names"
            );
        }
    }
    finish(args, [SideName::Good, SideName::Bad], per, inputs)
}

/// The files of the good side and of the bad one.
fn paths(args: &DiffArgs) -> Result<[Vec<PathBuf>; 2]> {
    let files = &args.files.files;
    if !args.bad.is_empty() {
        return Ok([files.clone(), args.bad.clone()]);
    }
    match files.as_slice() {
        [good, bad] => Ok([vec![good.clone()], vec![bad.clone()]]),
        _ => bail!(
            "{} given: diff takes two, GOOD BAD; more of them as GOOD… --bad BAD…; or any number with --slow and --fast",
            crate::figures::plural(files.len() as i128, "input")
        ),
    }
}

fn by_speed(args: &DiffArgs) -> Result<Comparison> {
    let mut bundle = Bundle::read(&args.files, asked(args), false)?;
    let requests = Requests::of(std::mem::take(&mut bundle.spans));
    let which = requests.which(Which {
        name: args.name.as_deref(),
        with_errors: args.with_errors,
    });
    if which.is_empty() {
        bail!(
            "--slow and --fast need durations, but there is no local root span{} among the inputs that ended and did not fail",
            args.name
                .as_ref()
                .map_or_else(String::new, |name| format!(" called '{name}'"))
        );
    }
    let (slow, fast) = (args.slow.unwrap_or_default(), args.fast.unwrap_or_default());
    let speeds = Speeds::of(&requests, &which, slow, fast);
    speeds.check(which.len(), slow, fast)?;
    let [of_kind, _] = choose([&bundle, &bundle], args)?;
    let inputs = [&speeds.fast, &speeds.slow].map(|these| {
        let durations = these
            .iter()
            .map(|index| requests.all()[*index as usize].duration_nanos as f64);
        Input {
            of_kind,
            members: Members::of_these(&of_kind.profile, &requests, these),
            exposure: Exposure {
                requests: these.len() as u64,
                seconds: durations.sum::<f64>() / 1e9,
            },
        }
    });
    let per = args.per.unwrap_or(Per::Request);
    finish(args, [SideName::Fast, SideName::Slow], per, inputs)
}

/// The kind asked for, be it by a sample type.
fn asked(args: &DiffArgs) -> Option<Kind> {
    selection::wanted(args.kind, args.sample_type.as_deref())
}

/// The profile of each side that is compared.
fn choose<'a>(bundles: [&'a Bundle; 2], args: &DiffArgs) -> Result<[&'a OfKind; 2]> {
    let has_type = |of: &OfKind| {
        let wanted = args.sample_type.as_deref();
        wanted.is_none_or(|wanted| of.profile.sample_type(wanted).is_some())
    };
    let candidates = |bundle: &'a Bundle| bundle.profiles.iter().filter(|of| has_type(of));
    let wanted = asked(args);
    let found = candidates(bundles[0])
        .filter(|of| wanted.is_none_or(|wanted| of.kind == Some(wanted)))
        .filter_map(|good| {
            let bad = candidates(bundles[1]).find(|bad| {
                bad.kind == good.kind
                    && (good.kind.is_some()
                        || args.sample_type.is_some()
                        || bad.profile.sample_types == good.profile.sample_types)
            });
            Some([good, bad?])
        })
        // Those of others stand first in a bundle.
        .min_by_key(|[good, _]| (good.kind.is_none(), good.kind));
    let Some(found) = found else {
        let has = |bundle: &Bundle| {
            let kinds = bundle.profiles.iter();
            let kinds: Vec<_> = kinds
                .map(|of| of.kind.map_or("one of another writer", Kind::name))
                .collect();
            if kinds.is_empty() {
                "none".to_owned()
            } else {
                kinds.join(", ")
            }
        };
        bail!(
            "no {}profile that both sides have; the first has {}, the second {}",
            wanted.map_or_else(String::new, |kind| format!("{} ", kind.name())),
            has(bundles[0]),
            has(bundles[1])
        );
    };
    if args.kind.is_none() && args.sample_type.is_none() {
        let others = bundles[0].profiles.iter().filter_map(|of| of.kind);
        let others: Vec<_> = others
            .filter(|kind| Some(*kind) != found[0].kind && bundles[1].of(*kind).is_some())
            .map(Kind::name)
            .collect();
        if let Some(shown) = found[0].kind.filter(|_| !others.is_empty()) {
            note(&format!(
                "{} left out, {} is compared: kinds are not added up, --kind names another",
                others.join(", "),
                shown.name()
            ));
        }
    }
    Ok(found)
}

fn finish(
    args: &DiffArgs,
    names: [SideName; 2],
    per: Per,
    inputs: [Input<'_>; 2],
) -> Result<Comparison> {
    let kind = inputs[0].of_kind.kind;
    let wanted = args
        .sample_type
        .as_deref()
        .or(kind.map(|kind| kind.amount().kind));
    let mut chooser = Chooser::new(wanted);
    let readers = [
        chooser.reader(&inputs[0].of_kind.profile)?,
        chooser.reader(&inputs[1].of_kind.profile)?,
    ];
    let mut functions = Names::default();
    let no_stack = functions.id(NO_STACK);
    let sides = [0, 1].map(|i| {
        let Input {
            of_kind,
            members,
            exposure,
            ..
        } = &inputs[i];
        let profile = &of_kind.profile;
        let names = functions.of_functions(profile);
        let tally = tally(profile, readers[i], members, |sample, _, stack| {
            let frames = profile.frames(sample);
            stack.extend(frames.map(|frame| names[frame.function.as_usize()]));
            if stack.is_empty() {
                stack.push(no_stack);
            }
        });
        Compared {
            side: Side {
                exposure: *exposure,
                whole: tally.whole,
            },
            left_out: left_out(profile, members, |sample| readers[i].sum(sample)),
            tally,
            files: of_kind.files,
        }
    });
    let warnings = comparable::warnings(
        names,
        [0, 1].map(|i| comparable::Stacks {
            profile: &inputs[i].of_kind.profile,
            kind,
            shares: comparable::shares(&inputs[i].of_kind.profile, &inputs[i].members, |sample| {
                readers[i].sum(sample)
            }),
        }),
        std::ptr::eq(inputs[0].of_kind, inputs[1].of_kind),
    );
    let measure = chooser.measure().cloned().unwrap_or(Measure {
        kind: String::new(),
        unit: String::new(),
    });
    Ok(Comparison {
        names,
        per,
        measure,
        functions,
        sides,
        warnings,
    })
}

fn left_out(
    profile: &Profile,
    members: &[Member],
    sum: impl Fn(&vtprof_profile::model::Sample<'_>) -> Sum,
) -> BTreeMap<Left, Sum> {
    let mut left_out: BTreeMap<Left, Sum> = BTreeMap::new();
    for (sample, member) in profile.samples.iter().zip(members) {
        if let Member::Out(why) = member {
            left_out.entry(*why).or_default().add(sum(&sample));
        }
    }
    left_out
}
