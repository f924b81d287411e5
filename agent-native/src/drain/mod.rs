//! The agent's one thread: empties the ring and the queues, sums, names, closes windows.
//!
//! | module | noun |
//! |---|---|
//! | [`ending`] | how the thread is told to pause, go on and finish, and tells that it has |
//! | [`recorder`] | from records of the ring, and samples of events, to sums of a window |
//! | [`closing`] | from a window to its files |
//! | [`leftovers`] | records that threads leave behind |
//!
//! It polls: a handler cannot wake anybody cheaply, and 20 looks a second cost less than one system call a
//! sample. Its own CPU time is not sampled but measured, and stands in each profile.

pub mod closing;
pub mod ending;
pub mod leftovers;
pub mod recorder;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::jvm::callbacks;
use crate::jvm::healing;
use crate::jvm::jni::Jni;
use crate::jvm::methods::JvmMethods;
use crate::log;
use crate::sampling::faults::{Containment, Watch};
use crate::sampling::signal;
use crate::session::Session;
use crate::threads::timer::OsThreadId;
use closing::Closing;
use ending::Next;
pub use ending::{Ending, Order};
use leftovers::Leftovers;
use recorder::Recorder;

/// Between two looks at the ring.
const POLL: Duration = Duration::from_millis(50);
/// Between two looks at the kernel's list of threads, at least.
const SCAN: Duration = Duration::from_secs(1);
/// A scan takes at most this share of the time.
const SCAN_SHARE: u32 = 300;

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
                    catch_unwind(AssertUnwindSafe(|| run(session, jni, containment)))
                });
                match attached {
                    Some(Ok(())) => {}
                    Some(Err(_)) => {
                        session.abandon();
                        log::error("the agent's thread failed: the application runs on, unprofiled");
                    }
                    None => {
                        session.abandon();
                        log::error("the JVM does not attach the agent's thread: the application runs on, unprofiled");
                    }
                }
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

fn run(session: &'static Session, jni: Jni, containment: Containment) {
    let mut source = JvmMethods::new(session.jvmti, jni, session.classes, &session.redefinitions);
    let mut recorder = Recorder::new(
        session.shared,
        &session.registry,
        &session.events,
        &session.event_samples,
        &session.redefinitions,
    );
    let mut closing = Closing::first(session);
    let mut next_scan = Instant::now();
    let mut scan_failed = false;
    let mut leftovers = session.has_virtual_threads.then(Leftovers::new);
    let mut faults = (containment == Containment::On).then(Watch::new);
    let mut paused = false;
    let mut displaced = false;
    loop {
        let next = pause(session, jni);
        // JVMTI leaves local references in this thread's only frame.
        jni.with_frame(|| recorder.drain(&source));
        session.classes.sweep(jni);
        session.mounts.settle(session);
        match next {
            Next::Look => {}
            Next::Obey(order, ticket) => {
                jni.with_frame(|| match order {
                    Order::Pause if !paused => closing.pause(session, &mut recorder, jni),
                    Order::Resume if paused => closing.resume(session, &mut recorder),
                    Order::Pause | Order::Resume => {}
                });
                paused = order == Order::Pause;
                session.ending().obeyed(ticket);
            }
            Next::Finish => {
                if !paused {
                    closing.close(session, &mut recorder, jni);
                }
                return;
            }
        }
        if let Some(looking) = &mut leftovers
            && looking.look(&session.shared.contexts, |span| recorder.is_open(span))
        {
            leftovers = None;
            callbacks::listen_to_virtual_thread_ends(session);
        }
        let now = Instant::now();
        if now >= next_scan {
            if let Err(error) = session.registry.scan()
                && !std::mem::replace(&mut scan_failed, true)
            {
                log::warn(&format!("new threads of the VM are not sampled: {error}"));
            }
            source.stubs.look(session.jvmti, session.shared);
            if !displaced && !signal::is_ours(session.registry.signal()) {
                displaced = true;
                log::error(&format!(
                    "another handler of signal {} was installed after vtprof's: samples are lost from now on, choose another with signal=",
                    session.registry.signal()
                ));
            }
            if let Some(watch) = &mut faults
                && watch.look(session.shared.counters, || session.read_no_more())
            {
                session.give_up();
            }
            next_scan = now + SCAN.max(now.elapsed() * SCAN_SHARE);
        }
        if closing.is_due(session.options.every) {
            if paused {
                closing.pass(&mut recorder);
            } else {
                jni.with_frame(|| closing.close(session, &mut recorder, jni));
            }
        }
    }
}
