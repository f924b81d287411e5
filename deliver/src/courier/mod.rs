//! Brings one target its requests: one at a time, again where that failed, later where it is told so.
//!
//! | module | noun |
//! |---|---|
//! | [`answer`] | what a server says |
//! | `ending` | what becomes of the rest when the process ends |
//!
//! A request is let go when the server has said that it has it (2xx), and not before: so each arrives at least once, and
//! once where no answer is lost on the way back. What to do next is decided without a clock or a socket of its own
//! ([`Courier::next`], [`Courier::answered`]); [`Courier::run`] is the thread around it.

pub mod answer;
mod ending;

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::backoff::{self, Backoff};
use crate::books::{Books, Event, Lost, Size};
use crate::clock::{Clock, Moment};
use crate::request::Request;
use crate::say::{Level, Say};
use crate::spool::disk::{self, Disk, Left, Unread};
use crate::spool::{Bounds, Number, Place, Spool};
use answer::{Answer, Carrier};

/// So often one fails although others are taken, and is given up.
const SUSPICIOUS: u32 = 5;

/// What to do next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Send that.
    Send(Attempt),
    /// Nothing, until then or until something changes.
    Wait(Option<Moment>),
    /// Nothing more, ever.
    Over,
}

/// One upload.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What it is of.
    pub number: Number,
    /// Where that is.
    pub place: Place,
    /// How long it may take.
    pub within: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// The process ends: all is sent that can be until then.
    Closing(Moment),
    /// Nothing is sent any more; what is left is put where it stays.
    Over,
    /// All is in its last place.
    Settled,
}

/// What was left at the end.
#[derive(Clone, Copy, Default, Debug)]
struct Rest {
    /// In files, for the next run.
    kept: Size,
    /// Not.
    lost: Size,
}

/// No file is touched and no line is written while this is locked: a disk that hangs would keep the thread that ends the
/// JVM.
#[derive(Debug)]
struct State {
    spool: Spool,
    backoff: Backoff,
    /// After a failure.
    not_before: Moment,
    in_flight: Option<Number>,
    phase: Phase,
    /// What is being put into a file at the end.
    writing: Option<Size>,
    rest: Rest,
    /// The last upload did not work; it was said.
    failing: bool,
    /// The last request was refused; it was said.
    refusing: bool,
    /// A request was given up; it was said.
    giving_up: bool,
    /// Of a request that was taken profiles were thrown away; it was said.
    rejecting: bool,
    /// Requests taken so far.
    taken: u64,
}

/// What a courier is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The target, for lines.
    pub name: String,
    /// Bounds of what waits.
    pub bounds: Bounds,
    /// Waits after failures.
    pub backoff: backoff::Bounds,
    /// How long an upload may take.
    pub timeout: Duration,
    /// For chance.
    pub seed: u64,
}

/// See the module. Any thread may call it.
#[derive(Debug)]
pub struct Courier {
    setup: Setup,
    books: Arc<Books>,
    say: Say,
    /// Only the thread that puts requests in writes files.
    disk: Mutex<Option<Disk>>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Courier {
    /// One that has nothing to do yet.
    #[must_use]
    pub fn new(setup: Setup, books: Arc<Books>, say: Say) -> Self {
        let state = State {
            spool: Spool::new(setup.bounds),
            backoff: Backoff::new(setup.backoff, setup.seed),
            not_before: Moment::START,
            in_flight: None,
            phase: Phase::Open,
            writing: None,
            rest: Rest::default(),
            failing: false,
            refusing: false,
            giving_up: false,
            rejecting: false,
            taken: 0,
        };
        Self {
            setup,
            books,
            say,
            disk: Mutex::new(None),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// From now on requests are in files; those that earlier processes left come first.
    pub fn use_disk(&self, disk: Disk, left: Left, ready: Moment) {
        *self.disk.lock() = Some(disk);
        self.books.count(Event::FileDamaged, left.damaged);
        self.books.count(Event::FileOld, left.old);
        if left.old > 0 {
            let line = format!(
                "push_spool: {} requests that no process has taken up for a week are removed",
                left.old
            );
            self.say.line(Level::Warn, &line);
        }
        for found in left.whole {
            self.books.take_up(found.size);
            let place = Place::Disk {
                path: found.path,
                length: found.length,
            };
            self.enqueue(place, found.size, ready);
        }
    }

    /// As where a process ends: the files are nobody's.
    #[cfg(test)]
    pub fn let_disk_go(&self) {
        *self.disk.lock() = None;
    }

    /// Takes a request, to be sent from `ready` on.
    pub fn put(&self, request: Request, ready: Moment) {
        let size = Size::of(&request);
        self.books.hand_over(size);
        let place = self.place(request);
        self.enqueue(place, size, ready);
    }

    fn place(&self, request: Request) -> Place {
        let mut disk = self.disk.lock();
        let Some(disk) = &mut *disk else {
            return Place::Memory(Arc::new(request));
        };
        match disk.write(&request) {
            Ok((path, length)) => Place::Disk { path, length },
            Err(error) => {
                self.books.count(Event::DiskFailed, 1);
                if self.books.counted(Event::DiskFailed) == 1 {
                    self.say.line(
                        Level::Warn,
                        &format!("push_spool: {error}; what waits is in memory"),
                    );
                }
                Place::Memory(Arc::new(request))
            }
        }
    }

    fn enqueue(&self, place: Place, size: Size, ready: Moment) {
        let mut state = self.state.lock();
        let gone = if matches!(state.phase, Phase::Over | Phase::Settled) {
            // One in a file waits there for the next run.
            if matches!(place, Place::Memory(_)) {
                self.books.drop_waiting(size, Lost::End);
            }
            Vec::new()
        } else {
            let in_flight = state.in_flight;
            state.spool.put(place, size, ready, in_flight, &self.books)
        };
        drop(state);
        self.changed.notify_all();
        for path in gone {
            self.forget(&path);
        }
    }

    /// What is to be done now.
    pub fn next(&self, now: Moment) -> Step {
        self.next_of(&mut self.state.lock(), now)
    }

    fn next_of(&self, state: &mut State, now: Moment) -> Step {
        let until = match state.phase {
            Phase::Over | Phase::Settled => return Step::Over,
            Phase::Closing(until) => Some(until),
            Phase::Open => None,
        };
        let left = until.map(|until| until.since(now));
        if left.is_some_and(|left| left.is_zero()) || until.is_some() && state.spool.is_empty() {
            return self.over(state);
        }
        if until.is_none() && now < state.not_before {
            return Step::Wait(Some(state.not_before));
        }
        let next = state
            .spool
            .pick(|entry| until.is_some() || entry.ready <= now);
        let Some(entry) = next else {
            return Step::Wait(state.spool.first_ready());
        };
        let attempt = Attempt {
            number: entry.number,
            place: entry.place.clone(),
            within: left.map_or(self.setup.timeout, |left| left.min(self.setup.timeout)),
        };
        state.in_flight = Some(attempt.number);
        self.books.count(Event::Attempt, 1);
        Step::Send(attempt)
    }

    fn over(&self, state: &mut State) -> Step {
        if state.phase != Phase::Settled {
            state.phase = Phase::Over;
        }
        self.changed.notify_all();
        Step::Over
    }

    /// What came of an attempt.
    pub fn answered(&self, number: Number, answer: Answer, now: Moment) {
        let mut state = self.state.lock();
        let (file, line) = self.answered_of(&mut state, number, answer, now);
        drop(state);
        self.changed.notify_all();
        if let Some(file) = file {
            self.forget(&file);
        }
        if let Some((level, line)) = line {
            self.tell(level, &line);
        }
    }

    /// The same: the file that is to go, and what is to be told.
    fn answered_of(
        &self,
        state: &mut State,
        number: Number,
        answer: Answer,
        now: Moment,
    ) -> (Option<PathBuf>, Option<(Level, String)>) {
        state.in_flight = None;
        match answer {
            Answer::Taken { rejected } => {
                state.taken += 1;
                state.backoff.reset();
                state.not_before = now;
                self.books.count(Event::ProfileRejected, rejected);
                let was_failing = std::mem::take(&mut state.failing);
                let is_new = std::mem::take(&mut state.refusing) || was_failing;
                let line = if rejected > 0 && !std::mem::replace(&mut state.rejecting, true) {
                    let again = if is_new { " again" } else { "" };
                    let line = format!(
                        "takes profiles{again}, and says that it has thrown some of them away (push.profiles_rejected): its own log may say why"
                    );
                    Some((Level::Warn, line))
                } else {
                    is_new.then(|| (Level::Info, "takes profiles again".to_owned()))
                };
                (self.let_go(state, number, None), line)
            }
            Answer::Replaced => (self.let_go(state, number, Some(Lost::Replaced)), None),
            Answer::Refused { why, .. } => {
                let is_new = !std::mem::replace(&mut state.refusing, true);
                let line = format!("does not take a profile, which is lost: {why}");
                let line = is_new.then_some((Level::Warn, line));
                (self.let_go(state, number, Some(Lost::Refused)), line)
            }
            Answer::Later {
                why,
                asked,
                is_suspect,
            } => {
                self.books.count(Event::Retry, 1);
                let wait = state.backoff.failed(asked);
                state.not_before = now.after(wait);
                let taken = state.taken;
                let given_up = state.spool.find(number).is_some_and(|entry| {
                    entry.tries += 1;
                    if is_suspect {
                        if entry.tries > 1 && taken > entry.taken_before {
                            entry.suspicion += 1;
                        }
                        entry.taken_before = taken;
                    }
                    entry.suspicion >= SUSPICIOUS
                });
                let file = given_up.then(|| self.let_go(state, number, Some(Lost::Failed)));
                let is_new = !std::mem::replace(&mut state.failing, true);
                let is_first = given_up && !std::mem::replace(&mut state.giving_up, true);
                let line = if is_first {
                    format!(
                        "does not take a profile though it takes others, which is lost after {SUSPICIOUS} more attempts: {why}"
                    )
                } else {
                    format!("{why}; what is to be sent waits")
                };
                if matches!(state.phase, Phase::Closing(_)) {
                    self.over(state);
                }
                (
                    file.flatten(),
                    (is_new || is_first).then_some((Level::Warn, line)),
                )
            }
        }
    }

    /// Its file was not there, or not whole.
    fn damaged(&self, number: Number) {
        let mut state = self.state.lock();
        state.in_flight = None;
        let file = self.let_go(&mut state, number, Some(Lost::Damaged));
        drop(state);
        if let Some(file) = file {
            self.forget(&file);
        }
    }

    /// Takes a request out, into the books; the file it was in.
    fn let_go(&self, state: &mut State, number: Number, lost: Option<Lost>) -> Option<PathBuf> {
        let entry = state.spool.remove(number)?;
        match lost {
            None => self.books.deliver(entry.size),
            Some(why) => self.books.drop_waiting(entry.size, why),
        }
        entry.place.into_file()
    }

    fn forget(&self, path: &Path) {
        let Err(error) = fs::remove_file(path) else {
            return;
        };
        if error.kind() == io::ErrorKind::NotFound {
            return;
        }
        // The next run would send it again, unless nothing is in it.
        let emptied = fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path);
        let outcome = match emptied {
            Ok(_) => "is emptied",
            Err(_) => "may be sent again",
        };
        self.books.count(Event::FileStays, 1);
        if self.books.counted(Event::FileStays) == 1 {
            let line = format!(
                "push_spool: {} cannot be removed and {outcome}: {error}",
                path.display()
            );
            self.say.line(Level::Warn, &line);
        }
    }

    fn tell(&self, level: Level, what: &str) {
        self.say
            .line(level, &format!("push: {} {what}", self.setup.name));
    }

    /// The thread: until it is over.
    pub fn run(&self, carrier: &mut dyn Carrier, clock: Clock) {
        while let Some(attempt) = self.await_attempt(clock) {
            let request = match &attempt.place {
                Place::Memory(request) => Ok(Arc::clone(request)),
                Place::Disk { path, .. } => disk::read(path).map(|(request, _)| Arc::new(request)),
            };
            match request {
                Ok(request) => {
                    let answer = carrier.carry(&request, attempt.within);
                    self.answered(attempt.number, answer, clock.now());
                }
                Err(Unread::Damaged) => {
                    self.tell(
                        Level::Warn,
                        "a request in push_spool is lost: its file is not whole, or is gone",
                    );
                    self.damaged(attempt.number);
                }
                Err(Unread::Now(error)) => {
                    let answer = Answer::Later {
                        why: format!("is not asked: a file of push_spool: {error}"),
                        asked: None,
                        is_suspect: true,
                    };
                    self.answered(attempt.number, answer, clock.now());
                }
            }
        }
        self.settle();
    }

    fn await_attempt(&self, clock: Clock) -> Option<Attempt> {
        let mut state = self.state.lock();
        loop {
            let now = clock.now();
            match self.next_of(&mut state, now) {
                Step::Over => return None,
                Step::Send(attempt) => return Some(attempt),
                Step::Wait(None) => self.changed.wait(&mut state),
                Step::Wait(Some(until)) => {
                    self.changed.wait_for(&mut state, until.since(now));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
