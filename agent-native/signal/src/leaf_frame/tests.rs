//! The bytes of a barrier of JDK 27's Shenandoah, and of what is like it and is none.

use super::*;

/// Words looked at go a little beyond the last instruction.
const BEHIND: usize = 16;

/// Instructions, each with whether registers are saved below the frame when it is next.
struct Code {
    bytes: Vec<u8>,
    expected: Vec<(usize, bool)>,
}

impl Code {
    fn new() -> Self {
        Self {
            bytes: Vec::new(),
            expected: Vec::new(),
        }
    }

    fn then(mut self, instruction: &[u8], is_saving: bool) -> Self {
        self.expected.push((self.bytes.len(), is_saving));
        self.bytes.extend(instruction);
        self
    }

    fn check(mut self, name: &str) {
        self.bytes.extend([0x90; BEHIND]);
        let start = self.bytes.as_ptr() as u64;
        // SAFETY: no load goes beyond the end that is given.
        let loads = unsafe { Loads::under_guard() };
        for (at, expected) in self.expected {
            let end = start + self.bytes.len() as u64;
            let found = is_saving(loads, start + at as u64, end);
            assert_eq!(found, expected, "{name}: byte {at}");
        }
    }
}

const STORE: &[u8] = &[0x4C, 0x89, 0x54, 0x24, 0x18];
const LOAD: &[u8] = &[0x4C, 0x8B, 0x54, 0x24, 0x18];
const CALL: &[u8] = &[0xE8, 0x3E, 0xE7, 0x5A, 0x16];
const JUMP_BACK: &[u8] = &[0xE9, 0x0E, 0xFE, 0xFF, 0xFF];

/// A barrier that saves registers in as many bytes as these instructions have.
fn barrier(code: Code, sub: &[u8], add: &[u8], saved: usize) -> Code {
    let mut code = code.then(&[0x72, 0x10], false).then(sub, false);
    for _ in 0..saved {
        code = code.then(STORE, true);
    }
    code = code.then(CALL, true);
    for _ in 0..saved {
        code = code.then(LOAD, true);
    }
    // vzeroupper
    code.then(&[0xC5, 0xF8, 0x77], true)
        .then(add, true)
        .then(JUMP_BACK, false)
}

#[test]
fn from_behind_the_subtraction_to_the_addition_a_barrier_has_registers_below_the_frame() {
    let short = (&[0x48, 0x83, 0xEC, 0x20], &[0x48, 0x83, 0xC4, 0x20]);
    let long = (
        &[0x48, 0x81, 0xEC, 0x90, 1, 0, 0],
        &[0x48, 0x81, 0xC4, 0x90, 1, 0, 0],
    );
    // One behind the other, as they lie.
    let code = barrier(Code::new(), short.0, short.1, 3);
    let code = barrier(code, long.0, long.1, 60);
    barrier(code, short.0, short.1, 1).check("barriers");
}

#[test]
fn a_method_s_own_frame_is_no_such_thing() {
    Code::new()
        .then(&[0x55], false)
        .then(&[0x48, 0x83, 0xEC, 0x20], false)
        .then(STORE, false)
        .then(&[0x48, 0x83, 0xC4, 0x20], false)
        .then(&[0x5D], false)
        .then(&[0xC3], false)
        // The exit by a jump, too, takes the frame down first.
        .then(&[0x48, 0x8B, 0xF0], false)
        .then(&[0x48, 0x81, 0xC4, 0x20, 0, 0, 0], false)
        .then(&[0x5D], false)
        .then(JUMP_BACK, false)
        .check("frames");
    Code::new()
        .then(&[0x49, 0x83, 0xC4, 0x20], false)
        .then(JUMP_BACK, false)
        .then(&[0x48, 0xC7, 0xC4, 0x20, 0, 0, 0], false)
        .then(JUMP_BACK, false)
        .check("another register");
}

#[test]
fn beyond_the_end_of_the_code_and_far_away_nothing_is_looked_at() {
    let mut code = vec![0x90; 16];
    code.extend([0x48, 0x83, 0xC4, 0x20, 0xE9]);
    let found = |code: &[u8], length: usize| {
        let start = code.as_ptr() as u64;
        // SAFETY: as in `check`.
        let loads = unsafe { Loads::under_guard() };
        is_saving(loads, start, start + length as u64)
    };
    code.extend([0x90; BEHIND]);
    assert!(found(&code, code.len()));
    assert!(!found(&code, 16));
    let mut far = vec![0x90; REACH as usize];
    far.extend([0x48, 0x83, 0xC4, 0x20, 0xE9]);
    far.extend([0x90; BEHIND]);
    assert!(!found(&far, far.len()));
}

#[test]
fn a_byte_is_found_wherever_it_is_in_a_word() {
    for byte in [0xC4_u8, 0xEC] {
        for place in 0..8 {
            let mut bytes = [0xC3, 0xC5, 0, 0xFF, 0xEB, 0xED, 1, 0x80];
            assert!(!has(u64::from_le_bytes(bytes), byte));
            bytes[place] = byte;
            assert!(has(u64::from_le_bytes(bytes), byte), "{byte:x} at {place}");
        }
    }
}
