//! Records that threads leave behind.
//!
//! A record goes when its context is empty again. A virtual thread that ends inside a scope nobody closed
//! would leave it for ever; the event of its end frees it. But that event costs each virtual thread some
//! 0.7 µs, whoever leaks or not, so it is switched on only where leftovers are seen: records of spans that
//! are not open any more. Those that were left before stay, few and useless to anybody.

use vtprof_signal::context_table::ContextTable;

/// The table is looked at in so many parts, one a look: 64 KiB of the default one.
const PARTS: usize = 64;
/// Leftovers in one part from which on the whole table is judged by it.
const TELLING: usize = 4;
/// Leftovers are too many beyond this share of the table, and this number.
const SHARE: usize = 64;
const LEAST: usize = 16;

/// Looks at a part of the table at a time.
pub struct Leftovers {
    part: usize,
    found: [usize; PARTS],
}

impl Leftovers {
    pub fn new() -> Self {
        Self {
            part: 0,
            found: [0; PARTS],
        }
    }

    /// Counts the leftovers of the next part; `true` when there are too many in all that was looked at last.
    pub fn look(&mut self, table: &ContextTable<'_>, is_open: impl Fn(u64) -> bool) -> bool {
        let length = table.capacity().div_ceil(PARTS);
        self.found[self.part] = table
            .spans_in(self.part * length, length)
            .filter(|span| !is_open(*span))
            .count();
        // A table that fills fast is not looked at to its end first.
        let here = self.found[self.part];
        let seen: usize = self.found.iter().sum();
        let estimate = if here < TELLING {
            seen
        } else {
            seen.max(here * PARTS)
        };
        self.part = (self.part + 1) % PARTS;
        estimate > LEAST.max(table.capacity() / SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_signal::context_table::Slot;
    use vtprof_signal::tag::JavaThreadId;

    use crate::drain::recorder::tests::tag;

    #[test]
    fn a_table_of_open_spans_has_no_leftovers_however_full() {
        let slots: Vec<_> = (0..1024).map(|_| Slot::new()).collect();
        let table = ContextTable::new(&slots).unwrap();
        for thread in 1..=1024 {
            table.set(JavaThreadId(thread), &tag(7)).unwrap();
        }
        let mut leftovers = Leftovers::new();
        assert!((0..100).all(|_| !leftovers.look(&table, |span| span == 7)));
    }

    #[test]
    fn leftovers_are_found_whether_they_are_spread_or_in_one_place() {
        for threads in [0..40_i64, 500..540] {
            let slots: Vec<_> = (0..1024).map(|_| Slot::new()).collect();
            let table = ContextTable::new(&slots).unwrap();
            for thread in threads {
                table.set(JavaThreadId(thread * 25 + 1), &tag(9)).unwrap();
            }
            let mut leftovers = Leftovers::new();
            let found = (0..PARTS).any(|_| leftovers.look(&table, |span| span == 7));
            assert!(found);
        }
    }
}
