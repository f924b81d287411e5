//! Where the continuation entry is not published, it is known by what it leads to, or not at all.

use crate::frozen::*;
use crate::scratch::Scratch;

const CLASS: u64 = 0x9000;

fn sought(heap: u64) -> Frozen {
    let layout = Layout {
        heap,
        gc_active: 0,
        collections: 8,
        continuation_class: CLASS,
        ..Layout::BLANK
    };
    Frozen::new(Marks::default(), Some(layout))
}

#[test]
fn where_the_entry_is_not_known_nothing_is_read() {
    static SCRATCH: Scratch = Scratch::new();
    let mut claim = SCRATCH.claim(0).unwrap();
    // A heap and a thread that are not there: a load of either would end the test.
    let frozen = sought(0);
    assert_eq!(frozen.entry(), None);
    // SAFETY: nothing is loaded, as is asserted.
    let walked = unsafe { frozen.walk(&mut claim, 1, 0, 0) };
    assert_eq!(walked, Err(Truncation::Untested));
    // SAFETY: as above.
    let candidates = unsafe { frozen.owner_candidates(&mut claim, 1, 0) };
    assert_eq!(candidates, Err(Truncation::Untested));
    frozen.set_entry(1_328);
    assert_eq!(frozen.entry(), Some(1_328));
}

#[test]
fn a_published_entry_is_known_from_the_start() {
    let layout = Layout {
        entry: Entry {
            in_thread: InThread::Published(1_560),
            ..Layout::BLANK.entry
        },
        ..Layout::BLANK
    };
    let frozen = Frozen::new(Marks::default(), Some(layout));
    assert_eq!(frozen.entry(), Some(1_560));
    assert_eq!(Frozen::new(Marks::default(), None).entry(), None);
}

#[test]
fn an_entry_is_known_by_the_class_of_its_continuation() {
    static SCRATCH: Scratch = Scratch::new();
    let mut claim = SCRATCH.claim(0).unwrap();
    let address = |words: &[u64]| words.as_ptr() as u64;
    let (continuation, other) = ([0, CLASS], [0, CLASS + 8]);
    let entry = [0, 0, address(&continuation)];
    let of_other = [0, 0, address(&other)];
    let thread = [0, address(&entry), address(&of_other), 0, 7];
    let mut is_entry = |heap: &[u64; 2], offset| {
        let frozen = sought(address(heap));
        // SAFETY: the heap, the thread and what its words lead to are arrays of this test.
        unsafe { frozen.has_entry_at(&mut claim, 1, address(&thread), offset) }
    };
    let idle = [0, 0];
    assert_eq!(is_entry(&idle, 8), Ok(true));
    assert_eq!(is_entry(&idle, 16), Ok(false), "another class");
    assert_eq!(is_entry(&idle, 24), Ok(false), "no address");
    assert_eq!(is_entry(&idle, 32), Ok(false), "not aligned");
    let collecting = [1, 0];
    assert_eq!(is_entry(&collecting, 8), Err(Truncation::Collecting));
}
