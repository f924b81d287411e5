//! From HotSpot's `Method*` to the id under which AsyncGetCallTrace names it; nothing is made, only looked up.

use crate::layout::Layout;
use crate::load::Loads;
use crate::truncation::Truncation;
use crate::walk::CallFrame;

/// `JVM_ACC_NATIVE`.
const NATIVE: u16 = 0x100;
/// What AsyncGetCallTrace gives for a bytecode index in a native method.
const NATIVE_BCI: i32 = -3;

/// Where a frame stands in its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A bytecode index.
    Index(i32),
    /// The address of a bytecode.
    Pointer(u64),
}

/// The frame of `method` (`Method*`) at that position, as AsyncGetCallTrace would give it.
pub fn frame(
    loads: Loads,
    layout: &Layout,
    method: u64,
    position: Position,
) -> Result<CallFrame, Truncation> {
    if method < 4_096 || !method.is_multiple_of(8) {
        return Err(Truncation::Malformed);
    }
    let constant: u64 = loads.at(method.wrapping_add(layout.const_method));
    let flags: u16 = loads.at(method.wrapping_add(layout.access_flags));
    let size: u16 = loads.at(constant.wrapping_add(layout.code_size));
    let bci = if flags & NATIVE != 0 {
        NATIVE_BCI
    } else {
        match position {
            Position::Index(index) => index,
            Position::Pointer(address) => {
                let start = constant.wrapping_add(layout.bytecodes);
                let index = address.wrapping_sub(start);
                if index >= u64::from(size) {
                    return Err(Truncation::Malformed);
                }
                index as i32
            }
        }
    };
    if bci >= i32::from(size) && bci != NATIVE_BCI {
        return Err(Truncation::Malformed);
    }
    let pool: u64 = loads.at(constant.wrapping_add(layout.constants));
    let holder: u64 = loads.at(pool.wrapping_add(layout.holder));
    let number: u16 = loads.at(constant.wrapping_add(layout.method_number));
    let ids: u64 = loads.at(holder.wrapping_add(layout.method_ids));
    if ids == 0 {
        return Err(Truncation::NoMethodId);
    }
    // Its first word is how many follow (instanceKlass.cpp).
    let count: u64 = loads.at(ids);
    let number = u64::from(number);
    if number >= count {
        return Err(Truncation::NoMethodId);
    }
    match loads.at(ids.wrapping_add(8 * (number + 1))) {
        0 => Err(Truncation::NoMethodId),
        id => Ok(CallFrame { bci, method: id }),
    }
}
