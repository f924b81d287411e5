//! A recorder without a JVM: samples are pushed by hand.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus};
use vtprof_signal::blocks::Blocks;
use vtprof_signal::context_table::{ContextTable, Slot};
use vtprof_signal::cookie::Cookie;
use vtprof_signal::frozen::{Frozen, Marks};
use vtprof_signal::ring::Ring;
use vtprof_signal::sample::{Flags, Head};
use vtprof_signal::scratch::Scratch;
use vtprof_signal::tag::JavaThreadId;
use vtprof_signal::walk::{CallFrame, CallTrace, Failure};

use super::*;
use crate::aggregate::window::STORE_FULL;
use crate::events::object::ObjectRef;
use crate::events::queue;
use crate::events::sample::EventHead;
use crate::publish::threads::Withdrawals;
use crate::symbolize::symbolizer::{Function, MethodDescription};
use crate::threads::registry::JavaIdentity;
use crate::threads::timer::{OsThreadId, Pace};

/// Too large for a test's stack; no walk is made.
static SCRATCH: Scratch = Scratch::new();

pub struct Names;

impl MethodSource for Names {
    fn describe(&self, method: u64) -> Option<MethodDescription> {
        (method < 100).then(|| MethodDescription {
            class_signature: "LShop;".into(),
            name: format!("m{method}"),
            file: "Shop.java".into(),
            lines: vec![(0, 10), (5, 11)],
        })
    }

    fn is_changing(&self, _: u64) -> bool {
        false
    }
}

impl Objects for Names {
    fn is_gone(&self, object: &ObjectRef) -> bool {
        object.address() == GONE
    }

    fn let_go(&self, _: ObjectRef) {}
}

/// Address of an object that nobody uses.
const GONE: usize = 8;

unsafe extern "C" fn no_walk(_: *mut CallTrace, _: i32, _: *mut c_void) {}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub struct Bench {
    pub shared: &'static Shared,
    registry: &'static Registry,
    pub spans: &'static SpanEvents,
    samples: &'static EventSamples,
    pub recorder: Recorder,
}

pub fn bench() -> Bench {
    let counters: &'static Counters = leaked(Counters::new());
    let blocks: &'static Blocks = leaked(Blocks::new());
    let slots: Vec<_> = (0..64).map(|_| Slot::new()).collect();
    let words: Vec<_> = (0..1 << 16).map(|_| AtomicU64::new(0)).collect();
    let shared = leaked(Shared::new(
        blocks,
        ContextTable::new(slots.leak()).unwrap(),
        Ring::new(words.leak()).unwrap(),
        &SCRATCH,
        counters,
        no_walk,
        0,
        Frozen::new(Marks::default(), None),
    ));
    // An hour: no signal comes while a test runs.
    let registry = leaked(Registry::new(
        blocks,
        counters,
        libc::SIGRTMIN(),
        Pace::Cpu,
        Some(Duration::from_secs(3600)),
        None,
    ));
    let bounds = queue::Bounds {
        samples: 3 * BATCH,
        frames: 1 << 20,
    };
    let spans = leaked(SpanEvents::new(counters));
    let samples = leaked(EventSamples::new(|_| true, bounds, counters));
    let redefinitions = leaked(Redefinitions::default());
    Bench {
        shared,
        registry,
        spans,
        samples,
        recorder: Recorder::new(shared, registry, spans, samples, redefinitions, Some(100)),
    }
}

impl Bench {
    pub fn cpu(&self, tag: Tag, periods: u32) {
        let head = Head {
            time_ns: now_ns(),
            block: BlockIndex(0),
            generation: Generation(0),
            periods,
            flags: Flags::NONE,
            failure: Failure(0),
            truncation: None,
            tag,
        };
        let frames = [CallFrame { bci: 0, method: 1 }];
        self.shared
            .ring
            .push(sample::words(1), |w| sample::write(w, &head, &frames))
            .unwrap();
    }

    fn event(&self, head: EventHead) {
        let frames = [(6, 2), (-1, 3)];
        let frames = frames.into_iter();
        self.samples
            .push(head, frames.map(|(bci, method)| CallFrame { bci, method }));
    }

    fn counts<const N: usize>(&self, counters: [Counter; N]) -> [u64; N] {
        counters.map(|counter| self.shared.counters.get(counter))
    }
}

fn head(kind: Kind, tag: Tag) -> EventHead {
    EventHead {
        kind,
        time_ns: now_ns(),
        tag,
        place: None,
        leaf_class: None,
        weight: Weight {
            count: 1.5,
            amount: 1000.25,
        },
        state: None,
        delayed: 0.0,
        is_cut: false,
    }
}

/// Of a local root.
pub fn tag(span: u64) -> Tag {
    Tag {
        trace_hi: 1,
        trace_lo: 1,
        span,
        root: span,
    }
}

/// A local root was started.
pub fn started(span: u64) -> SpanEvent {
    SpanEvent::Started {
        span,
        root: span,
        root_name: None,
    }
}

/// A local root ended.
pub fn ended(span: u64, name: &str, at_ns: u64) -> SpanEvent {
    let record = SpanRecord {
        trace: TraceId::from_halves(1, 1),
        span: SpanId(span),
        parent: None,
        local_root: SpanId(span),
        name: name.into(),
        kind: SpanKind::Server,
        start_unix_nanos: 1,
        end_unix_nanos: 2,
        status: SpanStatus::Unset,
    };
    SpanEvent::Ended {
        at_ns,
        record: Box::new(record),
    }
}

/// Stack, thread, span and state of each sum, with the sum.
pub type Row = (String, String, u64, Option<&'static str>, Weight);

pub fn rows(window: &Window) -> Vec<Row> {
    let full = Arc::new(Function {
        name: STORE_FULL.into(),
        file: String::new(),
    });
    let mut rows = Vec::new();
    window.for_each(&full, |entry| {
        let frames = entry.stack.iter();
        let names: Vec<_> = frames
            .map(|l| format!("{}:{}", l.function.name, l.line))
            .collect();
        rows.push((
            names.join(" < "),
            entry.thread.to_owned(),
            entry.tag.span,
            entry.state,
            entry.sum,
        ));
    });
    rows
}

/// Withdraws what is shown of spans that are not open, after `meanwhile`; how many records were.
fn looked(bench: &mut Bench, meanwhile: impl FnOnce(&mut Bench)) -> u64 {
    let mut withdrawals = Withdrawals::default();
    withdrawals.gather(&bench.shared.contexts);
    meanwhile(bench);
    bench.recorder.drain(&Names);
    withdrawals.judge(|span| bench.recorder.is_open(span, now_ns()))
}

/// Spans that are shown to others.
fn shown(bench: &Bench) -> Vec<u64> {
    let claims = bench.shared.contexts.claims(0, usize::MAX);
    claims.map(|(_, claim)| claim.span).collect()
}

#[test]
fn what_is_shown_of_an_open_span_stays_and_of_an_ended_one_goes_though_its_end_is_long_forgotten() {
    let mut bench = bench();
    for span in [5, 6] {
        bench.spans.push(started(span));
        let thread = JavaThreadId(span.cast_signed());
        bench.shared.contexts.set(thread, &tag(span)).unwrap();
    }
    assert_eq!(looked(&mut bench, |_| {}), 0);
    // So long ago that the drain has forgotten it when it comes to look.
    bench.spans.push(ended(5, "GET", 1));
    bench.recorder.drain(&Names);
    assert_eq!(bench.recorder.book.verdict(5, now_ns()), Verdict::Unknown);
    assert_eq!(looked(&mut bench, |_| {}), 1);
    assert_eq!(shown(&bench), [6]);
}

#[test]
fn what_is_shown_of_a_span_goes_when_its_start_was_dropped_its_end_may_have_been_or_it_is_lost() {
    let mut bench = bench();
    let show = |bench: &Bench, span: u64| {
        let thread = JavaThreadId(span.cast_signed());
        bench.shared.contexts.set(thread, &tag(span)).unwrap();
    };
    for span in 1..=queue_of_reports() {
        bench.spans.push(started(span + 100));
    }
    bench.spans.push(started(5));
    show(&bench, 5);
    assert_eq!(bench.counts([Counter::SpanStartsDropped]), [1]);
    assert_eq!(looked(&mut bench, |_| {}), 1, "its start was dropped");

    bench.spans.push(started(6));
    show(&bench, 6);
    assert_eq!(looked(&mut bench, |_| {}), 0);
    for span in 1..=queue_of_reports() {
        bench.spans.push(started(span + 100));
    }
    bench.spans.push(ended(6, "GET", now_ns()));
    assert_eq!(bench.counts([Counter::SpanEndsDropped]), [1]);
    assert_eq!(looked(&mut bench, |_| {}), 1, "its end was dropped");

    bench.spans.push(started(7));
    show(&bench, 7);
    assert_eq!(looked(&mut bench, |_| {}), 0);
    bench.spans.push(SpanEvent::Lost { span: 7 });
    assert_eq!(looked(&mut bench, |_| {}), 1, "it is lost");
    assert_eq!(shown(&bench), [0; 0]);
}

#[test]
fn a_span_whose_start_waits_behind_a_full_round_of_reports_when_its_end_is_dropped_is_open_no_more()
{
    let mut bench = bench();
    // As much as the drain reads at first; then a place was free, and then none.
    const FIRST: usize = 10;
    for span in 1..=FIRST as u64 {
        bench.spans.push(started(span + 100));
    }
    bench.spans.push(started(5));
    for span in FIRST as u64 + 1..queue_of_reports() {
        bench.spans.push(started(span + 100));
    }
    bench.spans.push(ended(5, "GET", now_ns()));
    assert_eq!(bench.counts([Counter::SpanEndsDropped]), [1]);
    bench.recorder.read_at_most(FIRST);
    bench.recorder.forget_where_ends_were_dropped();
    bench.recorder.drain(&Names);
    assert_eq!(bench.recorder.book.verdict(5, now_ns()), Verdict::Unknown);
}

#[test]
fn what_a_thread_shows_while_the_drain_reads_reports_is_left_to_its_next_look() {
    let mut bench = bench();
    bench.spans.push(started(5));
    let me = JavaThreadId(1);
    bench.shared.contexts.set(me, &tag(5)).unwrap();
    let withdrawn = looked(&mut bench, |bench| {
        bench.spans.push(ended(5, "GET", now_ns()));
        // Not reported, as far as the drain can have seen.
        bench.shared.contexts.set(me, &tag(6)).unwrap();
    });
    assert_eq!(withdrawn, 0);
    assert_eq!(shown(&bench), [6]);
    assert_eq!(looked(&mut bench, |_| {}), 1);
}

/// How many reports the queue holds.
fn queue_of_reports() -> u64 {
    crate::spans::event::CAPACITY as u64
}

#[test]
fn a_wait_is_one_event_and_its_time_what_was_waited_for_and_what_was_waited_for_a_carrier() {
    let mut bench = bench();
    bench.spans.push(started(5));
    for delayed in [0.0, 0.25, 1.0] {
        bench.event(EventHead {
            state: Some("queue"),
            delayed,
            weight: Weight {
                count: 2.0,
                amount: 100.0,
            },
            ..head(Kind::Blocked, tag(5))
        });
    }
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    let sums: Vec<_> = rows(&windows[Kind::Blocked])
        .into_iter()
        .map(|(_, _, span, state, sum)| (span, state, sum.count, sum.amount))
        .collect();
    assert_eq!(
        sums,
        [
            (5, Some("queue"), 6.0, 175.0),
            (5, Some("runnable"), 0.0, 125.0)
        ]
    );
}

#[test]
fn each_kind_is_summed_for_itself_under_the_label_of_its_thread() {
    let mut bench = bench();
    let identity = JavaIdentity {
        jni_env: 8,
        java_thread: 16,
        thread: JavaThreadId(1),
    };
    let me = OsThreadId::current();
    let seat = bench.registry.add_java(me, identity, "pool-7").unwrap();
    bench.spans.push(started(5));
    bench.cpu(tag(5), 4);
    for state in ["lock", "sleep", "lock"] {
        bench.event(EventHead {
            state: Some(state),
            place: Some(seat.cookie),
            ..head(Kind::Blocked, tag(5))
        });
    }
    bench.event(EventHead {
        leaf_class: Some(Arc::from("[B")),
        is_cut: true,
        ..head(Kind::Alloc, tag(5))
    });
    bench.recorder.drain(&Names);
    assert!(!bench.recorder.is_empty());
    let windows = bench.recorder.next_windows();
    assert!(bench.recorder.is_empty());

    let weight = |count, amount| Weight { count, amount };
    assert_eq!(
        rows(&windows[Kind::Cpu]),
        [(
            "Shop.m1:10".into(),
            "?".into(),
            5,
            None,
            Weight::of_periods(4)
        )]
    );
    let stack = "Shop.m2:11 < Shop.m3:0";
    assert_eq!(
        rows(&windows[Kind::Alloc]),
        [(
            format!("byte[]:0 < {stack} < [truncated: depth]:0"),
            "?".into(),
            5,
            None,
            weight(1.5, 1000.25)
        )]
    );
    let blocked = |state, sum| (stack.into(), "pool-N".into(), 5, Some(state), sum);
    assert_eq!(
        rows(&windows[Kind::Blocked]),
        [
            blocked("lock", weight(3.0, 2000.5)),
            blocked("sleep", weight(1.5, 1000.25))
        ]
    );
    let counts = bench.counts([
        Counter::AllocTaken,
        Counter::AllocCut,
        Counter::BlockedTaken,
        Counter::BlockedCut,
        Counter::TruncatedDepth,
    ]);
    assert_eq!(counts, [1, 1, 3, 0, 0]);
}

#[test]
fn a_sample_of_an_event_carries_its_tag_only_if_its_span_was_open_then() {
    let mut bench = bench();
    bench.spans.push(started(5));
    bench.event(head(Kind::Alloc, tag(5)));
    let before = now_ns();
    bench.spans.push(ended(5, "GET /", before));
    for kind in [Kind::Alloc, Kind::Blocked] {
        bench.event(EventHead {
            time_ns: before + 1,
            ..head(kind, tag(5))
        });
        bench.event(head(kind, tag(6)));
        bench.event(head(kind, Tag::EMPTY));
    }
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    let spans = |kind: Kind| -> Vec<_> {
        rows(&windows[kind])
            .iter()
            .map(|row| (row.2, row.4.count))
            .collect()
    };
    assert_eq!(spans(Kind::Alloc), [(0, 4.5), (5, 1.5)]);
    assert_eq!(spans(Kind::Blocked), [(0, 4.5)]);
    let counts = bench.counts([
        Counter::AllocSpanEnded,
        Counter::AllocSpanUnknown,
        Counter::BlockedSpanEnded,
        Counter::BlockedSpanUnknown,
        Counter::TagEnded,
        Counter::TagUnknown,
    ]);
    assert_eq!(counts, [1, 1, 1, 1, 0, 0]);
}

#[test]
fn a_wait_that_goes_on_carries_its_tag_only_if_its_span_is_open_when_the_window_ends() {
    let mut bench = bench();
    bench.spans.push(started(5));
    bench.spans.push(started(6));
    bench.recorder.drain(&Names);
    // Ended by another thread, and not read yet.
    bench.spans.push(ended(6, "GET /", now_ns()));
    let until_ns = now_ns();
    let weight = |amount| Weight { count: 1.0, amount };
    let waits = vec![(tag(5), weight(7e6)), (tag(6), weight(9e6))];
    bench.recorder.add_open_waits(waits, until_ns);
    let windows = bench.recorder.next_windows();
    let row = |span, amount| {
        let (stack, other) = ("[still blocked]:0".into(), Some("other"));
        (stack, "?".into(), span, other, weight(amount))
    };
    assert_eq!(rows(&windows[Kind::Blocked]), [row(0, 9e6), row(5, 7e6)]);
    let counts = bench.counts([Counter::BlockedTaken, Counter::BlockedSpanEnded]);
    assert_eq!(counts, [2, 1]);
}

#[test]
fn a_method_that_jvmti_tells_nothing_of_is_a_named_frame() {
    let mut bench = bench();
    let frames = [200, 0].map(|method| CallFrame { bci: 0, method });
    bench
        .samples
        .push(head(Kind::Alloc, Tag::EMPTY), frames.into_iter());
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    assert_eq!(
        rows(&windows[Kind::Alloc])[0].0,
        "[unloaded method]:0 < [unknown method]:0"
    );
    assert_eq!(bench.counts([Counter::NamesUnresolved]), [2]);
}

#[test]
fn one_drain_takes_out_all_that_was_there() {
    let mut bench = bench();
    let all = 3 * BATCH;
    for _ in 0..all + 1 {
        bench.event(head(Kind::Alloc, Tag::EMPTY));
        bench.event(head(Kind::Blocked, Tag::EMPTY));
    }
    for _ in 0..10 {
        bench.cpu(Tag::EMPTY, 1);
    }
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    for (kind, window) in windows.iter() {
        let expected = match kind {
            Kind::Cpu => 10,
            Kind::Alloc | Kind::Blocked => all as u64,
            _ => 0,
        };
        assert_eq!(window.samples(), expected, "{kind:?}");
    }
    assert_eq!(
        bench.counts([Counter::AllocQueueFull, Counter::BlockedQueueFull]),
        [1, 1]
    );
}

#[test]
fn a_window_that_is_full_keeps_what_a_sample_stands_for_and_counts_it_under_its_kind() {
    let mut bench = bench();
    bench.recorder.windows[Kind::Alloc] = Window::new(Bounds {
        entries: 1,
        ..Bounds::of(Kind::Alloc)
    });
    for (class, times) in [("LA;", 2), ("LB;", 3)] {
        for _ in 0..times {
            bench.event(EventHead {
                leaf_class: Some(Arc::from(class)),
                ..head(Kind::Alloc, Tag::EMPTY)
            });
        }
    }
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    assert_eq!(windows[Kind::Alloc].whole().count, 7.5);
    assert_eq!(rows(&windows[Kind::Alloc])[1].0, "[stack store full]:0");
    assert_eq!(
        bench.counts([Counter::AllocStoreFull, Counter::DroppedStoreFull]),
        [3, 0]
    );
}

#[test]
fn a_sample_of_another_life_of_its_block_has_no_label() {
    let mut bench = bench();
    bench.event(EventHead {
        place: Some(Cookie {
            block: BlockIndex(3),
            generation: Generation(9),
        }),
        ..head(Kind::Alloc, Tag::EMPTY)
    });
    bench.recorder.drain(&Names);
    let windows = bench.recorder.next_windows();
    assert_eq!(rows(&windows[Kind::Alloc])[0].1, "?");
}

#[test]
fn a_window_says_by_how_much_its_oldest_sample_came_late_and_the_next_begins_anew() {
    let mut bench = bench();
    let before = now_ns();
    bench.cpu(Tag::EMPTY, 1);
    bench.recorder.drain(&Names);
    let late = bench.recorder.late_ns(before + 10_000_000_000);
    assert!((1..=10_000_000_000).contains(&late), "{late}");
    assert_eq!(bench.recorder.late_ns(before), 0);
    bench.recorder.next_windows();
    assert_eq!(bench.recorder.late_ns(before + 10_000_000_000), 0);
}

/// References that were given back.
#[derive(Default)]
struct Returned(RefCell<Vec<usize>>);

impl Objects for Returned {
    fn is_gone(&self, _: &ObjectRef) -> bool {
        false
    }

    fn let_go(&self, object: ObjectRef) {
        self.0.borrow_mut().push(object.address());
    }
}

#[test]
fn where_the_agents_thread_fails_each_reference_is_given_back_from_wherever_it_was() {
    let mut bench = bench();
    let push = |address| {
        let object = || Some(ObjectRef::new(address));
        let frames = std::iter::empty();
        let refused = bench
            .samples
            .push_object(head(Kind::Alloc, tag(5)), object, frames);
        assert_eq!(refused, None);
    };
    push(16);
    bench.recorder.drain(&Names);
    push(24);
    push(32);
    let returned = Returned::default();
    bench.recorder.let_all_go(&returned);
    returned.0.borrow_mut().sort_unstable();
    assert_eq!(*returned.0.borrow(), [16, 24, 32]);
    bench.recorder.let_all_go(&returned);
    assert_eq!(returned.0.borrow().len(), 3, "once");
}

#[test]
fn the_object_of_an_allocation_is_followed_under_its_checked_tag_and_in_use_until_it_is_gone() {
    let mut bench = bench();
    bench.spans.push(started(5));
    let followed = |address, tag| {
        let head = EventHead {
            leaf_class: Some(Arc::from("[B")),
            ..head(Kind::Alloc, tag)
        };
        let frames = [CallFrame { bci: 6, method: 2 }];
        let object = || Some(ObjectRef::new(address));
        let refused = bench.samples.push_object(head, object, frames.into_iter());
        assert_eq!(refused, None);
    };
    followed(16, tag(5));
    followed(24, tag(6));
    followed(GONE, tag(5));
    bench.recorder.drain(&Names);
    let in_use = |tag| {
        let weight = Weight {
            count: 1.5,
            amount: 1000.25,
        };
        (
            "byte[]:0 < Shop.m2:11".into(),
            "?".into(),
            tag,
            None,
            weight,
        )
    };
    for allocations in [3, 0] {
        bench.recorder.settle(&Names);
        let windows = bench.recorder.next_windows();
        assert_eq!(windows[Kind::Alloc].samples(), allocations);
        // The span of one is not known.
        assert_eq!(rows(&windows[Kind::Live]), [in_use(0), in_use(5)]);
    }
    let counts = bench.counts([
        Counter::LiveTaken,
        Counter::LiveCollected,
        Counter::LiveSpanUnknown,
        Counter::AllocSpanUnknown,
        Counter::LiveSpanEnded,
    ]);
    assert_eq!(counts, [3, 1, 1, 1, 0]);
}
