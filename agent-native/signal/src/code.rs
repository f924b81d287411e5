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
mod tests {
    use super::*;

    /// Words that stand for JVM memory.
    struct Memory([u64; 128]);

    impl Memory {
        fn address(&self) -> u64 {
            self.0.as_ptr() as u64
        }

        fn put(&mut self, at: usize, bytes: &[u8]) {
            for (at, byte) in (at..).zip(bytes) {
                let bits = 8 * (at % 8);
                self.0[at / 8] = self.0[at / 8] & !(0xFF << bits) | u64::from(*byte) << bits;
            }
        }

        fn put_address(&mut self, at: usize, of: usize) {
            let address = self.address() + of as u64;
            self.put(at, &address.to_ne_bytes());
        }
    }

    /// Code at 256, places of it at 512, scopes at 640, methods at 768: one call, at 10 bytes of code, of a
    /// method that was inlined into another.
    fn compiled() -> Memory {
        let mut memory = Memory([0; 128]);
        for (i, (pc, scope)) in [(-1, 0), (10, 5), (i32::MAX, 0)].into_iter().enumerate() {
            memory.put(512 + 16 * i, &i32::to_ne_bytes(pc));
            memory.put(516 + 16 * i, &i32::to_ne_bytes(scope));
        }
        // Sender, method, bytecode index and 1; each with 1 added, as none is a byte of 0.
        memory.put(641, &[1, 2, 5]);
        memory.put(645, &[2, 3, 9]);
        memory.put(768, &0x7000_u64.to_ne_bytes());
        memory.put(776, &0x7100_u64.to_ne_bytes());
        memory
    }

    fn scopes_at_10(memory: &Memory, code: Place, debug_info: DebugInfo) -> Vec<(u64, i32)> {
        let layout = Layout {
            code,
            debug_info,
            ..Layout::BLANK
        };
        let blob = Blob {
            address: memory.address(),
            size: 300,
            kind: Kind::Compiled,
            frame: 16,
        };
        // SAFETY: the fields and what they lead to are inside `memory`, or the walk below would not end as it
        // is asserted to.
        let loads = unsafe { Loads::under_guard() };
        let pc = memory.address() + 256 + 10;
        let mut scopes = blob.scopes(loads, &layout, pc).unwrap();
        core::iter::from_fn(|| scopes.next(loads).unwrap()).collect()
    }

    const CHAIN: [(u64, i32); 2] = [(0x7100, 7), (0x7000, 3)];

    #[test]
    fn scopes_are_found_inside_the_code_as_in_jdk_21() {
        let mut memory = compiled();
        memory.put(0, &512_i32.to_ne_bytes());
        memory.put(4, &(512 + 48_i32).to_ne_bytes());
        memory.put_address(8, 640);
        memory.put(16, &768_i32.to_ne_bytes());
        memory.put_address(24, 256);
        let inside = DebugInfo::Inside {
            pcs: 0,
            pcs_end: 4,
            data: 8,
            metadata: 16,
        };
        assert_eq!(scopes_at_10(&memory, Place::Address(24), inside), CHAIN);
    }

    #[test]
    fn scopes_are_found_outside_the_code_and_methods_in_it_as_in_jdk_23() {
        let mut memory = compiled();
        memory.put_address(0, 480);
        memory.put(8, &32_i32.to_ne_bytes());
        memory.put(12, &160_i32.to_ne_bytes());
        memory.put(16, &700_i32.to_ne_bytes());
        // 16 bits, of which the next field is none.
        memory.put(20, &[68, 0, 0xFF, 0xFF]);
        memory.put(24, &256_i32.to_ne_bytes());
        let outside = DebugInfo::Outside {
            immutable: 0,
            pcs: 8,
            data: 12,
            metadata: Metadata::Inside {
                data: 16,
                metadata: 20,
            },
        };
        assert_eq!(scopes_at_10(&memory, Place::Offset(24), outside), CHAIN);
    }

    #[test]
    fn scopes_and_methods_are_found_outside_the_code_as_in_jdk_25() {
        let mut memory = compiled();
        memory.put_address(0, 480);
        memory.put(8, &32_i32.to_ne_bytes());
        memory.put(12, &160_i32.to_ne_bytes());
        memory.put_address(16, 704);
        memory.put(24, &64_i32.to_ne_bytes());
        memory.put(28, &256_i32.to_ne_bytes());
        let outside = DebugInfo::Outside {
            immutable: 0,
            pcs: 8,
            data: 12,
            metadata: Metadata::Outside {
                mutable: 16,
                relocation_size: 24,
            },
        };
        assert_eq!(scopes_at_10(&memory, Place::Offset(28), outside), CHAIN);
    }

    fn decode(bytes: &[u8]) -> (Option<u32>, usize) {
        let start = bytes.as_ptr() as u64;
        let mut at = start;
        // SAFETY: what is loaded is inside `bytes`: each test ends in a byte below 192 or has five.
        let loads = unsafe { Loads::under_guard() };
        let value = unsigned5(loads, &mut at);
        (value, (at - start) as usize)
    }

    #[test]
    fn every_place_is_found_wherever_it_was_expected() {
        for count in 0..40_u64 {
            // Sentinels at either end, as HotSpot's tables have them.
            let values: Vec<i64> = (0..count)
                .map(|i| match i {
                    0 => -1,
                    i if i + 1 == count => i64::from(i32::MAX),
                    i => (i * i * 7) as i64,
                })
                .collect();
            for length in [1, 100, 5_000, 1 << 30] {
                let find = |wanted| search(count, wanted, length, |at| values[at as usize]);
                for wanted in -2..400 {
                    let at = values.iter().position(|value| *value == wanted);
                    assert_eq!(find(wanted), at.map(|at| at as u64), "{wanted} of {count}");
                }
                for (at, value) in values.iter().enumerate() {
                    assert_eq!(find(*value), Some(at as u64));
                }
            }
        }
        assert_eq!(search(3, 7, 0, |_| 7), None, "no code, no place");
    }

    #[test]
    fn numbers_are_read_as_hotspot_writes_them() {
        assert_eq!(decode(&[1]), (Some(0), 1));
        assert_eq!(decode(&[191]), (Some(190), 1));
        assert_eq!(decode(&[192, 1]), (Some(191), 2));
        assert_eq!(decode(&[193, 1]), (Some(192), 2));
        assert_eq!(decode(&[192, 2]), (Some(255), 2));
        assert_eq!(decode(&[192, 192, 1]), (Some(191 + (191 << 6)), 3));
        assert_eq!(decode(&[255, 255, 255, 255, 255]).1, 5);
        assert_eq!(decode(&[0]), (None, 1), "no number holds a byte of 0");
    }
}
