//! A compiled method that is about to return has taken its frame down, and AsyncGetCallTrace does not know: it looks
//! for the caller as far up as if the frame were there. Mostly that is no return address and the walk fails; now and
//! then it is one, and callers are skipped, or frames of an earlier call appear.
//!
//! What it needs is only the stack pointer that the frame had: the return address is where it was, and the saved
//! frame pointer still lies below it (within the red zone, which signals leave alone). So for the walk the frame is
//! put up again. Where the thread is and how large the frame was, the instructions tell with which HotSpot ends a
//! method, the same in C1 and C2 from JDK 17 on (`MachEpilogNode` in x86_64.ad, `LIR_Assembler::return_op` in
//! c1_LIRAssembler_x86.cpp, `C2SafepointPollStub::emit` in c2_CodeStubs_x86.cpp); so nothing of a JVM's layout:
//!
//! ```text
//!       add rsp, N                not where the frame is nothing but the saved frame pointer
//!       pop rbp
//!       cmp rsp, [r15 + disp]     the poll: disp8 from JDK 25 on, disp32 before
//!       ja  slow
//!       ret
//! slow: lea r10, [rip + rel32]    the address of the poll
//!       mov [r15 + disp32], r10
//!       jmp handler
//! ```
//!
//! Other exits (exceptions, tail calls) are `pop rbp` and a jump. x86-64 only.

use core::ffi::c_void;

use crate::guard::Recovery;
use crate::load::Loads;
use crate::registers::Registers;
use crate::walk::CallTrace;

/// `pop rbp`.
const POP: u8 = 0x5D;
/// `ret`.
const RETURN: u8 = 0xC3;
/// `jmp rel32`.
const JUMP: u8 = 0xE9;
/// `ja rel32`, and its length.
const ABOVE: ([u8; 2], u64) = ([0x0F, 0x87], 6);
/// `cmp rsp, [r15 + disp]` with its length: `disp32`, `disp8`.
const POLLS: [([u8; 3], u64); 2] = [([0x49, 0x3B, 0xA7], 7), ([0x49, 0x3B, 0x67], 4)];
/// `lea r10, [rip + rel32]`, and its length.
const PLACE: ([u8; 3], u64) = ([0x4C, 0x8D, 0x15], 7);
/// `mov [r15 + disp32], r10`, and its length.
const NOTE: ([u8; 3], u64) = ([0x4D, 0x89, 0x97], 7);
/// `add rsp, imm32` and `add rsp, imm8`, with their lengths.
const ADD_LONG: ([u8; 3], u64) = ([0x48, 0x81, 0xC4], 7);
const ADD_SHORT: ([u8; 3], u64) = ([0x48, 0x83, 0xC4], 4);
/// Bytes of a frame beyond what was added: the saved frame pointer and the return address.
const SAVED: u64 = 16;
/// No frame is larger, bytes.
const LARGEST: u64 = 1 << 20;

/// Code around the next instruction.
#[derive(Clone, Copy)]
struct Code {
    loads: Loads,
    pc: u64,
}

impl Code {
    fn byte(self, at: u64) -> u8 {
        self.loads.at(at)
    }

    fn is(self, at: u64, opcode: [u8; 3]) -> bool {
        // The first alone in most cases.
        (0..)
            .zip(opcode)
            .all(|(i, byte)| self.byte(at.wrapping_add(i)) == byte)
    }

    /// The `pop rbp` of the end that the thread is in, behind it.
    fn pop(self) -> Option<u64> {
        let pc = self.pc;
        let before = |bytes: u64| pc.wrapping_sub(bytes);
        match self.byte(pc) {
            // At the poll, or right behind the pop.
            0x49 => POLLS
                .iter()
                .any(|poll| self.is(pc, poll.0))
                .then_some(before(1)),
            0x0F if self.byte(pc.wrapping_add(1)) == ABOVE.0[1] => self.before_poll(pc),
            RETURN if self.byte(before(1)) == POP => Some(before(1)),
            RETURN => {
                let above = before(ABOVE.1);
                let is_above = self.byte(above) == ABOVE.0[0]
                    && self.byte(above.wrapping_add(1)) == ABOVE.0[1];
                is_above.then(|| self.before_poll(above)).flatten()
            }
            0x4C if self.is_slow(pc) => self.before_place(pc),
            0x4D if self.is_slow(before(PLACE.1)) => self.before_place(before(PLACE.1)),
            JUMP if self.is_slow(before(PLACE.1 + NOTE.1)) => {
                self.before_place(before(PLACE.1 + NOTE.1))
            }
            // An exit by a jump: the addition is what tells it, so it must be there.
            JUMP => self.added(before(1)).map(|_| before(1)),
            _ => None,
        }
        .filter(|pop| self.byte(*pop) == POP)
    }

    /// The byte before the poll that ends at `end`.
    fn before_poll(self, end: u64) -> Option<u64> {
        POLLS
            .iter()
            .map(|(opcode, length)| (end.wrapping_sub(*length), *opcode))
            .find(|(start, opcode)| self.is(*start, *opcode))
            .map(|(start, _)| start.wrapping_sub(1))
    }

    /// Whether the slow path of a poll begins at `at`.
    fn is_slow(self, at: u64) -> bool {
        let note = at.wrapping_add(PLACE.1);
        self.is(at, PLACE.0)
            && self.is(note, NOTE.0)
            && self.byte(note.wrapping_add(NOTE.1)) == JUMP
    }

    /// The byte before the poll whose address the slow path at `at` takes.
    fn before_place(self, at: u64) -> Option<u64> {
        let relative: i32 = self.loads.at(at.wrapping_add(3));
        let poll = at
            .wrapping_add(PLACE.1)
            .wrapping_add_signed(i64::from(relative));
        let is_poll = POLLS.iter().any(|(opcode, _)| self.is(poll, *opcode));
        is_poll.then(|| poll.wrapping_sub(1))
    }

    /// What was added to the stack pointer before the `pop rbp` at `pop`.
    fn added(self, pop: u64) -> Option<u64> {
        let (short, long) = (pop.wrapping_sub(ADD_SHORT.1), pop.wrapping_sub(ADD_LONG.1));
        let added = if self.is(short, ADD_SHORT.0) {
            i64::from(self.byte(short.wrapping_add(3)).cast_signed())
        } else if self.is(long, ADD_LONG.0) {
            i64::from(self.loads.at::<i32>(long.wrapping_add(3)))
        } else {
            return None;
        };
        let added = added.cast_unsigned();
        (added.is_multiple_of(8) && added < LARGEST).then_some(added)
    }
}

/// The stack pointer that the frame had, if the method at `pc` has taken it down or begun to.
#[must_use]
pub fn frame_before(loads: Loads, pc: u64, sp: u64) -> Option<u64> {
    let code = Code { loads, pc };
    if !sp.is_multiple_of(8) {
        return None;
    }
    if code.byte(pc) == POP {
        // Without an addition the frame is still whole.
        return code.added(pc).map(|added| sp.wrapping_sub(added));
    }
    let pop = code.pop()?;
    // The return address is on top.
    let frame = code.added(pop).unwrap_or(0).wrapping_add(SAVED);
    Some(sp.wrapping_add(8).wrapping_sub(frame))
}

/// What goes through the trampoline.
struct Request {
    pc: u64,
    sp: u64,
    frame: Option<u64>,
}

/// Called through the trampoline of [`crate::guard`], in the shape of AsyncGetCallTrace.
///
/// # Safety
/// `request` is a [`Request`], to which nothing else refers meanwhile.
unsafe extern "C" fn enter(_: *mut CallTrace, _: i32, request: *mut c_void) {
    // SAFETY: by the contract above.
    let request = unsafe { &mut *request.cast::<Request>() };
    // SAFETY: called through the trampoline; nothing here owns anything.
    let loads = unsafe { Loads::under_guard() };
    request.frame = frame_before(loads, request.pc, request.sp);
}

/// Puts the frame up again in `context`, where the interrupted method has taken it down: the registers to
/// [`put`](Registers::put) back afterwards. `None` where it has not, or where that cannot be told.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler or null, on kernel thread `os_thread`; nothing else
/// refers to it meanwhile; faults are contained ([`crate::guard`]), and no walk under `recovery` is under way.
pub unsafe fn put_up(
    recovery: &Recovery,
    os_thread: u32,
    context: *mut c_void,
) -> Option<Registers> {
    // SAFETY: by the contract above.
    let now = unsafe { Registers::of(context) }?;
    let mut request = Request {
        pc: now.pc,
        sp: now.sp,
        frame: None,
    };
    // SAFETY: `enter` takes what is passed here, and it outlives the call.
    let whole = unsafe { recovery.run(os_thread, enter, (&raw mut request).cast::<c_void>()) };
    let sp = request.frame.filter(|_| whole)?;
    // SAFETY: by the contract above.
    unsafe { Registers { sp, ..now }.put(context) };
    Some(now)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
