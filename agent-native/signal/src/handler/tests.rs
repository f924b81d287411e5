//! The handler on real signals, with a walker of the test's own in place of the JVM's.

use super::*;
use crate::blocks::{Blocks, CHUNK};
use crate::context_table::{ContextTable, Slot};
use crate::cookie::BlockIndex;
use crate::counters::{Counters, WALL_WALKS};
use crate::fault;
use crate::frozen::{Frozen, Marks};
use crate::primitive::AtomicU64 as Word;
use crate::ring::Ring;
use crate::sample::{self, Flags};
use crate::scratch::{DEPTH, Scratch};
use crate::shared::Source;
use crate::tag::JavaThreadId;
use crate::tag::Tag;
use crate::walk::{CallFrame, CallTrace};

unsafe extern "C" fn three_frames(trace: *mut CallTrace, depth: i32, _: *mut c_void) {
    assert_eq!(depth as usize, DEPTH);
    // SAFETY: the handler passes a trace whose frames have room for DEPTH.
    unsafe {
        for i in 0..3 {
            *(*trace).frames.add(i) = CallFrame {
                bci: i as i32,
                method: 100 + i as u64,
            };
        }
        (*trace).frames_found = 3;
    }
}

unsafe extern "C" fn refuses(trace: *mut CallTrace, _: i32, _: *mut c_void) {
    // SAFETY: the handler passes a valid trace.
    unsafe { (*trace).frames_found = -5 };
}

unsafe extern "C" fn too_deep(trace: *mut CallTrace, depth: i32, _: *mut c_void) {
    // SAFETY: the handler passes a valid trace.
    unsafe { (*trace).frames_found = depth };
}

/// Statics, since a pool is too big for a test thread's stack.
static SCRATCH: Scratch = Scratch::new();
static EXHAUSTED: Scratch = Scratch::new();

fn shared(walker: crate::walk::AsyncGetCallTrace, ring_words: usize) -> &'static Shared {
    shared_with(walker, ring_words, &SCRATCH)
}

fn shared_with(
    walker: crate::walk::AsyncGetCallTrace,
    ring_words: usize,
    scratch: &'static Scratch,
) -> &'static Shared {
    let blocks: &'static Blocks = Box::leak(Box::new(Blocks::new()));
    blocks.add_chunk(0, Box::leak(Box::new([const { Block::new() }; CHUNK])));
    let slots: &'static [Slot] = Box::leak((0..64).map(|_| Slot::new()).collect());
    let words: &'static [Word] = Box::leak((0..ring_words).map(|_| Word::new(0)).collect());
    let shared = Shared::new(
        blocks,
        ContextTable::new(slots).unwrap(),
        Ring::new(words).unwrap(),
        scratch,
        Box::leak(Box::new(Counters::new())),
        walker,
        0,
        Frozen::new(Marks::default(), None),
    );
    shared.gate.arm();
    Box::leak(Box::new(shared))
}

fn own_block(shared: &'static Shared) -> (&'static Block, Cookie) {
    let block = shared.blocks.get(BlockIndex(0)).unwrap();
    // SAFETY: no arguments, cannot fail.
    let generation = block.assign(unsafe { libc::gettid() }.cast_unsigned());
    (
        block,
        Cookie {
            block: BlockIndex(0),
            generation,
        },
    )
}

fn signal(shared: &'static Shared, cookie: Cookie, overrun: i32) {
    // SAFETY: the walkers of these tests do not look at the context.
    unsafe { on_timer(shared, cookie, shared.era(), overrun, core::ptr::null_mut()) };
}

fn pop(shared: &Shared) -> Option<(Head, Vec<CallFrame>)> {
    let mut record = Vec::new();
    if !shared.ring.pop(|word| record.push(word)) {
        return None;
    }
    let (head, frames) = sample::read(&record)?;
    Some((head, frames.collect()))
}

const TAG: Tag = Tag {
    trace_hi: 1,
    trace_lo: 2,
    span: 3,
    root: 4,
};

#[test]
fn a_sample_carries_the_tag_of_the_thread_that_is_mounted_and_not_of_the_carrier() {
    let shared = shared(three_frames, 1024);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.set_source(Source::Mount);
    shared.contexts.set(JavaThreadId(5), &TAG).unwrap();
    let virtual_tag = Tag { span: 33, ..TAG };
    shared.contexts.set(JavaThreadId(6), &virtual_tag).unwrap();

    block.mount(JavaThreadId(6));
    signal(shared, cookie, 0);
    block.mount(JavaThreadId(7));
    signal(shared, cookie, 0);
    block.unmount();
    signal(shared, cookie, 0);

    let tags: Vec<Tag> = std::iter::from_fn(|| pop(shared))
        .map(|(head, _)| head.tag)
        .collect();
    assert_eq!(tags, [virtual_tag, Tag::EMPTY, TAG]);
    assert_eq!(shared.counters.get(Counter::SamplesTagged), 2);
    assert_eq!(shared.counters.get(Counter::SamplesUntagged), 1);
}

#[test]
fn a_sample_carries_the_tag_of_the_owner_id_when_that_is_the_source() {
    let shared = shared(three_frames, 1024);
    let (block, cookie) = own_block(shared);
    let owner_id: i64 = 9;
    block.set_java(8, (&raw const owner_id) as u64, JavaThreadId(5));
    shared.set_source(Source::OwnerId);
    shared.contexts.set(JavaThreadId(9), &TAG).unwrap();
    signal(shared, cookie, 4);
    let (head, frames) = pop(shared).unwrap();
    assert_eq!(head.tag, TAG);
    assert_eq!(head.periods, 5, "overruns weigh");
    assert_eq!(frames.len(), 3);
    assert_eq!(frames[2].method, 102);
}

#[test]
fn a_thread_that_is_not_javas_gives_a_sample_without_frames_or_tag() {
    let shared = shared(three_frames, 1024);
    let (_, cookie) = own_block(shared);
    signal(shared, cookie, 0);
    let (head, frames) = pop(shared).unwrap();
    assert!(head.flags.has(Flags::NATIVE));
    assert!(head.tag.is_empty() && frames.is_empty());
}

#[test]
fn a_failed_walk_keeps_its_tag_and_its_time_and_is_counted_by_code() {
    let shared = shared(refuses, 1024);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.set_source(Source::Mount);
    shared.contexts.set(JavaThreadId(5), &TAG).unwrap();
    signal(shared, cookie, 2);
    let (head, frames) = pop(shared).unwrap();
    assert!(head.flags.has(Flags::FAILED) && frames.is_empty());
    assert_eq!(
        (head.failure, head.tag, head.periods),
        (Failure(-5), TAG, 3)
    );
    assert_eq!(shared.counters.get(Counter::WalkUnknownJava), 1);
}

#[test]
fn a_stack_of_the_greatest_depth_is_marked_as_cut() {
    let shared = shared(too_deep, 4096);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    signal(shared, cookie, 0);
    let (head, frames) = pop(shared).unwrap();
    assert!(head.flags.has(Flags::CUT));
    assert_eq!(frames.len(), DEPTH);
    assert_eq!(shared.counters.get(Counter::TruncatedDepth), 1);
}

#[test]
fn native_code_is_a_frame_above_the_stack_and_the_oldest_goes_where_that_is_one_too_many() {
    let native = CallFrame::native(0x5000);
    // SAFETY: a plain C struct for which zero is valid.
    let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
    for (walker, walked, with_leaf, is_cut) in [
        (three_frames as crate::walk::AsyncGetCallTrace, 3, 4, false),
        (too_deep, DEPTH, DEPTH, true),
    ] {
        let shared = shared(walker, 1 << 13);
        let (block, cookie) = own_block(shared);
        block.set_java(8, 0, JavaThreadId(5));
        shared.code_cache.set(0x1000, 0x2000);
        for (pc, leaf, frames) in [(0x1800, None, walked), (0x5000, Some(native), with_leaf)] {
            context.uc_mcontext.gregs[libc::REG_RIP as usize] = pc;
            // SAFETY: the walkers do not look at the context; the rest of it is valid.
            unsafe { on_timer(shared, cookie, shared.era(), 0, (&raw mut context).cast()) };
            let (head, seen) = pop(shared).unwrap();
            assert_eq!(seen.len(), frames);
            // The deep walker leaves in the buffer what was there.
            if leaf.is_some() || !is_cut {
                let first = seen.first().copied().filter(|frame| *frame == native);
                assert_eq!(first, leaf);
            }
            assert_eq!(head.flags.has(Flags::CUT), is_cut);
        }
    }
}

#[test]
fn a_full_ring_drops_the_newest_and_counts_its_periods() {
    let shared = shared(three_frames, 32);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    for _ in 0..5 {
        signal(shared, cookie, 1);
    }
    let taken = std::iter::from_fn(|| pop(shared)).count() as u64;
    assert_eq!(taken, 2);
    assert_eq!(shared.counters.get(Counter::SamplesTaken), taken);
    assert_eq!(
        shared.counters.get(Counter::DroppedRingFull),
        2 * (5 - taken)
    );
}

#[test]
fn a_signal_of_an_earlier_life_or_another_thread_is_stale() {
    let shared = shared(three_frames, 1024);
    let (block, old) = own_block(shared);
    let (_, now) = own_block(shared);
    signal(shared, old, 0);
    assert_eq!(shared.counters.get(Counter::SignalsStale), 1);
    block.assign(1);
    signal(shared, now, 3);
    assert_eq!(shared.counters.get(Counter::SignalsStale), 5);
    assert!(pop(shared).is_none());
}

#[test]
fn a_signal_of_periods_that_are_no_more_is_stale_and_what_it_stands_for_is_counted() {
    let shared = shared(three_frames, 1024);
    let (_block, cookie) = own_block(shared);
    let before = (shared.counters.get(Counter::SignalsStale), expired(shared));
    shared.set_era(Era(1));
    // SAFETY: no context is looked at before a sample is taken.
    unsafe { on_timer(shared, cookie, Era(0), 4, core::ptr::null_mut()) };
    assert_eq!(shared.counters.get(Counter::SignalsStale), before.0 + 5);
    assert_eq!(expired(shared), before.1 + 5);
    assert!(pop(shared).is_none());
    signal(shared, cookie, 4);
    assert_eq!(pop(shared).map(|(head, _)| head.periods), Some(5));
}

#[test]
fn a_disarmed_handler_takes_nothing_and_leaves_nobody_inside() {
    let shared = shared(three_frames, 1024);
    let (_, cookie) = own_block(shared);
    shared.gate.disarm();
    signal(shared, cookie, 2);
    assert!(pop(shared).is_none());
    assert!(shared.gate.is_empty());
    assert_eq!(shared.counters.get(Counter::DroppedDisarmed), 3);
    assert_eq!(expired(shared), 3);
}

#[test]
fn a_signal_after_the_books_were_closed_is_counted_outside_of_them_and_nowhere_else() {
    let shared = shared(three_frames, 1024);
    let (_, cookie) = own_block(shared);
    shared.gate.disarm();
    shared.gate.close();
    signal(shared, cookie, 2);
    shared.gate.end();
    signal(shared, cookie, 0);
    assert!(pop(shared).is_none());
    assert!(shared.gate.is_empty());
    for counter in Counter::ALL {
        let expected = if *counter == Counter::SignalsLate {
            4
        } else {
            0
        };
        assert_eq!(shared.counters.get(*counter), expected, "{counter:?}");
    }
}

/// Periods that signals stand for, in the books.
fn expired(shared: &Shared) -> u64 {
    shared.counters.get(Counter::Signals) + shared.counters.get(Counter::Overruns)
}

/// One test for all of it, since there is one table of events.
#[test]
fn a_perf_event_stands_for_the_cpu_time_since_the_last_and_its_books_are_even() {
    /// So long that what this test itself uses does not matter.
    const PERIOD: u64 = 1_000_000_000_000;
    /// No file: the request of the first signal is refused.
    const DESCRIPTOR: c_int = 60_000;
    let shared = shared(three_frames, 1024);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.set_source(Source::Mount);
    shared.contexts.set(JavaThreadId(5), &TAG).unwrap();
    // SAFETY: the walker does not look at the context.
    let signal = |owner| unsafe { on_perf(shared, DESCRIPTOR, owner, core::ptr::null_mut()) };
    let ours = Owner::Thread(cookie);
    let count = |counter| shared.counters.get(counter);
    let used = |periods: u64| {
        block.begin_periods(
            perf::thread_cpu_ns().wrapping_sub(periods * PERIOD),
            PERIOD,
            PERIOD,
        );
    };
    let samples = || -> Vec<_> {
        std::iter::from_fn(|| pop(shared))
            .map(|(head, frames)| (head.periods, head.tag, frames.len(), head.failure))
            .collect()
    };

    perf::EVENTS.set(PERIOD, true);
    used(1);
    signal(ours);
    used(7);
    signal(ours);
    let whole = |periods| (periods, TAG, 3, Failure(0));
    assert_eq!(samples(), [whole(1), whole(7)]);
    // At once again: nothing was used since.
    signal(ours);
    // Half a period is the thread's own, whatever it has used before.
    used(2);
    block.rest_until(u64::MAX);
    signal(ours);
    assert_eq!(samples(), []);
    assert_eq!((count(Counter::SignalsEarly), expired(shared)), (2, 8));

    // Time in the kernel that no signal came for is in no stack and has no tag.
    perf::EVENTS.set(PERIOD, false);
    used(5);
    signal(ours);
    assert_eq!(
        samples(),
        [whole(1), (4, Tag::EMPTY, 0, Failure::IN_KERNEL)]
    );
    block.clear_java();
    used(5);
    signal(ours);
    assert_eq!(samples(), [(5, Tag::EMPTY, 0, Failure(0))]);
    assert_eq!(expired(shared), 18);

    signal(Owner::Past);
    let other = Cookie {
        generation: crate::cookie::Generation(cookie.generation.0 + 1),
        ..cookie
    };
    signal(Owner::Thread(other));
    assert_eq!((count(Counter::SignalsStale), expired(shared)), (2, 20));
    shared.gate.disarm();
    used(3);
    signal(ours);
    assert_eq!((count(Counter::DroppedDisarmed), expired(shared)), (3, 23));
    shared.gate.close();
    signal(ours);
    assert_eq!((count(Counter::SignalsLate), expired(shared)), (1, 23));
    assert_eq!(samples(), []);
}

/// Threads that are signalled all the time: some of their signals of an earlier life, more samples than the ring has
/// room for, and disarmed in between.
#[test]
fn the_books_are_even_whenever_nobody_is_inside_and_stay_so_once_closed() {
    use std::sync::atomic::AtomicBool;
    const THREADS: u32 = 3;
    /// Lets the threads go, whatever comes of the test.
    struct LetGo<'a>(&'a AtomicBool);
    impl Drop for LetGo<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let shared = shared(three_frames, 64);
    let stop = AtomicBool::new(false);
    let mut taken = 0;
    let mut even = |what: &str| {
        while !shared.gate.is_empty() {
            std::thread::yield_now();
        }
        let lost: u64 = [
            Counter::DroppedRingFull,
            Counter::DroppedRingContended,
            Counter::DroppedDisarmed,
            Counter::DroppedNested,
            Counter::SignalsStale,
        ]
        .map(|counter| shared.counters.get(counter))
        .iter()
        .sum();
        let samples = std::iter::from_fn(|| pop(shared));
        taken += samples
            .map(|(head, _)| u64::from(head.periods))
            .sum::<u64>();
        assert_eq!(expired(shared), taken + lost, "{what}");
        expired(shared)
    };
    std::thread::scope(|scope| {
        for index in 0..THREADS {
            let stop = &stop;
            scope.spawn(move || {
                let block = shared.blocks.get(BlockIndex(index)).unwrap();
                // SAFETY: no arguments, cannot fail.
                let generation = block.assign(unsafe { libc::gettid() }.cast_unsigned());
                block.set_java(8, 0, JavaThreadId(5));
                let block = BlockIndex(index);
                for n in 0_u32.. {
                    let generation = if n.is_multiple_of(7) {
                        crate::cookie::Generation(generation.0 + 1)
                    } else {
                        generation
                    };
                    signal(shared, Cookie { block, generation }, (n % 3).cast_signed());
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        let let_go = LetGo(&stop);
        let mut last = 0;
        for _ in 0..50 {
            let until = last + 1_000;
            while expired(shared) < until {
                std::thread::yield_now();
            }
            shared.gate.disarm();
            shared.gate.close();
            last = even("closed");
            // More of them, which are in no book.
            let late = shared.counters.get(Counter::SignalsLate);
            while shared.counters.get(Counter::SignalsLate) < late + 100 {
                std::thread::yield_now();
            }
            assert_eq!(even("still closed"), last);
            shared.gate.open();
            shared.gate.arm();
        }
        shared.gate.disarm();
        shared.gate.end();
        last = even("ended");
        shared.gate.open();
        shared.gate.arm();
        drop(let_go);
        assert_eq!(even("still ended"), last);
    });
    assert!(taken > 0, "samples among them");
}

#[test]
fn a_full_pool_of_walk_buffers_costs_the_frames_and_not_the_tag() {
    let shared = shared_with(three_frames, 1024, &EXHAUSTED);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.set_source(Source::Mount);
    shared.contexts.set(JavaThreadId(5), &TAG).unwrap();
    let claims: Vec<_> = (0..crate::scratch::BUFFERS)
        .map(|i| shared.scratch.claim(i).unwrap())
        .collect();
    signal(shared, cookie, 0);
    drop(claims);
    let (head, _) = pop(shared).unwrap();
    assert_eq!((head.failure, head.tag), (Failure::NO_BUFFER, TAG));
    assert_eq!(shared.counters.get(Counter::WalkNoBuffer), 1);
}

/// `JNIEnv*` with which [`by_env`] faults.
const FAULTY: u64 = 16;
/// `JNIEnv*` with which [`by_env`] probes memory as HotSpot does.
const PROBING: u64 = 24;

/// Walks that have probed and gone on.
static PROBED: AtomicU32 = AtomicU32::new(0);

/// HotSpot's SafeFetch, word for word (safefetch_linux_x86_64.S): 32 bits wide at 0, 64 at 6.
#[unsafe(naked)]
unsafe extern "C" fn safe_fetch() {
    core::arch::naked_asm!(
        "mov eax, [rdi]",
        "ret",
        "mov eax, esi",
        "ret",
        "mov rax, [rdi]",
        "ret",
        "mov rax, rsi",
        "ret",
    )
}

fn safe_fetch_at(width: u64) -> u64 {
    safe_fetch as *const () as u64 + width
}

/// Stands for HotSpot's handler: goes on behind a load of SafeFetch, and knows no other fault.
unsafe extern "C" fn jvm_on_fault(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let pc = &mut registers[libc::REG_RIP as usize];
    match pc.cast_unsigned().wrapping_sub(safe_fetch_at(0)) {
        0 => *pc += 3,
        6 => *pc += 4,
        // SAFETY: ends the process, as a JVM would be ended.
        _ => unsafe { libc::abort() },
    }
}

/// Walks of this process are guarded from now on, by one installation for all tests.
pub(crate) fn contain_faults() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        fault::set_previous(libc::SIGSEGV, jvm_on_fault as *const () as u64);
        fault::set_library(safe_fetch_at(0), safe_fetch_at(14));
        install(libc::SIGSEGV, fault::on_fault as *const () as usize);
    });
}

/// Walks well, or reads where nothing is mapped, by the environment of the thread.
unsafe extern "C" fn by_env(trace: *mut CallTrace, depth: i32, context: *mut c_void) {
    // SAFETY: the handler passes a valid trace. The read of address 8 is the fault to be contained.
    unsafe {
        if (*trace).env == FAULTY {
            let nowhere = core::hint::black_box(8_usize) as *const i32;
            (*trace).frames_found = nowhere.read_volatile();
        }
        if (*trace).env == PROBING {
            for width in [0, 6] {
                let fetch = safe_fetch_at(width) as *const c_void;
                let fetch: unsafe extern "C" fn(*const i32, isize) -> isize =
                    core::mem::transmute(fetch);
                let here = 77;
                assert_eq!(fetch(&raw const here, 5) as i32, 77);
                assert_eq!(fetch(core::hint::black_box(8) as *const i32, 5), 5);
            }
            PROBED.fetch_add(1, Ordering::SeqCst);
        }
        three_frames(trace, depth, context);
    }
}

/// What the handlers of this process share: there is one for all tests that install one.
pub(crate) fn published() -> &'static Shared {
    static PUBLISHED: std::sync::OnceLock<&'static Shared> = std::sync::OnceLock::new();
    PUBLISHED.get_or_init(|| {
        // Room for all samples of all of them, so that none drops another's.
        let shared = shared(by_env, 1 << 21);
        assert!(shared::publish(shared));
        shared
    })
}

fn install(number: c_int, handler: usize) -> libc::sigaction {
    // SAFETY: plain C structs for which zero is valid; the handlers are three-argument ones.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        let mut previous: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        assert_eq!(
            libc::sigaction(number, &raw const action, &raw mut previous),
            0
        );
        previous
    }
}

#[test]
fn a_hundred_thousand_faulting_walks_are_contained_and_counted_and_the_next_one_is_whole() {
    const FAULTS: u64 = 100_000;
    let shared = published();
    contain_faults();
    let block = shared.blocks.get(BlockIndex(1)).unwrap();
    // SAFETY: no arguments, cannot fail.
    let generation = block.assign(unsafe { libc::gettid() }.cast_unsigned());
    let cookie = Cookie {
        block: BlockIndex(1),
        generation,
    };
    block.set_java(FAULTY, 0, JavaThreadId(5));
    let before = shared.counters.get(Counter::WalkFaulted);
    for _ in 0..FAULTS {
        signal(shared, cookie, 0);
    }
    assert_eq!(shared.counters.get(Counter::WalkFaulted) - before, FAULTS);
    // SAFETY: no arguments, cannot fail.
    let os_thread = unsafe { libc::gettid() }.cast_unsigned();
    assert!(shared.scratch.recovery_of(os_thread).is_none());
    let taken = shared.counters.get(Counter::SamplesTaken);
    let dropped = shared.counters.get(Counter::DroppedRingFull);
    block.set_java(8, 0, JavaThreadId(5));
    signal(shared, cookie, 0);
    let after =
        shared.counters.get(Counter::SamplesTaken) + shared.counters.get(Counter::DroppedRingFull);
    assert_eq!(after, taken + dropped + 1);
}

#[test]
fn a_probing_read_of_the_jvm_goes_to_its_own_handler_and_the_walk_is_whole() {
    let shared = published();
    contain_faults();
    let block = shared.blocks.get(BlockIndex(2)).unwrap();
    // SAFETY: no arguments, cannot fail.
    let generation = block.assign(unsafe { libc::gettid() }.cast_unsigned());
    let cookie = Cookie {
        block: BlockIndex(2),
        generation,
    };
    block.set_java(PROBING, 0, JavaThreadId(5));
    let before = shared.counters.get(Counter::FaultsHandedOn);
    signal(shared, cookie, 0);
    assert_eq!(shared.counters.get(Counter::FaultsHandedOn) - before, 2);
    assert_eq!(PROBED.load(Ordering::SeqCst), 1, "the walk went on");
}

#[test]
fn a_walk_is_not_begun_where_a_fault_would_end_the_process() {
    let shared = shared(three_frames, 1024);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    // SAFETY: a plain C struct for which zero is valid.
    let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
    // SAFETY: writes to the set given.
    unsafe { libc::sigaddset(&raw mut context.uc_sigmask, libc::SIGBUS) };
    // SAFETY: the walker does not look at the context; the rest of it is valid.
    unsafe { on_timer(shared, cookie, shared.era(), 0, (&raw mut context).cast()) };
    assert_eq!(pop(shared).unwrap().0.failure, Failure::FAULTS_BLOCKED);
    assert_eq!(shared.counters.get(Counter::WalkFaultsBlocked), 1);
}

/// A real timer under a real signal, and errno kept.
#[test]
fn a_real_timer_signal_becomes_samples_and_a_foreign_one_goes_on_to_its_owner() {
    use std::sync::atomic::AtomicU32;
    static FORWARDED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn former(_: c_int) {
        FORWARDED.fetch_add(1, Ordering::SeqCst);
    }
    let shared = published();
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    let number = libc::SIGRTMIN() + 7;
    set_previous(former as *const () as usize, false);
    install(number, on_signal as *const () as usize);
    // SAFETY: a plain timer on this thread, of this test alone.
    unsafe {
        let mut event: libc::sigevent = core::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number;
        event.sigev_value.sival_ptr = cookie.to_bits() as *mut c_void;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = core::mem::zeroed();
        assert_eq!(
            libc::timer_create(
                libc::CLOCK_THREAD_CPUTIME_ID,
                &raw mut event,
                &raw mut timer
            ),
            0
        );
        let period = libc::timespec {
            tv_sec: 0,
            tv_nsec: 10_000_000,
        };
        let spec = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        assert_eq!(
            libc::timer_settime(timer, 0, &raw const spec, core::ptr::null_mut()),
            0
        );
        // Other tests send signals and push here, too; the ring ends for now at a record that one of them is in
        // the middle of.
        let mut ours = 0;
        while ours < 5 {
            ours += std::iter::from_fn(|| pop(shared))
                .filter(|(head, frames)| head.block == BlockIndex(0) && frames.len() == 3)
                .count();
            (0..100_000).for_each(|_| core::hint::spin_loop());
        }
        // Several periods.
        *libc::__errno_location() = 77;
        (0..5_000_000).for_each(|_| core::hint::spin_loop());
        assert_eq!(*libc::__errno_location(), 77);
        libc::timer_delete(timer);
        libc::raise(number);
    }
    assert_eq!(FORWARDED.load(Ordering::SeqCst), 1);
    assert_eq!(shared.counters.get(Counter::SignalsForeign), 1);
}

fn visit(shared: &'static Shared, cookie: Cookie) {
    shared.blocks.get(cookie.block).unwrap().ask(true);
    on_visits_signal(shared, cookie);
}

fn on_visits_signal(shared: &'static Shared, cookie: Cookie) {
    // SAFETY: the walkers of these tests do not look at the context.
    unsafe { on_visit(shared, cookie, core::ptr::null_mut()) };
}

/// What became of the signals of visits.
fn visits(shared: &Shared) -> u64 {
    use Counter as C;
    [
        C::WallTaken,
        C::WallNoContext,
        C::WallStale,
        C::WallRingFull,
        C::WallRingContended,
        C::WallDisarmed,
        C::WallNested,
    ]
    .iter()
    .map(|counter| shared.counters.get(*counter))
    .sum()
}

#[test]
fn a_visit_stands_for_the_time_since_the_last_and_is_in_books_of_its_own() {
    let shared = shared(three_frames, 64);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.set_source(Source::Mount);
    visit(shared, cookie);
    assert_eq!(shared.counters.get(Counter::WallNoContext), 1);
    assert!(pop(shared).is_none(), "it is in no context");
    shared.visits.set(true, false, None, None);
    visit(shared, cookie);
    let (head, _) = pop(shared).unwrap();
    assert!(head.flags.has(Flags::WALL) && head.flags.has(Flags::OFF_CPU));
    assert!(head.tag.is_empty());
    shared.visits.set(false, false, None, None);
    shared.contexts.set(JavaThreadId(5), &TAG).unwrap();
    block.account_from(now_ns() - 7_000_000);
    visit(shared, cookie);
    let (head, frames) = pop(shared).unwrap();
    assert_eq!((head.tag, frames.len()), (TAG, 3));
    assert!(!head.flags.has(Flags::AWAY));
    shared.contexts.leave(JavaThreadId(5), || 1);
    visit(shared, cookie);
    assert!(pop(shared).unwrap().0.flags.has(Flags::AWAY));
    assert_eq!(shared.contexts.come_back(JavaThreadId(5)), Some(1));
    assert!((7_000..60_000_000).contains(&head.periods), "{head:?}");
    assert!(!head.flags.has(Flags::WAITING.and(Flags::STANDS)));
    assert!(!block.is_asked() && block.imprint().is_none());
    // Full, nested, disarmed, gone, late.
    for _ in 0..5 {
        visit(shared, cookie);
    }
    while pop(shared).is_some() {}
    assert!(block.begin_walk());
    visit(shared, cookie);
    block.end_walk();
    block.clear_java();
    visit(shared, cookie);
    block.assign(1);
    visit(shared, cookie);
    shared.gate.disarm();
    let (_, cookie) = own_block(shared);
    visit(shared, cookie);
    shared.gate.close();
    visit(shared, cookie);
    let counts = [
        Counter::WallSignals,
        Counter::WallStale,
        Counter::WallDisarmed,
        Counter::WallNested,
        Counter::WallLate,
    ]
    .map(|counter| shared.counters.get(counter));
    assert_eq!(counts, [13, 2, 1, 1, 1]);
    assert!(shared.counters.get(Counter::WallRingFull) > 0);
    assert_eq!(visits(shared), 13);
    for cpu in [
        Counter::Signals,
        Counter::SamplesTaken,
        Counter::SamplesUntagged,
        Counter::DroppedRingFull,
        Counter::DroppedNested,
        Counter::DroppedDisarmed,
        Counter::SignalsStale,
        Counter::SignalsLate,
    ] {
        assert_eq!(shared.counters.get(cpu), 0, "{cpu:?}");
    }
}

#[test]
fn a_visit_whose_signal_is_lost_to_one_of_cpu_time_is_taken_there_and_not_again() {
    let shared = shared(three_frames, 64);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.visits.set(true, false, None, None);
    shared.set_source(Source::Mount);
    signal(shared, cookie, 0);
    assert!(!pop(shared).unwrap().0.flags.has(Flags::WALL));
    assert!(pop(shared).is_none(), "nobody asked");
    for is_off_cpu in [true, false] {
        block.ask(is_off_cpu);
        signal(shared, cookie, 2);
        let (cpu, _) = pop(shared).unwrap();
        assert!(!cpu.flags.has(Flags::WALL) && cpu.periods == 3);
        let (wall, frames) = pop(shared).unwrap();
        assert!(wall.flags.has(Flags::WALL) && frames.len() == 3);
        assert_eq!(wall.flags.has(Flags::OFF_CPU), is_off_cpu);
        assert!(!block.is_asked());
        // Where it was not lost.
        on_visits_signal(shared, cookie);
        assert!(pop(shared).is_none());
    }
    let counts = [
        Counter::Signals,
        Counter::WallSignals,
        Counter::WallMerged,
        Counter::WallTaken,
    ]
    .map(|counter| shared.counters.get(counter));
    assert_eq!(counts, [3, 2, 2, 2]);
}

#[test]
fn a_failed_walk_of_a_visit_is_in_no_book_of_cpu_time() {
    let shared = shared(refuses, 64);
    let (block, cookie) = own_block(shared);
    block.set_java(8, 0, JavaThreadId(5));
    shared.visits.set(true, false, None, None);
    visit(shared, cookie);
    let (head, _) = pop(shared).unwrap();
    assert!(head.flags.has(Flags::FAILED) && head.flags.has(Flags::WALL));
    assert_eq!(shared.counters.get(Counter::WallFailed), 1);
    assert_eq!(shared.counters.get(Counter::WalkUnknownJava), 0);
    assert!(WALL_WALKS.get(Counter::WalkUnknownJava) > 0);
}
