//! A method that C code returns to was called from where its frame says, or the stack is not believed.

use super::{CHUNK, CODE_AT, World};
use crate::leaf_call::is_doubtful;
use crate::load::Loads;

/// A return address into `blob`, behind a call of `target`.
pub fn call(blob: u64, target: u64) -> u64 {
    let returns_to = World::pc(blob);
    let relative = i32::try_from(target.wrapping_sub(returns_to).cast_signed()).unwrap();
    let [a, b, c, d] = relative.to_le_bytes();
    for (i, byte) in [0xE8, a, b, c, d].into_iter().enumerate() {
        // SAFETY: in the blob's code.
        unsafe { ((returns_to - 5 + i as u64) as *mut u8).write(byte) };
    }
    returns_to
}

#[test]
fn a_method_is_believed_unless_its_caller_has_called_another() {
    let mut world = World::new();
    let names = [201, 202, 203].map(|id| world.method(id, 0));
    let [callee, caller, other] = names.map(|method| {
        let blob = world.compiled(4, &[(method, 7)]);
        world.put(blob + 24, method);
        blob
    });
    let c_code = world.address(0);
    // The frame pointer's frame at word 20 of the stack; the callee's frame of four words above it.
    let stack = |word: usize| CHUNK + word;
    let (sp, fp) = (world.address(stack(10)), world.address(stack(20)));
    let into_callee = call(callee, c_code);
    let mut is_doubtful_with = |returns_to: u64| {
        world.put(world.address(stack(21)), into_callee);
        world.put(world.address(stack(25)), returns_to);
        // SAFETY: all that is loaded lies in this world.
        let loads = unsafe { Loads::under_guard() };
        is_doubtful(loads, &world.layout, c_code, sp, fp)
    };
    assert!(!is_doubtful_with(call(caller, callee + CODE_AT)));
    assert!(is_doubtful_with(call(caller, other + CODE_AT)));
    assert!(
        !is_doubtful_with(call(caller, caller + CODE_AT)),
        "by way of its own stub"
    );
    assert!(
        is_doubtful_with(c_code),
        "no return address: the frame lies elsewhere"
    );
    let no_call = call(caller, callee + CODE_AT) + 16;
    assert!(is_doubtful_with(no_call), "not behind a call");
}
