//! Who has the locks that others wait for: the engine of [`Kind::LockOwner`], a thread of its own.
//!
//! Now and then it picks some of those who wait, at random, finds the owner of what they wait for and takes the owner's
//! stack. Each look stands for the time since the one before, times the waiters that it is one of; so what is expected
//! of all looks is the time that was waited, charged to whoever had the lock meanwhile.
//!
//! An owner goes on while it is looked at. So it is asked for before and after its stack is taken, and the wait must go
//! on as well; else the stack may be of after it. (One that gave the lock away and had it again within those some 50 µs
//! is not told from one that kept it.) Its tag is taken only if its record did not change meanwhile. Where the owner is
//! not known, or not for sure, the lock's class stands alone, so that sums are whole.
//!
//! A synchronizer tells its owner by a field. A monitor's is asked of JVMTI, which stops all threads for it and does not
//! name virtual ones (`GetObjectMonitorUsage`, `jvmtiEnvBase.cpp`, JDK 21 to 25): at the most ten such stops a second.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use jni_sys::jobject;
use vtprof_profile::kind::Kind;
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::gate::Mode;
use vtprof_signal::handler::now_ns;
use vtprof_signal::scratch::DEPTH;
use vtprof_signal::tag::{JavaThreadId, Tag};

use super::bindings::jvmtiFrameInfo;
use super::capture;
use super::contention::{self, Contention, Synchronizers};
use super::jni::Jni;
use super::waiters::{Held, Wait, Waiters};
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
    let body = move || {
        session.registry.exclude(OsThreadId::current());
        let attached = session.vm.attached(THREAD, |jni| {
            let run = || Owners::new(session, contention, jni).run();
            catch_unwind(AssertUnwindSafe(run)).is_ok()
        });
        if attached != Some(true) {
            log::error("owners of locks are not looked for any more: their thread failed");
        }
    };
    std::thread::Builder::new()
        .name(THREAD.to_owned())
        .spawn(body)
        .ok()
        .map(drop)
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
        let mut used_ns = own_cpu_ns();
        let mut looks = 0_u32;
        while !self.session.is_over() {
            std::thread::sleep(self.nap());
            let now = now_ns();
            looks = looks.wrapping_add(1);
            if self.session.shared.gate.mode() != Mode::Armed {
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
                let used = own_cpu_ns();
                self.counters
                    .add(Counter::LockOwnerCpuNs, used.saturating_sub(used_ns));
                used_ns = used;
            }
        }
    }

    /// Between a half and one and a half of what was asked for: a fixed time would beat with programs that wait in a
    /// rhythm.
    fn nap(&mut self) -> Duration {
        LOCK_OWNERS.mul_f64(0.5 + self.chance.draw())
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
            jni.with_frame(|| self.look_at(waiters, waiter, &wait, asked, weight));
            wait.lock.release(jni);
        }
    }

    fn look_at(
        &mut self,
        waiters: &Waiters<Held>,
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
        let seen = self.see(lock, asked, waiter, || {
            waiters.goes_on(waiter, wait.since_ns)
        });
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
            is_cut: count > DEPTH,
        };
        let frames = self.frames.get(..count.min(DEPTH)).unwrap_or_default();
        let frames = frames.iter().map(capture::frame);
        self.session.event_samples.push(head, frames);
    }

    /// Takes the stack of the owner of `lock`, for which `waiter` waits as long as `goes_on` says so.
    fn see(
        &mut self,
        lock: jobject,
        asked: Asked<'_>,
        waiter: JavaThreadId,
        goes_on: impl Fn() -> bool,
    ) -> Seen {
        let (session, jni) = (self.session, self.jni);
        let Some(owner) = self.owner_of(lock, asked) else {
            return Seen::Nothing(Counter::LockOwnerNobody);
        };
        let id = session.layout.thread_id(jni, owner);
        if id == waiter {
            // It has just been given the lock and has not said so yet.
            return Seen::Nothing(Counter::LockOwnerChanged);
        }
        let contexts = &session.shared.contexts;
        let before = contexts.glimpse(id);
        let Ok(count) = session.jvmti.stack_of(owner, &mut self.frames) else {
            return Seen::Nothing(Counter::LockOwnerNoStack);
        };
        let tag = before.tag_until(contexts.glimpse(id));
        let is_owner = |now: jobject| jni.is_same(now, owner);
        if !self.owner_of(lock, asked).is_some_and(is_owner) || !goes_on() {
            return Seen::Nothing(Counter::LockOwnerChanged);
        }
        if count == 0 {
            return Seen::Nothing(Counter::LockOwnerNoStack);
        }
        if tag.is_none() {
            self.counters.add(Counter::LockOwnerUnsure, 1);
        }
        Seen::Owner(count, tag.unwrap_or(Tag::EMPTY))
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

fn own_cpu_ns() -> u64 {
    cpu_time_ns(OsThreadId::current()).unwrap_or(0)
}
