//! The frame of the youngest compiled method: whether it lies where its size says.
//!
//! AsyncGetCallTrace looks for a compiled method's return address as far above the stack pointer as its frame is
//! large. A collector's barrier that C2 has put behind the method's own code lowers the stack pointer further, to save
//! registers around a call of C code (`SaveLiveRegisters`, barrierSetAssembler_x86.cpp: each collector of JDK 27, some
//! before):
//!
//! ```text
//!       sub rsp, N
//!       mov [rsp + …], …          each register that is alive
//!       call …
//!       mov …, [rsp + …]
//!       add rsp, N
//!       jmp …                     back into the method; the end of a method would be pop rbp
//! ```
//!
//! In between, what lies in the return address's place is a word of the method's own frame. Where nothing was ever
//! written to that, it may well be the return address of a call of the past. So such code is told by its instructions,
//! and what it has called by what is not there: C1 and C2 put a no-op behind each call of their own, in which HotSpot
//! looks up the method (`MacroAssembler::post_call_nop`, wherever there are continuations), barriers do not.
//!
//! Other code, too, pushes a register or two for some instructions. So what is found in the return address's place must
//! also lie behind a call of this very method, as far as the call tells that.
//!
//! x86-64 only.

use crate::code::{self, Blob, Kind};
use crate::heaps::Heaps;
use crate::layout::Layout;
use crate::load::Loads;

/// Bytes of code in which registers are saved and restored, at most: 32 of 64 bytes, 16 of 8, and the call.
const REACH: u64 = 768;

/// Whether `returns_to` is behind a call that the compiler made for the method itself, with the stack pointer where the
/// frame begins.
#[must_use]
pub fn is_own_call(loads: Loads, returns_to: u64) -> bool {
    /// `nop [rax + rax + disp32]`, without what it holds.
    const NOP: [u8; 4] = [0x0F, 0x1F, 0x84, 0x00];
    loads.at::<u32>(returns_to).to_le_bytes() == NOP
}

/// Whether the compiled method `leaf`, interrupted at `pc` with its stack pointer at `sp`, has its frame elsewhere.
#[must_use]
pub fn is_elsewhere(
    loads: Loads,
    layout: &Layout,
    heaps: &Heaps,
    leaf: Blob,
    pc: u64,
    sp: u64,
) -> bool {
    is_saving(loads, pc, leaf.end()) || is_called_elsewhere(loads, layout, heaps, leaf, sp)
}

/// Whether `returns_to`, above `callee`'s frame at `sp`, is none, or lies behind a call of another method.
#[must_use]
pub fn is_called_elsewhere(
    loads: Loads,
    layout: &Layout,
    heaps: &Heaps,
    callee: Blob,
    sp: u64,
) -> bool {
    let above = sp.wrapping_add(callee.frame);
    let returns_to: u64 = loads.at(above.wrapping_sub(8));
    let Ok(caller) = code::find(loads, layout, returns_to) else {
        return !heaps.contain(returns_to);
    };
    if caller.kind != Kind::Compiled {
        // The interpreter, or the stub by which a continuation returns to what is frozen.
        return false;
    }
    let returns_to = caller.real_pc(loads, layout, returns_to, above);
    if !(caller.address..caller.end()).contains(&returns_to.wrapping_sub(8)) {
        return true;
    }
    // Java code is called directly, and by the method itself.
    let Some(target) = code::target(loads, returns_to) else {
        return true;
    };
    if !is_own_call(loads, returns_to) || !heaps.contain(target) {
        return true;
    }
    // A call of what is not compiled goes through a stub, perhaps the caller's own; that of a method handle through a
    // method of its kind.
    code::find(loads, layout, target).is_ok_and(|called| {
        called.kind == Kind::Compiled
            && called.address != caller.address
            && called.method(loads, layout) != callee.method(loads, layout)
    })
}

/// Whether `pc` lies between a barrier's `sub rsp` and the end of its `add rsp`, in code that ends at `end`.
fn is_saving(loads: Loads, pc: u64, end: u64) -> bool {
    /// `add` and `sub` of `rsp`, the last byte of their opcodes.
    const ADD: u8 = 0xC4;
    const SUB: u8 = 0xEC;
    const JUMPS: [u8; 2] = [0xE9, 0xEB];
    let end = end.min(pc.saturating_add(REACH));
    let mut at = pc;
    while at.saturating_add(8) <= end {
        let word: u64 = loads.at(at);
        if has(word, ADD) || has(word, SUB) {
            for (i, byte) in word.to_le_bytes().into_iter().enumerate() {
                let start = at.wrapping_add(i as u64).wrapping_sub(2);
                if byte != ADD && byte != SUB || start < pc {
                    continue;
                }
                let length = match loads.at::<u16>(start).to_le_bytes() {
                    [0x48, 0x83] => 4,
                    [0x48, 0x81] => 7,
                    _ => continue,
                };
                // What comes first tells: registers are saved yet, or will be later.
                return byte == ADD && JUMPS.contains(&loads.at(start.wrapping_add(length)));
            }
        }
        at = at.wrapping_add(8);
    }
    false
}

/// Whether one of the bytes of `word` is `byte`.
fn has(word: u64, byte: u8) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let zero = word ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero & (ONES << 7) != 0
}

#[cfg(test)]
mod tests;
