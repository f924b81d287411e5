//! The walk over a made-up JVM: right where all is well, and where it is not, it ends, reads nothing but under
//! guard, and refuses.

use super::*;
use crate::gate::Mode;
use crate::handler::tests::{contain_faults, published};
use crate::layout::{Bottom, DebugInfo, Entry, InThread, Place};
use crate::load::rehearsal::{self, Plan};
use crate::walk::CallFrame;

mod callee;
mod entry;
mod leaf_call;

const WORDS: usize = 1 << 15;
/// First word of each region.
const CODE: usize = 1 << 14;
const CODE_WORDS: usize = 4_096;
const CHUNK: usize = 1_024;
/// log2 of a segment of code, bytes.
const SHIFT: u32 = 7;
const STACK_BASE: u64 = 48;
/// Bytes from a blob's start to its code.
const CODE_AT: u64 = 96;
const ROOT: u64 = 9_001;
/// More than any walk of this world takes, were it to meet every limit: frames, scopes, chunks.
const ENOUGH: u64 = 4_000_000;

struct World {
    words: Vec<u64>,
    used: usize,
    code: usize,
    layout: Layout,
    thread: u64,
    chunks: [u64; 2],
    expected: Vec<CallFrame>,
}

impl World {
    fn address(&self, word: usize) -> u64 {
        &raw const self.words[word] as u64
    }

    fn take(&mut self, words: usize) -> u64 {
        let at = self.used;
        self.used += words;
        assert!(self.used <= CHUNK, "the region of plain objects");
        self.address(at)
    }

    fn put(&mut self, address: u64, value: u64) {
        let at = (address - self.address(0)) as usize / 8;
        self.words[at] = value;
    }

    fn put_int(&mut self, address: u64, value: i32) {
        let start = self.address(0);
        let (word, shift) = ((address - start) as usize / 8, (address - start) % 8 * 8);
        self.words[word] &= !(u64::from(u32::MAX) << shift);
        self.words[word] |= u64::from(value.cast_unsigned()) << shift;
    }

    /// A `Method*` under that id, with 100 bytes of bytecode.
    fn method(&mut self, id: u64, flags: u64) -> u64 {
        let (method, constant, pool) = (self.take(2), self.take(20), self.take(1));
        let (holder, ids) = (self.take(1), self.take(2));
        self.put(method, constant);
        self.put(method + 8, flags);
        // Size 100, number 0.
        self.put(constant, 100);
        self.put(constant + 8, pool);
        self.put(pool, holder);
        self.put(holder, ids);
        self.put(ids, 1);
        self.put(ids + 8, id);
        method
    }

    /// A code blob of one kilobyte: its address.
    fn blob(&mut self, name: &[u8; 8], frame_words: i32) -> u64 {
        let block = self.address(self.code);
        let first = ((self.code - CODE) * 8) >> SHIFT;
        self.code += 128;
        assert!(self.code <= CODE + CODE_WORDS);
        let map = self.layout.segment_map;
        let map: u64 = {
            let heap = self.layout.code_heaps[0];
            self.words[((heap + map - self.address(0)) / 8) as usize]
        };
        for i in 0..8 {
            // Each segment tells how far the block's first one is.
            // SAFETY: the map is in this world, one byte a segment of the code.
            unsafe { ((map + first as u64 + i) as *mut u8).write(i as u8) };
        }
        self.put(block + 8, 1);
        let blob = block + 16;
        let text = self.take(1);
        self.put(text, u64::from_le_bytes(*name));
        self.put(blob, text);
        self.put_int(blob + 8, 1_000);
        self.put_int(blob + 12, frame_words);
        self.put_int(blob + 16, CODE_AT as i32);
        blob
    }

    /// A compiled method with one place, 40 bytes into its code, at which these scopes are, outermost first.
    fn compiled(&mut self, frame_words: i32, scopes: &[(u64, u8)]) -> u64 {
        let blob = self.blob(b"nmethod\0", frame_words);
        let (pcs, data, methods) = (blob + 400, blob + 600, blob + 704);
        self.put_int(blob + 32, 16);
        // Deoptimisation returns to 80 bytes into the code.
        self.put_int(blob + 36, (CODE_AT + 80) as i32);
        self.put_int(blob + 40, (CODE_AT + 80) as i32);
        self.put_int(blob + 44, 400);
        self.put_int(blob + 48, 400 + 3 * 16);
        self.put_int(blob + 52, 704);
        self.put(blob + 56, data);
        let mut bytes = vec![1_u8; 1];
        let mut sender = 0;
        for (i, (method, bci)) in scopes.iter().enumerate() {
            self.put(methods + 8 * i as u64, *method);
            let here = bytes.len() as u8;
            // UNSIGNED5: 1 added to each byte; the bytecode index has 1 added already.
            bytes.extend([sender + 1, i as u8 + 2, bci + 2]);
            sender = here;
        }
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: in this blob, which has a kilobyte.
            unsafe { ((data + i as u64) as *mut u8).write(*byte) };
        }
        for (i, (place, scope)) in [(-1, 0), (40, i32::from(sender)), (i32::MAX, 0)]
            .into_iter()
            .enumerate()
        {
            self.put_int(pcs + 16 * i as u64, place);
            self.put_int(pcs + 16 * i as u64 + 4, scope);
        }
        blob
    }

    fn pc(blob: u64) -> u64 {
        blob + CODE_AT + 40
    }

    /// Two chunks: interpreted, compiled with inlining, a stub, a native wrapper; then deoptimised, and the root.
    fn new() -> Self {
        let mut world = Self {
            words: vec![0; WORDS],
            used: 0,
            code: CODE,
            layout: LAYOUT,
            thread: 0,
            chunks: [0; 2],
            expected: Vec::new(),
        };
        world.layout.interpreter = (
            world.address(CODE + CODE_WORDS),
            world.address(CODE + CODE_WORDS + 64),
        );
        let (thread, entry, heap) = (world.take(2), world.take(3), world.take(1));
        let (continuation, code_heap, map) = (world.take(3), world.take(4), world.take(64));
        let (low, high) = (world.address(CODE), world.address(CODE + CODE_WORDS));
        world.thread = thread;
        world.put(thread + 8, entry);
        world.put(entry + 16, continuation);
        world.layout.heap = heap;
        world.layout.code_heaps[0] = code_heap;
        for (offset, value) in [(0, low), (8, high), (16, map), (24, u64::from(SHIFT))] {
            world.put(code_heap + offset, value);
        }
        for i in 0..64 {
            world.put(map + 8 * i, u64::MAX);
        }
        let classes = [world.take(1), world.take(1)];
        [world.layout.continuation_class, world.layout.chunk_class] = classes;
        let chunks = [world.address(CHUNK), world.address(CHUNK + 256)];
        world.chunks = chunks;
        world.put(continuation + 8, classes[0]);
        world.put(continuation + 16, chunks[0]);
        for (chunk, parent) in [(chunks[0], chunks[1]), (chunks[1], 0)] {
            world.put(chunk + 8, classes[1]);
            world.put(chunk + 16, parent);
            world.put(chunk + 24, continuation);
            world.put_int(chunk + 32, 100);
            world.put_int(chunk + 36, 10);
        }
        let interpreted = world.method(101, 0);
        let (inner, outer) = (world.method(102, 0), world.method(103, 0));
        let native = world.method(104, 0x100);
        let (deoptimised, root) = (world.method(105, 0), world.method(ROOT, 0));
        let stack = |chunk: u64, word: u64| chunk + STACK_BASE + 8 * word;

        // Interpreted: frame pointer at word 18, four locals above the sender's frame data.
        let first = chunks[0];
        let bytecodes = world.words[((interpreted - world.address(0)) / 8) as usize] + 64;
        let interpreter = world.layout.interpreter.0 + 8;
        world.put(stack(first, 9), interpreter);
        world.put(stack(first, 8), 10);
        for (offset, value) in [(3, interpreted), (8, bytecodes + 7), (7, 3), (1, 2)] {
            world.put(stack(first, 18 - offset), value);
        }
        // Its caller: compiled, 6 words, two scopes.
        let blob = world.compiled(6, &[(outer, 30), (inner, 20)]);
        world.put(stack(first, 19), World::pc(blob));
        let stub = world.blob(b"a stub\0\0", 4);
        world.put(stack(first, 25), World::pc(stub));
        let wrapper = world.blob(b"native n", 5);
        world.put(wrapper + 24, native);
        world.put(stack(first, 29), World::pc(wrapper));
        world.put_int(first + 40, 36);

        let second = chunks[1];
        let blob = world.compiled(6, &[(deoptimised, 50)]);
        world.put(stack(second, 9), blob + CODE_AT + 80);
        world.put(stack(second, 10) + 16, World::pc(blob));
        let blob = world.compiled(4, &[(root, 60)]);
        world.put(stack(second, 15), World::pc(blob));
        world.put_int(second + 40, 22);

        world.expected = [
            (7, 101),
            (20, 102),
            (30, 103),
            (-3, 104),
            (50, 105),
            (60, ROOT),
        ]
        .map(|(bci, method)| CallFrame { bci, method })
        .into();
        world
    }

    /// Walks, and follows `plan` meanwhile; the loads it took, too.
    fn walk(&self, plan: Plan) -> (Result<(Walked, Vec<CallFrame>), Truncation>, u64) {
        let shared = published();
        contain_faults();
        let marks = Marks {
            enter: ROOT,
            ..Marks::default()
        };
        let frozen = Frozen::new(marks, Some(self.layout));
        frozen.set_owner(24);
        // SAFETY: no arguments, cannot fail.
        let os_thread = unsafe { libc::gettid() }.cast_unsigned();
        let mut claim = shared.scratch.claim(7).unwrap();
        let inside = shared.gate.enter();
        assert_eq!(inside.mode(), Mode::Armed);
        rehearsal::begin(plan);
        // SAFETY: all of this world is mapped; what is outside is a fault, by the plan; faults are contained.
        let walked = unsafe { frozen.walk(&mut claim, os_thread, self.thread, 0) };
        let loads = rehearsal::end();
        drop(inside);
        let outcome = walked.map(|walked| {
            let frames = claim.frames_mut()[..walked.written].to_vec();
            (walked, frames)
        });
        (outcome, loads)
    }

    /// Nothing but this world may be read.
    fn plan(&self) -> Plan {
        Plan {
            mapped: self.address(0)..self.address(0) + 8 * WORDS as u64,
            ..Plan::default()
        }
    }
}

const LAYOUT: Layout = Layout {
    entry: Entry {
        in_thread: InThread::Published(8),
        parent: 8,
        continuation: 16,
    },
    collections: 4,
    tail: 16,
    parent: 16,
    size: 32,
    sp: 36,
    bottom: Bottom::FromBase(40),
    stack_base: STACK_BASE,
    code_bounds: (0, 8),
    segment_map: 16,
    segment_shift: 24,
    block: (16, 8),
    blob_size: 8,
    frame_size: 12,
    code: Place::Offset(16),
    compiled_method: 24,
    original_pc: 32,
    deopt: (Place::Offset(36), Place::Offset(40)),
    debug_info: DebugInfo::Inside {
        pcs: 44,
        pcs_end: 48,
        data: 56,
        metadata: 52,
    },
    access_flags: 8,
    bytecodes: 64,
    constants: 8,
    method_number: 2,
    ..Layout::BLANK
};

fn all_kinds() -> Kinds {
    let mut all = Kinds::default();
    Kinds::ALL.into_iter().for_each(|(kind, _)| all.add(kind));
    all
}

#[test]
fn each_kind_of_frame_is_read_and_chunks_follow_each_other() {
    let world = World::new();
    let (walked, _) = world.walk(world.plan());
    let (walked, frames) = walked.unwrap();
    assert_eq!(frames, world.expected);
    assert_eq!((walked.found, walked.kinds), (frames.len(), all_kinds()));
}

#[test]
fn a_thread_that_was_never_unmounted_has_nothing_to_walk() {
    let mut world = World::new();
    let (entry, tail) = (world.thread + 8, LAYOUT.tail);
    let word = |world: &World, at: u64| world.words[(at - world.address(0)) as usize / 8];
    let continuation = word(&world, word(&world, entry) + 16);
    world.put(continuation + tail, 0);
    assert_eq!(world.walk(world.plan()).0, Err(Truncation::InTransit));
}

#[test]
fn a_load_that_fails_at_any_point_is_contained_and_the_next_walk_is_whole() {
    let world = World::new();
    let (_, loads) = world.walk(world.plan());
    assert!(loads > 100, "{loads}");
    for nth in 0..loads {
        let (walked, _) = world.walk(Plan {
            faults_at: Some(nth),
            ..world.plan()
        });
        assert_eq!(walked, Err(Truncation::Faulted), "load {nth}");
    }
    let (walked, _) = world.walk(world.plan());
    assert_eq!(walked.unwrap().1, world.expected);
}

#[test]
fn a_collection_that_comes_at_any_point_or_is_going_on_is_refused() {
    let mut world = World::new();
    let (_, loads) = world.walk(world.plan());
    let counter = world.layout.heap + world.layout.collections;
    // Before the first look (two loads) and after the last one it makes no difference.
    for nth in 2..loads - 1 {
        let (walked, _) = world.walk(Plan {
            adds_at: Some((nth, counter)),
            ..world.plan()
        });
        assert_eq!(walked, Err(Truncation::Collecting), "load {nth}");
    }
    world.put(world.layout.heap, 1);
    assert_eq!(world.walk(world.plan()).0, Err(Truncation::Collecting));
}

#[test]
fn chunks_in_a_circle_and_stacks_out_of_bounds_are_refused() {
    for (what, change) in [
        ("itself", (1, 16, 1)),
        ("the first again", (1, 16, 0)),
        ("itself at once", (0, 16, 0)),
    ] {
        let mut world = World::new();
        let (chunk, offset, parent) = change;
        world.put(world.chunks[chunk] + offset, world.chunks[parent]);
        let (walked, loads) = world.walk(world.plan());
        let refused = [Truncation::RootNotReached, Truncation::Malformed];
        assert!(
            walked.is_err_and(|reason| refused.contains(&reason)),
            "{what}"
        );
        assert!(loads < ENOUGH, "{what}: {loads}");
    }
    for (offset, value) in [
        (36, -1),
        (36, 101),
        (36, i32::MIN),
        (40, -1),
        (40, 101),
        (32, -1),
        (32, i32::MAX),
        (32, 0),
    ] {
        let mut world = World::new();
        world.put_int(world.chunks[0] + offset, value);
        if (offset, value) == (32, i32::MAX) {
            // Sizes themselves are bounded.
            world.put_int(world.chunks[0] + 40, i32::MAX - 1);
        }
        let (walked, _) = world.walk(world.plan());
        assert_eq!(walked, Err(Truncation::Malformed), "{value} at {offset}");
    }
}

#[test]
fn garbage_in_any_word_ends_the_walk_and_never_gives_a_stack_without_its_root() {
    let original = World::new();
    let places: Vec<usize> = (0..original.used)
        .chain(CHUNK..CHUNK + 512)
        .chain(CODE..original.code)
        .collect();
    let (mut refused, mut whole) = (0, 0);
    let mut world = World::new();
    for place in places {
        let kept = world.words[place];
        let some = [
            0,
            1,
            u64::MAX,
            kept ^ (1 << 33),
            kept.wrapping_add(8),
            world.chunks[0],
            world.thread,
            i64::MIN.cast_unsigned(),
        ];
        for garbage in some {
            world.words[place] = garbage;
            let (walked, loads) = world.walk(world.plan());
            assert!(loads < ENOUGH, "{garbage:#x} at {place}: {loads} loads");
            match walked {
                Err(_) => refused += 1,
                Ok((walked, frames)) => {
                    whole += 1;
                    assert_eq!(walked.found, frames.len());
                    assert_eq!(frames.last().map(|frame| frame.method), Some(ROOT));
                }
            }
        }
        world.words[place] = kept;
    }
    // Most words are nothing that a walk looks at; those that are make a difference.
    assert!(
        refused > 500 && whole > 500,
        "{refused} refused, {whole} whole"
    );
    assert_eq!(world.walk(world.plan()).0.unwrap().1, world.expected);
}
