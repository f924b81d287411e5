//! Whether what was taken for the JVM's code heaps can be them: where they were wrong, all code would count as C
//! code, on threads of every kind.

use vtprof_signal::layout::Layout;

use super::lookups::{Missing, word_at};

/// The smallest page there is: a heap is reserved and committed in whole ones (`CodeHeap::reserve` and `expand_by`,
/// heap.cpp).
const PAGE: u64 = 4096;
/// No code cache is larger (`CODE_CACHE_SIZE_LIMIT`, globalDefinitions.hpp; `ReservedCodeCacheSize` is checked
/// against it).
const LARGEST: u64 = 2 << 30;

/// The layout, if each of its code heaps is a range of pages of its own and one holds the interpreter, as on all JDKs.
/// A field beside the right one may hold anything, also what is left of other data between two fields: the interpreter
/// alone would be found in a range that ends there.
pub fn confirmed(layout: Layout) -> Result<Layout, Missing> {
    let (low, high) = layout.code_bounds;
    let read = |heap: u64| Some((word_at(heap + low)?, word_at(heap + high)?));
    let heaps = layout.code_heaps.iter().filter(|heap| **heap != 0);
    let bounds: Option<Vec<_>> = heaps.map(|heap| read(*heap)).collect();
    check(&bounds.ok_or(Missing::CodeHeaps)?, layout.interpreter)?;
    Ok(layout)
}

/// Each range from its first address to the one behind its last, as the interpreter's.
fn check(heaps: &[(u64, u64)], interpreter: (u64, u64)) -> Result<(), Missing> {
    let mut sorted = heaps.to_vec();
    sorted.sort_unstable();
    for &(low, high) in &sorted {
        let is_paged = low.is_multiple_of(PAGE) && high.is_multiple_of(PAGE);
        if !is_paged || low > high || high - low > LARGEST {
            return Err(Missing::NoHeap { low, high });
        }
    }
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        let (low, high) = pair[1];
        return Err(Missing::NoHeap { low, high });
    }
    let (start, end) = interpreter;
    let holds = |(low, high): &(u64, u64)| *low <= start && start < end && end <= *high;
    if sorted.iter().any(holds) {
        Ok(())
    } else {
        Err(Missing::CodeHeaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7f12_3400_0000;
    const INTERPRETER: (u64, u64) = (BASE + 0x1040, BASE + 0x21c40);
    /// As JDK 25 has them: other code, profiled methods, all others.
    const RIGHT: [(u64, u64); 3] = [
        (BASE, BASE + 0x27_0000),
        (BASE + 0x80_0000, BASE + 0xa7_0000),
        (BASE + 0x400_0000, BASE + 0x427_0000),
    ];

    #[test]
    fn the_heaps_of_a_jvm_are_taken_in_any_order_one_may_be_empty_and_one_is_enough() {
        check(&RIGHT, INTERPRETER).expect("right");
        check(&[RIGHT[2], RIGHT[0], RIGHT[1]], INTERPRETER).expect("in any order");
        check(
            &[RIGHT[0], (BASE + 0x27_0000, BASE + 0x27_0000)],
            INTERPRETER,
        )
        .expect("one empty");
        check(&RIGHT[..1], INTERPRETER).expect("one");
    }

    #[test]
    fn heaps_that_do_not_hold_the_whole_interpreter_are_refused() {
        for (what, heaps, interpreter) in [
            ("none", &[][..], INTERPRETER),
            ("in none", &RIGHT[1..], INTERPRETER),
            ("empty", &RIGHT[..], (INTERPRETER.0, INTERPRETER.0)),
            (
                "over the end",
                &RIGHT[..],
                (INTERPRETER.0, BASE + 0x27_0001),
            ),
            ("before it", &RIGHT[..], (BASE - 1, INTERPRETER.1)),
        ] {
            assert!(
                matches!(check(heaps, interpreter), Err(Missing::CodeHeaps)),
                "{what}"
            );
        }
    }

    /// `VirtualSpace` (virtualspace.hpp): the fields behind `_high` are two booleans, six bytes of whatever was there,
    /// and addresses.
    #[test]
    fn a_range_from_one_field_too_far_on_is_refused_whatever_lies_between_the_fields() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..100_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // What is left of an address, more often than not.
            let left = [0, BASE, random, random >> 16][(random >> 60) as usize & 3];
            for booleans in [0x0100, 0x0101] {
                let high = left & !0xffff | booleans;
                let shifted = RIGHT.map(|(_, low)| (low, high));
                let result = check(&shifted, INTERPRETER);
                assert!(matches!(result, Err(Missing::NoHeap { .. })), "{high:#x}");
                let below = (BASE - 0x1000, high);
                let result = check(&[below], INTERPRETER);
                assert!(matches!(result, Err(Missing::NoHeap { .. })), "{high:#x}");
            }
        }
    }

    #[test]
    fn ranges_that_are_turned_round_too_large_or_in_each_other_are_refused() {
        let (low, high) = RIGHT[0];
        for (what, heaps) in [
            ("turned round", vec![RIGHT[0], (RIGHT[1].1, RIGHT[1].0)]),
            ("too large", vec![(low, low + LARGEST + PAGE)]),
            ("in each other", vec![RIGHT[0], (low + PAGE, high)]),
            ("the same twice", vec![RIGHT[0], RIGHT[0]]),
        ] {
            let result = check(&heaps, INTERPRETER);
            assert!(matches!(result, Err(Missing::NoHeap { .. })), "{what}");
        }
        check(&[(low, low + LARGEST)], INTERPRETER).expect("as large as can be");
    }
}
