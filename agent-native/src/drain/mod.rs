//! The agent's own thread: empties the ring and the queues, sums, names, closes windows.
//!
//! | module | noun |
//! |---|---|
//! | [`ending`] | how the thread is told to pause, go on and finish, and tells that it has |
//! | [`recorder`] | from records of the ring, and samples of events, to sums of a window |
//! | [`followed`] | objects of sampled allocations, followed until they are gone |
//! | [`closing`] | from a window to its files |
//! | [`leftovers`] | records that threads leave behind |
//!
//! It polls: a handler cannot wake anybody cheaply, and 20 looks a second cost less than one system call a
//! sample. Its own CPU time is not sampled but measured, and stands in each profile.

pub mod closing;
pub mod ending;
pub mod followed;
pub mod leftovers;
pub mod recorder;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::perf::thread_cpu_ns;

use crate::jvm::callbacks;
use crate::jvm::healing;
use crate::jvm::jni::Jni;
use crate::jvm::methods::JvmMethods;
use crate::log;
use crate::publish::threads::Withdrawals;
use crate::sampling::faults::{Containment, Watch};
use crate::sampling::signal;
use crate::session::Session;
use crate::threads::timer::OsThreadId;
use closing::Closing;
use ending::Next;
pub use ending::{Ending, Order};
use leftovers::Leftovers;
use recorder::Recorder;
use recorder::visits::Books;

/// Between two looks at the ring.
const POLL: Duration = Duration::from_millis(50);
/// Between two looks at the kernel's list of threads, at least.
const SCAN: Duration = Duration::from_secs(1);
/// A scan takes at most this share of the time, as long as it takes less than 60 ms.
const SCAN_SHARE: u32 = 500;
/// Between two looks, at most, so that a displaced handler is told of while it matters.
const SCAN_MOST: Duration = Duration::from_secs(30);

/// The thread.
pub struct Drain;

impl Drain {
    /// Starts it; `None` when it could not be started.
    pub fn spawn(session: &'static Session, containment: Containment) -> Option<()> {
        std::thread::Builder::new()
            .name("vtprof-drain".to_owned())
            .spawn(move || {
                session.registry.exclude(OsThreadId::current());
                let attached = session.vm.attached("vtprof-drain", |jni| {
                    let mut recorder = recorder(session);
                    let whole = || run(session, jni, &mut recorder, containment);
                    catch_unwind(AssertUnwindSafe(whole)).inspect_err(|_| {
                        session.abandon();
                        recorder.let_all_go(&jni);
                    })
                });
                match attached {
                    Some(Ok(())) => {}
                    Some(Err(_)) => {
                        log::error("the agent's thread failed: the application runs on, unprofiled");
                    }
                    None => {
                        session.abandon();
                        log::error("the JVM does not attach the agent's thread: the application runs on, unprofiled");
                    }
                }
                session.registry.end_excluded();
                session.ending().finished();
            })
            .ok()
            .map(drop)
    }
}

/// Waits for the next look, and says what it is for.
fn pause(session: &Session, jni: Jni) -> Next {
    if !session.healing.is_due(jni) {
        return session.ending().wait(POLL);
    }
    let until = Instant::now() + POLL;
    loop {
        session.healing.follow(jni);
        let next = session.ending().wait(healing::POLL);
        if next != Next::Look || Instant::now() >= until {
            return next;
        }
    }
}

fn recorder(session: &'static Session) -> Recorder {
    let recorder = Recorder::new(
        session.shared,
        &session.registry,
        &session.events,
        &session.event_samples,
        &session.redefinitions,
        session.options.followed(),
    );
    match &session.wall {
        Some(wall) => {
            let is_on = |kind| session.options.period(kind).is_some();
            recorder.with_visits(Books::new(
                is_on,
                &wall.repeats,
                &wall.entered,
                &session.pauses,
            ))
        }
        None => recorder,
    }
}

fn run(session: &'static Session, jni: Jni, recorder: &mut Recorder, containment: Containment) {
    let mut source = JvmMethods::new(session.jvmti, jni, session.classes, &session.redefinitions);
    let mut closing = Closing::first(session);
    let mut next_scan = Instant::now();
    let mut scan_failed = false;
    let mut leftovers = (session.has_virtual_threads && !session.listens_to_virtual_thread_ends())
        .then(Leftovers::new);
    let mut faults = (containment == Containment::On).then(Watch::new);
    let mut handler = session.signal.map(signal::Watch::new);
    let mut paused = false;
    let mut withdrawals = session.publishes.then(Withdrawals::default);
    loop {
        let next = pause(session, jni);
        session.depths.look(
            &session.shared.ring,
            &session.event_samples,
            &session.events,
        );
        // As with samples: before the reports are read.
        if let Some(looking) = &mut withdrawals {
            looking.gather(&session.shared.contexts);
        }
        // JVMTI leaves local references in this thread's only frame.
        jni.with_frame(|| recorder.drain(&source));
        session.classes.sweep(jni);
        session.mounts.settle(session);
        if let Some(looking) = &mut withdrawals {
            let now_ns = now_ns();
            let withdrawn = looking.judge(|span| recorder.is_open(span, now_ns));
            let counters = session.shared.counters;
            counters.add(Counter::ContextWithdrawn, withdrawn);
        }
        match next {
            Next::Look => {}
            Next::Obey(order, ticket) => {
                jni.with_frame(|| match order {
                    Order::Pause if !paused => closing.pause(session, recorder, jni),
                    Order::Resume | Order::Dump if paused => {
                        closing.resume(session, recorder);
                        recorder.visited(|kind| session.period_of(kind) > 0);
                    }
                    Order::Dump => closing.close(session, recorder, jni),
                    Order::Pause | Order::Resume => {}
                });
                paused = order == Order::Pause;
                session.ending().obeyed(ticket);
            }
            Next::Finish => {
                // This JVM may have lived for less than a scan.
                if let Some(handler) = &mut handler {
                    handler.look();
                }
                if !paused {
                    closing.close(session, recorder, jni);
                }
                return;
            }
        }
        if let Some(looking) = &mut leftovers
            && looking.look(&session.shared.contexts, |span| {
                recorder.is_open(span, now_ns())
            })
        {
            leftovers = None;
            callbacks::listen_to_virtual_thread_ends(session);
        }
        let now = Instant::now();
        if let Some(handler) = &mut handler
            && now >= next_scan
        {
            let used_before = thread_cpu_ns();
            if let Err(error) = session.registry.scan()
                && !std::mem::replace(&mut scan_failed, true)
            {
                log::warn(&format!("new threads of the VM are not sampled: {error}"));
            }
            source.stubs.look(session.jvmti, session.shared);
            handler.look();
            if let Some(watch) = &mut faults
                && watch.look(session.shared.counters, || session.read_no_more())
            {
                session.give_up();
            }
            let used = thread_cpu_ns().saturating_sub(used_before);
            next_scan = now + until_next_scan(Duration::from_nanos(used));
        }
        if closing.is_due(session.rates.plan().every) {
            if paused {
                closing.pass(recorder);
            } else {
                jni.with_frame(|| closing.close(session, recorder, jni));
            }
        }
    }
}

/// How long after the beginning of a scan that took `cost` the next is due. `cost` is CPU time: by the wall clock
/// a thread that is kept from running for two seconds would not look for ten minutes.
fn until_next_scan(cost: Duration) -> Duration {
    cost.saturating_mul(SCAN_SHARE).clamp(SCAN, SCAN_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_takes_a_five_hundredth_of_the_time_and_comes_each_second_to_each_half_minute() {
        let after = |ms| until_next_scan(Duration::from_millis(ms)).as_millis();
        assert_eq!([0, 1, 2].map(after), [1_000; 3]);
        assert_eq!([4, 20, 60].map(after), [2_000, 10_000, 30_000]);
        assert_eq!([61, 2_000, u64::MAX].map(after), [30_000; 3]);
    }

    #[test]
    fn what_a_scan_costs_is_the_time_this_thread_runs_and_not_the_time_that_passes() {
        let (before, started) = (thread_cpu_ns(), Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        let used = u128::from(thread_cpu_ns() - before);
        assert!(
            (1..started.elapsed().as_nanos() / 2).contains(&used),
            "{used}"
        );
    }
}
