//! Return addresses on a stack of words, into code without a method around it.

use super::*;

/// Words of the stack; what matters lies far from its end.
const WORDS: usize = 256;

struct World {
    code: Vec<u8>,
    /// Low, high, segment map, shift: no segment is in use.
    heap: [u64; 4],
    _map: Vec<u8>,
    stack: Vec<u64>,
}

impl World {
    /// Code with, behind 64 bytes each, a call of C by register, one by offset, and one of Java code.
    fn new() -> Self {
        let mut code = vec![0x90_u8; 512];
        code[51..53].copy_from_slice(&[0x49, 0xBA]);
        code[53..61].copy_from_slice(&0x7777_u64.to_le_bytes());
        code[61..64].copy_from_slice(&[0x41, 0xFF, 0xD2]);
        code[123] = 0xE8;
        code[124..128].copy_from_slice(&100_000_i32.to_le_bytes());
        code[187] = 0xE8;
        code[188..192].copy_from_slice(&16_i32.to_le_bytes());
        let low = code.as_ptr() as u64;
        let map = vec![0xFF_u8; 512];
        Self {
            heap: [low, low + code.len() as u64, map.as_ptr() as u64, 0],
            _map: map,
            code,
            stack: vec![0; WORDS],
        }
    }

    fn code(&self, at: usize) -> u64 {
        self.code.as_ptr() as u64 + at as u64
    }

    fn at(&self, word: usize) -> u64 {
        &raw const self.stack[word] as u64
    }

    fn is_doubtful(&self, pc: u64, sp: usize, fp: usize) -> bool {
        let mut layout = Layout {
            code_bounds: (0, 8),
            segment_map: 16,
            segment_shift: 24,
            ..Layout::BLANK
        };
        layout.code_heaps[0] = self.heap.as_ptr() as u64;
        // SAFETY: all that is loaded lies in this world, whose ends are far.
        let loads = unsafe { Loads::under_guard() };
        is_doubtful(loads, &layout, pc, self.at(sp), self.at(fp))
    }
}

const C_CODE: u64 = 0x5555;

#[test]
fn one_call_at_the_frame_pointer_is_believed_through_frames_of_c_code() {
    for call in [64, 128] {
        let mut world = World::new();
        world.stack[20] = world.at(30);
        world.stack[21] = C_CODE;
        world.stack[31] = world.code(call);
        // A call of Java code, and a word of code that is no return address.
        world.stack[12] = world.code(192);
        world.stack[13] = world.code(70);
        assert!(!world.is_doubtful(C_CODE, 10, 20), "call {call}");
    }
}

#[test]
fn where_the_frame_pointer_leads_to_a_call_of_the_past_it_is_not() {
    let mut world = World::new();
    // The living one, at the entry of a function: nothing is pushed yet.
    world.stack[10] = world.code(64);
    world.stack[31] = world.code(64);
    assert!(world.is_doubtful(C_CODE, 10, 30));
}

#[test]
fn a_living_call_by_whatever_register_is_seen_below_one_of_the_past() {
    // G1's barriers: mov rax, imm64; call rax.
    for (length, call) in [(2, vec![0xFF, 0xD0]), (3, vec![0x41, 0xFF, 0xD1])] {
        let mut world = World::new();
        world.code[256 - length..256].copy_from_slice(&call);
        world.stack[10] = world.code(256);
        world.stack[31] = world.code(64);
        assert!(world.is_doubtful(C_CODE, 10, 30), "{call:x?}");
        // It is seen, but the frame below which such code saves registers is not where it seems.
        world.stack[31] = world.code(256);
        assert!(world.is_doubtful(C_CODE, 12, 30), "{call:x?}");
    }
}

#[test]
fn where_it_leads_nowhere_it_is_not_and_in_java_code_it_does_not_matter() {
    let mut world = World::new();
    assert!(world.is_doubtful(C_CODE, 10, 30));
    assert!(world.is_doubtful(C_CODE, 10, 5), "below the stack pointer");
    world.stack[31] = world.code(192);
    assert!(world.is_doubtful(C_CODE, 10, 30), "no call of C code");
    assert!(!world.is_doubtful(world.code(40), 10, 30));
}
