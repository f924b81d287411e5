//! C code that compiled Java code has called without telling the VM: clocks, mathematics, a collector's barriers.
//!
//! AsyncGetCallTrace follows the frame pointer there. In the first and last instructions of a C function, and in
//! C code that keeps something else in it, the frame pointer is what Java code had left in that register. Where that
//! leads to the return address of an earlier such call, whose frame is gone, the stack goes on from there: frames of
//! the past above those of now. So what the frame pointer leads to is believed only if it is the first return address
//! of such a call that can be seen from the stack pointer on, and if the method that it is in was called from where
//! its frame says ([`crate::leaf_frame`]).
//!
//! x86-64 only.

use core::ffi::c_void;

use crate::code::{self, Kind};
use crate::guard::Recovery;
use crate::heaps::Heaps;
use crate::layout::Layout;
use crate::leaf_frame;
use crate::load::Loads;
use crate::registers::Registers;
use crate::walk::CallTrace;

/// Frames of C code, at most; deeper ones are not believed.
const FRAMES: usize = 16;
/// Bytes from the stack pointer to the call's return address, at most.
const REACH: u64 = 8 << 10;

/// Whether `returns_to` may be compiled code behind a call of code that is none: such a call is direct, or by a
/// register.
fn may_be_call(loads: Loads, heaps: &Heaps, returns_to: u64) -> bool {
    is_call(loads, heaps, returns_to)
        || heaps.contain(returns_to)
            && heaps.contain(returns_to.wrapping_sub(2))
            && loads.at::<u8>(returns_to.wrapping_sub(2)) == 0xFF
            && (0xD0..=0xD7).contains(&loads.at::<u8>(returns_to.wrapping_sub(1)))
}

/// Whether `returns_to` is compiled code behind a call of code that is none, in one of the two forms after which the
/// frame may lie where its size says.
fn is_call(loads: Loads, heaps: &Heaps, returns_to: u64) -> bool {
    let before = |bytes: u64| returns_to.wrapping_sub(bytes);
    if !heaps.contain(returns_to) || !heaps.contain(before(13)) {
        return false;
    }
    // mov r10, imm64; call r10
    if loads.at::<u16>(before(13)).to_le_bytes() == [0x49, 0xBA]
        && loads.at::<u16>(before(3)).to_le_bytes() == [0x41, 0xFF]
        && loads.at::<u8>(before(1)) == 0xD2
    {
        return !heaps.contain(loads.at(before(11)));
    }
    code::target(loads, returns_to).is_some_and(|target| !heaps.contain(target))
}

/// Where AsyncGetCallTrace finds the return address into code, from `fp` on.
fn slot_by_frame_pointer(loads: Loads, heaps: &Heaps, sp: u64, fp: u64) -> Option<u64> {
    let mut fp = fp;
    for _ in 0..FRAMES {
        if !fp.is_multiple_of(8) || fp <= sp || fp.wrapping_sub(sp) > REACH {
            return None;
        }
        let slot = fp.wrapping_add(8);
        if heaps.contain(loads.at(slot)) {
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

/// Whether what AsyncGetCallTrace takes for the thread's youngest frame is in doubt: compiled code that is not where it
/// seems, or C code that Java code has called, and it cannot be told from where.
#[must_use]
pub fn is_doubtful(loads: Loads, layout: &Layout, pc: u64, sp: u64, fp: u64) -> bool {
    let heaps = Heaps::of(loads, layout);
    if heaps.contain(pc) {
        return code::find(loads, layout, pc).is_ok_and(|leaf| {
            leaf.kind == Kind::Compiled
                && leaf_frame::is_elsewhere(loads, layout, &heaps, leaf, pc, sp)
        });
    }
    if !sp.is_multiple_of(8) {
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
    let returns_to = loads.at(believed);
    if !is_call(loads, &heaps, returns_to) {
        return true;
    }
    code::find(loads, layout, returns_to).is_ok_and(|caller| {
        let sp = believed.wrapping_add(8);
        caller.kind == Kind::Compiled
            && (!leaf_frame::is_own_call(loads, returns_to)
                || leaf_frame::is_called_elsewhere(loads, layout, &heaps, caller, sp))
    })
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
mod tests;
