//! What others do meanwhile: who has the lock, who allocates what is collected, who has the CPUs.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use vtprof_profile::kind::Kind;

use super::parts::Part;
use super::plumbing::Plumbing;
use crate::bundle::Bundle;
use crate::figures::Sum;
use crate::measure::{Chooser, Measure};
use crate::requests::{Member, Members, Names, Requests};
use crate::tags::TagKeys;
use crate::text::NO_STACK;

/// A lock that has less of the waits is not asked after.
const MUCH: f64 = 0.1;
const NO_SPAN: &str = "(no span)";

/// One of them.
#[derive(Debug, Clone)]
pub struct Cause {
    /// The lock's class, or what is allocated most.
    pub class: Option<String>,
    /// The first frame from the leaf that is no plumbing.
    pub frame: String,
    /// In requests of that name.
    pub endpoint: String,
    pub sum: Sum,
    /// Of all in the list.
    pub share: f64,
}

/// All of one sort, biggest first.
#[derive(Debug, Clone)]
pub struct Causes {
    pub part: Part,
    pub kind: Kind,
    /// What they are.
    pub title: &'static str,
    pub measure: Measure,
    pub rows: Vec<Cause>,
}

/// Looks for them, or says in a line what is missing for that.
///
/// # Errors
/// A profile has not what its kind has.
pub fn of(
    bundle: &Bundle,
    requests: &Requests,
    slow: &[u32],
    part: Part,
    plumbing: Plumbing<'_>,
) -> Result<Option<std::result::Result<Causes, &'static str>>> {
    let (kind, title, missing) = match part {
        Part::Lock => (
            Kind::LockOwner,
            "who has locks of these classes, in the whole recording",
            "who has the locks meanwhile is not told: there is no lock profile (agent option lock=1ms)",
        ),
        Part::Gc => (
            Kind::Alloc,
            "who allocates, in the whole process",
            "who allocates is not told: there is no alloc profile (agent option alloc=512k)",
        ),
        Part::Runnable => (
            Kind::Cpu,
            "who has the CPUs, in the whole process",
            "who has the CPUs meanwhile is not told: there is no cpu profile",
        ),
        _ => return Ok(None),
    };
    let Some(of) = bundle.of(kind) else {
        return Ok(Some(Err(missing)));
    };
    let mut locks = None;
    if part == Part::Lock {
        let found = classes(bundle, requests, slow)?;
        if found.is_empty() {
            return Ok(Some(Err(
                "who has the locks meanwhile is not told: the lock profile has no wait of these spans (it has monitors, and java.util.concurrent's locks of virtual threads)",
            )));
        }
        locks = Some(found);
    }
    let profile = &of.profile;
    let mut chooser = Chooser::new(Some(kind.amount().kind));
    let reader = chooser.reader(profile)?;
    let mut names = Names::default();
    let of_functions = names.of_functions(profile);
    let keys = TagKeys::of(profile);
    let has_class = kind != Kind::Cpu;
    // By frame, endpoint and, of locks, class; of allocations the sums by class are kept beside.
    type Key<'a> = (Option<&'a str>, &'a str, &'a str);
    let mut sums: HashMap<Key<'_>, (Sum, HashMap<&str, i128>)> = HashMap::new();
    let mut whole = Sum::default();
    for sample in profile.samples.iter() {
        let mut frames = profile
            .frames(&sample)
            .map(|frame| names.get(of_functions[frame.function.as_usize()]));
        let class = if has_class { frames.next() } else { None };
        if let (Some(locks), Some(class)) = (&locks, class)
            && !locks.contains(class)
        {
            continue;
        }
        let mut first = None;
        let found = frames.find(|name| {
            first.get_or_insert(*name);
            !plumbing.is(name)
        });
        let nobody = if kind == Kind::LockOwner {
            "(owner not proved)"
        } else {
            NO_STACK
        };
        let frame = found.or(first).unwrap_or(nobody);
        let tags = keys.read(profile, &sample);
        let sum = reader.sum(&sample);
        let key = (
            class.filter(|_| kind == Kind::LockOwner),
            frame,
            tags.name
                .or_else(|| {
                    let (_, request) = requests.find(requests.root_of(&tags)?)?;
                    Some(&request.name)
                })
                .unwrap_or(NO_SPAN),
        );
        let (known, by_class) = sums.entry(key).or_default();
        known.add(sum);
        if let Some(class) = class {
            *by_class.entry(class).or_default() += sum.value;
        }
        whole.add(sum);
    }
    let mut rows: Vec<Cause> = sums
        .into_iter()
        .map(|((_, frame, endpoint), (sum, by_class))| Cause {
            class: by_class
                .into_iter()
                .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)))
                .map(|(class, _)| class.to_owned()),
            frame: frame.to_owned(),
            endpoint: endpoint.to_owned(),
            sum,
            share: crate::figures::share(sum.value, whole.value).unwrap_or(0.0),
        })
        .collect();
    rows.sort_by(|a, b| {
        let by_value = b.sum.value.cmp(&a.sum.value);
        by_value
            .then_with(|| (&a.frame, &a.endpoint, &a.class).cmp(&(&b.frame, &b.endpoint, &b.class)))
    });
    let measure = chooser.measure().cloned();
    Ok(measure.map(|measure| {
        Ok(Causes {
            part,
            kind,
            title,
            measure,
            rows,
        })
    }))
}

/// The classes of the locks that slow spans wait for.
fn classes(bundle: &Bundle, requests: &Requests, slow: &[u32]) -> Result<HashSet<String>> {
    let Some(of) = bundle.of(Kind::Lock) else {
        return Ok(HashSet::new());
    };
    let profile = &of.profile;
    let reader = Chooser::new(Some(Kind::Lock.amount().kind)).reader(profile)?;
    let mut names = Names::default();
    let of_functions = names.of_functions(profile);
    let mut sums: HashMap<&str, i128> = HashMap::new();
    let members = Members::of_these(profile, requests, slow);
    for (sample, member) in profile.samples.iter().zip(members) {
        if let (Member::Of(_), Some(leaf)) = (member, profile.frames(&sample).next()) {
            let class = names.get(of_functions[leaf.function.as_usize()]);
            *sums.entry(class).or_default() += reader.sum(&sample).value;
        }
    }
    let whole: i128 = sums.values().sum();
    Ok(sums
        .into_iter()
        .filter(|(_, sum)| *sum as f64 >= MUCH * whole as f64 && *sum > 0)
        .map(|(class, _)| class.to_owned())
        .collect())
}
