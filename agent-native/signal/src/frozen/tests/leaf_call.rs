//! A method that was interrupted, or that C code returns to, was called from where its frame says, or the stack is not
//! believed.

use super::{CHUNK, CODE_AT, World};
use crate::leaf_call::is_doubtful;
use crate::load::Loads;

/// A return address into `blob`, behind a call of `target` that the compiler has made.
pub fn call(blob: u64, target: u64) -> u64 {
    let returns_to = call_at(World::pc(blob), target);
    for (i, byte) in [0x0F, 0x1F, 0x84, 0x00].into_iter().enumerate() {
        // SAFETY: in the blob's code.
        unsafe { ((returns_to + i as u64) as *mut u8).write(byte) };
    }
    returns_to
}

/// A call of `target` that returns to `returns_to`, as a barrier makes it.
fn call_at(returns_to: u64, target: u64) -> u64 {
    let relative = i32::try_from(target.wrapping_sub(returns_to).cast_signed()).unwrap();
    let [a, b, c, d] = relative.to_le_bytes();
    for (i, byte) in [0xE8, a, b, c, d].into_iter().enumerate() {
        // SAFETY: in a blob's code.
        unsafe { ((returns_to - 5 + i as u64) as *mut u8).write(byte) };
    }
    returns_to
}

/// Three compiled methods with frames of four words, and a stack.
struct Methods {
    world: World,
    callee: u64,
    caller: u64,
    other: u64,
}

impl Methods {
    fn new() -> Self {
        let mut world = World::new();
        let [callee, caller, other] = [201, 202, 203].map(|id| {
            let method = world.method(id, 0);
            let blob = world.compiled(4, &[(method, 7)]);
            world.put(blob + 24, method);
            blob
        });
        Self {
            world,
            callee,
            caller,
            other,
        }
    }

    /// No code of the JVM.
    fn c_code(&self) -> u64 {
        self.world.address(0)
    }

    fn word(&self, word: usize) -> u64 {
        self.world.address(CHUNK + word)
    }

    /// Whether a thread is in doubt that was stopped at `pc`, in C code with the frame pointer at word 20, or with its
    /// stack pointer at word 10.
    fn is_doubtful_at(&mut self, pc: u64, words: &[(usize, u64)]) -> bool {
        for (word, value) in words {
            self.world.put(self.word(*word), *value);
        }
        // SAFETY: all that is loaded lies in this world.
        let loads = unsafe { Loads::under_guard() };
        let (sp, fp) = (self.word(10), self.word(20));
        is_doubtful(loads, &self.world.layout, pc, sp, fp)
    }
}

/// Each return address that `callee` may have, and whether it is one of the past, or none.
fn callers(of: &Methods) -> Vec<(&'static str, bool, u64)> {
    let (callee, caller) = (of.callee + CODE_AT, of.caller);
    let at = |bytes: u64| World::pc(caller) + bytes;
    vec![
        ("a call", false, call(caller, callee)),
        ("no return address", true, of.c_code()),
        ("not behind a call", true, at(16)),
        ("deoptimised, but from nowhere", true, at(40)),
        ("not the compiler's own call", true, call_at(at(64), callee)),
    ]
}

#[test]
fn a_method_that_c_code_returns_to_is_believed_unless_its_caller_has_called_another() {
    let mut methods = Methods::new();
    let c_code = methods.c_code();
    let into_callee = call(methods.callee, c_code);
    for (name, is_doubtful, returns_to) in callers(&methods) {
        let words = [(21, into_callee), (25, returns_to)];
        assert_eq!(
            methods.is_doubtful_at(c_code, &words),
            is_doubtful,
            "{name}"
        );
    }
    let (caller, other) = (methods.caller, methods.other);
    for (name, is_doubtful, target) in [
        ("another method", true, other + CODE_AT),
        ("its own stub", false, caller + CODE_AT),
        // System.nanoTime, in an earlier call of the caller.
        ("C code", true, c_code),
    ] {
        let words = [(25, call(caller, target))];
        assert_eq!(
            methods.is_doubtful_at(c_code, &words),
            is_doubtful,
            "{name}"
        );
    }
}

#[test]
fn a_compiled_method_is_believed_unless_its_caller_has_called_another() {
    let mut methods = Methods::new();
    let pc = World::pc(methods.callee);
    for (name, is_doubtful, returns_to) in callers(&methods) {
        let words = [(13, returns_to)];
        assert_eq!(methods.is_doubtful_at(pc, &words), is_doubtful, "{name}");
    }
    // A deoptimised frame keeps its place two words above.
    let (deoptimised, place) = (World::pc(methods.caller) + 40, World::pc(methods.caller));
    assert!(!methods.is_doubtful_at(pc, &[(13, deoptimised), (16, place)]));
    let by_a_clock = call(methods.caller, methods.c_code());
    assert!(methods.is_doubtful_at(pc, &[(13, by_a_clock)]));
}

#[test]
fn a_barrier_that_has_saved_registers_is_not_believed_whatever_lies_in_its_caller_s_place() {
    let mut methods = Methods::new();
    let c_code = methods.c_code();
    let good = call(methods.caller, methods.callee + CODE_AT);
    let into_callee = call_at(World::pc(methods.callee), c_code);
    assert!(methods.is_doubtful_at(c_code, &[(21, into_callee), (25, good)]));
    // The same call, made by the compiler.
    let into_callee = call(methods.callee, c_code);
    assert!(!methods.is_doubtful_at(c_code, &[(21, into_callee), (25, good)]));

    // add rsp, 32; jmp
    let pc = World::pc(methods.callee) + 64;
    for (i, byte) in [0x48, 0x83, 0xC4, 0x20, 0xE9].into_iter().enumerate() {
        // SAFETY: in the blob's code.
        unsafe { ((pc + i as u64) as *mut u8).write(byte) };
    }
    assert!(methods.is_doubtful_at(pc, &[(13, good)]));
    assert!(!methods.is_doubtful_at(pc + 4, &[(13, good)]));
}
