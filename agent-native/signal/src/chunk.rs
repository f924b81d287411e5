//! Objects that the walk meets on the heap: the continuation and its stack chunks.

use crate::layout::{Bottom, ClassWord, Collector, Layout, Mounted, note_of};
use crate::load::Loads;
use crate::truncation::Truncation;

/// Chunks of one thread at most. Each holds what one freeze left behind; hundreds have been seen.
pub const CHUNKS: usize = 4_096;
/// Words of one chunk at most: 8 MiB, more than any thread's stack by default.
const WORDS: i32 = 1 << 20;

/// The frozen frames of a chunk: addresses on the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Where the chunk's stack begins; nothing below belongs to it.
    pub base: u64,
    /// The youngest frame.
    pub sp: u64,
    /// Past the oldest frame.
    pub end: u64,
}

/// The reference at `address`, to where the object is now; 0 for null.
#[inline]
pub fn reference(loads: Loads, layout: &Layout, address: u64) -> Result<u64, Truncation> {
    Ok(moved(loads, layout, stored(loads, layout, address)?))
}

/// The reference at `address`, to where the object was when it was stored; 0 for null.
#[inline]
pub fn stored(loads: Loads, layout: &Layout, address: u64) -> Result<u64, Truncation> {
    if let Collector::Colouring { bad, shift } = layout.collector {
        let coloured: u64 = loads.at(address);
        if coloured & loads.at::<u64>(bad) != 0 {
            return Err(Truncation::Stale);
        }
        // A coloured null has nothing above its colours (zAddress.hpp).
        return Ok(coloured >> (loads.at::<u64>(shift) & 63));
    }
    Ok(match layout.narrow_oops {
        None => loads.at(address),
        Some((base, shift)) => match loads.at::<u32>(address) {
            0 => 0,
            narrow => base.wrapping_add(u64::from(narrow) << shift),
        },
    })
}

/// Where `object` is now. Shenandoah lets what has moved lie as it was until no reference to it is left.
fn moved(loads: Loads, layout: &Layout, object: u64) -> u64 {
    if layout.collector != Collector::Forwarding || !is_object(object) {
        return object;
    }
    match forwarding(loads.at(object)) {
        Some(to) if to != 0 => to,
        _ => object,
    }
}

/// The address in a mark that is a forwarding pointer (markWord.hpp: 11 in the two low bits; the third is set
/// where an object could not be moved, and its mark is its own).
fn forwarding(mark: u64) -> Option<u64> {
    (mark & 7 == 3).then_some(mark & !7)
}

/// `Klass*` of the object; 0 where its header is being used by a collector.
pub fn class_of(loads: Loads, layout: &Layout, object: u64) -> u64 {
    let (base, shift) = layout.narrow_classes;
    let widen = |narrow: u64| base.wrapping_add(narrow << shift);
    match layout.class_word {
        ClassWord::Wide(offset) => loads.at(object.wrapping_add(offset)),
        ClassWord::Narrow(offset) => widen(u64::from(loads.at::<u32>(object.wrapping_add(offset)))),
        ClassWord::InMark(bits) => {
            let mut mark: u64 = loads.at(object);
            // It may have moved just now.
            if layout.collector == Collector::Forwarding
                && let Some(to) = forwarding(mark)
                && is_object(to)
            {
                mark = loads.at(to);
            }
            if mark & 3 == 3 {
                0
            } else {
                widen(mark >> bits)
            }
        }
    }
}

/// Whether an address may be an object's: not null, 8-byte aligned.
fn is_object(address: u64) -> bool {
    address > 4_096 && address.is_multiple_of(8)
}

/// The innermost continuation of the thread, if it is a virtual thread's; `in_thread` is where the thread
/// keeps its entry.
pub fn continuation(
    loads: Loads,
    layout: &Layout,
    java_thread: u64,
    in_thread: u64,
) -> Result<u64, Truncation> {
    let entry: u64 = loads.at(java_thread.wrapping_add(in_thread));
    if !is_object(entry) {
        return Err(Truncation::Foreign);
    }
    let continuation = match layout.mounted {
        None => {
            let continuation = loads.at(entry.wrapping_add(layout.entry.continuation));
            if !is_object(continuation) {
                return Err(Truncation::Foreign);
            }
            moved(loads, layout, continuation)
        }
        Some(mounted) => {
            // Of one continuation inside another the thread's object knows the outer one.
            if loads.at::<u64>(entry.wrapping_add(layout.entry.parent)) != 0 {
                return Err(Truncation::Foreign);
            }
            of_mounted(loads, layout, mounted, java_thread)?
        }
    };
    if !is_object(continuation)
        || class_of(loads, layout, continuation) != layout.continuation_class
    {
        return Err(Truncation::Foreign);
    }
    Ok(continuation)
}

/// Whether the thread has at `in_thread` the address of the entry of a virtual thread's continuation. By the
/// entry alone, since it is what is looked for.
pub fn has_entry(loads: Loads, layout: &Layout, java_thread: u64, in_thread: u64) -> bool {
    let entry: u64 = loads.at(java_thread.wrapping_add(in_thread));
    if !is_object(entry) {
        return false;
    }
    let continuation: u64 = loads.at(entry.wrapping_add(layout.entry.continuation));
    is_object(continuation) && class_of(loads, layout, continuation) == layout.continuation_class
}

/// The continuation of the thread object that is mounted.
fn of_mounted(
    loads: Loads,
    layout: &Layout,
    mounted: Mounted,
    java_thread: u64,
) -> Result<u64, Truncation> {
    let handle: u64 = loads.at(java_thread.wrapping_add(mounted.in_thread));
    if !is_object(handle) {
        return Err(Truncation::Foreign);
    }
    let thread = match reference(loads, layout, handle) {
        Err(Truncation::Stale) => noted(loads, layout, mounted, java_thread)?,
        known => known?,
    };
    if !is_object(thread) {
        return Err(Truncation::Foreign);
    }
    // In a change of identity it is the carrier's own object.
    if class_of(loads, layout, thread) != mounted.class {
        return Err(Truncation::InTransit);
    }
    reference(loads, layout, thread.wrapping_add(mounted.continuation))
}

/// The thread that was noted down when it was mounted, if it still is.
fn noted(
    loads: Loads,
    layout: &Layout,
    mounted: Mounted,
    java_thread: u64,
) -> Result<u64, Truncation> {
    let notes = mounted.notes.ok_or(Truncation::Stale)?;
    // A global reference is the address of an oop, with two bits that say what it is (jniHandles.hpp).
    let array = reference(loads, layout, notes.array & !3)?;
    if !is_object(array) {
        return Err(Truncation::Stale);
    }
    let element = array.wrapping_add(notes.elements + 8 * note_of(java_thread) as u64);
    let thread = reference(loads, layout, element)?;
    if !is_object(thread) || class_of(loads, layout, thread) != mounted.class {
        return Err(Truncation::Stale);
    }
    let is_mounted = loads.at::<u64>(thread.wrapping_add(notes.thread_id))
        == loads.at::<u64>(java_thread.wrapping_add(notes.owner_id));
    is_mounted.then_some(thread).ok_or(Truncation::Stale)
}

/// The stack of `chunk`, which must belong to `continuation` where `owner` (the offset of its field of that
/// name) is known.
pub fn stack(
    loads: Loads,
    layout: &Layout,
    chunk: u64,
    continuation: u64,
    owner: Option<u64>,
) -> Result<Stack, Truncation> {
    if !is_object(chunk) || class_of(loads, layout, chunk) != layout.chunk_class {
        return Err(Truncation::Malformed);
    }
    if let Some(offset) = owner {
        match reference(loads, layout, chunk.wrapping_add(offset)) {
            Ok(owner) if owner == moved(loads, layout, continuation) => {}
            // Nobody reads that field, so nobody brings it up to date. That the way here was good is enough.
            Err(Truncation::Stale) => {}
            _ => return Err(Truncation::Malformed),
        }
    }
    let size: i32 = loads.at(chunk.wrapping_add(layout.size));
    let sp: i32 = loads.at(chunk.wrapping_add(layout.sp));
    let bottom = match layout.bottom {
        Bottom::FromBase(field) => loads.at(chunk.wrapping_add(field)),
        Bottom::FromEnd(field) => size.wrapping_sub(loads.at(chunk.wrapping_add(field))),
    };
    if !(0 <= sp && sp <= size && 0 <= bottom && bottom <= size && size <= WORDS) {
        return Err(Truncation::Malformed);
    }
    let base = chunk.wrapping_add(layout.stack_base);
    let word = |at: i32| base.wrapping_add(u64::from(at.cast_unsigned()) * 8);
    Ok(Stack {
        base,
        sp: word(sp),
        end: word(bottom),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_end_at_the_bottom_or_before_the_arguments() {
        const CLASS: u64 = 0x9000;
        // Mark, class; size and sp, what tells the end; the stack.
        let ints = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let end_of = |end: Bottom, field: u32| {
            let chunk = [0, CLASS, ints(10, 3), ints(field, 0), 0];
            let layout = Layout {
                chunk_class: CLASS,
                size: 16,
                sp: 20,
                bottom: end,
                stack_base: 32,
                ..Layout::BLANK
            };
            let address = chunk.as_ptr() as u64;
            // SAFETY: all that is loaded are fields of `chunk`.
            let loads = unsafe { Loads::under_guard() };
            stack(loads, &layout, address, 0, None).map(|stack| {
                assert_eq!(stack.base, address + 32);
                assert_eq!(stack.sp, stack.base + 3 * 8);
                (stack.end - stack.base) / 8
            })
        };
        assert_eq!(end_of(Bottom::FromBase(24), 8), Ok(8));
        assert_eq!(end_of(Bottom::FromEnd(24), 2), Ok(8));
        assert_eq!(end_of(Bottom::FromEnd(24), 0), Ok(10));
        for end in [Bottom::FromBase(24), Bottom::FromEnd(24)] {
            assert_eq!(end_of(end, 11), Err(Truncation::Malformed));
            assert_eq!(end_of(end, u32::MAX), Err(Truncation::Malformed));
        }
    }

    fn layout(collector: Collector) -> Layout {
        Layout {
            collector,
            class_word: ClassWord::InMark(42),
            ..Layout::BLANK
        }
    }

    fn loads() -> Loads {
        // SAFETY: the tests load what they own.
        unsafe { Loads::under_guard() }
    }

    fn address(of: &u64) -> u64 {
        core::ptr::from_ref(of) as u64
    }

    #[test]
    fn a_reference_of_another_colour_than_the_good_one_is_stale() {
        // Remapped00 of zAddress.hpp: bit 12, an address from bit 13 on.
        let (bad, shift) = (0xE000_u64, 13_u64);
        let layout = layout(Collector::Colouring {
            bad: address(&bad),
            shift: address(&shift),
        });
        let read = |value: u64| reference(loads(), &layout, address(&value));
        let object = 0x0400_0001_0000_u64;
        assert_eq!(read(object << 13 | 1 << 12 | 0x550), Ok(object));
        assert_eq!(read(object << 14 | 1 << 13 | 0x550), Err(Truncation::Stale));
        assert_eq!(read(object << 16 | 1 << 15), Err(Truncation::Stale));
        assert_eq!(read(1 << 12 | 0x550), Ok(0), "a coloured null");
        assert_eq!(read(0), Ok(0), "a null that was never stored");
    }

    #[test]
    fn what_has_moved_is_read_where_it_is_now() {
        let to = 7_u64 << 42 | 1;
        let from = address(&to) | 3;
        let unmoved = 9_u64 << 42 | 1;
        // The mark of an object that could not be moved.
        let pinned = 5_u64 << 42 | 5;
        let shenandoah = layout(Collector::Forwarding);
        let read = |object: &u64| reference(loads(), &shenandoah, address(&address(object)));
        assert_eq!(read(&from), Ok(address(&to)));
        assert_eq!(read(&unmoved), Ok(address(&unmoved)));
        assert_eq!(read(&pinned), Ok(address(&pinned)));
        let class = |layout: &Layout, object: &u64| class_of(loads(), layout, address(object));
        assert_eq!(class(&shenandoah, &from), 7, "it moved just now");
        assert_eq!(class(&shenandoah, &pinned), 5);
        let g1 = layout(Collector::Stopping);
        assert_eq!(class(&g1, &from), 0, "the collector is at it");
        assert_eq!(class(&g1, &unmoved), 9);
    }
}
