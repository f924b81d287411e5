//! The sum of each kind among the inputs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use vtprof_profile::formats::{Document, Hint};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{Profile, ValueType};
use vtprof_profile::otlp::Gathered;
use vtprof_profile::otlp::trace::TracesData;

use super::filter::Filter;
use super::traces::keep;
use crate::args::{KindOrSpans, MergeArgs};
use crate::by_kind::ByKind;
use crate::figures::plural;
use crate::input;
use crate::text::note;

/// Profiles of one kind.
pub struct OfKind {
    /// Its name, else that of its first sample type. Good for a part of a file's name, and no two are the same.
    pub name: String,
    pub profile: Profile,
}

/// See the module.
pub struct Sums {
    /// In the order of [`Kind`]; others first.
    pub profiles: Vec<OfKind>,
    /// `None` where no input had any, not even an empty list.
    pub spans: Option<TracesData>,
}

/// Reads all inputs and adds them up.
///
/// # Errors
/// The first file that cannot be read, or nothing among them that was asked for.
pub fn read(args: &MergeArgs) -> Result<Sums> {
    let asked = args.kind.and_then(|asked| match asked {
        KindOrSpans::Kind(kind) => Some(kind),
        KindOrSpans::Spans => None,
    });
    let mut filter = Filter::new(args, asked);
    let mut sums = ByKind::new(asked);
    let mut spans: Option<Gathered> = None;
    let mut left_out: BTreeMap<&str, i128> = BTreeMap::new();
    input::read_documents(&args.files, &Hint::default(), |document| {
        match document {
            Document::Profile(mut profile) => {
                filter.note_names(&profile);
                let kind = Kind::of(&profile);
                let is_wanted = match args.kind {
                    None => true,
                    Some(KindOrSpans::Kind(asked)) => asked.is_in(&profile),
                    Some(KindOrSpans::Spans) => false,
                };
                if !is_wanted {
                    let name = kind.map_or("other", Kind::name);
                    *left_out.entry(name).or_default() += 1;
                    return Ok(());
                }
                filter.add(&mut profile, &mut sums)?;
            }
            Document::Traces(traces) => {
                filter.add_spans(&traces);
                if args.kind.is_none_or(|asked| asked == KindOrSpans::Spans) {
                    spans.get_or_insert_default().add(traces);
                }
            }
        }
        Ok(())
    })?;
    filter.finish(&mut sums)?;
    if sums.is_empty() && spans.is_none() {
        let others = left_out
            .iter()
            .map(|(name, files)| plural(*files, &format!("{name} profile")));
        let others: Vec<_> = others.collect();
        let asked = match args.kind {
            Some(KindOrSpans::Kind(kind)) => kind.name(),
            Some(KindOrSpans::Spans) => "spans",
            None => "profile",
        };
        match others.as_slice() {
            [] => bail!("no {asked} among the inputs"),
            others => bail!("no {asked} among the inputs, only {}", others.join(", ")),
        }
    }
    for label in filter.missed() {
        note(&format!("--drop-labels: no sample has a label '{label}'"));
    }
    if filter.matched_nothing() {
        note("no sample matches the focus; `vtprof spans` lists names and ids");
    }
    let mut names = BTreeSet::new();
    let profiles = sums.finish()?.into_iter().map(|mut of| {
        if let Some(asked) = asked {
            leave_out_other_kinds(&mut of.profile, asked);
        }
        OfKind {
            name: name(of.kind, &of.profile.sample_types, &mut names),
            profile: of.profile,
        }
    });
    Ok(Sums {
        profiles: profiles.collect(),
        spans: spans.map(|spans| {
            let mut spans = spans.finish();
            if !args.focus.is_empty() {
                keep(&mut spans, &args.focus);
            }
            spans
        }),
    })
}

/// Takes the values of other kinds away, or the sum would be taken for the first of them.
fn leave_out_other_kinds(profile: &mut Profile, asked: Kind) {
    let types = profile.sample_types.iter().enumerate();
    let is_kept = |of: &ValueType| {
        // All kinds may stand on the number of samples.
        of.kind == Kind::Cpu.count().kind
            || Kind::with_sample_type(&of.kind).is_none_or(|of| of == asked)
    };
    let kept: Vec<_> = types
        .filter(|(_, of)| is_kept(of))
        .map(|(column, _)| column)
        .collect();
    profile.keep_columns(&kept);
}

/// A name that no other has yet.
fn name(kind: Option<Kind>, types: &[ValueType], names: &mut BTreeSet<String>) -> String {
    let clean = |c: char| {
        if c.is_ascii_alphanumeric() { c } else { '_' }
    };
    let first = || types.first().map_or("", |t| t.kind.as_str());
    let base: String = kind
        .map_or_else(first, |kind| kind.name())
        .chars()
        .take(40)
        .map(clean)
        .collect();
    let mut name = base.clone();
    let mut number = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}
