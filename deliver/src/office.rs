//! Where windows are handed in: one thread puts them into each target's form, and a courier a target brings them.
//!
//! Whoever hands a window in is never kept: where the thread is behind, the older window is dropped, and counted.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::backoff;
use crate::books::{Books, Event};
use crate::clock::{Clock, Moment};
use crate::courier::{Courier, Setup};
use crate::desk::{Desk, Door};
use crate::form::Form;
use crate::http::Client;
use crate::origin::{Origin, seed};
use crate::say::{Level, Say};
use crate::spool::Bounds;
use crate::spool::disk::Disk;
use crate::target::Target;
use crate::window::Window;

/// Windows that wait for their form, at the most.
const INBOX: usize = 2;
/// New requests of a process are sent at a time of its own within the interval of uploads, or this if that is shorter.
const STAGGER: Duration = Duration::from_secs(60);
/// How long the last requests have when the process ends.
pub const FLUSH: Duration = Duration::from_secs(2);
/// Bound of what waits in memory, of all targets, bytes.
pub const MEMORY: u64 = 16 << 20;

/// A target and its form.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Where to.
    pub target: Target,
    /// In what form.
    pub form: Form,
}

/// Where requests wait on a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskSpool {
    /// The folder; each service and target has its own in it.
    pub folder: PathBuf,
    /// Bound of all targets of this process together, bytes.
    pub bytes: u64,
}

/// How it is done, where a test may want another way.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Bound of what waits in memory, of all targets together, bytes.
    pub memory: u64,
    /// Where else it waits.
    pub disk: Option<DiskSpool>,
    /// Waits after failures.
    pub backoff: backoff::Bounds,
    /// Time between two windows.
    pub every: Duration,
}

struct Inbox {
    /// Each with whom it comes from, by the labels that there were when it ended.
    windows: VecDeque<(Arc<Origin>, Arc<Window>)>,
    /// One is being put into its forms.
    is_forming: bool,
    /// It was said that windows are dropped.
    is_told: bool,
    closing: Option<Moment>,
    /// Its thread has ended.
    is_over: bool,
}

/// See the module. Any thread may call it.
pub struct Office {
    origin: Mutex<Origin>,
    desks: Vec<Desk>,
    manner: Manner,
    books: Arc<Books>,
    say: Say,
    clock: Clock,
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

/// Starts a thread of that name.
pub type Spawn<'a> = &'a dyn Fn(&str, Box<dyn FnOnce() + Send>) -> std::io::Result<()>;

impl Office {
    /// An office that nobody works in yet.
    #[must_use]
    pub fn new(destinations: Vec<Destination>, origin: Origin, manner: Manner, say: Say) -> Self {
        let books = Arc::new(Books::default());
        let share = destinations.len().max(1) as u64;
        let seed = seed(&origin.host, origin.pid);
        let desk = |(n, destination): (usize, Destination)| {
            let setup = Setup {
                name: destination.target.to_string(),
                bounds: Bounds {
                    memory: manner.memory / share,
                    disk: manner.disk.as_ref().map_or(0, |disk| disk.bytes / share),
                },
                backoff: manner.backoff,
                timeout: destination.target.timeout,
                seed: seed.wrapping_add(n as u64),
            };
            let courier = Courier::new(setup, Arc::clone(&books), say.clone());
            Desk::new(destination, courier, say.clone())
        };
        Self {
            desks: destinations.into_iter().enumerate().map(desk).collect(),
            origin: Mutex::new(origin),
            manner,
            books,
            say,
            clock: Clock::start(),
            inbox: Mutex::new(Inbox {
                windows: VecDeque::new(),
                is_forming: false,
                is_told: false,
                closing: None,
                is_over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The books of all targets.
    #[must_use]
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// Starts its threads by `spawn`, which contains their panics: `vtprof-push`, and one more a target.
    ///
    /// # Errors
    /// One could not be started.
    pub fn open(&'static self, spawn: Spawn<'_>) -> std::io::Result<()> {
        for (n, desk) in self.desks.iter().enumerate() {
            let run = move || {
                let _over = Closer(|| desk.courier.abandon());
                let client = Client::new(desk.target.clone(), desk.form);
                let mut door = Door::new(desk, client, &self.books);
                desk.courier.run(&mut door, self.clock);
            };
            spawn(&format!("vtprof-push-{}", n + 1), Box::new(run))?;
        }
        let run = move || {
            let _over = Closer(|| self.encoding_is_over());
            self.open_spools();
            self.run();
        };
        spawn("vtprof-push", Box::new(run))
    }

    /// Hands a window in. Never waits for a server or a disk.
    pub fn hand_over(&self, window: Window) {
        self.books.count(Event::WindowHanded, 1);
        let origin = Arc::new(self.origin.lock().clone());
        let mut inbox = self.inbox.lock();
        if inbox.is_over || inbox.closing.is_some() {
            self.books.count(Event::WindowDropped, 1);
            return;
        }
        let is_behind = inbox.windows.len() >= INBOX;
        if is_behind {
            inbox.windows.pop_front();
            self.books.count(Event::WindowDropped, 1);
        }
        inbox.windows.push_back((origin, Arc::new(window)));
        self.changed.notify_all();
        let is_news = is_behind && !std::mem::replace(&mut inbox.is_told, true);
        drop(inbox);
        if is_news {
            self.say.line(
                Level::Warn,
                "push: windows end sooner than they are put into requests, and the oldest is lost: use a larger every=, or look at the disk of push_spool",
            );
        }
    }

    /// What is sent from now on has these labels.
    pub fn set_labels(&self, labels: Vec<(String, String)>) {
        self.origin.lock().labels = labels;
    }

    /// The process ends: what is here has until then to arrive, all targets at once. Afterwards no thread of the office
    /// sends anything. Where requests wait already windows have half of that to become some, too: a disk that hangs is not to
    /// keep those that are.
    pub fn finish(&self, within: Duration) {
        let began = self.clock.now();
        let until = began.after(within);
        let has_waiting = self.books.waiting().requests > 0;
        let formed = began.after(if has_waiting { within / 2 } else { within });
        let mut inbox = self.inbox.lock();
        inbox.closing = Some(until);
        self.changed.notify_all();
        while !inbox.is_over {
            let left = formed.since(self.clock.now());
            if left.is_zero() || self.changed.wait_for(&mut inbox, left).timed_out() {
                break;
            }
        }
        inbox.is_over = true;
        let mut lost = inbox.windows.drain(..).count() as u64;
        drop(inbox);
        for desk in &self.desks {
            desk.courier.close(until);
        }
        for desk in &self.desks {
            desk.courier.finish(until, self.clock);
        }
        // Of one that is being formed some requests may be on their way.
        lost += u64::from(std::mem::take(&mut self.inbox.lock().is_forming));
        self.lose(lost);
    }

    fn lose(&self, windows: u64) {
        self.books.count(Event::WindowDropped, windows);
        if windows > 0 {
            let line = format!(
                "push: {windows} windows did not become requests, or not all of them, before the end, and are lost"
            );
            self.say.line(Level::Warn, &line);
        }
    }

    fn encoding_is_over(&self) {
        let mut inbox = self.inbox.lock();
        inbox.is_over = true;
        // None, unless it has failed.
        let lost = inbox.windows.drain(..).count() as u64
            + u64::from(std::mem::take(&mut inbox.is_forming));
        drop(inbox);
        self.lose(lost);
        self.changed.notify_all();
    }

    fn open_spools(&self) {
        let Some(disk) = &self.manner.disk else {
            return;
        };
        let (service, name) = {
            let origin = self.origin.lock();
            (origin.service.clone(), process_name(&origin))
        };
        let mut marks: Vec<u64> = Vec::new();
        for desk in &self.desks {
            let first = desk.target.mark(&service, 0);
            let nth = marks.iter().filter(|it| **it == first).count();
            marks.push(first);
            let mark = desk.target.mark(&service, nth);
            match Disk::open(&disk.folder, mark, &name) {
                Ok((files, left)) => desk.use_disk(files, left, self.ready(self.manner.every)),
                Err(error) => self.say.line(
                    Level::Warn,
                    &format!(
                        "push_spool={}: {error}; what waits is in memory",
                        disk.folder.display()
                    ),
                ),
            }
        }
    }

    fn run(&self) {
        while let Some((origin, window)) = self.next_window() {
            let ready = self.ready(Duration::from_nanos(window.duration_ns));
            for desk in &self.desks {
                desk.take(&origin, &window, ready, &self.books);
            }
        }
    }

    /// The next window, once there is one; none any more where the process ends.
    fn next_window(&self) -> Option<(Arc<Origin>, Arc<Window>)> {
        let mut inbox = self.inbox.lock();
        inbox.is_forming = false;
        while !inbox.is_over {
            if let Some(next) = inbox.windows.pop_front() {
                inbox.is_forming = true;
                return Some(next);
            }
            if inbox.closing.is_some() {
                return None;
            }
            self.changed.wait(&mut inbox);
        }
        None
    }

    /// When this process sends what it has now, where so much time is between two windows.
    fn ready(&self, interval: Duration) -> Moment {
        let millis = u64::try_from(interval.min(STAGGER).as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        let origin = self.origin.lock();
        let offset = seed(&origin.host, origin.pid) % millis;
        self.clock.now().after(Duration::from_millis(offset))
    }
}

/// Does something when it goes, be it by a panic.
struct Closer<F: Fn()>(F);

impl<F: Fn()> Drop for Closer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A name for a process that no other on this machine has, before or after.
fn process_name(origin: &Origin) -> String {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos());
    format!("{}-{since}", origin.pid)
}

#[cfg(test)]
mod tests;
