//! The record table against a plain map, and at its bounds.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn tag(n: u64) -> Tag {
    Tag {
        trace_hi: n ^ 0xAA,
        trace_lo: n ^ 0xBB,
        span: n,
        root: n ^ 0xCC,
    }
}

fn slots(n: usize) -> Vec<Slot> {
    (0..n).map(|_| Slot::new()).collect()
}

#[test]
fn a_table_whose_size_is_no_power_of_two_is_refused() {
    assert!(ContextTable::new(&slots(3)).is_none());
    assert!(ContextTable::new(&slots(0)).is_none());
    assert!(ContextTable::new(&slots(8)).is_some());
}

#[test]
fn consecutive_threads_fill_a_table_to_its_last_slot() {
    let slots = slots(64);
    let table = ContextTable::new(&slots).unwrap();
    for id in 1000..1064 {
        assert_eq!(table.set(JavaThreadId(id), &tag(id as u64)), Ok(()));
    }
    assert_eq!(table.set(JavaThreadId(2000), &tag(9)), Err(TableFull));
    assert_eq!(table.lookup(JavaThreadId(2000)), Lookup::Empty);
    for id in 1000..1064 {
        assert_eq!(table.lookup(JavaThreadId(id)), Lookup::Tag(tag(id as u64)));
    }
    table.remove(JavaThreadId(1010));
    assert_eq!(
        table.set(JavaThreadId(1010 + 64), &tag(5)),
        Ok(()),
        "a freed slot is taken by another key of the same home"
    );
    assert_eq!(table.lookup(JavaThreadId(1010)), Lookup::Empty);
}

#[test]
fn keys_of_one_home_reach_as_far_as_the_window_and_no_further() {
    let slots = slots(256);
    let table = ContextTable::new(&slots).unwrap();
    let key = |i: usize| JavaThreadId(7 + 256 * i as i64);
    for i in 0..WINDOW {
        assert_eq!(table.set(key(i), &tag(i as u64 + 1)), Ok(()));
    }
    assert_eq!(table.set(key(WINDOW), &tag(99)), Err(TableFull));
    for i in 0..WINDOW {
        assert_eq!(table.lookup(key(i)), Lookup::Tag(tag(i as u64 + 1)));
    }
}

#[test]
fn the_spans_of_a_range_are_those_of_its_records() {
    let slots = slots(64);
    let table = ContextTable::new(&slots).unwrap();
    for id in [1, 5, 40] {
        table.set(JavaThreadId(id), &tag(id as u64 * 10)).unwrap();
    }
    table.remove(JavaThreadId(5));
    assert_eq!(table.spans_in(0, 32).collect::<Vec<_>>(), [10]);
    assert_eq!(table.spans_in(32, 32).collect::<Vec<_>>(), [400]);
    assert_eq!(table.spans_in(0, usize::MAX).count(), 2);
    assert_eq!(table.spans_in(64, 10).count(), 0);
}

#[test]
fn thread_zero_never_has_a_tag() {
    let slots = slots(4);
    let table = ContextTable::new(&slots).unwrap();
    assert_eq!(table.set(JavaThreadId::NONE, &tag(1)), Err(TableFull));
    assert_eq!(table.lookup(JavaThreadId::NONE), Lookup::Empty);
}

#[test]
fn a_look_up_in_the_middle_of_a_rewrite_is_busy_and_not_half_a_tag() {
    let slots = slots(4);
    let table = ContextTable::new(&slots).unwrap();
    let me = JavaThreadId(1);
    table.set(me, &tag(1)).unwrap();
    let slot = &slots[1];
    slot.record.begin();
    slot.record.put(&tag(2));
    assert_eq!(table.lookup(me), Lookup::Busy);
}

#[test]
fn a_tag_is_sure_between_two_glimpses_only_where_its_record_did_not_change() {
    let slots = slots(8);
    let table = ContextTable::new(&slots).unwrap();
    let (one, other) = (JavaThreadId(3), JavaThreadId(3 + 8));
    let none = table.glimpse(one);
    assert_eq!(none.tag_until(table.glimpse(one)), Some(Tag::EMPTY));
    for id in [one, other] {
        table.set(id, &tag(id.0 as u64)).unwrap();
        let before = table.glimpse(id);
        assert_eq!(before.tag_until(table.glimpse(id)), Some(tag(id.0 as u64)));
        assert_eq!(none.tag_until(before), None);
        // The same tag again is another one in between, as far as anybody can tell.
        for change in [5, id.0 as u64] {
            table.set(id, &tag(change)).unwrap();
            assert_eq!(before.tag_until(table.glimpse(id)), None);
        }
        let before = table.glimpse(id);
        table.remove(id);
        assert_eq!(before.tag_until(table.glimpse(id)), None);
        table.set(id, &tag(id.0 as u64)).unwrap();
        assert_eq!(before.tag_until(table.glimpse(id)), None);
    }
    assert_eq!(table.glimpse(JavaThreadId::NONE), Glimpse(None));
}

#[test]
fn what_two_glimpses_from_another_thread_agree_on_was_the_tag_in_between() {
    use std::sync::atomic::{AtomicBool, AtomicU64 as Word, Ordering::SeqCst};

    let slots = slots(8);
    let table = ContextTable::new(&slots).unwrap();
    let thread = JavaThreadId(5);
    let (written, over) = (Word::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !over.load(SeqCst) {
                n += 1;
                written.store(n, SeqCst);
                // Now and then it has none.
                let next = if n % 5 == 0 { Tag::EMPTY } else { tag(n) };
                table.set(thread, &next).unwrap();
                for _ in 0..n % 64 {
                    std::hint::spin_loop();
                }
            }
        });
        let mut sure = 0;
        while sure < 10_000 {
            let before = table.glimpse(thread);
            let n = written.load(SeqCst);
            let Some(found) = before.tag_until(table.glimpse(thread)) else {
                continue;
            };
            if found.is_empty() {
                continue;
            }
            sure += 1;
            // The one that was just told may not be there yet.
            assert!(
                found.span == n || found.span + 1 == n,
                "{} at {n}",
                found.span
            );
            assert_eq!(found, tag(found.span), "of one piece");
        }
        over.store(true, SeqCst);
    });
}

#[test]
fn a_note_of_leaving_is_read_once_and_only_where_there_is_a_record() {
    let slots = slots(4);
    let table = ContextTable::new(&slots).unwrap();
    let (me, other) = (JavaThreadId(1), JavaThreadId(5));
    table.leave(me, || unreachable!("no record, no clock"));
    assert_eq!(table.come_back(me), None);
    table.set(me, &tag(1)).unwrap();
    assert_eq!(table.come_back(me), None);
    assert!(!table.is_away(me) && !table.is_away(other));
    table.leave(me, || 10);
    table.leave(me, || 20);
    assert!(table.is_away(me));
    table.set(me, &tag(2)).unwrap();
    assert_eq!(table.come_back(me), Some(20), "the last one counts");
    assert!(!table.is_away(me));
    assert_eq!(table.come_back(me), None);
    table.leave(me, || 30);
    assert_eq!(table.lookup(me), Lookup::Tag(tag(2)), "the tag stays");
    table.remove(me);
    table.set(other, &tag(3)).unwrap();
    assert_eq!(
        table.come_back(other),
        None,
        "the slot's former owner had left"
    );
}

#[test]
fn who_is_away_at_the_end_of_a_window_is_charged_until_then_and_from_then_on() {
    let slots = slots(8);
    let table = ContextTable::new(&slots).unwrap();
    let (away, later, here) = (JavaThreadId(1), JavaThreadId(2), JavaThreadId(3));
    for thread in [away, later, here] {
        table.set(thread, &tag(thread.0 as u64)).unwrap();
    }
    table.leave(away, || 10);
    table.leave(later, || 100);
    let charged = |first, count, until| {
        let mut charged = Vec::new();
        table.still_away(first, count, until, |tag, since| charged.push((tag, since)));
        charged
    };
    assert_eq!(charged(2, usize::MAX, 50), [], "it lies before those");
    assert_eq!(charged(0, 2, 50), [(tag(1), 10)]);
    assert_eq!(charged(0, 8, 50), [], "once");
    assert_eq!(charged(0, 8, 200), [(tag(1), 50), (tag(2), 100)]);
    assert_eq!(table.come_back(away), Some(200));
    assert_eq!(table.come_back(here), None);
}

#[test]
fn a_glimpse_sees_the_tag_that_a_look_up_sees() {
    let slots = slots(4);
    let table = ContextTable::new(&slots).unwrap();
    let me = JavaThreadId(1);
    let glimpsed = || table.glimpse(me).0.map(|seen| seen.tag);
    assert_eq!((glimpsed(), table.lookup(me)), (None, Lookup::Empty));
    table.set(me, &tag(1)).unwrap();
    assert_eq!(
        (glimpsed(), table.lookup(me)),
        (Some(tag(1)), Lookup::Tag(tag(1)))
    );
    slots[1].key.store(5, Ordering::Relaxed);
    assert_eq!(slots[1].seen(me).1, Lookup::Empty, "another's by now");
    slots[1].key.store(1, Ordering::Relaxed);
    slots[1].record.begin();
    assert_eq!((glimpsed(), table.lookup(me)), (None, Lookup::Busy));
}

#[derive(Clone, Debug)]
enum Step {
    Set(i64, u64),
    Remove(i64),
    Leave(i64, u64),
    ComeBack(i64),
}

fn step() -> impl Strategy<Value = Step> {
    // Few distinct homes, so that collisions are the rule.
    let id = prop_oneof![1i64..40, (1i64..6).prop_map(|n| n * 64 + 3)];
    prop_oneof![
        (id.clone(), 1u64..1_000_000).prop_map(|(id, n)| Step::Set(id, n)),
        id.clone().prop_map(Step::Remove),
        (id.clone(), 1u64..1_000_000).prop_map(|(id, n)| Step::Leave(id, n)),
        id.prop_map(Step::ComeBack),
    ]
}

proptest! {
    #[test]
    fn the_table_agrees_with_a_map_and_counts_what_it_refuses(steps in prop::collection::vec(step(), 0..400)) {
        let slots = slots(64);
        let table = ContextTable::new(&slots).unwrap();
        let mut model = HashMap::new();
        let mut left = HashMap::new();
        for step in steps {
            match step {
                Step::Set(id, n) => match table.set(JavaThreadId(id), &tag(n)) {
                    Ok(()) => { model.insert(id, n); }
                    Err(TableFull) => prop_assert!(!model.contains_key(&id), "a thread with a record is never refused"),
                },
                Step::Remove(id) => { table.remove(JavaThreadId(id)); model.remove(&id); left.remove(&id); }
                Step::Leave(id, n) => {
                    table.leave(JavaThreadId(id), || n);
                    if model.contains_key(&id) { left.insert(id, n); }
                }
                Step::ComeBack(id) => prop_assert_eq!(table.come_back(JavaThreadId(id)), left.remove(&id)),
            }
            for id in (1..40).chain((1..6).map(|n| n * 64 + 3)) {
                let expected = model.get(&id).map_or(Lookup::Empty, |n| Lookup::Tag(tag(*n)));
                prop_assert_eq!(table.lookup(JavaThreadId(id)), expected);
            }
        }
        let displaced: u32 = slots.iter().map(|s| s.displaced.load(Ordering::Relaxed)).sum();
        let held = slots.iter().filter(|s| s.key.load(Ordering::Relaxed) != 0).count();
        prop_assert_eq!(held, model.len());
        prop_assert!(displaced as usize <= model.len());
    }
}

#[test]
fn the_record_that_others_may_read_is_that_of_the_slot_until_it_is_freed() {
    let slots = slots(8);
    let table = ContextTable::new(&slots).unwrap();
    let (one, other) = (JavaThreadId(3), JavaThreadId(3 + 8));
    assert!(table.record(one).is_none());
    for id in [one, other] {
        let set = table.set_with(id, &tag(id.0 as u64), TraceFlags::SAMPLED);
        let record = set.unwrap().expect("a record");
        assert!(core::ptr::eq(record, table.record(id).unwrap()));
        assert_eq!(record.ids().2, id.0 as u64);
    }
    let none = table.set_with(one, &Tag::EMPTY, TraceFlags::NONE);
    assert!(none.unwrap().is_none());
    assert!(table.record(one).is_none());
    assert_eq!(table.record(other).unwrap().ids().2, other.0 as u64);
}

#[test]
fn what_was_claimed_of_a_span_is_withdrawn_and_stays_the_tag_of_those_that_have_it() {
    let slots = slots(64);
    let table = ContextTable::new(&slots).unwrap();
    for id in 1..=4 {
        table
            .set(JavaThreadId(id), &tag(id as u64 % 2 + 1))
            .unwrap();
    }
    table.remove(JavaThreadId(4));
    let claimed = |first, count| -> Vec<u64> {
        let claims = table.claims(first, count);
        claims.map(|(_, claim)| claim.span).collect()
    };
    assert_eq!(claimed(0, 64), [2, 1, 2]);
    let of_two = table.claims(0, 64).filter(|(_, claim)| claim.span == 2);
    assert!(of_two.fold(true, |all, (record, claim)| all & record.withdraw(&claim)));
    assert_eq!(claimed(0, 2), [0; 0], "slot 1 is withdrawn");
    assert_eq!(claimed(0, usize::MAX), [1]);
    assert_eq!(table.lookup(JavaThreadId(3)), Lookup::Tag(tag(2)));
}
