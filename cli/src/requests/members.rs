//! Which samples of a profile are whose.

use std::collections::HashMap;

use vtprof_profile::model::Profile;

use super::{Requests, Which};
use crate::spans::roots::Roots;
use crate::tags::{RootAndName, TagKeys, Tags};

/// Whose a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// Of the request with that number: one observation with the others of it.
    Of(u32),
    /// Of none, but it counts: an observation of its own.
    Alone,
    /// It does not count.
    Out(Left),
}

/// Why one does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Left {
    /// Of a request that ended in an error.
    Failed,
    /// Of a request that is in no span file: it had not ended, or a file is missing.
    Open,
    /// Of others than were asked for.
    Other,
}

/// Tells for each sample of a profile whose it is.
pub struct Members;

impl Members {
    /// By requests that ended: those of `which` count, and what belongs to no request, unless a name was asked for.
    pub fn of_ended(profile: &Profile, requests: &Requests, which: Which<'_>) -> Vec<Member> {
        each(profile, |tags| match (tags.root, tags.name) {
            (Some(_), name) => match requests.root_of(tags).and_then(|id| requests.find(id)) {
                Some((index, request)) if which.takes(request) => Member::Of(index),
                Some((_, request)) if which.name.is_none_or(|name| name == request.name) => {
                    Member::Out(Left::Failed)
                }
                Some(_) => Member::Out(Left::Other),
                None if which.name.is_none() || which.name == name => Member::Out(Left::Open),
                None => Member::Out(Left::Other),
            },
            (None, name) if which.name.is_none() || which.name == name => Member::Alone,
            (None, _) => Member::Out(Left::Other),
        })
    }

    /// By the labels alone, ended or not, failed or not: samples with one local root hang together. With a name those of
    /// that name; spans that ended are known by their final one, others by the last of `noted`.
    pub fn of_labels(
        profile: &Profile,
        requests: &Requests,
        noted: &Roots,
        name: Option<&str>,
    ) -> Vec<Member> {
        // One form for ids of any writer.
        let form = |tags: &Tags<'_>| {
            let id = requests.root_of(tags).map(|id| id.to_string());
            id.or_else(|| tags.root.map(str::to_owned))
        };
        // Several spans may stand in for one root, each with a last name.
        let mut names: HashMap<String, (String, i64)> = HashMap::new();
        if name.is_some() {
            each(profile, |tags| {
                if let (Some(root), Some((name, time))) = (form(tags), noted.last_name(tags))
                    && names.get(&root).is_none_or(|(_, known)| time >= *known)
                {
                    names.insert(root, (name.to_owned(), time));
                }
                Member::Alone
            });
        }
        let mut numbers: HashMap<String, u32> = HashMap::new();
        each(profile, |tags| {
            let ended = requests.root_of(tags).and_then(|id| requests.find(id));
            let root = form(tags);
            let last = root.as_ref().and_then(|root| names.get(root));
            let found = ended.map(|(_, request)| request.name.as_str());
            let found = found.or(last.map(|(name, _)| name.as_str()));
            let found = found.or(tags.name);
            if name.is_some() && name != found {
                return Member::Out(Left::Other);
            }
            let Some(root) = root else {
                return Member::Alone;
            };
            let next = numbers.len() as u32;
            Member::Of(*numbers.entry(root).or_insert(next))
        })
    }

    /// Those of the requests with these numbers, and no others.
    pub fn of_these(profile: &Profile, requests: &Requests, these: &[u32]) -> Vec<Member> {
        let mut is_in = vec![false; requests.all().len()];
        these.iter().for_each(|index| is_in[*index as usize] = true);
        each(profile, |tags| {
            match requests.root_of(tags).and_then(|id| requests.find(id)) {
                Some((index, _)) if is_in[index as usize] => Member::Of(index),
                _ => Member::Out(Left::Other),
            }
        })
    }
}

/// Asks once for each pair of local root and name that occurs.
fn each(profile: &Profile, mut member: impl FnMut(&Tags<'_>) -> Member) -> Vec<Member> {
    let keys = TagKeys::of(profile);
    let mut known: HashMap<RootAndName, Member> = HashMap::new();
    let samples = profile.samples.iter();
    samples
        .map(|sample| {
            *known
                .entry(keys.root_and_name(profile, &sample))
                .or_insert_with(|| member(&keys.read(profile, &sample)))
        })
        .collect()
}
