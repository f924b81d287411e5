//! How long virtual threads that could run waited for a carrier, as a share of the time that they were off theirs.
//!
//! HotSpot tells nobody when a thread becomes runnable, but `VirtualThread.state` says whether it is. So a thread of the
//! agent's looks at those who are away, at random times some 10 ms apart: of the looks at one wait, as many as found it
//! runnable are on average the share of the wait in which it was. The mount that ends the wait takes that share. A wait that
//! nobody has looked at is told as a whole by what the thread was parked for: so delays shorter than some 10 ms are in
//! what was waited for, and sums of delays are rather too low than too high.
//!
//! Where a window ends, what was seen before is of no account: the time until then is charged to what it was.
//!
//! What this costs is bounded: of more than [`WATCHED`] waits in a slot of time chance decides which are watched, and looks take
//! 0.3 % of a core at the most, coming further apart where many wait. A thread that ends while it is away, or is given up
//! by all, is met by a look and forgotten.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use jni_sys::{jfieldID, jobject};
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::gate::Mode;
use vtprof_signal::perf::thread_cpu_ns;
use vtprof_signal::tag::JavaThreadId;

use super::blocking;
use super::jni::{self, Jni};
use super::waiters::{Entered, Held, Wait, Waiters};
use super::worker;
use crate::events::chance::Chance;
use crate::log;
use crate::session::Session;

/// Name of the thread.
pub const THREAD: &str = "vtprof-delays";
/// Time between two looks, on average.
const TICK: Duration = Duration::from_millis(10);
/// A look takes no more than one part in so many of the time.
const SHARE: u32 = 300;
/// Waits that begin to be watched in a slot: at some 0.6 µs each 0.3 % of a core.
const WATCHED: u64 = 500;
const SLOT_NS: u64 = 100_000_000;

/// States in which a thread could run and is on no carrier, as `VirtualThread.java` calls them: one of the first two in each JDK,
/// the first in early ones.
const RUNNABLE: [&str; 4] = ["RUNNABLE", "UNPARKED", "YIELDED", "UNBLOCKED"];
/// Those in which it is off its carrier and cannot, or is on its way there.
const WAITING: [&str; 10] = [
    "PARKING",
    "PARKED",
    "TIMED_PARKING",
    "TIMED_PARKED",
    "BLOCKING",
    "BLOCKED",
    "WAITING",
    "WAIT",
    "TIMED_WAITING",
    "TIMED_WAIT",
];
/// Set beside a state while a debugger has the thread stopped.
const SUSPENDED: i32 = 1 << 8;

/// What was seen of one wait: a [`Seen`], packed. Relaxed: one thread writes, and the one that reads may miss its last look.
#[derive(Debug, Default)]
pub struct Looks(AtomicU64);

/// Looks of one window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Seen {
    /// Number of the window, modulo 2¹⁶.
    window: u16,
    /// Looks, and those that found the thread runnable: 24 bits each.
    all: u32,
    runnable: u32,
}

/// Counts go no further.
const MOST: u32 = (1 << 24) - 1;

impl Seen {
    fn packed(self) -> u64 {
        u64::from(self.window) << 48 | u64::from(self.all) << 24 | u64::from(self.runnable)
    }

    fn unpacked(bits: u64) -> Self {
        Self {
            window: (bits >> 48) as u16,
            all: (bits >> 24) as u32 & MOST,
            runnable: bits as u32 & MOST,
        }
    }

    /// What counts in that window.
    fn in_window(self, window: u16) -> Self {
        if self.window == window {
            self
        } else {
            Self {
                window,
                ..Self::default()
            }
        }
    }

    fn with(self, could_run: bool) -> Self {
        if self.all == MOST {
            return self;
        }
        Self {
            all: self.all + 1,
            runnable: self.runnable + u32::from(could_run),
            ..self
        }
    }
}

/// What `VirtualThread.state` means on this JVM.
#[derive(Debug)]
struct States {
    field: jfieldID,
    runnable: Vec<i32>,
    waiting: Vec<i32>,
    ended: i32,
}

/// See the module.
#[derive(Debug)]
pub struct Delays {
    /// Whether waits are to be watched. Relaxed: until this JVM's states have turned out not to be as expected.
    on: AtomicBool,
    watched: Waiters<Held<Looks>>,
    /// Number of the slot, of which 32 bits, and waits in it. Relaxed, as the next: a bound that may be passed by a few.
    slot: AtomicU64,
    /// Waits in the slot before.
    before: AtomicU32,
    /// Number of the window. Relaxed: a look that misses the end of one counts in it.
    window: AtomicU32,
}

impl States {
    fn learn(jni: Jni) -> jni::Result<Self> {
        let class = jni.find_class("java/lang/VirtualThread")?;
        let states = Self {
            field: jni.field(class, "state", "I")?,
            runnable: jni.static_ints(class, &RUNNABLE),
            waiting: jni.static_ints(class, &WAITING),
            ended: jni.static_int(class, "TERMINATED")?,
        };
        let woken = jni.static_ints(class, &RUNNABLE[..2]);
        let is_known = !woken.is_empty() && states.waiting.len() >= 2;
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
            slot: AtomicU64::new(0),
            before: AtomicU32::new(0),
            window: AtomicU32::new(0),
        }
    }

    /// What was seen until now is of no account any more.
    pub fn next_window(&self) {
        self.window.fetch_add(1, Ordering::Relaxed);
    }

    fn window(&self) -> u16 {
        self.window.load(Ordering::Relaxed) as u16
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
        if !self.has_room(now, blocking::draw) {
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

    /// Counts one more in the slot of `now`; whether it is one of those to be watched: so many as there is room for, of as
    /// many as there were in the slot before, so that none is preferred for the time in the slot at which it comes.
    fn has_room(&self, now: u64, draw: impl FnOnce() -> f64) -> bool {
        let slot = (now / SLOT_NS) & u64::from(u32::MAX);
        let known = self.slot.load(Ordering::Relaxed);
        let (known_slot, mut waits) = (known >> 32, known & u64::from(u32::MAX));
        if known_slot != slot {
            let before = if slot == known_slot + 1 { waits } else { 0 };
            self.before.store(before as u32, Ordering::Relaxed);
            waits = 0;
        }
        self.slot.store(slot << 32 | (waits + 1), Ordering::Relaxed);
        let before = u64::from(self.before.load(Ordering::Relaxed));
        before.max(waits) < WATCHED || draw() * before.max(waits) as f64 <= WATCHED as f64
    }

    /// The calling virtual thread is on a carrier again, at `now`: the share of its wait in which it could have run, 0 to 1.
    pub fn mount(&self, session: &Session, jni: Jni, thread: JavaThreadId, now: u64) -> f64 {
        let Some(wait) = self.watched.leave(thread) else {
            return 0.0;
        };
        let seen = Seen::unpacked(wait.lock.with().0.load(Ordering::Relaxed));
        let waited = Duration::from_nanos(now.saturating_sub(wait.since_ns));
        wait.lock.release(jni);
        let seen = seen.in_window(self.window());
        if seen.all == 0 {
            if waited > 2 * TICK {
                session.shared.counters.add(Counter::BlockedUnwatched, 1);
            }
            0.0
        } else {
            f64::from(seen.runnable) / f64::from(seen.all)
        }
    }

    /// Starts the thread that looks; `None` when it could not be started.
    pub fn spawn(&'static self, session: &'static Session) -> Option<()> {
        let failed = || {
            self.on.store(false, Ordering::Relaxed);
            log::error(
                "waits for a carrier are not told from others any more: their thread failed",
            );
        };
        worker::spawn(session, THREAD, move |jni| self.run(session, jni), failed)
    }

    fn run(&self, session: &Session, jni: Jni) {
        let mut chance = Chance::new(now_ns());
        let mut nap = TICK;
        let mut waits = Vec::new();
        let mut states = None;
        while !session.is_over() {
            // An even rhythm would beat with that of programs.
            std::thread::sleep(chance.around(nap));
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
                if waits.is_empty() {
                    continue;
                }
                let window = self.window();
                jni.with_frame(|| {
                    for (thread, wait) in waits.drain(..) {
                        let is_over = !look(jni, states, &wait, window);
                        let forgotten = is_over.then(|| {
                            let is_it = |held: &Held<Looks>| held.is_same(&wait);
                            self.watched.forget(thread, is_it)
                        });
                        if let Some(forgotten) = forgotten.flatten() {
                            forgotten.lock.release(jni);
                        }
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

/// Looks at a wait; whether it may go on.
fn look(jni: Jni, states: &States, wait: &Held<Looks>, window: u16) -> bool {
    let Some(thread) = wait.local(jni) else {
        return false;
    };
    // SAFETY: what is watched is a virtual thread, and the field is its class's.
    let state = unsafe { jni.int_field(thread, states.field) };
    jni.delete_local(thread);
    if let Some(could_run) = states.could_run(state) {
        let looks = &wait.with().0;
        let seen = Seen::unpacked(looks.load(Ordering::Relaxed));
        let seen = seen.in_window(window).with(could_run);
        looks.store(seen.packed(), Ordering::Relaxed);
    }
    state & !SUSPENDED != states.ended
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
            ended: 99,
        };
        for suspended in [0, SUSPENDED] {
            assert_eq!(states.could_run(9 | suspended), Some(true));
            assert_eq!(states.could_run(5 | suspended), Some(false));
            assert_eq!(states.could_run(3 | suspended), None);
        }
    }

    #[test]
    fn as_many_waits_are_watched_a_slot_as_there_is_room_for_wherever_in_it_they_come() {
        let mut chance = Chance::new(7);
        let delays = Delays::new();
        // Few: all of them.
        for slot in [7, 8] {
            let each = |n| delays.has_room(slot * SLOT_NS + n, || 1.0);
            assert!((0..WATCHED).all(each), "{slot}");
        }
        // Ten times as many: once that is known, one in ten, early and late alike.
        const MANY: u64 = 10 * WATCHED;
        for slot in 9..19 {
            let watched: Vec<u64> = (0..MANY)
                .filter(|n| delays.has_room(slot * SLOT_NS + n, || chance.draw()))
                .collect();
            if slot == 9 {
                continue;
            }
            let late = watched.iter().filter(|n| **n >= MANY / 2).count() as f64;
            let all = watched.len() as f64;
            assert!((all / WATCHED as f64 - 1.0).abs() < 0.2, "{all}");
            assert!((late / all - 0.5).abs() < 0.1, "{late} of {all}");
        }
    }

    #[test]
    fn looks_count_in_their_window_alone_and_no_count_runs_into_another() {
        let mut seen = Seen::default().in_window(u16::MAX);
        for could_run in [true, false, true] {
            seen = Seen::unpacked(seen.with(could_run).packed());
        }
        assert_eq!((seen.window, seen.all, seen.runnable), (u16::MAX, 3, 2));
        assert_eq!(seen.in_window(u16::MAX), seen);
        let next = seen.in_window(0);
        assert_eq!((next.all, next.runnable), (0, 0));
        let full = Seen {
            window: 5,
            all: MOST,
            runnable: MOST,
        };
        assert_eq!(Seen::unpacked(full.with(true).packed()), full);
    }
}
