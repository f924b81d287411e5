//! The youngest frozen frame has called the oldest one that is on the stack, or what is on the stack is of the past.

use super::leaf_call::call;
use super::{CODE_AT, ROOT, World, all_kinds};
use crate::complete::{Stack, complete};
use crate::counters::{Counter, Counters};
use crate::frozen::{Frozen, Marks};
use crate::gate::Mode;
use crate::handler::tests::published;
use crate::load::rehearsal;
use crate::truncation::Truncation;
use crate::walk::CallFrame;

const ENTER_SPECIAL: u64 = 4;
const CALLEE: u64 = 301;

/// The world, in which the compiled frame of the first chunk is the youngest.
fn world() -> World {
    let mut world = World::new();
    let first = world.chunks[0];
    world.put_int(first + 36, 20);
    world
}

/// The blob of that frame.
fn youngest(world: &World) -> u64 {
    let slot = world.chunks[0] + super::STACK_BASE + 8 * 19;
    world.words[((slot - world.address(0)) / 8) as usize] - CODE_AT - 40
}

/// What comes of a stack on which `oldest` is the oldest frame of the thread.
fn completed(world: &World, oldest: u64) -> (Stack, Counters) {
    let shared = published();
    super::contain_faults();
    let marks = Marks {
        enter: ROOT,
        enter_special: ENTER_SPECIAL,
        ..Marks::default()
    };
    let frozen = Frozen::new(marks, Some(world.layout));
    frozen.set_owner(24);
    frozen.prove(all_kinds());
    // SAFETY: no arguments, cannot fail.
    let os_thread = unsafe { libc::gettid() }.cast_unsigned();
    let mut claim = shared.scratch.claim(7).unwrap();
    for (place, method) in claim
        .frames_mut()
        .iter_mut()
        .zip([300, oldest, ENTER_SPECIAL])
    {
        *place = CallFrame { bci: 1, method };
    }
    let counters = Counters::new();
    let inside = shared.gate.enter();
    assert_eq!(inside.mode(), Mode::Armed);
    rehearsal::begin(world.plan());
    // SAFETY: all of this world is mapped; faults are contained.
    let stack = unsafe {
        complete(
            &frozen,
            &counters,
            &mut claim,
            os_thread,
            world.thread,
            0,
            3,
        )
    };
    rehearsal::end();
    drop(inside);
    (stack, counters)
}

#[test]
fn a_stack_whose_frozen_part_calls_its_other_part_is_whole_and_another_is_refused() {
    let mut world = world();
    let method = world.method(CALLEE, 0);
    let callee = world.compiled(4, &[(method, 7)]);
    world.put(callee + 24, method);
    call(youngest(&world), callee + CODE_AT);
    let (walked, _) = world.walk(world.plan()).0.unwrap();
    assert_eq!(walked.callee, CALLEE);

    let (stack, _) = completed(&world, CALLEE);
    assert_eq!((stack.frames, stack.truncation), (2 + walked.found, None));
    let (stack, counters) = completed(&world, CALLEE + 1);
    assert_eq!(
        (stack.frames, stack.truncation),
        (2, Some(Truncation::Misread))
    );
    assert_eq!(counters.get(Counter::TruncatedMisread), 1);
    assert_eq!(counters.get(Counter::StacksCompleted), 0);
}

#[test]
fn where_the_frozen_part_calls_by_way_of_a_stub_its_callee_is_not_known() {
    let mut world = world();
    let stub = world.blob(b"a stub\0\0", 4);
    call(youngest(&world), stub + CODE_AT);
    let (walked, _) = world.walk(world.plan()).0.unwrap();
    assert_eq!(walked.callee, 0);
    let (stack, _) = completed(&world, CALLEE);
    assert_eq!((stack.frames, stack.truncation), (2 + walked.found, None));
}
