//! Stubs and their callers in made-up code and on a made-up stack.

use super::*;

/// Code of a caller and of a stub, and a stack.
struct World {
    /// In one piece, as what is far apart is not in one code cache; and too large for an allocator to hand out what another
    /// thread has let go of, from elsewhere.
    code: Vec<u8>,
    stack: Vec<u64>,
}

const CODE: usize = 4_096;
/// Where in the code the stub is; the caller is before it.
const STUB: std::ops::Range<usize> = 2_048..2_112;

/// Where in the code the call returns to.
const RETURNS_AT: usize = 32;

impl World {
    fn new(stub: &[u8]) -> Self {
        let mut world = Self {
            code: vec![0x90; CODE],
            stack: vec![0; 64],
        };
        world.code[STUB][..stub.len()].copy_from_slice(stub);
        world.call_absolute(world.stub());
        world
    }

    fn stub(&self) -> Stub {
        let base = self.code.as_ptr() as u64;
        Stub {
            start: base + STUB.start as u64,
            end: base + STUB.end as u64,
        }
    }

    fn call_absolute(&mut self, to: Stub) {
        self.code[RETURNS_AT - 13..RETURNS_AT - 11].copy_from_slice(&[0x49, 0xBA]);
        self.code[RETURNS_AT - 11..RETURNS_AT - 3].copy_from_slice(&to.start.to_le_bytes());
        self.code[RETURNS_AT - 3..RETURNS_AT].copy_from_slice(&[0x41, 0xFF, 0xD2]);
    }

    fn returns_to(&self) -> u64 {
        self.code.as_ptr() as u64 + RETURNS_AT as u64
    }

    fn slot(&self, word: usize) -> u64 {
        &raw const self.stack[word] as u64
    }

    /// Interrupted at byte `at` of the stub, with these words of the stack as registers.
    fn caller_at(&self, at: u64, sp: usize, fp: u64) -> Option<Registers> {
        let now = Registers {
            pc: self.stub().start + at,
            sp: self.slot(sp),
            fp,
        };
        // SAFETY: all that is loaded is in this world, whose words are addresses in it or below 4,096.
        let loads = unsafe { Loads::under_guard() };
        caller(loads, &self.table(&[]), now)
    }

    /// Of this world's stub and these.
    fn table(&self, others: &[Stub]) -> Table {
        let mut stubs = [&[self.stub()], others].concat();
        stubs.sort_unstable_by_key(|stub| stub.start);
        Table(stubs.leak())
    }
}

/// push rbp; mov rbp, rsp; nop …; at 20: leave; ret.
const FRAMED: [u8; 22] = {
    let mut code = [0x90; 22];
    (code[0], code[1], code[2], code[3]) = (0x55, 0x48, 0x8B, 0xEC);
    (code[20], code[21]) = (0xC9, 0xC3);
    code
};

#[test]
fn the_caller_of_a_stub_with_a_frame_is_found_at_each_of_its_instructions() {
    let mut world = World::new(&FRAMED);
    // At word 40 the return address, below it the saved frame pointer, which was 77.
    world.stack[40] = world.returns_to();
    world.stack[39] = 77;
    let expected = Some(Registers {
        pc: world.returns_to(),
        sp: world.slot(41),
        fp: 77,
    });
    assert_eq!(world.caller_at(0, 40, 77), expected, "nothing pushed yet");
    assert_eq!(world.caller_at(1, 39, 77), expected, "pushed, not set");
    for at in 4..=20 {
        let fp = world.slot(39);
        assert_eq!(world.caller_at(at, 30, fp), expected, "in the middle, {at}");
    }
    assert_eq!(world.caller_at(21, 40, 77), expected, "at the return");
}

#[test]
fn the_caller_of_a_stub_without_a_frame_is_found_and_relative_calls_are_understood() {
    let mut world = World::new(&[0x90; 8]);
    world.stack[40] = world.returns_to();
    let found = world.caller_at(5, 40, 1).unwrap();
    assert_eq!((found.sp, found.fp), (world.slot(41), 1));
    // The same by a relative call, where the two are near enough.
    world.code[..STUB.start].fill(0x90);
    assert!(world.caller_at(5, 40, 1).is_none());
    world.code[RETURNS_AT - 5] = 0xE8;
    let distance = (STUB.start - RETURNS_AT) as i32;
    world.code[RETURNS_AT - 4..RETURNS_AT].copy_from_slice(&distance.to_le_bytes());
    let found = world.caller_at(3, 40, 1).unwrap();
    assert_eq!(found.pc, world.returns_to());
}

#[test]
fn where_a_stub_has_gone_on_into_another_the_caller_is_that_of_the_first() {
    let mut world = World::new(&FRAMED);
    let other = World::new(&FRAMED);
    world.stack[40] = world.returns_to();
    world.stack[39] = 77;
    let at = |pc: u64, sp: usize, fp: u64, stubs: &Table| {
        let now = Registers {
            pc: other.stub().start + pc,
            sp: world.slot(sp),
            fp,
        };
        // SAFETY: all that is loaded is in these worlds.
        let loads = unsafe { Loads::under_guard() };
        caller(loads, stubs, now).map(|found| (found.pc, found.sp, found.fp))
    };
    let both = world.table(&[other.stub()]);
    let expected = Some((world.returns_to(), world.slot(41), 77));
    assert_eq!(at(10, 30, world.slot(39), &both), expected);
    assert_eq!(at(21, 40, 77, &both), expected);
    // Not at a place where only a call of this one could have left it, and not from what is no stub.
    assert_eq!(at(0, 40, 77, &both), None);
    let alone = Table(Box::leak(Box::new([other.stub()])));
    assert_eq!(at(10, 30, world.slot(39), &alone), None);
}

#[test]
fn a_return_address_out_of_place_or_of_another_call_is_no_caller() {
    let mut world = World::new(&FRAMED);
    world.stack[40] = world.returns_to();
    world.stack[39] = 77;
    // What earlier calls have left on the stack, above the stack pointer: not where it would be kept now.
    for fp in [
        0,
        77,
        world.slot(20),
        world.slot(39) + 4,
        world.slot(63) + (1 << 20),
    ] {
        assert_eq!(world.caller_at(10, 30, fp), None, "{fp:#x}");
    }
    // At the stack pointer in the middle of a stub with a frame: a left-over, too.
    assert_eq!(world.caller_at(10, 40, 0), None);
    assert_eq!(world.caller_at(10, 39, 0), None);
    // A frame pointer below the stack pointer is none.
    assert_eq!(world.caller_at(10, 41, world.slot(39)), None);
    // A call of something else.
    let fp = world.slot(39);
    assert!(world.caller_at(10, 30, fp).is_some());
    world.call_absolute(Stub { start: 1, end: 2 });
    assert_eq!(world.caller_at(10, 30, fp), None);
    // No call at all.
    world.code[..STUB.start].fill(0x90);
    assert_eq!(world.caller_at(10, 30, fp), None);
    // A stack pointer that is none.
    let now = Registers {
        pc: world.stub().start,
        sp: world.slot(40) + 3,
        fp: 0,
    };
    // SAFETY: nothing is loaded at such a stack pointer.
    let loads = unsafe { Loads::under_guard() };
    assert_eq!(caller(loads, &world.table(&[]), now), None);
}

#[test]
fn a_stub_is_found_by_each_of_its_addresses_and_by_no_other() {
    let stubs = Stubs::new();
    assert!(stubs.table().is_none());
    let some: &'static [Stub] = Box::leak(Box::new([
        Stub { start: 10, end: 20 },
        Stub { start: 20, end: 25 },
        Stub { start: 30, end: 31 },
    ]));
    stubs.publish(Box::leak(Box::new(Table(some))));
    for pc in 0..40 {
        let expected = some
            .iter()
            .find(|stub| (stub.start..stub.end).contains(&pc));
        let table = stubs.table().unwrap();
        assert_eq!(table.containing(pc), expected.copied(), "{pc}");
    }
}
