//! Visits of real threads of the test process, by real signals, with a walker of the test's own in place of the JVM's.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use vtprof_profile::kind::Kind;
use vtprof_signal::blocks::Blocks;
use vtprof_signal::context_table::{ContextTable, Slot};
use vtprof_signal::counters::COUNTERS;
use vtprof_signal::frozen::{Frozen, Marks};
use vtprof_signal::ring::Ring;
use vtprof_signal::sample::{self, Flags, Head};
use vtprof_signal::scratch::Scratch;
use vtprof_signal::shared::{self, Source};
use vtprof_signal::tag::JavaThreadId;
use vtprof_signal::walk::{CallFrame, CallTrace};

use super::*;
use crate::options::{Options, WallScope};
use crate::sampling::signal;
use crate::threads::patience::comes_true;
use crate::threads::registry::JavaIdentity;
use crate::threads::timer::Pace;

static SCRATCH: Scratch = Scratch::new();

unsafe extern "C" fn one_frame(trace: *mut CallTrace, _: i32, _: *mut c_void) {
    // SAFETY: the handler passes a trace with room for frames.
    unsafe {
        *(*trace).frames = CallFrame { bci: -3, method: 7 };
        (*trace).frames_found = 1;
    }
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn tag(span: u64) -> Tag {
    Tag {
        trace_hi: 1,
        trace_lo: 1,
        span,
        root: span,
    }
}

/// What the handler takes for a `JavaThread`: where the stack ends, and a monitor.
#[repr(C)]
struct JavaThread {
    nothing: u64,
    stack_base: u64,
    monitor: AtomicU64,
}

fn stack_base() -> u64 {
    // SAFETY: plain C structs and calls on the calling thread; what was initialised is destroyed.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(
            libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes),
            0
        );
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        low as u64 + size as u64
    }
}

struct Bench {
    shared: &'static Shared,
    registry: &'static Registry,
}

/// One for the process, as the handler knows one alone.
fn bench() -> Bench {
    let slots: Vec<_> = (0..64).map(|_| Slot::new()).collect();
    let words: Vec<_> = (0..1 << 16).map(|_| AtomicU64::new(0)).collect();
    let blocks = leaked(Blocks::new());
    let shared = leaked(Shared::new(
        blocks,
        ContextTable::new(slots.leak()).unwrap(),
        Ring::new(words.leak()).unwrap(),
        &SCRATCH,
        &COUNTERS,
        one_frame,
        0,
        Frozen::new(Marks::default(), None),
    ));
    assert!(shared::publish(shared));
    shared.set_source(Source::Mount);
    shared.set_contained(true);
    shared.gate.arm();
    let signal = signal::install(Some(libc::SIGRTMAX() - 3)).unwrap();
    // An hour: no timer's signal comes while the test runs.
    let hour = Duration::from_secs(3600);
    let registry = leaked(Registry::new(
        blocks,
        &COUNTERS,
        signal,
        Pace::Cpu,
        Some(hour),
        None,
    ));
    Bench { shared, registry }
}

impl Bench {
    fn pop(&self) -> Vec<Head> {
        let mut heads = Vec::new();
        loop {
            let mut record = Vec::new();
            if !self.shared.ring.pop(|word| record.push(word)) {
                return heads;
            }
            heads.extend(sample::read(&record).map(|(head, _)| head));
        }
    }

    /// A thread that waits for what comes through the channel, and burns until the flag is up where that is `true`.
    fn thread(
        &self,
        id: i64,
        is_tagged: bool,
        over: &'static AtomicBool,
    ) -> (Sender<bool>, JoinHandle<()>) {
        let (shared, registry) = (self.shared, self.registry);
        let (to_test, started) = channel();
        let (sender, receiver): (_, Receiver<bool>) = channel();
        let handle = std::thread::spawn(move || {
            let java = leaked(JavaThread {
                nothing: 0,
                stack_base: stack_base(),
                monitor: AtomicU64::new(0),
            });
            let me = JavaThreadId(id);
            let identity = JavaIdentity {
                jni_env: 8,
                java_thread: std::ptr::from_ref(java) as u64,
                thread: me,
            };
            registry.add_java(OsThreadId::current(), identity, "visited");
            if is_tagged {
                shared.contexts.set(me, &tag(id as u64)).unwrap();
            }
            to_test.send(()).unwrap();
            while let Ok(burns) = receiver.recv() {
                while burns && !over.load(Ordering::Relaxed) {}
            }
            shared.contexts.remove(me);
            registry.remove_java(OsThreadId::current(), me);
        });
        started.recv().unwrap();
        (sender, handle)
    }
}

fn wall(of_all: bool, of_running: bool) -> &'static Wall {
    let mut options = Options {
        wall_scope: if of_all {
            WallScope::All
        } else {
            WallScope::Context
        },
        ..Options::default()
    };
    let period = Some(Duration::from_millis(10));
    if of_running {
        options.wall = period;
    } else {
        options.blocked = period;
    }
    assert!(options.period(Kind::Wall).is_some() == of_running);
    leaked(Wall::new(&options).unwrap())
}

/// Ticks until that many repeats have come; what came is returned, with the samples of before.
fn repeated(
    bench: &Bench,
    visits: &mut Visits<'_>,
    wall: &Wall,
    count: usize,
) -> (Vec<Head>, Vec<Repeat>) {
    let (mut heads, mut repeats) = (Vec::new(), Vec::new());
    assert!(comes_true(|| {
        visits.tick();
        heads.extend(bench.pop());
        wall.repeats.take(&mut repeats);
        repeats.len() >= count
    }));
    (heads, repeats)
}

#[test]
fn a_thread_that_waits_is_asked_until_it_is_known_to_stand_and_then_looked_at_from_outside() {
    static OVER: AtomicBool = AtomicBool::new(false);
    let bench = bench();
    let (base, monitor) = (
        std::mem::offset_of!(JavaThread, stack_base),
        std::mem::offset_of!(JavaThread, monitor),
    );
    bench
        .shared
        .visits
        .set(false, true, Some(base), Some(monitor));
    let budget = Budget::of(Duration::from_secs(1));
    let engine = wall(false, true);
    let mut visits = Visits::new(engine, bench.shared, bench.registry, budget);
    let (sender, handle) = bench.thread(5, true, &OVER);
    let begun = now_ns();
    visits.restart(budget);
    let (heads, repeats) = repeated(&bench, &mut visits, engine, 50);
    let last = heads.last().unwrap();
    assert!(
        last.flags.has(Flags::WAITING) && last.flags.has(Flags::STANDS),
        "{last:?}"
    );
    assert!(!last.flags.has(Flags::ENTERING));
    assert_eq!(last.tag, tag(5));
    // Some do not find it asleep yet, or on its way back to sleep.
    let asked = COUNTERS.get(Counter::WallSignals);
    assert!(asked < 25, "asked {asked} times");
    assert_eq!(heads.len() as u64, COUNTERS.get(Counter::WallTaken));
    for repeat in &repeats {
        assert_eq!((repeat.sample_ns, repeat.tag), (last.time_ns, tag(5)));
    }
    // All the time is in samples and repeats, once.
    let micros: u64 = heads
        .iter()
        .map(|head| u64::from(head.periods))
        .sum::<u64>()
        + repeats
            .iter()
            .map(|repeat| u64::from(repeat.micros))
            .sum::<u64>();
    let passed = (repeats.last().unwrap().at_ns - begun) / 1_000;
    assert!(
        micros <= passed && micros + 1_000 >= passed,
        "{micros} of {passed}"
    );

    // It wakes and waits again: what was known of it is of the past.
    sender.send(false).unwrap();
    let (heads, repeats) = repeated(&bench, &mut visits, engine, 10);
    assert!(!heads.is_empty(), "it was not asked again");
    assert!(repeats.last().unwrap().sample_ns == heads.last().unwrap().time_ns);

    // It runs: asked each time, and not where running threads do not count.
    sender.send(true).unwrap();
    assert!(comes_true(|| {
        visits.tick();
        let heads = bench.pop();
        heads
            .last()
            .is_some_and(|head| !head.flags.has(Flags::WAITING))
    }));
    engine.repeats.take(&mut Vec::new());
    let blocked = wall(false, false);
    let mut others = Visits::new(blocked, bench.shared, bench.registry, budget);
    let allowed = allowed_cpus();
    let mut turn = 0;
    let is_left_alone = comes_true(|| {
        bench.pop();
        // Who looks takes the CPU it is woken on from whoever runs there: on one of them that is not the other thread.
        turn += 1;
        allow_cpus(&[allowed[turn % allowed.len()]]);
        others.tick();
        std::thread::sleep(Duration::from_millis(1));
        bench.pop().is_empty()
    });
    allow_cpus(&allowed);
    assert!(is_left_alone);
    OVER.store(true, Ordering::Relaxed);

    drop(sender);
    handle.join().unwrap();

    // In no context it is left alone.
    let (sender, handle) = bench.thread(6, false, &OVER);
    let before = COUNTERS.get(Counter::WallSignals);
    for _ in 0..20 {
        visits.tick();
    }
    assert_eq!(COUNTERS.get(Counter::WallSignals), before);
    drop(sender);
    handle.join().unwrap();
    time_between_end_and_begin_is_in_no_visit(&bench);

    let books: u64 = [
        Counter::WallTaken,
        Counter::WallNoContext,
        Counter::WallStale,
        Counter::WallRingFull,
        Counter::WallRingContended,
        Counter::WallDisarmed,
        Counter::WallNested,
    ]
    .iter()
    .map(|counter| COUNTERS.get(*counter))
    .sum();
    assert_eq!(books, COUNTERS.get(Counter::WallSignals));
}

/// Though the engine has not woken up meanwhile, and a thread is still asked for what was turned away.
fn time_between_end_and_begin_is_in_no_visit(bench: &Bench) {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let engine = leaked(
        Wall::new(&Options {
            wall: Some(Duration::from_millis(400)),
            wall_scope: WallScope::All,
            ..Options::default()
        })
        .unwrap(),
    );
    let (shared, registry) = (bench.shared, bench.registry);
    let thread = std::thread::spawn(move || engine.run(shared, registry));
    let (sender, handle) = bench.thread(7, true, &NEVER);
    let repeat = || {
        let mut repeats = Vec::new();
        assert!(comes_true(|| {
            engine.repeats.take(&mut repeats);
            !repeats.is_empty()
        }));
        repeats.swap_remove(0)
    };
    engine.begin();
    let before = repeat();
    engine.end();
    engine.repeats.take(&mut Vec::new());
    let block = shared.blocks.get(before.place.block).unwrap();
    block.ask(false);
    std::thread::sleep(Duration::from_millis(100));
    bench.pop();
    forget(shared, registry.places());
    assert!(!block.is_asked() && block.imprint().is_none());
    let begun = now_ns();
    engine.begin();
    let after = repeat();
    let heads = bench.pop();
    let micros = heads.iter().map(|head| (head.periods, head.time_ns));
    for (micros, at_ns) in micros.chain([(after.micros, after.at_ns)]) {
        assert!(
            at_ns >= begun && u64::from(micros) * 1_000 <= at_ns - begun,
            "{micros} µs, {} ns after it began",
            at_ns - begun
        );
    }
    assert!(!heads.is_empty(), "asked anew");
    engine.finish();
    thread.join().unwrap();
    drop(sender);
    handle.join().unwrap();
}

#[test]
fn a_budget_is_of_a_second_whatever_the_period_and_never_nothing() {
    let of = |ms| Budget::of(Duration::from_millis(ms));
    let ten = Budget {
        looks_ns: LOOKS_NS,
        signals: SIGNALS,
    };
    assert_eq!(of(10), ten);
    assert_eq!(of(100), ten.of_ticks(10));
    let least = Budget {
        looks_ns: LOOKS_NS / 10,
        signals: 1,
    };
    assert_eq!(of(1), least);
}

/// The CPUs that the calling thread may run on.
fn allowed_cpus() -> Vec<usize> {
    // SAFETY: plain data, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the set is as large as is said.
    let code = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(code, 0);
    // SAFETY: within the set.
    let is_in = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// The calling thread runs on those alone.
fn allow_cpus(cpus: &[usize]) {
    // SAFETY: plain data, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        // SAFETY: within the set.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    // SAFETY: 0 is the calling thread; the set is as large as is said.
    let code = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    assert_eq!(code, 0);
}
