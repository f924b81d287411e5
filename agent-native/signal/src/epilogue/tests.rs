//! Methods as HotSpot ends them, byte by byte.

use super::*;

const SP: u64 = 0x7000;
/// No-ops around what is looked at, since loads go back and beyond.
const AROUND: usize = 32;

/// An end: the instructions, and what the frame's stack pointer was at each.
struct End {
    code: Vec<u8>,
    expected: Vec<(usize, Option<u64>)>,
}

impl End {
    fn new() -> Self {
        Self {
            code: vec![0x90; AROUND],
            expected: Vec::new(),
        }
    }

    fn then(mut self, instruction: &[u8], frame: Option<u64>) -> Self {
        self.expected.push((self.code.len(), frame));
        self.code.extend(instruction);
        self
    }

    fn check(mut self, name: &str) {
        self.code.extend([0x90; AROUND]);
        // SAFETY: no load of the tests goes beyond their code.
        let loads = unsafe { Loads::under_guard() };
        for (at, frame) in self.expected {
            let pc = self.code.as_ptr() as u64 + at as u64;
            assert_eq!(
                frame_before(loads, pc, SP),
                frame,
                "{name}: byte {}",
                at - AROUND
            );
        }
    }
}

const POLL_LONG: &[u8] = &[0x49, 0x3B, 0xA7, 0x50, 0x04, 0x00, 0x00];
const POLL_SHORT: &[u8] = &[0x49, 0x3B, 0x67, 0x28];
const JUMP_ABOVE: &[u8] = &[0x0F, 0x87, 0x01, 0x00, 0x00, 0x00];

/// A whole end with its slow path, whose frame has `added` bytes below the saved frame pointer.
fn whole(add: &[u8], added: u64, poll: &[u8]) -> End {
    let down = Some(SP + 8 - added - 16);
    let to_poll = -(14 + poll.len() as i32);
    let place = [&[0x4C, 0x8D, 0x15][..], &to_poll.to_le_bytes()].concat();
    let mut end = End::new();
    if !add.is_empty() {
        end = end.then(add, None);
    }
    let at_pop = (added > 0).then_some(SP - added);
    end.then(&[0x5D], at_pop)
        .then(poll, down)
        .then(JUMP_ABOVE, down)
        .then(&[0xC3], down)
        .then(&place, down)
        .then(&[0x4D, 0x89, 0x97, 0x68, 0x04, 0x00, 0x00], down)
        .then(&[0xE9, 0x00, 0x00, 0x01, 0x00], down)
}

#[test]
fn from_the_pop_on_the_frame_is_down_and_before_it_is_up() {
    for (poll, of) in [(POLL_LONG, "disp32"), (POLL_SHORT, "disp8")] {
        whole(&[0x48, 0x83, 0xC4, 0x20], 0x20, poll).check(&format!("imm8, {of}"));
        whole(&[0x48, 0x81, 0xC4, 0x90, 0x01, 0, 0], 0x190, poll).check(&format!("imm32, {of}"));
        whole(&[], 0, poll).check(&format!("no frame but rbp, {of}"));
    }
}

#[test]
fn an_end_without_a_poll_is_one_too() {
    End::new()
        .then(&[0x48, 0x83, 0xC4, 0x20], None)
        .then(&[0x5D], Some(SP - 0x20))
        .then(&[0xC3], Some(SP + 8 - 0x30))
        .check("ret");
    End::new()
        .then(&[0x48, 0x83, 0xC4, 0x20], None)
        .then(&[0x5D], Some(SP - 0x20))
        .then(&[0xE9, 0, 0, 1, 0], Some(SP + 8 - 0x30))
        .check("a jump out");
}

#[test]
fn the_same_instructions_in_the_middle_of_a_method_are_no_end() {
    for code in [
        // ja, behind a comparison of something else
        &[
            &[0x49, 0x3B, 0x87, 0, 0, 0, 0][..],
            &[0x0F, 0x87, 0, 0, 0, 0],
        ][..],
        // cmp rsp with something else's memory; the poll without a pop before it
        &[&[0x90], &[0x49, 0x3B, 0xA6, 0, 0, 0, 0]],
        &[&[0x90], POLL_SHORT],
        // ret behind a jump that follows no poll
        &[&[0x90; 7], JUMP_ABOVE, &[0xC3]],
        // lea r10 of something, used otherwise; the mov and the jmp without the place
        &[&[0x90], &[0x4C, 0x8D, 0x15, 0, 0, 0, 0], &[0x90]],
        &[
            &[0x90],
            &[0x4D, 0x89, 0x97, 0, 0, 0, 0],
            &[0xE9, 0, 0, 0, 0],
        ],
        // a jump behind a byte that looks like a pop
        &[&[0x83, 0xC1, 0x5D], &[0xE9, 0, 0, 0, 0]],
        // lea r10 of what is no poll
        &[
            &[0x4C, 0x8D, 0x15, 0, 0, 0, 0],
            &[0x4D, 0x89, 0x97, 0, 0, 0, 0],
            &[0xE9, 0, 0, 0, 0],
        ],
    ] {
        let mut end = End::new();
        for instruction in code {
            end = end.then(instruction, None);
        }
        end.check(&format!("{code:02X?}"));
    }
}
