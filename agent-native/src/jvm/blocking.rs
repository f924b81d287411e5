//! How long virtual threads were off their carriers: the engine of [`Kind::Blocked`].
//!
//! An unmount notes the time in the thread's own record, the next mount takes the note and knows the duration.
//! There the thread's whole stack is still the one at which it was parked, so it is taken there, and only if
//! chance wills it ([`chance`]). A thread without a record is in no context and costs the look for it.
//!
//! A wait that goes on when a window ends is charged up to then by the drain, which moves the note; of its stack
//! nothing is known before it is over.
//!
//! Both callbacks run on the virtual thread. They call no Java, and allocate nothing but a sample and the note by which
//! [`Delays`] tells how much of the wait was one for a carrier, under a lock of a few instructions. A pinned thread does not
//! leave its carrier: only its vain attempt is seen, some µs.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use jni_sys::jobject;
use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::gate::Mode;
use vtprof_signal::tag::{JavaThreadId, Tag};

use super::capture::{self, Event};
use super::delays::Delays;
use super::jni::Jni;
use crate::aggregate::weight::Weight;
use crate::events::chance::{self, Chance};
use crate::session::Session;

thread_local! {
    /// The thread's own random numbers; `None` before the first. Never touched by the handler.
    static CHANCE: Cell<Option<Chance>> = const { Cell::new(None) };
}

/// See the module.
#[derive(Debug)]
pub struct Blocking {
    /// 0 while it is off. Relaxed: written while no samples are taken.
    period_ns: AtomicU64,
    /// `None` where no thread leaves a carrier.
    pub delays: Option<Delays>,
    /// When sampling began last, ns: what was waited before is of no window. Relaxed: a time alone, written before
    /// samples are taken.
    begun_ns: AtomicU64,
}

impl Blocking {
    /// With that period, ns; `switches` where virtual threads leave their carriers here.
    pub fn new(period_ns: u64, switches: bool) -> Self {
        Self {
            period_ns: AtomicU64::new(period_ns),
            delays: switches.then(Delays::new),
            begun_ns: AtomicU64::new(0),
        }
    }

    /// Another period, ns; 0 for off. While no samples are taken. Who is away is noted all the same, or a running time
    /// would be a wait once it is on again.
    pub fn set_period(&self, period_ns: u64) {
        self.period_ns.store(period_ns, Ordering::Relaxed);
    }

    /// Waits count from now on.
    pub fn begin(&self) {
        self.begun_ns.store(now_ns(), Ordering::Relaxed);
        self.next_window();
    }

    /// The calling virtual thread, `leaving` with the id `thread`, is about to leave its carrier.
    pub fn unmount(&self, session: &Session, jni: Jni, leaving: jobject, thread: JavaThreadId) {
        if let Some(left_ns) = session.shared.contexts.leave(thread, now_ns)
            && let Some(delays) = &self.delays
            && session.shared.gate.mode() == Mode::Armed
            && self.period_ns.load(Ordering::Relaxed) > 0
        {
            delays.unmount(session, jni, leaving, thread, left_ns);
        }
    }

    /// The calling virtual thread, `mounted` with the id `thread`, is on a carrier again.
    pub fn mount(&self, session: &Session, jni: Jni, mounted: jobject, thread: JavaThreadId) {
        // The note is taken even while sampling is stopped, or it would be older than the next run of the thread.
        let Some(left_ns) = session.shared.contexts.come_back(thread) else {
            return;
        };
        let now = now_ns();
        let delayed = self.delays.as_ref();
        let delayed = delayed.map_or(0.0, |delays| delays.mount(session, jni, thread, now));
        if session.shared.gate.mode() != Mode::Armed {
            return;
        }
        let Some(weight) = self.weight(left_ns, now) else {
            return;
        };
        let event = Event {
            kind: Kind::Blocked,
            weight,
            leaf_class: None,
            state: None,
            delayed,
        };
        if capture::take(session, jni, mounted, event).is_err() {
            session.shared.counters.add(Counter::BlockedNoStack, 1);
        }
    }

    /// Ends, for the window that does so at `until_ns`, the waits of all who are away: the tag of each that chance
    /// wills to be sampled, and what it stands for. Called by the drain alone.
    pub fn end_window(&self, session: &Session, until_ns: u64) -> Vec<(Tag, Weight)> {
        let mut open = Vec::new();
        let contexts = &session.shared.contexts;
        contexts.still_away(0, contexts.capacity(), until_ns, |tag, left_ns| {
            let weight = self.weight(left_ns, until_ns);
            open.extend(weight.map(|weight| (tag, weight)));
        });
        self.next_window();
        open
    }

    fn next_window(&self) {
        if let Some(delays) = &self.delays {
            delays.next_window();
        }
    }

    /// What the sample of a wait stands for, as far as it was sampled; `None` if there is to be none.
    fn weight(&self, left_ns: u64, until_ns: u64) -> Option<Weight> {
        let since_ns = left_ns.max(self.begun_ns.load(Ordering::Relaxed));
        let period_ns = self.period_ns.load(Ordering::Relaxed);
        (period_ns > 0)
            .then(|| chance::weight(until_ns.saturating_sub(since_ns), period_ns, draw))
            .flatten()
    }
}

/// A number from 0 up to 1, of this thread's own sequence.
pub(super) fn draw() -> f64 {
    CHANCE.with(|cell| {
        // No two threads draw the same: the cell's address is their own.
        let seed = || Chance::new(now_ns() ^ std::ptr::from_ref(cell).addr() as u64);
        let mut chance = cell.get().unwrap_or_else(seed);
        let drawn = chance.draw();
        cell.set(Some(chance));
        drawn
    })
}
