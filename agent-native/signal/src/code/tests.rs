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
