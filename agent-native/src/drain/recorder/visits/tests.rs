//! Visits pushed by hand.

use vtprof_signal::clock::now_ns;
use vtprof_signal::cookie::BlockIndex;
use vtprof_signal::sample;
use vtprof_signal::walk::Failure;

use super::super::tests::{Bench, Names, Row, bench, ended, rows, started, tag};
use super::*;

const PLACE: Cookie = Cookie {
    block: BlockIndex(3),
    generation: Generation(1),
};

struct Visited {
    bench: Bench,
    repeats: &'static Repeats,
    entered: &'static EnteredStacks,
    pauses: &'static Pauses,
}

fn visited(is_on: fn(Kind) -> bool) -> Visited {
    let repeats: &'static Repeats = Box::leak(Box::new(Repeats::new()));
    let entered: &'static EnteredStacks = Box::leak(Box::new(EnteredStacks::new()));
    let pauses: &'static Pauses = Box::leak(Box::new(Pauses::new()));
    let mut bench = bench();
    bench.recorder = bench
        .recorder
        .with_visits(Books::new(is_on, repeats, entered, pauses));
    Visited {
        bench,
        repeats,
        entered,
        pauses,
    }
}

impl Visited {
    /// A sample of 10 ms with a leaf of that method, native where `bci` says so.
    fn sample(&self, time_ns: u64, flags: Flags, tag: Tag, bci: i32, method: u64) {
        let head = Head {
            time_ns,
            block: PLACE.block,
            generation: PLACE.generation,
            periods: 10_000,
            flags: flags.and(Flags::WALL),
            failure: Failure(0),
            truncation: None,
            tag,
        };
        let frames = [CallFrame { bci, method }, CallFrame { bci: 0, method: 9 }];
        let ring = &self.bench.shared.ring;
        ring.push(sample::words(2), |w| sample::write(w, &head, &frames))
            .unwrap();
    }

    /// A repeat of 1 ms.
    fn repeat(&self, sample_ns: u64, at_ns: u64, tag: Tag) {
        let repeat = Repeat {
            place: PLACE,
            sample_ns,
            at_ns,
            micros: 1_000,
            tag,
        };
        assert!(self.repeats.push(repeat));
    }

    /// Leaf, span, state and sums of a kind.
    fn booked(&mut self, kind: Kind) -> Vec<(String, u64, Option<&'static str>, f64, f64)> {
        self.bench.recorder.drain(&Names);
        let windows = self.bench.recorder.next_windows();
        let row = |(stack, _, span, state, sum): Row| {
            let leaf = stack.split(':').next().unwrap_or_default().to_owned();
            (leaf, span, state, sum.count, sum.amount / 1e6)
        };
        rows(&windows[kind]).into_iter().map(row).collect()
    }

    fn count(&self, counter: Counter) -> u64 {
        self.bench.shared.counters.get(counter)
    }
}

const STANDS: Flags = Flags::WAITING.and(Flags::STANDS);

#[test]
fn a_repeat_is_of_the_sample_it_names_whatever_was_taken_since() {
    let mut visited = visited(|kind| kind == Kind::Wall);
    let now = now_ns();
    visited.bench.spans.push(started(5));
    visited.sample(now, STANDS, tag(5), 0, 1);
    visited.repeat(now, now + 10, tag(5));
    visited.repeat(now, now + 20, tag(5));
    // It has moved on, and stands again.
    visited.sample(now + 30, STANDS, tag(5), 0, 2);
    visited.repeat(now + 30, now + 40, tag(5));
    visited.sample(now + 50, Flags::NONE, Tag::EMPTY, 0, 3);
    let mut found = visited.booked(Kind::Wall);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        found,
        [
            ("Shop.m1".into(), 5, None, 3.0, 12.0),
            ("Shop.m2".into(), 5, None, 2.0, 11.0),
            ("Shop.m3".into(), 0, None, 1.0, 10.0),
        ]
    );
    // Its sample was lost, or it did not stand.
    visited.repeat(now + 50, now + 60, tag(5));
    visited.repeat(now + 1, now + 60, tag(5));
    assert_eq!(visited.booked(Kind::Wall), []);
    assert_eq!(visited.count(Counter::WallRepeatsLost), 2);
}

#[test]
fn repeats_go_on_in_the_next_window_until_the_span_has_ended() {
    let mut visited = visited(|_| true);
    let now = now_ns();
    visited.bench.spans.push(started(5));
    visited.sample(now, STANDS, tag(5), -3, 1);
    let blocked = |span, count, ms| [("Shop.m1".to_owned(), span, Some("other"), count, ms)];
    assert_eq!(visited.booked(Kind::Blocked), blocked(5, 1.0, 10.0));
    visited.repeat(now, now_ns(), tag(5));
    assert_eq!(visited.booked(Kind::Blocked), blocked(5, 0.0, 1.0));
    visited.bench.spans.push(ended(5, "GET /", now_ns()));
    visited.repeat(now, now_ns(), tag(5));
    assert_eq!(visited.booked(Kind::Blocked), blocked(0, 0.0, 1.0));
    let counts = [Counter::WallSpanEnded, Counter::BlockedSpanEnded];
    assert_eq!(counts.map(|counter| visited.count(counter)), [1, 1]);
}

#[test]
fn blocked_time_is_of_threads_in_a_context_that_wait_and_says_in_what() {
    let mut visited = visited(|kind| kind == Kind::Blocked);
    let now = now_ns();
    visited.bench.spans.push(started(5));
    visited.sample(now, Flags::WAITING, Tag::EMPTY, -3, 1);
    visited.sample(now, Flags::NONE, tag(5), 0, 2);
    visited.sample(now, Flags::WAITING.and(Flags::ENTERING), tag(5), 0, 3);
    visited.sample(now, Flags::OFF_CPU, tag(5), 0, 4);
    visited.sample(now, Flags::OFF_CPU, tag(5), -3, 4);
    visited.sample(now, Flags::OFF_CPU.and(Flags::AWAY), tag(5), 0, 4);
    visited.sample(now, STANDS.and(Flags::AWAY), tag(5), 0, 4);
    visited.pauses.begin(now + 5);
    visited.sample(now + 6, Flags::WAITING, tag(5), 0, 5);
    visited.sample(now + 7, STANDS, tag(5), -3, 6);
    let mut found = visited.booked(Kind::Blocked);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        found,
        [
            ("Shop.m3".into(), 5, Some("lock"), 1.0, 10.0),
            ("Shop.m5".into(), 5, Some("gc"), 1.0, 10.0),
            ("Shop.m6".into(), 5, Some("other"), 1.0, 10.0),
        ]
    );
    assert_eq!(visited.booked(Kind::Wall), [], "it is off");
}

#[test]
fn samples_that_are_remembered_share_their_stacks_and_are_forgotten_with_them() {
    let mut visited = visited(|_| true);
    for n in 0..50 {
        visited.sample(n + 1, STANDS, Tag::EMPTY, 0, n % 2);
    }
    visited.bench.recorder.drain(&Names);
    let books = visited.bench.recorder.visits.as_ref().unwrap();
    assert_eq!((books.stacks.len(), books.frames), (2, 4));
    visited.bench.recorder.next_windows();
    let books = visited.bench.recorder.visits.as_ref().unwrap();
    assert_eq!(
        (books.stacks.len(), books.frames),
        (1, 2),
        "one thread stands"
    );
}

#[test]
fn a_wait_for_a_monitor_that_could_not_be_walked_has_the_stack_its_thread_tells_and_no_other() {
    let mut visited = visited(|_| true);
    let now = now_ns();
    visited.bench.spans.push(started(5));
    let failed = |time_ns, wait| {
        let head = Head {
            time_ns,
            block: PLACE.block,
            generation: PLACE.generation,
            periods: 10_000,
            flags: STANDS
                .and(Flags::WALL)
                .and(Flags::FAILED)
                .and(Flags::ENTERING),
            failure: Failure(-4),
            truncation: None,
            tag: tag(5),
        };
        let ring = &visited.bench.shared.ring;
        let wait = [CallFrame::wait(wait)];
        ring.push(sample::words(1), |w| sample::write(w, &head, &wait))
            .unwrap();
    };
    let tell = |wait, method| {
        visited.entered.push(Entered {
            place: PLACE,
            wait,
            at_ns: now_ns(),
            frames: [CallFrame { bci: 0, method }].into(),
            is_cut: false,
        });
    };
    // One is over, one is over and nobody told, one goes on.
    failed(now, 7);
    failed(now + 20, 8);
    failed(now + 30, 9);
    tell(7, 1);
    visited.repeat(now, now + 10, tag(5));
    visited.repeat(now + 30, now + 40, tag(5));
    let row = |leaf: &str, count, ms| (leaf.to_owned(), 5, Some("lock"), count, ms);
    assert_eq!(
        visited.booked(Kind::Blocked),
        [row("Shop.m1", 1.0, 11.0), row("[failed", 2.0, 21.0)]
    );
    visited.repeat(now + 30, now + 50, tag(5));
    let of_another_wait = 8;
    visited.entered.push(Entered {
        place: PLACE,
        wait: of_another_wait,
        at_ns: now_ns(),
        frames: [CallFrame { bci: 0, method: 2 }].into(),
        is_cut: false,
    });
    visited.entered.push(Entered {
        place: PLACE,
        wait: 9,
        at_ns: now_ns(),
        frames: [CallFrame { bci: 0, method: 3 }].into(),
        is_cut: false,
    });
    assert_eq!(visited.booked(Kind::Blocked), [row("Shop.m3", 0.0, 1.0)]);
}
