//! Entries of a table, found by their hash.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::MergeError;

/// A name for each of so many entries of a file, none known yet.
pub(super) fn unfilled(len: usize) -> Vec<u32> {
    vec![u32::MAX; len]
}

/// The index of an entry in `table`, pushed where it is not there: `is_it` tells it by an index, `rehash` hashes another.
pub(super) fn find_or_push<T>(
    known: &mut HashTable<u32>,
    table: &mut T,
    hash: u64,
    is_it: impl Fn(&T, u32) -> bool,
    rehash: impl Fn(&T, u32) -> u64,
    push: impl FnOnce(&mut T) -> Result<u32, MergeError>,
) -> Result<u32, MergeError> {
    match known.entry(
        hash,
        |index| is_it(table, *index),
        |index| rehash(table, *index),
    ) {
        Entry::Occupied(found) => Ok(*found.get()),
        Entry::Vacant(place) => {
            let index = push(table)?;
            place.insert(index);
            Ok(index)
        }
    }
}
