//! The thread `vtprof-ctl`: serves the socket, keeps the budget, and has the shim's MXBean made.
//!
//! It is attached to the VM, as what it may do needs that (events are switched, the shim is called), and waits in the
//! kernel else: it wakes up for a client, and each 10 s.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::perf::thread_cpu_ns;

use super::budget::{Budget, CHECK, Reading, Verdict, is_of_rates};
use super::request;
use super::socket::{Served, Socket};
use crate::jvm::jni::Jni;
use crate::jvm::shim;
use crate::jvm::worker;
use crate::log;
use crate::options::Jmx;
use crate::session::{Change, Plan, Session, State};
use crate::threads::own;
use crate::threads::timer::process_cpu_ns;

const THREAD: &str = "vtprof-ctl";
/// Where sockets are: HotSpot's own place, whatever `java.io.tmpdir` says.
const PARENT: &str = "/tmp";
/// The shim is asked for its MXBean that long after the start, then after twice as long, at the most after the second.
const MANAGE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// Of the time that a request took the thread, so many times are waited until the next: 1 % of a core at the most.
const REST: u32 = 99;
const REST_MOST: Duration = Duration::from_secs(1);
/// After one that made the drain write: that is another thread's time, and not little.
const REST_WRITTEN: Duration = REST_MOST;

/// The socket there is. Held for a look or a change; not while a client is served.
static SOCKET: Mutex<Option<Arc<Socket>>> = Mutex::new(None);

/// Starts the thread, and opens the socket; `None` when it could not be started. What is off needs neither.
pub fn begin(session: &'static Session) -> Option<()> {
    let options = session.options;
    if !options.ctl && options.max_overhead.is_none() && options.jmx == Jmx::Off {
        return Some(());
    }
    worker::spawn(
        session,
        THREAD,
        move |jni| Keeper::new(session, jni).run(),
        || {
            end();
            log::error(
                "vtprof ctl finds this JVM no more, and no budget is kept: their thread failed",
            );
        },
    )
}

/// The session ends: there is no socket any more, and its thread ends.
pub fn end() {
    if let Some(socket) = SOCKET.lock().take() {
        // Its thread may hold it, waiting for a client.
        socket.close();
    }
}

struct Keeper {
    session: &'static Session,
    jni: Jni,
    budget: Option<Budget>,
    /// As others had asked for at the last check.
    asked: Option<Plan>,
    next_check: Instant,
    /// When the shim is asked for its MXBean next, and after how long then; `None` once that is done.
    manage: Option<(Instant, Duration)>,
    is_refused: bool,
}

impl Keeper {
    fn new(session: &'static Session, jni: Jni) -> Self {
        let now = Instant::now();
        let options = session.options;
        Self {
            session,
            jni,
            budget: options.max_overhead.map(Budget::new),
            asked: None,
            next_check: now + CHECK,
            manage: (options.jmx != Jmx::Off).then_some((now + MANAGE.0, MANAGE.0)),
            is_refused: false,
        }
    }

    fn run(&mut self) {
        self.open();
        self.check();
        while !self.session.is_over() {
            let socket = SOCKET.lock().clone();
            let next = self
                .manage
                .map_or(self.next_check, |(at, _)| at.min(self.next_check));
            let left = next.saturating_duration_since(Instant::now());
            let has_client = wait(socket.as_deref(), left);
            if self.session.is_over() {
                return;
            }
            if let Some(socket) = socket.filter(|_| has_client) {
                self.serve(&socket);
            }
            let now = Instant::now();
            if now >= self.next_check {
                self.next_check = now + CHECK;
                self.open();
                self.check();
            }
            if let Some((at, gap)) = self.manage
                && now >= at
            {
                let is_forced = self.session.options.jmx == Jmx::On;
                let is_done = shim::manage(self.jni, self.session.shims, is_forced);
                let gap = (gap * 2).min(MANAGE.1);
                self.manage = (!is_done).then_some((now + gap, gap));
            }
        }
    }

    /// Opens the socket where there is none, or its file is gone.
    fn open(&mut self) {
        if !self.session.options.ctl {
            return;
        }
        let mut place = SOCKET.lock();
        if self.session.is_over() || place.as_ref().is_some_and(|socket| socket.is_there()) {
            return;
        }
        // Before its successor comes, which may get the number of its file.
        drop(place.take());
        match Socket::open(Path::new(PARENT)) {
            Ok(socket) => *place = Some(Arc::new(socket)),
            Err(error) => {
                if !std::mem::replace(&mut self.is_refused, true) {
                    log::info(&format!(
                        "vtprof ctl does not find this JVM, it has no socket in {PARENT}: {error} (ctl=off silences this)"
                    ));
                }
            }
        }
    }

    fn serve(&self, socket: &Socket) {
        let begun = thread_cpu_ns();
        let mut has_written = false;
        let answer = |line: &str| {
            has_written = request::makes_write(line);
            self.jni
                .with_frame(|| request::answer(self.session, line, "vtprof ctl"))
        };
        let counter = match socket.serve(answer) {
            Ok(Served::Answered) => Some(Counter::CtlRequests),
            Ok(Served::Refused) => Some(Counter::CtlRefused),
            Ok(Served::Nobody) => None,
            Err(error) => {
                // For want of descriptors, most likely: not again at once.
                log::debug(&format!("the socket of vtprof ctl: {error}"));
                std::thread::sleep(REST_MOST);
                None
            }
        };
        if let Some(counter) = counter {
            self.session.shared.counters.add(counter, 1);
        }
        let used = Duration::from_nanos(thread_cpu_ns().saturating_sub(begun));
        std::thread::sleep(rest(used, has_written));
    }

    fn check(&mut self) {
        let Some(budget) = &mut self.budget else {
            return;
        };
        let session = self.session;
        if session.state() != State::Running {
            budget.forget();
            return;
        }
        let counters = session.shared.counters;
        let handlers = [Counter::HandlerNs, Counter::WallHandlerNs].map(|of| counters.get(of));
        let threads = own::used();
        let threads = threads.iter().filter(|used| is_of_rates(used.thread()));
        let reading = Reading {
            at_ns: now_ns(),
            own_ns: threads.map(|used| used.cpu_ns).sum::<u64>() + handlers.iter().sum::<u64>(),
            process_ns: process_cpu_ns(),
        };
        let plan = session.rates.plan();
        let halvings = plan.halvings;
        let asked = plan.unhalved();
        if self.asked.replace(asked) != Some(asked) {
            budget.undone();
        }
        let (verdict, share) = budget.check(reading, halvings);
        // As it was written: 0.003 × 100 is not 0.3.
        let limit = (session.options.max_overhead.unwrap_or(1.0) * 1e6).round() / 1e4;
        let taken = share * 100.0;
        let (halvings, counter) = match verdict {
            Verdict::Keep => return,
            Verdict::Lower => (halvings + 1, Counter::BudgetLowered),
            Verdict::Raise => (halvings.saturating_sub(1), Counter::BudgetRaised),
            Verdict::Useless { is_first } => {
                if is_first {
                    log::warn(&format!(
                        "max_overhead={limit}%: the agent takes {taken:.1} %, and half of all rates has not made that less, so it is taken back; fewer kinds take less"
                    ));
                }
                (halvings.saturating_sub(1), Counter::BudgetRaised)
            }
            Verdict::Exhausted => {
                log::warn(&format!(
                    "max_overhead={limit}%: the agent takes {taken:.1} % at the lowest rates still; fewer kinds take less"
                ));
                return;
            }
        };
        let change = Change {
            halvings: Some(halvings),
            ..Change::default()
        };
        let who = format!("max_overhead={limit}%, of which the agent takes {taken:.1} %,");
        match session.set(&change, &who) {
            Ok(_) => counters.add(counter, 1),
            // Nobody else has asked, so nobody else is told.
            Err(error) => {
                log::warn(&format!("{who} sets nothing: {error}"));
                budget.undone();
            }
        }
        // What the change itself took is of no rate.
        budget.forget();
    }
}

/// How long no client is served after one that took the thread so long.
fn rest(used: Duration, has_written: bool) -> Duration {
    if has_written {
        REST_WRITTEN
    } else {
        (used * REST).min(REST_MOST)
    }
}

/// Waits until a client is there, at the most so long; whether one is.
fn wait(socket: Option<&Socket>, most: Duration) -> bool {
    // Not before the time has come.
    let millis = i32::try_from(most.as_millis() + 1).unwrap_or(i32::MAX);
    let mut waited = libc::pollfd {
        fd: socket.map_or(-1, Socket::descriptor),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, which is whole; a negative descriptor is passed over (poll(2)).
    let code = unsafe { libc::poll(&raw mut waited, 1, millis) };
    code > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_the_drain_write_is_followed_by_a_second_of_rest_and_who_looks_by_99_times_its_own()
    {
        let quick = Duration::from_micros(200);
        for line in ["dump", "set cpu=50hz", "start", "stop", " stop \n"] {
            let rested = rest(quick, request::makes_write(line));
            assert_eq!(rested, Duration::from_secs(1), "{line}");
        }
        for line in ["status", "", "stop now", "set cpu=none", "x"] {
            let rested = rest(quick, request::makes_write(line));
            assert_eq!(rested, quick * 99, "{line}");
        }
        assert_eq!(rest(Duration::from_secs(1), false), Duration::from_secs(1));
    }
}
