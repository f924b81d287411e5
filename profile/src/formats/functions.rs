//! Samples summed up by functions alone, for formats that know neither lines nor labels.

use std::collections::HashMap;
use std::io;

use crate::model::{Flaw, Function, FunctionIndex, Profile};

/// A stack of functions, and what was seen of it.
pub(super) struct Summed {
    /// From the root, inlined ones included.
    pub stack: Vec<FunctionIndex>,
    /// One for each sample type.
    pub values: Vec<i128>,
}

/// Each stack of functions once, in the order of the file. `key` tells which functions are one: the first of them stands
/// for all.
pub(super) fn sum<K: Eq + std::hash::Hash>(
    profile: &Profile,
    key: impl Fn(&Function) -> K,
) -> Vec<Summed> {
    let mut first_of = HashMap::new();
    let functions: Vec<_> = profile
        .functions
        .iter()
        .map(|(index, function)| *first_of.entry(key(function)).or_insert(index))
        .collect();
    let width = profile.sample_types.len();
    // Sums of each stack of the file, since samples that differ by labels share one.
    let mut by_stack: Vec<Option<Vec<i128>>> = Vec::new();
    let mut order = Vec::new();
    for (row, values) in profile.samples.rows() {
        let at = row.stack as usize;
        if at >= by_stack.len() {
            by_stack.resize(at + 1, None);
        }
        let sums = by_stack[at].get_or_insert_with(|| {
            order.push(row.stack);
            vec![0; width]
        });
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += i128::from(*value);
        }
    }
    let mut known: HashMap<Vec<FunctionIndex>, usize> = HashMap::new();
    let mut summed: Vec<Summed> = Vec::new();
    for stack in order {
        let Some(values) = by_stack[stack as usize].take() else {
            continue;
        };
        let locations = profile.samples.stacks.get(stack).iter().rev();
        let frames = locations.flat_map(|at| profile.locations.frames(*at).iter().rev());
        let stack: Vec<_> = frames
            .map(|frame| functions[frame.function.as_usize()])
            .collect();
        if let Some(at) = known.get(&stack) {
            for (sum, value) in summed[*at].values.iter_mut().zip(values) {
                *sum += value;
            }
        } else {
            known.insert(stack.clone(), summed.len());
            summed.push(Summed { stack, values });
        }
    }
    summed
}

/// A sum as a value of a sample.
///
/// # Errors
/// It is beyond the range of those, as sums of profiles can be.
pub(super) fn value(sum: i128) -> io::Result<i64> {
    i64::try_from(sum).map_err(|_| io::Error::other(Flaw::Sum))
}
