//! Perf events on threads of the test process, their signal blocked and taken by hand. Where the kernel refuses them,
//! that is said, and there is nothing to hold.

use super::*;
use vtprof_signal::cookie::{BlockIndex, Generation};
use vtprof_signal::perf::Owner as Owned;

/// No other test has a handler of it, or sends it.
const SIGNAL: i32 = libc::SIGSTKFLT;
const PERIOD: Duration = Duration::from_millis(1);

fn cookie(block: u32) -> Cookie {
    Cookie {
        block: BlockIndex(block),
        generation: Generation(1),
    }
}

fn probed() -> Option<Perf> {
    // One that is pending when a test fails does not end the others.
    // SAFETY: nobody else uses it.
    unsafe { libc::signal(SIGNAL, libc::SIG_IGN) };
    Perf::probe(SIGNAL, PERIOD)
        .inspect_err(|error| eprintln!("SKIPPED: {error}"))
        .ok()
}

#[test]
fn an_event_signals_its_thread_once_a_period_of_its_cpu_time() {
    let Some(perf) = probed() else { return };
    let _blocked = Blocked::new(SIGNAL);
    let block = Block::new();
    let event = perf
        .start(OsThreadId::current(), &block, cookie(1), PERIOD)
        .unwrap();
    let descriptor = event.descriptor.as_raw_fd();
    assert_eq!(EVENTS.owner(descriptor), Owned::Thread(cookie(1)));
    let began = thread_cpu_ns();
    let mut signals = 0;
    let mut periods = 0;
    while thread_cpu_ns() < began + 200_000_000 {
        if let Some(of) = pending(SIGNAL) {
            assert_eq!(of, descriptor);
            signals += 1;
            periods += block.take_periods(thread_cpu_ns(), nanos(PERIOD));
        }
    }
    periods += block.take_periods(thread_cpu_ns(), nanos(PERIOD));
    // The event's time goes on where the machine itself has no CPU, the thread's own does not. Where that lasts, some
    // are merged.
    assert!(signals >= 100, "{signals} signals");
    assert!((198..=202).contains(&periods), "{periods} periods");
    drop(event);
    assert_eq!(EVENTS.owner(descriptor), Owned::Past);
    while pending(SIGNAL).is_some() {}
    let later = thread_cpu_ns() + 10_000_000;
    while thread_cpu_ns() < later {}
    assert_eq!(pending(SIGNAL), None, "closed, and silent");
}

#[test]
fn an_event_of_a_thread_that_sleeps_is_silent() {
    let Some(perf) = probed() else { return };
    let _blocked = Blocked::new(SIGNAL);
    let block = Block::new();
    let event = perf
        .start(OsThreadId::current(), &block, cookie(2), PERIOD)
        .unwrap();
    for _ in 0..20 {
        std::thread::sleep(PERIOD);
    }
    let used = block.take_periods(thread_cpu_ns(), nanos(PERIOD));
    drop(event);
    let mut signals = 0;
    while pending(SIGNAL).is_some() {
        signals += 1;
    }
    // While one is pending, more are merged into it.
    assert!(
        signals <= 1 && used < 20,
        "{signals} signals, {used} periods"
    );
}

#[test]
fn a_thread_that_does_not_exist_has_ended_and_was_not_refused() {
    let Some(perf) = probed() else { return };
    let block = Block::new();
    let error = perf
        .start(OsThreadId(4_000_000), &block, cookie(3), PERIOD)
        .unwrap_err();
    assert!(matches!(error, PerfError::Ended), "{error}");
}

#[test]
fn no_real_time_signal_is_taken_and_no_one_that_has_a_handler() {
    let nobodys = |_| true;
    assert_eq!(Perf::signal(None, nobodys).unwrap(), libc::SIGSTKFLT);
    let second = Perf::signal(None, |signal| signal != libc::SIGSTKFLT).unwrap();
    assert_eq!(second, libc::SIGIO);
    assert_eq!(
        Perf::signal(Some(libc::SIGPROF), |_| false).unwrap(),
        libc::SIGPROF,
        "as the user wants it"
    );
    let none = Perf::signal(None, |_| false).unwrap_err().to_string();
    let real_time = Perf::signal(Some(libc::SIGRTMIN()), nobodys).unwrap_err();
    for text in [none, real_time.to_string()] {
        assert!(text.contains("signal=prof"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn what_is_in_the_way_is_told_with_what_to_do() {
    for (code, part) in [
        (libc::EACCES, "perf_event_paranoid"),
        (libc::EPERM, "seccomp"),
        (libc::ENOSYS, "seccomp"),
        (libc::EMFILE, "ulimit -n"),
    ] {
        let text = PerfError::Open(io::Error::from_raw_os_error(code)).to_string();
        assert!(text.contains(part), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
    assert!(
        PerfError::Limit { open: 7 }
            .to_string()
            .starts_with("7 descriptors")
    );
}
