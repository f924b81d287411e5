//! A profile in as many parts as it takes for each to be one that a server accepts.
//!
//! A part takes samples until it seems to be full. What it weighs is known when it is encoded: one that is too large all
//! the same is made again as two of half the samples each.

mod bounds;
mod part;

use std::iter;
use std::ops::Range;

use vtprof_profile::pprof::Profile;

pub(crate) use bounds::{Bounds, MOST_BYTES};
pub(crate) use part::{Id, Keys, Recipe};

use crate::form::{Formed, LeftOut};
use crate::request::Request;
use part::Tables;

/// Why a part is no request.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// Larger than may be.
    TooLarge,
    /// Cannot be encoded.
    Broken(String),
}

/// Adds the parts of `profile` to `formed`, made by `recipe` and encoded by `encode`, which is given the number of the
/// part too; it need not set [`Request::samples`]. The comments go with the first.
pub(crate) fn add(
    profile: &Profile,
    recipe: &Recipe<'_>,
    bounds: Bounds,
    mut encode: impl FnMut(Profile, u32) -> Result<Request, Unfit>,
    formed: &mut Formed,
) {
    let tables = Tables::of(profile);
    let all = profile.sample.len();
    // The last is the next to be made.
    let mut ranges: Vec<_> = iter::once(0..all).collect();
    let mut comments = recipe.comments(profile);
    if comments.iter().map(String::len).sum::<usize>() > bounds.most_comment_bytes() {
        formed.left_out.comments += comments.len() as u64;
        comments = Vec::new();
    }
    let mut number = 0;
    while let Some(range) = ranges.pop() {
        let first = if number == 0 { &comments[..] } else { &[] };
        let samples = profile.sample.get(range.clone()).unwrap_or_default();
        let part = tables.part(samples, recipe, first, bounds);
        let middle = range.start + part.taken;
        if middle < range.end {
            ranges.push(middle..range.end);
        }
        let range = range.start..middle;
        let left_out = part.left_out;
        let empty = part.builder.sample_count() == 0;
        if empty && !(recipe.send_empty && all == 0) {
            formed.left_out.add(left_out);
            continue;
        }
        let encoded = part.builder.finish();
        let made = bounds
            .admit(&encoded)
            .and_then(|()| encode(encoded, number));
        match made {
            Ok(request) => {
                let samples = range.len() as u64 - left_out.samples;
                formed.requests.push(Request { samples, ..request });
                formed.left_out.add(left_out);
                number += 1;
            }
            Err(Unfit::TooLarge) if range.len() > 1 => {
                let [first, second] = halves(range);
                ranges.extend([second, first]);
            }
            Err(unfit) => formed.left_out.add(LeftOut {
                samples: range.len() as u64,
                why: Some(match unfit {
                    Unfit::TooLarge => format!("one is larger than {} bytes", bounds.bytes),
                    Unfit::Broken(why) => why,
                }),
                ..LeftOut::default()
            }),
        }
    }
    if number == 0 {
        formed.left_out.comments += comments.len() as u64;
    }
}

fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}
