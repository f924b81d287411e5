//! Who has the locks that others wait for: the engine of [`Kind::LockOwner`], a thread of its own.
//!
//! Now and then it picks some of those who wait, at random, finds the owner of what they wait for and takes the owner's
//! stack. Each look stands for the time since the one before, times the waiters that it is one of; so what is expected
//! of all looks is the time that was waited, charged to whoever had the lock meanwhile.
//!
//! An owner goes on while it is looked at: its stack may be of when it has given the lock away, even if it has it again
//! afterwards. So a stack is taken only with a proof that the lock was not given away between two moments, of which the
//! first is before it and the second after it, and the owner was the same at both. Its tag is taken only if its record did
//! not change in between. Where the owner is not known, or there is no proof, the lock's class stands alone, so that sums
//! are whole.
//!
//! The proof is that the owner did not run in between: the CPU time of a thread of the platform is the same. Or, of a lock
//! of `java.util.concurrent`, that the first in its queue was not woken. Who gives such a lock away wakes that one before
//! it does anything else: it takes [`WAITING`](super::contention) from its node (`signalNext`,
//! `AbstractQueuedSynchronizer.java`, JDK 17 to 25). Only that thread sets it again, and for that it must run. So it must
//! be the same node, waiting, before and after, and its thread parked since the same time, as those who park tell. The
//! queue is looked at outside of the looks at the owner, so that one who came by the lock before the wake-up that is due
//! for it is the owner at the first look already.
//!
//! A lock of `java.util.concurrent` tells its owner by a field. A monitor's is asked of JVMTI, which stops all threads for
//! it and does not name virtual ones (`GetObjectMonitorUsage`, `jvmtiEnvBase.cpp`, JDK 21 to 25): at the most ten such
//! stops a second. So a monitor's owner is not known while it computes, but while it sleeps or waits for I/O.

use std::time::Duration;

use jni_sys::jobject;
use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::gate::Mode;
use vtprof_signal::scratch::DEPTH;
use vtprof_signal::tag::{JavaThreadId, Tag};

use super::bindings::jvmtiFrameInfo;
use super::capture;
use super::contention::{self, Contention, First, Synchronizers};
use super::jni::Jni;
use super::waiters::{Held, Wait, Waiters};
use super::worker;
use crate::aggregate::weight::Weight;
use crate::events::chance::Chance;
use crate::events::sample::EventHead;
use crate::log;
use crate::options::LOCK_OWNERS;
use crate::session::Session;
use crate::threads::timer::{OsThreadId, cpu_time_ns};

/// Name of the thread.
pub const THREAD: &str = "vtprof-owners";
/// Looks at those who are parked for a lock before those at monitors are due: two stops of all threads each, so five
/// looks make ten a second.
const MONITORS_EACH: u32 = 10;
/// Local references that a look makes beside those that the JVM does.
const SPARE: usize = 16;
/// Looks at a time, of those who are parked.
const PICKED: usize = 4;

/// Starts the thread; `None` when it could not be started.
pub fn spawn(session: &'static Session, contention: &'static Contention) -> Option<()> {
    worker::spawn(
        session,
        THREAD,
        move |jni| Owners::new(session, contention, jni).run(),
        || log::error("owners of locks are not looked for any more: their thread failed"),
    )
}

/// How a lock tells its owner.
#[derive(Clone, Copy)]
enum Asked<'a> {
    Field(&'a Synchronizers),
    Jvm,
}

/// What a look has seen.
enum Seen {
    /// Owner's frames, how many it had, and its tag.
    Owner(usize, Tag),
    /// Nothing that is sure, for that reason.
    Nothing(Counter),
}

struct Owners {
    session: &'static Session,
    contention: &'static Contention,
    counters: &'static Counters,
    jni: Jni,
    chance: Chance,
    frames: Box<[jvmtiFrameInfo]>,
}

impl Owners {
    fn new(session: &'static Session, contention: &'static Contention, jni: Jni) -> Self {
        Self {
            session,
            contention,
            counters: session.shared.counters,
            jni,
            chance: Chance::new(now_ns()),
            frames: std::iter::repeat_with(jvmtiFrameInfo::default)
                .take(capture::ASKED)
                .collect(),
        }
    }

    fn run(&mut self) {
        let contention = self.contention;
        let (mut parks_ns, mut monitors_ns) = (now_ns(), now_ns());
        let mut looks = 0_u32;
        while !self.session.is_over() {
            std::thread::sleep(self.nap());
            let now = now_ns();
            looks = looks.wrapping_add(1);
            if self.session.shared.gate.mode() != Mode::Armed || !contention.is_on() {
                (parks_ns, monitors_ns) = (now, now);
                continue;
            }
            if let Some(synchronizers) = &contention.synchronizers {
                let asked = Asked::Field(synchronizers);
                self.look(&contention.parks, PICKED, asked, now, now - parks_ns);
            }
            parks_ns = now;
            if looks.is_multiple_of(MONITORS_EACH) {
                self.look(&contention.monitors, 1, Asked::Jvm, now, now - monitors_ns);
                monitors_ns = now;
            }
        }
    }

    /// Not a fixed time: it would beat with programs that wait in a rhythm.
    fn nap(&mut self) -> Duration {
        self.chance.around(LOCK_OWNERS)
    }

    /// Looks at some of `waiters`, at the most `most`; together they stand for all of them in the `tick` ns until `now`.
    fn look(
        &mut self,
        waiters: &Waiters<Held>,
        most: usize,
        asked: Asked<'_>,
        now: u64,
        tick: u64,
    ) {
        let waiting = waiters.count();
        let looks = waiting.min(most);
        for n in 0..looks {
            let nth = if waiting <= most {
                n
            } else {
                (self.chance.draw() * waiting as f64) as usize
            };
            // They come and go: there may be fewer by now.
            let Some((waiter, wait)) = waiters.nth(nth) else {
                continue;
            };
            let stands_for = waiting as f64 / looks as f64;
            // A wait is counted by the first look that could have met it.
            let is_first = now.saturating_sub(wait.since_ns) < tick;
            let weight = Weight {
                count: if is_first { stands_for } else { 0.0 },
                amount: stands_for * tick as f64,
            };
            let jni = self.jni;
            jni.with_frame(|| self.look_at(waiter, &wait, asked, weight));
            wait.lock.release(jni);
        }
    }

    fn look_at(
        &mut self,
        waiter: JavaThreadId,
        wait: &Wait<Held>,
        asked: Asked<'_>,
        weight: Weight,
    ) {
        let class = contention::class_name(self.session, self.jni, &wait.lock);
        // Without it nobody waits for it any more.
        let (Some(lock), Some(class)) = (wait.lock.local(self.jni), class) else {
            self.counters.add(Counter::LockOwnerChanged, 1);
            return;
        };
        let seen = self.see(lock, asked, waiter);
        let (count, tag) = match seen {
            Seen::Owner(count, tag) => (count, tag),
            Seen::Nothing(why) => {
                self.counters.add(why, 1);
                (0, Tag::EMPTY)
            }
        };
        let head = EventHead {
            kind: Kind::LockOwner,
            time_ns: now_ns(),
            tag,
            place: None,
            leaf_class: Some(class),
            weight,
            state: None,
            delayed: 0.0,
            is_cut: count > DEPTH,
        };
        let frames = self.frames.get(..count.min(DEPTH)).unwrap_or_default();
        let frames = frames.iter().map(capture::frame);
        self.session.event_samples.push(head, frames);
    }

    /// Takes the stack of the owner of `lock`, for which `waiter` waits.
    fn see(&mut self, lock: jobject, asked: Asked<'_>, waiter: JavaThreadId) -> Seen {
        let (session, jni) = (self.session, self.jni);
        let queue = self.queue(lock, asked);
        let Some(owner) = self.owner_of(lock, asked) else {
            return Seen::Nothing(Counter::LockOwnerNobody);
        };
        let id = session.layout.thread_id(jni, owner);
        let clock = self.clock(owner);
        // It may have just been given the lock, and has not said so yet.
        if (queue.is_none() && clock.is_none()) || id == waiter {
            return Seen::Nothing(Counter::LockOwnerChanged);
        }
        let contexts = &session.shared.contexts;
        let before = contexts.glimpse(id);
        let stack = session.jvmti.stack_of(owner, &mut self.frames);
        let tag = before.tag_until(contexts.glimpse(id));
        let is_owner = |now: jobject| jni.is_same(now, owner);
        let is_proven = self.owner_of(lock, asked).is_some_and(is_owner)
            && (self.has_not_run(clock, owner) || self.is_same_queue(queue, lock, asked));
        if !is_proven {
            return Seen::Nothing(Counter::LockOwnerChanged);
        }
        let Some(count) = stack.ok().filter(|count| *count > 0) else {
            return Seen::Nothing(Counter::LockOwnerNoStack);
        };
        if tag.is_none() {
            self.counters.add(Counter::LockOwnerUnsure, 1);
        }
        Seen::Owner(count, tag.unwrap_or(Tag::EMPTY))
    }

    /// Who is first in the queue of a synchronizer, and parked since when.
    fn queue(&self, lock: jobject, asked: Asked<'_>) -> Option<(First, u64)> {
        let Asked::Field(synchronizers) = asked else {
            return None;
        };
        // SAFETY: as in `owner_of`.
        let first = unsafe { synchronizers.first(self.jni, lock) }?;
        let id = self.session.layout.thread_id(self.jni, first.waiter);
        Some((first, self.contention.parks.since(id)?))
    }

    /// Whether the queue still is what it was, so that nobody has given the lock away in between.
    fn is_same_queue(&self, before: Option<(First, u64)>, lock: jobject, asked: Asked<'_>) -> bool {
        match (before, self.queue(lock, asked)) {
            (Some((one, since)), Some((other, until))) => {
                since == until && self.jni.is_same(one.node, other.node)
            }
            _ => false,
        }
    }

    /// CPU time that a thread of the platform has used, and which one it is.
    fn clock(&self, owner: jobject) -> Option<(OsThreadId, u64)> {
        let (_, thread) = self.session.layout.of_running(self.jni, owner)?;
        let thread = OsThreadId(thread);
        Some((thread, cpu_time_ns(thread)?))
    }

    /// Whether the owner has not run since its clock was read, so that it has given nothing away.
    fn has_not_run(&self, before: Option<(OsThreadId, u64)>, owner: jobject) -> bool {
        before.is_some() && before == self.clock(owner)
    }

    fn owner_of(&self, lock: jobject, asked: Asked<'_>) -> Option<jobject> {
        match asked {
            // SAFETY: `lock` is what somebody is parked for: a synchronizer (`Synchronizers::awaited`).
            Asked::Field(synchronizers) => unsafe { synchronizers.owner_of(self.jni, lock) },
            Asked::Jvm => {
                let expect = |references| self.jni.ensure_capacity(references + SPARE);
                self.session.jvmti.monitor_owner(lock, expect).ok()?
            }
        }
    }
}
