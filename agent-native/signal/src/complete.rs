//! From what AsyncGetCallTrace saw of a virtual thread to its whole stack, or to the reason why not.

use crate::clock::now_ns;
use crate::counters::{Counter, Counters};
use crate::frozen::{Frozen, Kinds};
use crate::scratch::{Claim, DEPTH};
use crate::truncation::Truncation;

/// A stack: how many frames of the buffer are its own, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Frames.
    pub frames: usize,
    /// Why it lacks its older frames; `None` where it does not.
    pub truncation: Option<Truncation>,
    /// Whether it was longer than the buffer.
    pub is_cut: bool,
    /// Whether part of it was in the heap.
    pub is_mended: bool,
}

/// Looks at the `found` frames in `claim`'s buffer. Frames of a carrier go; frames that the walk jumped over
/// are put in their place. `sp` is the stack pointer the thread was interrupted with, 0 where not known.
///
/// # Safety
/// As for [`Frozen::walk`].
pub unsafe fn complete(
    frozen: &Frozen,
    counters: &Counters,
    claim: &mut Claim<'_>,
    os_thread: u32,
    java_thread: u64,
    sp: u64,
    found: usize,
) -> Stack {
    let marks = frozen.marks;
    let whole = |frames| Stack {
        frames,
        truncation: None,
        is_cut: frames >= DEPTH,
        is_mended: false,
    };
    if marks.enter_special == 0 {
        return whole(found);
    }
    let frames = claim.frames_mut().get(..found).unwrap_or_default();
    let Some(seen) = frames
        .iter()
        .position(|frame| frame.method == marks.enter_special)
    else {
        // In a compiled method's epilogue AsyncGetCallTrace takes the frame for whole, and looks for its
        // caller's address too far up. Where that was a continuation's last frame, it finds what an earlier call of
        // the carrier has left there, or nothing. Only the leaf is certain, and a stack is not made of it.
        // SAFETY: the caller's.
        if found < DEPTH && unsafe { frozen.is_inside(java_thread, sp) } {
            return refused(counters, 0, Truncation::Misread);
        }
        return whole(found);
    };
    let visible = frames.get(..seen).unwrap_or_default();
    let Some(oldest) = visible.last() else {
        // Nothing of the thread is on the stack: between a return into the barrier and the thaw's end.
        return refused(counters, 0, Truncation::InTransit);
    };
    if oldest.method == marks.enter {
        return Stack {
            frames: seen,
            truncation: None,
            is_cut: false,
            is_mended: false,
        };
    }
    if frozen.layout.is_none() {
        return refused(counters, seen, Truncation::Unsupported);
    }
    let proven = match frozen.proven() {
        None => return refused(counters, seen, Truncation::Distrusted),
        Some(none) if none == Kinds::default() => {
            return refused(counters, seen, Truncation::Untested);
        }
        Some(proven) => proven,
    };
    let started = now_ns();
    // SAFETY: the caller's.
    let stack = match unsafe { append(frozen, proven, claim, os_thread, java_thread, seen) } {
        Ok(stack) => {
            counters.add(Counter::StacksCompleted, 1);
            stack
        }
        Err(reason) => refused(counters, seen, reason),
    };
    let took = now_ns().saturating_sub(started);
    counters.add(Counter::CompletionNs, took);
    counters.completion.add(took);
    stack
}

fn refused(counters: &Counters, frames: usize, reason: Truncation) -> Stack {
    counters.add(reason.counter(), 1);
    Stack {
        frames,
        truncation: Some(reason),
        is_cut: false,
        is_mended: false,
    }
}

/// # Safety
/// As for [`Frozen::walk`].
unsafe fn append(
    frozen: &Frozen,
    proven: Kinds,
    claim: &mut Claim<'_>,
    os_thread: u32,
    java_thread: u64,
    seen: usize,
) -> Result<Stack, Truncation> {
    // SAFETY: the caller's.
    let walked = unsafe { frozen.walk(claim, os_thread, java_thread, seen) }?;
    if !proven.include(walked.kinds) {
        return Err(Truncation::Untested);
    }
    // SAFETY: the caller's: the thread is alive and this is it.
    let in_java = unsafe { frozen.is_in_java(java_thread) };
    let frames = claim.frames_mut();
    let (visible, rest) = frames.split_at_mut(seen.min(DEPTH));
    let yields = visible
        .first()
        .is_some_and(|leaf| leaf.method == frozen.marks.do_yield);
    // A freeze has copied the visible frames by the time it names them in the chunk; its own stub is not
    // among them.
    let copied = visible.get(usize::from(yields)..).unwrap_or_default();
    let is_copied = !copied.is_empty()
        && copied.len() <= walked.written
        && rest.get(..copied.len()) == Some(copied);
    let mut written = walked.written;
    let mut total = walked.found;
    if is_copied && yields {
        rest.copy_within(copied.len().., 0);
        written = written.saturating_sub(copied.len());
        total = total.saturating_sub(copied.len());
    } else if is_copied && !in_java {
        // A freeze on a monitor has no stub to tell it by, and in recursive code such frames may be others.
        return Err(Truncation::InTransit);
    } else if walked.callee != 0
        && visible
            .last()
            .is_some_and(|oldest| oldest.method != walked.callee)
    {
        // What AsyncGetCallTrace saw is of the past: the frame that was called from there is gone.
        return Err(Truncation::Misread);
    }
    Ok(Stack {
        frames: seen + written,
        truncation: None,
        is_cut: total > written,
        is_mended: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frozen::Marks;
    use crate::scratch::Scratch;
    use crate::walk::CallFrame;

    const MARKS: Marks = Marks {
        enter_special: 4,
        enter: 3,
        do_yield: 5,
    };

    fn completed(methods: &[u64]) -> (Stack, Counters) {
        completed_from(0, methods)
    }

    fn completed_from(bci: i32, methods: &[u64]) -> (Stack, Counters) {
        static SCRATCH: Scratch = Scratch::new();
        let counters = Counters::new();
        let mut claim = SCRATCH.claim(0).unwrap();
        for (place, method) in claim.frames_mut().iter_mut().zip(methods) {
            *place = CallFrame {
                bci,
                method: *method,
            };
        }
        let frozen = Frozen::new(MARKS, None);
        // SAFETY: without a layout nothing is walked.
        let stack = unsafe { complete(&frozen, &counters, &mut claim, 1, 0, 0, methods.len()) };
        (stack, counters)
    }

    #[test]
    fn frames_of_the_carrier_go_and_nothing_stands_in_for_frozen_ones() {
        let (whole, _) = completed(&[1, 2, 3, 4, 9, 9]);
        assert_eq!((whole.frames, whole.truncation), (3, None));
        let (platform, _) = completed(&[1, 2, 9]);
        assert_eq!((platform.frames, platform.truncation), (3, None));
        let (cut, counters) = completed(&[1, 2, 4, 9]);
        assert_eq!(
            (cut.frames, cut.truncation),
            (2, Some(Truncation::Unsupported))
        );
        assert_eq!(counters.get(Counter::TruncatedFrozen), 1);
    }

    #[test]
    fn a_leaf_at_the_lock_of_its_method_or_in_native_code_has_its_callers() {
        // Neither has a bytecode: -1 and -3.
        for bci in [-1, -3] {
            let (stack, _) = completed_from(bci, &[1, 2, 9]);
            assert_eq!((stack.frames, stack.truncation), (3, None));
        }
    }

    #[test]
    fn where_nothing_of_the_thread_is_visible_a_thaw_is_going_on() {
        let (stack, counters) = completed(&[4, 9, 9]);
        assert_eq!(
            (stack.frames, stack.truncation),
            (0, Some(Truncation::InTransit))
        );
        assert_eq!(counters.get(Counter::TruncatedInTransit), 1);
    }
}
