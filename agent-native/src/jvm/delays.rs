//! How long virtual threads that could run waited for a carrier, as a share of the time that they were off theirs.
//!
//! HotSpot tells nobody when a thread becomes runnable, but `VirtualThread.state` says whether it is. So a thread of the
//! agent's looks at those who are away, at random times some 10 ms apart: of the looks at one wait, as many as found it
//! runnable are on average the share of the wait in which it was. The mount that ends the wait takes that share. A wait that
//! nobody has looked at is told as a whole by what the thread was parked for: so delays shorter than some 10 ms are in
//! what was waited for, and sums of delays are rather too low than too high.
//!
//! What this costs is bounded: beyond [`WATCHED`] waits a slot of time no more are watched, and looks take 0.3 % of a core at
//! the most, coming further apart where many wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use jni_sys::{jfieldID, jobject};
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::gate::Mode;
use vtprof_signal::perf::thread_cpu_ns;
use vtprof_signal::tag::JavaThreadId;

use super::jni::{self, Jni};
use super::waiters::{Entered, Held, Wait, Waiters};
use crate::events::chance::Chance;
use crate::log;
use crate::session::Session;
use crate::threads::timer::OsThreadId;

/// Name of the thread.
pub const THREAD: &str = "vtprof-delays";
/// Time between two looks, on average.
const TICK: Duration = Duration::from_millis(10);
/// A look takes no more than one part in so many of the time.
const SHARE: u32 = 300;
/// Waits that begin to be watched in a slot: at some 0.6 µs each 0.3 % of a core.
const WATCHED: u64 = 500;
const SLOT_NS: u64 = 100_000_000;

/// States in which a thread could run and is on no carrier, as `VirtualThread.java` calls them: the first from JDK 21 to 23, the
/// others since.
const RUNNABLE: [&str; 4] = ["RUNNABLE", "UNPARKED", "YIELDED", "UNBLOCKED"];
/// Those in which it is off its carrier and cannot, or is on its way there.
const WAITING: [&str; 9] = [
    "PARKING",
    "PARKED",
    "TIMED_PARKING",
    "TIMED_PARKED",
    "BLOCKING",
    "BLOCKED",
    "WAITING",
    "WAIT",
    "TIMED_WAIT",
];
/// Set beside a state while a debugger has the thread stopped.
const SUSPENDED: i32 = 1 << 8;

/// What was seen of one wait. Relaxed: one thread looks, and the one that takes the counts may miss the last look.
#[derive(Debug, Default)]
pub struct Looks {
    all: AtomicU32,
    runnable: AtomicU32,
}

/// What `VirtualThread.state` means on this JVM.
#[derive(Debug)]
struct States {
    field: jfieldID,
    runnable: Vec<i32>,
    waiting: Vec<i32>,
}

/// See the module.
#[derive(Debug)]
pub struct Delays {
    /// Whether waits are to be watched. Relaxed: until this JVM's states have turned out not to be as expected.
    on: AtomicBool,
    watched: Waiters<Held<Looks>>,
    /// Number of the slot, and waits watched in it: 16 bits. Relaxed: a bound that may be passed by a few.
    budget: AtomicU64,
}

impl States {
    fn learn(jni: Jni) -> jni::Result<Self> {
        let class = jni.find_class("java/lang/VirtualThread")?;
        let numbers = |names: &[&str]| -> Vec<i32> {
            names
                .iter()
                .filter_map(|name| jni.static_int(class, name).ok())
                .collect()
        };
        let states = Self {
            field: jni.field(class, "state", "I")?,
            runnable: numbers(&RUNNABLE),
            waiting: numbers(&WAITING),
        };
        let is_known = !states.runnable.is_empty() && states.waiting.len() >= 2;
        is_known
            .then_some(states)
            .ok_or_else(|| jni::JniError("states of VirtualThread".to_owned()))
    }

    /// Whether a thread in that state could run; `None` where it is on a carrier.
    fn could_run(&self, state: i32) -> Option<bool> {
        let state = state & !SUSPENDED;
        if self.runnable.contains(&state) {
            Some(true)
        } else {
            self.waiting.contains(&state).then_some(false)
        }
    }
}

impl Delays {
    /// Nobody is away.
    pub fn new() -> Self {
        Self {
            on: AtomicBool::new(true),
            watched: Waiters::new(),
            budget: AtomicU64::new(0),
        }
    }

    /// The calling virtual thread, `leaving` with the id `thread`, is about to leave its carrier at `now`.
    pub fn unmount(
        &self,
        session: &Session,
        jni: Jni,
        leaving: jobject,
        thread: JavaThreadId,
        now: u64,
    ) {
        if !self.on.load(Ordering::Relaxed) {
            return;
        }
        let counters = session.shared.counters;
        if !self.has_room(now) {
            counters.add(Counter::BlockedUnwatched, 1);
            return;
        }
        let Some(held) = Held::in_callback(jni, leaving, Looks::default()) else {
            counters.add(Counter::BlockedUnwatched, 1);
            return;
        };
        let wait = Wait {
            since_ns: now,
            lock: held,
        };
        let left_over = match self.watched.enter(thread, wait) {
            Entered::Remembered => None,
            // A mount that was not told.
            Entered::InPlaceOf(before) => Some(before),
            Entered::Refused(refused) => {
                counters.add(Counter::BlockedUnwatched, 1);
                Some(refused)
            }
        };
        if let Some(wait) = left_over {
            wait.lock.release(jni);
        }
    }

    /// Counts one more in the slot of `now`, if there is room for it.
    fn has_room(&self, now: u64) -> bool {
        let slot = now / SLOT_NS;
        let before = self.budget.load(Ordering::Relaxed);
        let taken = if before >> 16 == slot {
            before & 0xFFFF
        } else {
            0
        };
        if taken >= WATCHED {
            return false;
        }
        self.budget
            .store(slot << 16 | (taken + 1), Ordering::Relaxed);
        true
    }

    /// The calling virtual thread is on a carrier again: the share of its wait in which it could have run, 0 to 1.
    pub fn mount(&self, jni: Jni, thread: JavaThreadId) -> f64 {
        let Some(wait) = self.watched.leave(thread) else {
            return 0.0;
        };
        let looks = wait.lock.with();
        let (all, runnable) = (
            looks.all.load(Ordering::Relaxed),
            looks.runnable.load(Ordering::Relaxed),
        );
        wait.lock.release(jni);
        if all == 0 {
            0.0
        } else {
            f64::from(runnable.min(all)) / f64::from(all)
        }
    }

    /// Starts the thread that looks; `None` when it could not be started.
    pub fn spawn(&'static self, session: &'static Session) -> Option<()> {
        let body = move || {
            session.registry.exclude(OsThreadId::current());
            let attached = session.vm.attached(THREAD, |jni| {
                let run = || self.run(session, jni);
                catch_unwind(AssertUnwindSafe(run)).is_ok()
            });
            if attached != Some(true) {
                log::error(
                    "waits for a carrier are not told from others any more: their thread failed",
                );
            }
        };
        std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(body)
            .ok()
            .map(drop)
    }

    fn run(&self, session: &Session, jni: Jni) {
        let mut chance = Chance::new(now_ns());
        let mut nap = TICK;
        let mut waits = Vec::new();
        let mut states = None;
        while !session.is_over() {
            // An even rhythm would beat with that of programs.
            std::thread::sleep(nap.mul_f64(0.5 + chance.draw()));
            if session.shared.gate.mode() != Mode::Armed {
                continue;
            }
            let Some(states) = self.states(&mut states, jni) else {
                if self.on.load(Ordering::Relaxed) {
                    continue;
                }
                return;
            };
            let begun = thread_cpu_ns();
            for shard in 0..self.watched.shards() {
                self.watched.each(shard, &mut waits);
                jni.with_frame(|| {
                    for wait in waits.drain(..) {
                        look(jni, states, &wait);
                        wait.release(jni);
                    }
                });
            }
            let used = thread_cpu_ns().saturating_sub(begun);
            session
                .shared
                .counters
                .add(Counter::BlockedDelaysCpuNs, used);
            nap = TICK.max(Duration::from_nanos(used) * SHARE);
        }
    }

    /// What states there are, once a thread was away: asked for before, `VirtualThread` would be initialised by it.
    fn states<'a>(&self, known: &'a mut Option<States>, jni: Jni) -> Option<&'a States> {
        if known.is_none() && self.watched.count() > 0 {
            match States::learn(jni) {
                Ok(states) => *known = Some(states),
                Err(error) => {
                    self.on.store(false, Ordering::Relaxed);
                    log::info(&format!(
                        "blocked= does not tell waits for a carrier from others here: {error}"
                    ));
                }
            }
        }
        known.as_ref()
    }
}

fn look(jni: Jni, states: &States, wait: &Held<Looks>) {
    let Some(thread) = wait.local(jni) else {
        return;
    };
    // SAFETY: what is watched is a virtual thread, and the field is its class's.
    let state = unsafe { jni.int_field(thread, states.field) };
    jni.delete_local(thread);
    if let Some(could_run) = states.could_run(state) {
        let looks = wait.with();
        looks.all.fetch_add(1, Ordering::Relaxed);
        looks
            .runnable
            .fetch_add(u32::from(could_run), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_runnable_waiting_or_says_nothing_whether_or_not_the_thread_is_suspended() {
        let states = States {
            field: std::ptr::null_mut(),
            runnable: vec![9, 11],
            waiting: vec![4, 5],
        };
        for suspended in [0, SUSPENDED] {
            assert_eq!(states.could_run(9 | suspended), Some(true));
            assert_eq!(states.could_run(5 | suspended), Some(false));
            assert_eq!(states.could_run(3 | suspended), None);
        }
    }

    #[test]
    fn so_many_waits_are_watched_a_slot_and_no_more() {
        let delays = Delays::new();
        for slot in [7, 8, 100] {
            let room = (0..2 * WATCHED)
                .filter(|n| delays.has_room(slot * SLOT_NS + n))
                .count();
            assert_eq!(room as u64, WATCHED, "{slot}");
        }
    }
}
