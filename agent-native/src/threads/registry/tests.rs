//! The registry on real threads of the test process, under timers that never fire.

use super::*;
use crate::threads::patience::comes_true;

fn registry() -> Registry {
    with_signal(libc::SIGRTMIN())
}

fn with_signal(signal: i32) -> Registry {
    let blocks = Box::leak(Box::new(Blocks::new()));
    let counters = Box::leak(Box::new(Counters::new()));
    // An hour: no signal comes while a test runs.
    Registry::new(
        blocks,
        counters,
        signal,
        Pace::Cpu,
        Some(Duration::from_secs(3600)),
        None,
    )
}

fn identity(id: i64) -> JavaIdentity {
    JavaIdentity {
        jni_env: 8,
        java_thread: 16,
        thread: JavaThreadId(id),
    }
}

#[test]
fn a_scan_takes_in_every_thread_of_the_process_and_lets_the_gone_ones_go() {
    let registry = registry();
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let (started, wait_for_start) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("short-7-lived".into())
        .spawn(move || {
            started.send(()).unwrap();
            wait.recv()
        })
        .unwrap();
    wait_for_start.recv().unwrap();
    registry.scan().unwrap();
    registry.scan().unwrap();
    let names = |r: &Registry| {
        let state = r.state.lock();
        state
            .entries
            .values()
            .map(|e| state.labels[e.index.0 as usize].1.to_string())
            .collect::<Vec<_>>()
    };
    assert!(names(&registry).contains(&"short-N-lived".to_owned()));
    drop(stop);
    thread.join().unwrap().unwrap_err();
    let is_gone = comes_true(|| {
        registry.scan().unwrap();
        !names(&registry).contains(&"short-N-lived".to_owned())
    });
    assert!(is_gone, "still there");
}

#[test]
fn a_thread_that_started_after_the_list_was_made_is_not_taken_for_gone() {
    let registry = registry();
    let old_list = Vec::new();
    let me = OsThreadId::current();
    let block = registry.add_java(me, identity(1), "fresh").unwrap().block;
    registry.reconcile(old_list);
    assert!(
        registry
            .seat_of(me)
            .is_some_and(|seat| std::ptr::eq(seat.block, block))
    );
    assert_eq!(block.jni_env(), 8);
}

#[test]
fn nobody_is_taken_in_after_the_stop() {
    let registry = registry();
    let me = OsThreadId::current();
    registry.add_java(me, identity(1), "main").unwrap();
    registry.stop();
    assert!(registry.seat_of(me).is_none());
    assert!(registry.add_java(me, identity(1), "main").is_none());
    registry.scan().unwrap();
    assert!(registry.seat_of(me).is_none());
}

#[test]
fn a_block_rests_until_the_ring_was_drained() {
    let registry = registry();
    let me = OsThreadId::current();
    let block = registry.add_java(me, identity(1), "main").unwrap().block;
    registry.remove_java(me, JavaThreadId(1));
    assert_eq!(block.jni_env(), 0);
    let next = registry.add_java(me, identity(1), "main").unwrap().block;
    assert!(
        !std::ptr::eq(block, next),
        "samples of the first may be in the ring"
    );
    let rested = registry.begin_drain();
    assert_eq!(rested.len(), 1);
    registry.end_drain(rested);
    registry.remove_java(me, JavaThreadId(1));
    let last = registry.add_java(me, identity(1), "main").unwrap().block;
    assert!(std::ptr::eq(block, last));
}

#[test]
fn a_label_belongs_to_one_life_of_a_block() {
    let registry = registry();
    let me = OsThreadId::current();
    let seat = registry
        .add_java(me, identity(1), "pool-1-thread-2")
        .unwrap();
    let label = |generation| registry.label(seat.cookie.block, Generation(generation));
    assert_eq!(seat.cookie.generation, Generation(1));
    assert_eq!(label(1).as_deref(), Some("pool-N-thread-N"));
    assert_eq!(label(2), None);
}

#[test]
fn a_thread_whose_end_was_seen_is_not_taken_for_running() {
    let registry = registry();
    let me = OsThreadId::current();
    registry.remove_java(me, JavaThreadId(5));
    registry.add_running_java(|| Some((me, identity(5))), "late");
    assert!(registry.seat_of(me).is_none());
    registry.add_running_java(|| Some((me, identity(6))), "other");
    assert!(registry.seat_of(me).is_some());
    registry.remove_java(me, JavaThreadId(6));
    registry.add_running_java(|| Some((me, identity(6))), "was known, ended");
    assert!(registry.seat_of(me).is_none());
}

#[test]
fn an_excluded_thread_stays_out_of_every_scan() {
    let registry = registry();
    let me = OsThreadId::current();
    registry.scan().unwrap();
    assert!(registry.seat_of(me).is_some());
    registry.exclude(me);
    registry.scan().unwrap();
    assert!(registry.seat_of(me).is_none());
    assert!(registry.add_java(me, identity(1), "drain").is_none());
}

#[test]
fn time_that_was_sampled_is_not_lost_when_a_thread_is_taken_in_again() {
    let registry = registry();
    let me = OsThreadId::current();
    let lost = |r: &Registry| r.counters.get(Counter::CpuBeforeTimerNs);
    registry.add_java(me, identity(1), "main").unwrap();
    let before_first = lost(&registry);
    assert!(
        before_first > 0,
        "what the thread used before its first timer"
    );
    // By the clock that is asserted on: on a busy machine 20 ms may pass with hardly any CPU time in them.
    let busy = cpu_time_ns(me).unwrap() + 20_000_000;
    while cpu_time_ns(me).unwrap() < busy {}
    registry.remove_java(me, JavaThreadId(1));
    let used = cpu_time_ns(me).unwrap();
    registry.add_java(me, identity(1), "main").unwrap();
    let between = lost(&registry) - before_first;
    assert!(between < used / 2, "{between} of {used}");
}

/// Nothing would take them out, as nothing is scanned there.
#[test]
fn where_no_signal_is_used_nothing_is_kept_of_threads_that_ended() {
    for (signal, kept) in [(0, 0), (libc::SIGRTMIN(), 1)] {
        let registry = with_signal(signal);
        let me = OsThreadId::current();
        registry.add_java(me, identity(1), "ends").unwrap();
        registry.remove_java(me, JavaThreadId(1));
        assert_eq!(registry.state.lock().accounted.len(), kept, "{signal}");
    }
}

#[test]
fn an_excluded_thread_that_began_after_the_list_was_made_stays_out_and_one_that_ends_is_forgotten()
{
    let registry = registry();
    let me = OsThreadId::current();
    registry.exclude(me);
    registry.reconcile(Vec::new());
    registry.scan().unwrap();
    assert!(registry.seat_of(me).is_none());
    registry.end_excluded();
    registry.scan().unwrap();
    assert!(registry.seat_of(me).is_some(), "another has its number");
}

#[test]
fn phases_are_spread_over_the_period_and_never_zero() {
    let mut state = 88172645463325252;
    let period = Duration::from_millis(10);
    let phases: Vec<_> = (0..1000)
        .map(|_| random_phase(&mut state, period))
        .collect();
    assert!(phases.iter().all(|p| !p.is_zero() && *p <= period));
    let mean = phases.iter().sum::<Duration>() / 1000;
    assert!(mean > period * 4 / 10 && mean < period * 6 / 10, "{mean:?}");
}

#[test]
fn stopped_timers_start_again_on_the_same_blocks_and_whoever_came_meanwhile_gets_one() {
    let registry = registry();
    let me = OsThreadId::current();
    let block = registry.add_java(me, identity(30), "me").unwrap().block;
    block.mount(JavaThreadId(77));
    assert_eq!(registry.count(), (1, 1));
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let (started, thread_id) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        started.send(OsThreadId::current()).unwrap();
        wait.recv()
    });
    let other = thread_id.recv().unwrap();
    for _ in 0..100 {
        registry.pause();
        assert_eq!(registry.count().1, 0);
        registry.add_java(other, identity(31), "other").unwrap();
        assert_eq!(registry.count(), (2, 0));
        registry.resume();
        assert_eq!(registry.count(), (2, 2));
    }
    assert!(std::ptr::eq(registry.seat_of(me).unwrap().block, block));
    assert_eq!(
        block.running(),
        JavaThreadId(77),
        "what runs is not forgotten"
    );
    // One that ends while timers are stopped is no loss that is counted.
    registry.pause();
    drop(stop);
    thread.join().unwrap().unwrap_err();
    assert!(comes_true(|| cpu_time_ns(other).is_none()));
    registry.resume();
    assert_eq!(registry.count(), (1, 1));
    registry.remove_java(other, JavaThreadId(31));
    assert_eq!(registry.count(), (1, 1));
    assert_eq!(registry.counters.get(Counter::TimersRefused), 0);
}

#[test]
fn an_id_that_another_thread_has_got_while_timers_were_stopped_is_not_the_first_ones() {
    let registry = registry();
    let me = OsThreadId::current();
    let block = registry.add_java(me, identity(1), "first").unwrap().block;
    registry.pause();
    // As if this thread had started later than the one it was taken for.
    let mut state = registry.state.lock();
    let entry = state.entries.get_mut(&me).unwrap();
    entry.started = entry.started.map(|started| started - 1);
    drop(state);
    registry.resume();
    assert!(registry.seat_of(me).is_none());
    assert_eq!(block.jni_env(), 0);
}

#[test]
fn threads_are_known_over_a_stop_and_have_timers_again() {
    let registry = registry();
    let me = OsThreadId::current();
    registry.add_java(me, identity(1), "main").unwrap();
    registry.pause();
    assert_eq!(registry.count(), (1, 0));
    registry.reconcile(vec![me]);
    registry.resume();
    assert_eq!(registry.count(), (1, 1));
    assert!(registry.seat_of(me).is_some());
}
