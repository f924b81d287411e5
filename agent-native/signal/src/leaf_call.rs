//! C code that compiled Java code has called without telling the VM: clocks, mathematics, a collector's barriers.
//!
//! AsyncGetCallTrace follows the frame pointer there. In the first and last instructions of a C function, and in
//! C code that keeps something else in it, the frame pointer is what Java code had left in that register. Where that
//! leads to the return address of an earlier such call, whose frame is gone, the stack goes on from there: frames of
//! the past above those of now. So what the frame pointer leads to is believed only if it is the first return address
//! of such a call that can be seen from the stack pointer on, and if the method that it is in was called from where
//! its frame says: a call instruction tells whom it calls. (Not each one does: a virtual call may go through a stub.)
//!
//! Where the code of a collector's barrier has saved registers below the frame first, the frame is not where its size
//! says: what lies in its caller's place is no return address then, or not behind a call.
//!
//! x86-64 only.

use core::ffi::c_void;

use crate::code::{self, Kind};
use crate::guard::Recovery;
use crate::layout::Layout;
use crate::load::Loads;
use crate::registers::Registers;
use crate::walk::CallTrace;

/// Frames of C code, at most; deeper ones are not believed.
const FRAMES: usize = 16;
/// Bytes from the stack pointer to the call's return address, at most.
const REACH: u64 = 8 << 10;
/// Code heaps' bounds; an empty range where there is none.
type Heaps = [(u64, u64); crate::layout::CODE_HEAPS];

fn heaps(loads: Loads, layout: &Layout) -> Heaps {
    let (low, high) = layout.code_bounds;
    layout.code_heaps.map(|heap| {
        if heap == 0 {
            (0, 0)
        } else {
            (
                loads.at(heap.wrapping_add(low)),
                loads.at(heap.wrapping_add(high)),
            )
        }
    })
}

fn is_code(heaps: &Heaps, address: u64) -> bool {
    heaps
        .iter()
        .any(|(low, high)| (*low..*high).contains(&address))
}

/// Whether there is a call of any form before `returns_to`.
fn is_behind_call(loads: Loads, heaps: &Heaps, returns_to: u64) -> bool {
    const LONGEST: u64 = 7;
    let before = |bytes: u64| loads.at::<u8>(returns_to.wrapping_sub(bytes));
    if !is_code(heaps, returns_to) || !is_code(heaps, returns_to.wrapping_sub(LONGEST)) {
        return false;
    }
    // `FF /2` by register or memory: its length and the byte behind.
    code::target(loads, returns_to).is_some()
        || [
            (2, 0xD0..=0xD7),
            (2, 0x10..=0x17),
            (3, 0x14..=0x14),
            (3, 0x50..=0x57),
            (4, 0x54..=0x54),
            (6, 0x15..=0x15),
            (6, 0x90..=0x97),
            (7, 0x94..=0x94),
        ]
        .into_iter()
        .any(|(length, mode)| before(length) == 0xFF && mode.contains(&before(length - 1)))
}

/// Whether `returns_to` may be compiled code behind a call of code that is none: such a call is direct, or by a
/// register.
fn may_be_call(loads: Loads, heaps: &Heaps, returns_to: u64) -> bool {
    is_call(loads, heaps, returns_to)
        || (is_behind_call(loads, heaps, returns_to)
            && loads.at::<u8>(returns_to.wrapping_sub(2)) == 0xFF
            && (0xD0..=0xD7).contains(&loads.at::<u8>(returns_to.wrapping_sub(1))))
}

/// Whether `returns_to` is compiled code behind a call of code that is none, in one of the two forms after which the
/// frame lies where its size says.
fn is_call(loads: Loads, heaps: &Heaps, returns_to: u64) -> bool {
    let before = |bytes: u64| returns_to.wrapping_sub(bytes);
    if !is_code(heaps, returns_to) || !is_code(heaps, before(13)) {
        return false;
    }
    // mov r10, imm64; call r10
    if loads.at::<u16>(before(13)).to_le_bytes() == [0x49, 0xBA]
        && loads.at::<u16>(before(3)).to_le_bytes() == [0x41, 0xFF]
        && loads.at::<u8>(before(1)) == 0xD2
    {
        return !is_code(heaps, loads.at(before(11)));
    }
    code::target(loads, returns_to).is_some_and(|target| !is_code(heaps, target))
}

/// Where AsyncGetCallTrace finds the return address into code, from `fp` on.
fn slot_by_frame_pointer(loads: Loads, heaps: &Heaps, sp: u64, fp: u64) -> Option<u64> {
    let mut fp = fp;
    for _ in 0..FRAMES {
        if !fp.is_multiple_of(8) || fp <= sp || fp.wrapping_sub(sp) > REACH {
            return None;
        }
        let slot = fp.wrapping_add(8);
        if is_code(heaps, loads.at(slot)) {
            return Some(slot);
        }
        let next: u64 = loads.at(fp);
        if next <= fp {
            return None;
        }
        fp = next;
    }
    None
}

/// Whether the thread is in C code that Java code has called, and it cannot be told from where.
#[must_use]
pub fn is_doubtful(loads: Loads, layout: &Layout, pc: u64, sp: u64, fp: u64) -> bool {
    let heaps = heaps(loads, layout);
    if is_code(&heaps, pc) || !sp.is_multiple_of(8) {
        return false;
    }
    let Some(believed) = slot_by_frame_pointer(loads, &heaps, sp, fp) else {
        // AsyncGetCallTrace finds something else, or nothing.
        return true;
    };
    let mut at = sp;
    while at < believed {
        if may_be_call(loads, &heaps, loads.at(at)) {
            return true;
        }
        at = at.wrapping_add(8);
    }
    !is_call(loads, &heaps, loads.at(believed))
        || was_called_elsewhere(loads, layout, &heaps, believed)
}

/// Whether the method that the return address at `slot` is in has a frame whose own return address is none, or lies
/// behind a call of another method.
fn was_called_elsewhere(loads: Loads, layout: &Layout, heaps: &Heaps, slot: u64) -> bool {
    let Ok(callee) = code::find(loads, layout, loads.at(slot)) else {
        return false;
    };
    if callee.kind != Kind::Compiled {
        return false;
    }
    let returns_to: u64 = loads.at(slot.wrapping_add(callee.frame));
    let Ok(caller) = code::find(loads, layout, returns_to) else {
        // The interpreter's code, if any.
        return !is_code(heaps, returns_to);
    };
    if caller.kind != Kind::Compiled {
        return false;
    }
    if !is_behind_call(loads, heaps, returns_to) {
        return true;
    }
    let Ok(called) = code::called(loads, layout, returns_to) else {
        return false;
    };
    // A call of what is not compiled goes through a stub of the caller's own.
    called.kind != Kind::Stub
        && called.address != caller.address
        && called.method(loads, layout) != callee.method(loads, layout)
}

/// What goes through the trampoline.
struct Request<'a> {
    layout: &'a Layout,
    pc: u64,
    sp: u64,
    fp: u64,
    is_doubtful: bool,
}

/// Called through the trampoline of [`crate::guard`], in the shape of AsyncGetCallTrace.
///
/// # Safety
/// `request` is a [`Request`], to which nothing else refers meanwhile.
unsafe extern "C" fn enter(_: *mut CallTrace, _: i32, request: *mut c_void) {
    // SAFETY: by the contract above.
    let request = unsafe { &mut *request.cast::<Request<'_>>() };
    // SAFETY: called through the trampoline; nothing here owns anything.
    let loads = unsafe { Loads::under_guard() };
    request.is_doubtful = is_doubtful(loads, request.layout, request.pc, request.sp, request.fp);
}

/// Whether what AsyncGetCallTrace is about to find, from `context` on a thread that counts as in Java code, is not
/// to be believed.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler or null, on kernel thread `os_thread`; faults are
/// contained ([`crate::guard`]), and no walk under `recovery` is under way.
pub unsafe fn is_lost(
    layout: &Layout,
    recovery: &Recovery,
    os_thread: u32,
    context: *mut c_void,
) -> bool {
    // SAFETY: by the contract above.
    let Some(Registers { pc, sp, fp }) = (unsafe { Registers::of(context) }) else {
        return false;
    };
    let mut request = Request {
        layout,
        pc,
        sp,
        fp,
        is_doubtful: false,
    };
    // SAFETY: `enter` takes what is passed here, and it outlives the call.
    let whole = unsafe { recovery.run(os_thread, enter, (&raw mut request).cast::<c_void>()) };
    !whole || request.is_doubtful
}

#[cfg(test)]
mod tests {
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
    fn each_form_of_a_call_is_one_and_nothing_else_is() {
        let forms: [&[u8]; 9] = [
            &[0xE8, 1, 2, 3, 4],
            &[0xFF, 0xD3],
            &[0xFF, 0x13],
            &[0xFF, 0x14, 0x24],
            &[0xFF, 0x53, 8],
            &[0xFF, 0x54, 0x24, 8],
            &[0xFF, 0x15, 1, 2, 3, 4],
            &[0xFF, 0x93, 1, 2, 3, 4],
            &[0xFF, 0x94, 0x24, 1, 2, 3, 4],
        ];
        for form in forms {
            let mut world = World::new();
            world.code[300 - form.len()..300].copy_from_slice(form);
            // SAFETY: all that is loaded lies in this world.
            let loads = unsafe { Loads::under_guard() };
            let mut heaps = Heaps::default();
            heaps[0] = (world.heap[0], world.heap[1]);
            let is_behind = |at: usize| is_behind_call(loads, &heaps, world.code(at));
            assert!(is_behind(300), "{form:x?}");
            assert!(!is_behind(330) && !is_behind(3), "{form:x?}");
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
}
