//! Compiled code: from a return address to its methods.

use crate::layout::{DebugInfo, Layout, Metadata, Place};
use crate::load::Loads;
use crate::truncation::Truncation;

/// Free segment in a code heap's map (`CodeHeap::free_sentinel`, heap.hpp).
const FREE: u8 = 0xFF;
/// Steps back in the map at most: each is up to 254 segments, so a block of 2 MiB takes a few hundred.
const STEPS: usize = 4_096;
/// Size of a `PcDesc`: four int32.
const PC_DESC: u64 = 16;

/// What a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A compiled Java method.
    Compiled,
    /// The wrapper of a native method.
    Native,
    /// A stub: no Java frame.
    Stub,
}

/// A code blob.
#[derive(Clone, Copy, Debug)]
pub struct Blob {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    size: u64,
    /// What it is.
    pub kind: Kind,
    /// Bytes of its frame, return address included.
    pub frame: u64,
}

fn int(loads: Loads, address: u64) -> u64 {
    // Sign-extended, so that a negative one makes a wild address that faults or is refused.
    i64::from(loads.at::<i32>(address)).cast_unsigned()
}

fn place(loads: Loads, blob: u64, place: Place) -> u64 {
    match place {
        Place::Offset(field) => blob.wrapping_add(int(loads, blob.wrapping_add(field))),
        Place::Address(field) => loads.at(blob.wrapping_add(field)),
    }
}

/// Where `blob`'s table of methods begins (`nmethod::metadata_begin`).
fn methods(loads: Loads, blob: u64, metadata: Metadata) -> u64 {
    let field = |offset: u64| blob.wrapping_add(offset);
    match metadata {
        Metadata::Outside {
            mutable,
            relocation_size,
        } => loads
            .at::<u64>(field(mutable))
            .wrapping_add(int(loads, field(relocation_size))),
        Metadata::Inside { data, metadata } => blob
            .wrapping_add(int(loads, field(data)))
            .wrapping_add(u64::from(loads.at::<u16>(field(metadata)))),
    }
}

/// The blob that contains `pc` (`CodeHeap::find_block_for`).
pub fn find(loads: Loads, layout: &Layout, pc: u64) -> Result<Blob, Truncation> {
    let (low_field, high_field) = layout.code_bounds;
    for heap in layout.code_heaps {
        if heap == 0 {
            continue;
        }
        let low: u64 = loads.at(heap.wrapping_add(low_field));
        let high: u64 = loads.at(heap.wrapping_add(high_field));
        if pc < low || pc >= high {
            continue;
        }
        let map: u64 = loads.at(heap.wrapping_add(layout.segment_map));
        let shift: i32 = loads.at(heap.wrapping_add(layout.segment_shift));
        let shift = shift.cast_unsigned() & 31;
        let mut segment = (pc - low) >> shift;
        for _ in 0..STEPS {
            match loads.at::<u8>(map.wrapping_add(segment)) {
                FREE => return Err(Truncation::UnknownCode),
                0 => {
                    return blob(loads, layout, low.wrapping_add(segment << shift), pc);
                }
                back => segment = segment.wrapping_sub(u64::from(back)),
            }
        }
        return Err(Truncation::UnknownCode);
    }
    Err(Truncation::UnknownCode)
}

/// Where the instruction before the return address `returns_to` calls, if that is a direct call.
pub fn target(loads: Loads, returns_to: u64) -> Option<u64> {
    /// `call rel32`, and its length.
    const CALL: (u8, u64) = (0xE8, 5);
    let call = returns_to.wrapping_sub(CALL.1);
    (loads.at::<u8>(call) == CALL.0).then(|| {
        let relative = i64::from(loads.at::<i32>(call.wrapping_add(1)));
        returns_to.wrapping_add_signed(relative)
    })
}

/// The code that the instruction before the return address `returns_to` calls. An error where that is no direct call,
/// or the callee cannot be told.
pub fn called(loads: Loads, layout: &Layout, returns_to: u64) -> Result<Blob, Truncation> {
    let target = target(loads, returns_to).ok_or(Truncation::UnknownCode)?;
    find(loads, layout, target)
}

fn blob(loads: Loads, layout: &Layout, block: u64, pc: u64) -> Result<Blob, Truncation> {
    let (header, used) = layout.block;
    if loads.at::<u8>(block.wrapping_add(used)) == 0 {
        return Err(Truncation::UnknownCode);
    }
    let address = block.wrapping_add(header);
    let size: i32 = loads.at(address.wrapping_add(layout.blob_size));
    let frame: i32 = loads.at(address.wrapping_add(layout.frame_size));
    // A frame has a return address at least, and is smaller than a megabyte.
    if size <= 0
        || pc < address
        || pc >= address.wrapping_add(u64::from(size.cast_unsigned()))
        || !(1..1 << 17).contains(&frame)
    {
        return Err(Truncation::UnknownCode);
    }
    let name: u64 = loads.at(address.wrapping_add(layout.blob_name));
    // The names HotSpot gives (nmethod.cpp), eight bytes of each.
    let kind = match &loads.at::<u64>(name).to_le_bytes() {
        b"nmethod\0" => Kind::Compiled,
        b"native n" => Kind::Native,
        // A method without a handler of its own returns into this one (later JDKs): its frame would be taken for
        // one of another size.
        b"Deoptimi" => return Err(Truncation::UnknownCode),
        _ => Kind::Stub,
    };
    Ok(Blob {
        address,
        size: u64::from(size.cast_unsigned()),
        kind,
        frame: u64::from(frame.cast_unsigned()) * 8,
    })
}

impl Blob {
    /// Past its last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.size)
    }

    /// The method a native wrapper calls.
    pub fn method(&self, loads: Loads, layout: &Layout) -> u64 {
        loads.at(self.address.wrapping_add(layout.compiled_method))
    }

    /// Where the frame whose return address is `pc` really is: a deoptimised one returns to a handler, and
    /// keeps the place at `usp`, its unextended stack pointer.
    pub fn real_pc(&self, loads: Loads, layout: &Layout, pc: u64, usp: u64) -> u64 {
        let (plain, of_method_handles) = layout.deopt;
        if pc != place(loads, self.address, plain)
            && pc != place(loads, self.address, of_method_handles)
        {
            return pc;
        }
        let at = int(loads, self.address.wrapping_add(layout.original_pc));
        loads.at(usp.wrapping_add(at))
    }

    /// The scopes at `pc`, innermost first.
    pub fn scopes(&self, loads: Loads, layout: &Layout, pc: u64) -> Result<Scopes, Truncation> {
        let blob = self.address;
        let field = |offset: u64| blob.wrapping_add(offset);
        let (pcs, pcs_end, data, methods) = match layout.debug_info {
            DebugInfo::Outside {
                immutable,
                pcs,
                data,
                metadata,
            } => {
                let immutable: u64 = loads.at(field(immutable));
                let data = immutable.wrapping_add(int(loads, field(data)));
                (
                    immutable.wrapping_add(int(loads, field(pcs))),
                    data,
                    data,
                    methods(loads, blob, metadata),
                )
            }
            DebugInfo::Inside {
                pcs,
                pcs_end,
                data,
                metadata,
            } => (
                blob.wrapping_add(int(loads, field(pcs))),
                blob.wrapping_add(int(loads, field(pcs_end))),
                loads.at(field(data)),
                blob.wrapping_add(int(loads, field(metadata))),
            ),
        };
        let start = place(loads, blob, layout.code);
        let wanted = i64::from(pc.wrapping_sub(start) as i32);
        let count = pcs_end.wrapping_sub(pcs) / PC_DESC;
        if count > 1 << 24 {
            return Err(Truncation::UnknownCode);
        }
        let length = blob.wrapping_add(self.size).wrapping_sub(start);
        let entry = search(count, wanted, length, |at| {
            i64::from(loads.at::<i32>(pcs.wrapping_add(at * PC_DESC)))
        });
        let entry = entry.ok_or(Truncation::UnknownCode)?;
        Ok(Scopes {
            data,
            methods,
            next: loads.at(pcs.wrapping_add(entry * PC_DESC + 4)),
        })
    }
}

/// Which of `count` ascending values is `wanted`. Places in `length` bytes of code are spread about evenly,
/// so the first look is where it would be if they were, and the next ones close by: each look at a far place
/// is a cache miss, which is what a walk costs.
fn search(count: u64, wanted: i64, length: u64, value: impl Fn(u64) -> i64) -> Option<u64> {
    let share = wanted.cast_unsigned().saturating_mul(count);
    let mut at = share.checked_div(length)?.min(count.checked_sub(1)?);
    let (mut low, mut high) = (0, count);
    let mut step = 2;
    while low < high {
        match value(at).cmp(&wanted) {
            core::cmp::Ordering::Equal => return Some(at),
            core::cmp::Ordering::Less => low = at + 1,
            core::cmp::Ordering::Greater => high = at,
        }
        let is_open = step < count && (low == 0 || high == count);
        at = match (is_open, high == count) {
            (true, true) => (low + step).min(high.saturating_sub(1)),
            (true, false) => high.saturating_sub(step).max(low),
            (false, _) => u64::midpoint(low, high),
        };
        step *= 2;
    }
    None
}

/// A chain of scopes: a method and those it was inlined into.
#[derive(Clone, Copy, Debug)]
pub struct Scopes {
    data: u64,
    methods: u64,
    /// Offset of the next scope in `data`; 0 for none (`DebugInformationRecorder::serialized_null`).
    next: u32,
}

impl Scopes {
    /// `Method*` and bytecode index of the next scope outwards; `None` after the last.
    pub fn next(&mut self, loads: Loads) -> Result<Option<(u64, i32)>, Truncation> {
        if self.next == 0 {
            return Ok(None);
        }
        let mut at = self.data.wrapping_add(u64::from(self.next));
        let here = self.next;
        let sender = unsigned5(loads, &mut at).ok_or(Truncation::UnknownCode)?;
        let method = unsigned5(loads, &mut at).ok_or(Truncation::UnknownCode)?;
        let bci = unsigned5(loads, &mut at).ok_or(Truncation::UnknownCode)?;
        // A scope's sender was written before it: this ends.
        if sender >= here || method == 0 {
            return Err(Truncation::UnknownCode);
        }
        self.next = sender;
        let method = loads.at(self.methods.wrapping_add(u64::from(method - 1) * 8));
        // Written with 1 added, as the entry has the index -1 (InvocationEntryBci).
        Ok(Some((method, bci.wrapping_sub(1).cast_signed())))
    }
}

/// One number in HotSpot's UNSIGNED5 (unsigned5.hpp, JDK 20+): 1 to 5 bytes, of which none is 0; up to 190 in
/// one byte, six bits more in each further one. `None` where a byte is 0.
fn unsigned5(loads: Loads, at: &mut u64) -> Option<u32> {
    const LOW: u32 = 191;
    let mut sum = 0_u32;
    for i in 0..5 {
        let byte: u8 = loads.at(*at);
        *at = at.wrapping_add(1);
        let digit = u32::from(byte).checked_sub(1)?;
        sum = sum.wrapping_add(digit << (6 * i));
        if digit < LOW || i == 4 {
            break;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests;
