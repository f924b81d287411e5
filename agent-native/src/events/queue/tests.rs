use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use vtprof_signal::counters::Counter;
use vtprof_signal::tag::Tag;

use super::*;
use crate::aggregate::weight::Weight;

fn queues(samples: usize, frames: usize) -> (EventSamples, &'static Counters) {
    let counters: &'static Counters = Box::leak(Box::new(Counters::new()));
    let bounds = Bounds { samples, frames };
    (EventSamples::new(|_| true, bounds, counters), counters)
}

fn head(kind: Kind, time_ns: u64) -> EventHead {
    EventHead {
        kind,
        time_ns,
        tag: Tag::EMPTY,
        place: None,
        leaf_class: None,
        weight: Weight::default(),
        state: None,
        delayed: 0.0,
        is_cut: false,
    }
}

fn frames(count: usize) -> impl ExactSizeIterator<Item = CallFrame> {
    (0..count).map(|n| CallFrame {
        bci: n as i32,
        method: 7,
    })
}

fn popped(queues: &EventSamples, kind: Kind) -> Vec<EventSample> {
    std::iter::from_fn(|| queues.pop(kind)).collect()
}

#[test]
fn samples_come_out_as_they_went_in_and_in_order() {
    let (queues, counters) = queues(8, 100);
    for time in 1..=3 {
        queues.push(head(Kind::Alloc, time), frames(2));
    }
    let out = popped(&queues, Kind::Alloc);
    let expected = |time| EventSample {
        head: head(Kind::Alloc, time),
        object: None,
        frames: frames(2).collect(),
    };
    assert_eq!(out, [expected(1), expected(2), expected(3)]);
    assert_eq!(counters.get(Counter::AllocTaken), 3);
    assert_eq!(counters.get(Counter::AllocQueueFull), 0);
}

#[test]
fn a_full_queue_drops_the_newest_and_counts_it_under_its_kind_alone() {
    let (queues, counters) = queues(4, 100);
    for time in 0..7 {
        queues.push(head(Kind::Alloc, time), frames(1));
    }
    queues.push(head(Kind::Blocked, 9), frames(1));
    let times: Vec<_> = popped(&queues, Kind::Alloc)
        .iter()
        .map(|sample| sample.head.time_ns)
        .collect();
    assert_eq!(times, [0, 1, 2, 3]);
    assert_eq!(popped(&queues, Kind::Blocked).len(), 1);
    let counts = [
        Counter::AllocTaken,
        Counter::AllocQueueFull,
        Counter::BlockedTaken,
        Counter::BlockedQueueFull,
    ]
    .map(|counter| counters.get(counter));
    assert_eq!(counts, [4, 3, 1, 0]);
}

#[test]
fn what_samples_hold_is_bounded_too_and_is_given_back_when_they_are_taken_out() {
    let (queues, counters) = queues(100, 10);
    for _ in 0..3 {
        queues.push(head(Kind::Blocked, 1), frames(4));
        queues.push(head(Kind::Blocked, 2), frames(6));
        queues.push(head(Kind::Blocked, 3), frames(1));
        assert_eq!(popped(&queues, Kind::Blocked).len(), 2, "10 of 11 frames");
    }
    assert_eq!(counters.get(Counter::BlockedQueueFull), 3);
    // A class's name takes memory as well: 33 bytes, three frames' worth.
    let named = EventHead {
        leaf_class: Some(Arc::from("x".repeat(33))),
        ..head(Kind::Blocked, 4)
    };
    queues.push(named.clone(), frames(8));
    assert_eq!(counters.get(Counter::BlockedQueueFull), 4);
    queues.push(named, frames(7));
    assert_eq!(popped(&queues, Kind::Blocked).len(), 1);
}

#[test]
fn a_kind_that_is_off_has_no_room() {
    let counters: &'static Counters = Box::leak(Box::new(Counters::new()));
    let queues = EventSamples::new(|kind| kind == Kind::Alloc, Bounds::DEFAULT, counters);
    queues.push(head(Kind::Blocked, 1), frames(1));
    assert_eq!(queues.pop(Kind::Blocked), None);
    assert_eq!(queues.pop(Kind::Cpu), None);
    assert_eq!(counters.get(Counter::BlockedQueueFull), 1);
}

#[test]
fn threads_that_push_at_once_lose_nothing_that_is_not_counted_and_never_pass_the_bound() {
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    const FRAMES: usize = 64;
    let (queues, counters) = queues(16, FRAMES);
    let done = AtomicBool::new(false);
    let (popped, most) = std::thread::scope(|scope| {
        let drain = scope.spawn(|| {
            let (mut popped, mut most) = (0, 0);
            loop {
                let is_last = done.load(Ordering::Acquire);
                let lane = queues.lanes[Kind::Alloc].as_ref().unwrap();
                most = most.max(lane.frames.load(Ordering::Relaxed));
                match queues.pop(Kind::Alloc) {
                    Some(sample) => {
                        let whole = sample.frames.len() as u64 == sample.head.time_ns % 9;
                        assert!(whole, "{sample:?}");
                        popped += 1;
                    }
                    None if is_last => return (popped, most),
                    None => std::thread::yield_now(),
                }
            }
        });
        let pushers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let queues = &queues;
                scope.spawn(move || {
                    for n in 0..EACH {
                        let time = thread * EACH + n;
                        queues.push(head(Kind::Alloc, time), frames((time % 9) as usize));
                    }
                })
            })
            .collect();
        for pusher in pushers {
            pusher.join().unwrap();
        }
        done.store(true, Ordering::Release);
        drain.join().unwrap()
    });
    let taken = counters.get(Counter::AllocTaken);
    assert_eq!(popped, taken);
    let dropped = counters.get(Counter::AllocQueueFull);
    assert_eq!(taken + dropped, THREADS * EACH);
    assert!(taken > 0 && dropped > 0, "{taken} {dropped}");
    assert!(most <= FRAMES, "{most}");
    let lane = queues.lanes[Kind::Alloc].as_ref().unwrap();
    assert_eq!(lane.frames.load(Ordering::Relaxed), 0);
}

#[test]
fn an_object_goes_with_its_sample_and_comes_back_where_there_is_no_room() {
    let (queues, counters) = queues(2, 100);
    let push = |address| {
        let object = || Some(ObjectRef::new(address));
        queues.push_object(head(Kind::Alloc, 1), object, frames(1))
    };
    assert_eq!([push(8), push(16)], [None, None]);
    // Where the queue is seen to be full, no reference is made at all.
    let made = queues.push_object(head(Kind::Alloc, 1), || unreachable!(), frames(1));
    assert_eq!(made, None);
    let out: Vec<_> = popped(&queues, Kind::Alloc)
        .into_iter()
        .map(|sample| sample.object)
        .collect();
    assert_eq!(out, [Some(ObjectRef::new(8)), Some(ObjectRef::new(16))]);
    assert_eq!(counters.get(Counter::AllocTaken), 2);
    assert_eq!(counters.get(Counter::AllocQueueFull), 1);
    // It filled up between the look and the push.
    let raced = queues.push_object(
        head(Kind::Alloc, 1),
        || {
            for time in 0..2 {
                queues.push(head(Kind::Alloc, time), frames(1));
            }
            Some(ObjectRef::new(24))
        },
        frames(1),
    );
    assert_eq!(raced, Some(ObjectRef::new(24)));
}
