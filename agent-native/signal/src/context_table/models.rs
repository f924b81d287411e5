use super::*;
use loom::thread;

fn tag(n: u64) -> Tag {
    Tag {
        trace_hi: n,
        trace_lo: n,
        span: n,
        root: n,
    }
}

/// Two threads with one home: each finds its own tag or none, never the other's, whatever the order
/// in which slots are freed and taken.
#[test]
fn loom_threads_that_share_a_home_never_see_each_others_tag() {
    loom::model(|| {
        let slots: &'static [Slot] = Box::leak(Box::new([Slot::new(), Slot::new()]));
        let work = move |id: i64| {
            let table = ContextTable::new(slots).unwrap();
            let me = JavaThreadId(id);
            assert_eq!(table.lookup(me), Lookup::Empty);
            table.set(me, &tag(id as u64)).unwrap();
            assert_eq!(table.lookup(me), Lookup::Tag(tag(id as u64)));
            // Whoever had the slot before left with a note.
            assert_eq!(table.come_back(me), None);
            table.leave(me, || id as u64);
            table.remove(me);
            assert_eq!(table.lookup(me), Lookup::Empty);
        };
        let other = thread::spawn(move || work(2));
        work(4);
        other.join().unwrap();
        let table = ContextTable::new(slots).unwrap();
        assert_eq!(table.slots[0].displaced.load(Ordering::Relaxed), 0);
        assert!(
            table
                .slots
                .iter()
                .all(|s| s.key.load(Ordering::Relaxed) == 0)
        );
    });
}

/// A thread that is away twice, each time under another tag, and a drain at the end of a window.
#[test]
fn loom_each_wait_is_charged_once_up_to_the_windows_end_or_whole_and_never_under_another_tag() {
    const END: u64 = 40;
    loom::model(|| {
        let slots: &'static [Slot] = Box::leak(Box::new([Slot::new()]));
        let drain = thread::spawn(move || {
            let mut charged = Vec::new();
            let table = ContextTable::new(slots).unwrap();
            table.still_away(0, 1, END, |tag, since| charged.push((tag, since)));
            charged
        });
        let table = ContextTable::new(slots).unwrap();
        let me = JavaThreadId(1);
        let mut since = [0; 2];
        for (n, since) in since.iter_mut().enumerate() {
            let n = n as u64 + 1;
            table.set(me, &tag(n)).unwrap();
            table.leave(me, || n * 10);
            *since = table.come_back(me).unwrap();
        }
        assert_eq!(table.come_back(me), None);
        let expected: Vec<_> = (1..)
            .zip(since)
            .filter(|(n, since)| *since != n * 10)
            .map(|(n, since)| {
                assert_eq!(since, END);
                (tag(n), n * 10)
            })
            .collect();
        assert_eq!(drain.join().unwrap(), expected);
    });
}

/// A slot that passes from one thread to another while somebody looks. Bounded: all orders take minutes.
#[test]
fn loom_whoever_glimpses_a_threads_tag_sees_one_of_its_own_or_none() {
    let mut bounded = loom::model::Builder::new();
    bounded.preemption_bound = Some(2);
    bounded.check(|| {
        let slots: &'static [Slot] = Box::leak(Box::new([Slot::new()]));
        let table = ContextTable::new(slots).unwrap();
        table.set(JavaThreadId(1), &tag(1)).unwrap();
        let owners = thread::spawn(move || {
            let table = ContextTable::new(slots).unwrap();
            table.remove(JavaThreadId(1));
            table.set(JavaThreadId(2), &tag(3)).unwrap();
        });
        if let Glimpse(Some(seen)) = table.glimpse(JavaThreadId(1)) {
            assert_eq!(seen.tag, tag(1));
        }
        owners.join().unwrap();
    });
}
