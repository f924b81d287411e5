//! The wall engine: a thread that visits those that run Java, and asks each where it is.
//!
//! | module | noun |
//! |---|---|
//! | [`visits`] | one round after the other over all threads, at a bounded cost a tick |
//! | [`entered`] | what threads tell of themselves that could not be walked |
//! | [`repeats`] | what it tells the drain of threads that stand where they stood |
//!
//! Not a timer a thread: five thousand idle ones would be woken a hundred times a second each. The engine's thread
//! knows no JVM: it is not attached, so no stop of the world stops it, and what it sees of a pause is in proportion.
//! It ticks while samples are taken, and else waits.

pub mod entered;
pub mod repeats;
pub mod visits;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::shared::Shared;

use crate::events::chance::Chance;
use crate::log;
use crate::options::{Options, WallScope};
use crate::session::Session;
use crate::threads::registry::Registry;
use crate::threads::timer::OsThreadId;
use entered::EnteredStacks;
use repeats::Repeats;
use visits::{Budget, Visits};

/// Period of the engine where it runs for blocked time alone.
const PERIOD: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// To be ticking, and what was seen before is of no account.
    Beginning,
    Ticking,
    Over,
}

/// See the module.
pub struct Wall {
    /// ns; 0 while nobody wants it. Relaxed, as the two below: written while the engine waits, and published by the lock
    /// of its phase.
    period_ns: AtomicU64,
    /// Whether threads in no context are visited as well.
    of_all: AtomicBool,
    /// Whether threads that run count, too: not where it is about blocked time alone.
    of_running: AtomicBool,
    scope: WallScope,
    /// Held during a tick.
    phase: Mutex<Phase>,
    changed: Condvar,
    pub repeats: Repeats,
    pub entered: EnteredStacks,
}

impl Wall {
    /// The engine, where somebody wants it.
    pub fn new(options: &Options) -> Option<Self> {
        let is_wanted = options.wall.is_some() || options.period(Kind::Blocked).is_some();
        let wall = is_wanted.then(|| Self {
            period_ns: AtomicU64::new(0),
            of_all: AtomicBool::new(false),
            of_running: AtomicBool::new(false),
            scope: options.wall_scope,
            phase: Mutex::new(Phase::Waiting),
            changed: Condvar::new(),
            repeats: Repeats::new(),
            entered: EnteredStacks::new(),
        });
        wall.inspect(|wall| wall.set(options.wall, options.blocked.is_some()))
    }

    /// Another period of [`Kind::Wall`], or none, and whether blocked time is on. While the engine waits.
    pub fn set(&self, wall: Option<Duration>, is_blocked: bool) {
        let period = wall.or(is_blocked.then_some(PERIOD));
        let period_ns = period.map_or(0, |period| {
            u64::try_from(period.as_nanos()).unwrap_or(u64::MAX)
        });
        self.period_ns.store(period_ns, Ordering::Relaxed);
        let of_all = wall.is_some() && self.scope == WallScope::All;
        self.of_all.store(of_all, Ordering::Relaxed);
        self.of_running.store(wall.is_some(), Ordering::Relaxed);
    }

    /// Whether threads in no context are visited as well.
    pub fn of_all(&self) -> bool {
        self.of_all.load(Ordering::Relaxed)
    }

    /// Whether threads that run count, too.
    pub fn of_running(&self) -> bool {
        self.of_running.load(Ordering::Relaxed)
    }

    fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns.load(Ordering::Relaxed))
    }

    /// Starts its thread, which waits; `None` when it could not be started.
    pub fn spawn(&'static self, session: &'static Session) -> Option<()> {
        std::thread::Builder::new()
            .name("vtprof-wall".to_owned())
            .spawn(move || {
                session.registry.exclude(OsThreadId::current());
                let run = || self.run(session.shared, &session.registry);
                if catch_unwind(AssertUnwindSafe(run)).is_err() {
                    log::error(
                        "the wall engine failed: nothing is sampled by the wall clock any more",
                    );
                }
                session.registry.end_excluded();
            })
            .ok()
            .map(drop)
    }

    fn run(&self, shared: &'static Shared, registry: &Registry) {
        let mut visits = Visits::new(self, shared, registry, Budget::of(self.period()));
        let mut chance = Chance::new(now_ns());
        let mut next = Instant::now();
        let mut phase = self.phase.lock();
        loop {
            match *phase {
                Phase::Over => return,
                Phase::Waiting => {
                    self.changed.wait(&mut phase);
                    continue;
                }
                // Not when it wakes up: it may have slept all the while since the last tick.
                Phase::Beginning => {
                    visits.restart(Budget::of(self.period()));
                    next = Instant::now();
                    *phase = Phase::Ticking;
                }
                Phase::Ticking => {}
            }
            let ticks = visits.tick();
            // From half to one and a half of them, each drawn for itself: even ones would keep step with what the
            // application does by the clock. What was missed is not made up for: the next stands for it.
            let gap = chance.around(self.period() * ticks);
            next = (next + gap).max(Instant::now());
            self.changed.wait_until(&mut phase, next);
        }
    }

    /// Visits from now on: what passed before is of no account.
    pub fn begin(&self) {
        let mut phase = self.phase.lock();
        if *phase == Phase::Waiting && !self.period().is_zero() {
            *phase = Phase::Beginning;
            self.changed.notify_all();
        }
    }

    /// Visits nobody any more. No visit goes on when this returns; signals may be on their way.
    pub fn end(&self) {
        let mut phase = self.phase.lock();
        if *phase != Phase::Over {
            *phase = Phase::Waiting;
        }
    }

    /// As [`Wall::end`], for good; its thread ends.
    pub fn finish(&self) {
        *self.phase.lock() = Phase::Over;
        self.changed.notify_all();
    }
}
