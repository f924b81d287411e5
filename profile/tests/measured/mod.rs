//! What reading a file costs, by an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use vtprof_profile::formats::{Document, Hint, read};
use vtprof_profile::merge::Merger;

/// Counts what the thread at hand has and had at the most, and all that it ever asked for, which is a measure of work.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn took(bytes: usize) {
    // Threads that end have no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(bytes));
        MOST.set(MOST.get().max(held.get()));
        ASKED.set(ASKED.get() + bytes);
    });
}

fn gave(bytes: usize) {
    let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(bytes)));
}

// SAFETY: All is handed to the system's allocator as it came; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: The layout is the caller's, who vouches for it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: `System` made the pointer, with this layout: see `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What reading a file took.
#[derive(Debug)]
pub struct Cost {
    /// Of the file.
    pub bytes: usize,
    /// Most memory at a time, without the file.
    pub most: usize,
    /// All memory ever asked for.
    pub asked: usize,
    /// What was said against it.
    pub refusal: Option<String>,
}

/// Reads a file, and adds up what is in it.
pub fn cost(bytes: &[u8], hint: &Hint) -> Cost {
    let before = HELD.get();
    MOST.set(before);
    ASKED.set(0);
    let mut sums = Vec::new();
    let result = read(bytes, hint, |document| {
        if let Document::Profile(profile) = document {
            let mut sum = Merger::new();
            sum.add(&profile).expect("the first");
            sums.push(sum);
        }
    });
    Cost {
        bytes: bytes.len(),
        most: MOST.get() - before,
        asked: ASKED.get(),
        refusal: result.err().map(|error| error.to_string()),
    }
}

pub fn plain(bytes: &[u8]) -> Cost {
    cost(bytes, &Hint::default())
}

/// The allowance that each file has, whatever its size.
const FLOOR: usize = 192 << 20;
/// Bytes of memory for one of a file, at the most.
const TIMES: usize = 256;

pub fn is_bounded(name: &str, cost: &Cost) {
    let bound = FLOOR + TIMES * cost.bytes;
    let Cost {
        bytes, most, asked, ..
    } = cost;
    println!("{name}: {bytes} bytes, {most} of memory, {asked} asked for");
    assert!(cost.most <= bound, "{name}: {cost:?}");
    // What a list asks for as it grows, and what is made on the way.
    assert!(cost.asked <= 8 * bound, "{name}: {cost:?}");
}

/// Bounded, and refused with these words.
pub fn is_refused(name: &str, cost: &Cost, words: &str) {
    is_bounded(name, cost);
    let refusal = cost.refusal.as_deref().unwrap_or("nothing said");
    assert!(refusal.contains(words), "{name}: {refusal}");
    assert!(
        refusal.len() < 300 && !refusal.contains('\n'),
        "{name}: {refusal}"
    );
}
