//! What became of what was to be delivered. For each unit (requests, samples, bytes of bodies):
//!
//! ```text
//! handed over + taken up from before = delivered + dropped, for any reason + waiting
//! ```
//!
//! Atomics are Relaxed: each is a number alone, and the sum above is exact whenever no courier is in the middle of a move.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::form::LeftOut;
use crate::request::Request;

/// Why a request was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// It was the oldest where there was no room.
    SpoolFull,
    /// It alone has no room.
    TooLarge,
    /// The server does not want it (4xx, a redirect).
    Refused,
    /// It failed again and again while others were taken.
    Failed,
    /// The process ended.
    End,
    /// Its file was changed or removed.
    Damaged,
    /// Not at all: the server does not know the form, and its window was put into an older one.
    Replaced,
}

impl Lost {
    /// All, in the order of the books.
    pub const ALL: [Self; 7] = [
        Self::SpoolFull,
        Self::TooLarge,
        Self::Refused,
        Self::Failed,
        Self::End,
        Self::Damaged,
        Self::Replaced,
    ];
}

/// A size, in each unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Requests.
    pub requests: u64,
    /// Samples in them.
    pub samples: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

impl Size {
    /// Of one request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self {
            requests: 1,
            samples: request.samples,
            bytes: request.body.len() as u64,
        }
    }
}

impl std::ops::Add for Size {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            samples: self.samples + other.samples,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |sum, size| sum + size)
    }
}

/// One account.
#[derive(Debug, Default)]
struct Account {
    requests: AtomicU64,
    samples: AtomicU64,
    bytes: AtomicU64,
}

impl Account {
    fn add(&self, size: Size) {
        self.requests.fetch_add(size.requests, Ordering::Relaxed);
        self.samples.fetch_add(size.samples, Ordering::Relaxed);
        self.bytes.fetch_add(size.bytes, Ordering::Relaxed);
    }

    fn take(&self, size: Size) {
        self.requests.fetch_sub(size.requests, Ordering::Relaxed);
        self.samples.fetch_sub(size.samples, Ordering::Relaxed);
        self.bytes.fetch_sub(size.bytes, Ordering::Relaxed);
    }

    fn get(&self) -> Size {
        Size {
            requests: self.requests.load(Ordering::Relaxed),
            samples: self.samples.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

/// What is counted by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A window was handed over.
    WindowHanded,
    /// A window was dropped before it was encoded: the thread that does so was behind.
    WindowDropped,
    /// Samples that a target's form, or its servers, have no place for.
    SampleLeftOut,
    /// Stacks that were cut for it.
    StackCut,
    /// Static labels that were left out of a window for it.
    LabelLeftOut,
    /// Lines of comments likewise.
    CommentLeftOut,
    /// An upload was tried.
    Attempt,
    /// An upload failed and comes again.
    Retry,
    /// A file of the spool could not be written: the request waits in memory.
    DiskFailed,
    /// A file of an earlier run was not whole, and was removed.
    FileDamaged,
    /// A file of the spool that nobody took up for a week was removed.
    FileOld,
    /// A file of the spool could not be removed: what is in it may be sent again by the next run.
    FileStays,
    /// A profile that the server took the request of but not itself (OTLP's partial success).
    ProfileRejected,
}

/// How many there are.
const EVENTS: usize = Event::ProfileRejected as usize + 1;

/// See the module.
#[derive(Debug, Default)]
pub struct Books {
    handed: Account,
    recovered: Account,
    delivered: Account,
    dropped: [Account; Lost::ALL.len()],
    waiting: Account,
    events: [AtomicU64; EVENTS],
}

impl Books {
    /// Something happened that often.
    pub fn count(&self, event: Event, times: u64) {
        self.events[event as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// How often it has happened.
    #[must_use]
    pub fn counted(&self, event: Event) -> u64 {
        self.events[event as usize].load(Ordering::Relaxed)
    }

    /// What a form had no place for.
    pub fn leave_out(&self, left_out: &LeftOut) {
        self.count(Event::SampleLeftOut, left_out.samples);
        self.count(Event::StackCut, left_out.cut_stacks);
        self.count(Event::LabelLeftOut, left_out.labels);
        self.count(Event::CommentLeftOut, left_out.comments);
    }

    /// A new request waits.
    pub fn hand_over(&self, size: Size) {
        self.handed.add(size);
        self.waiting.add(size);
    }

    /// One of an earlier run waits again.
    pub fn take_up(&self, size: Size) {
        self.recovered.add(size);
        self.waiting.add(size);
    }

    /// One that waited has arrived.
    pub fn deliver(&self, size: Size) {
        self.waiting.take(size);
        self.delivered.add(size);
    }

    /// One that waited is given up.
    pub fn drop_waiting(&self, size: Size, why: Lost) {
        self.waiting.take(size);
        self.dropped[why as usize].add(size);
    }

    /// What was handed over.
    #[must_use]
    pub fn handed(&self) -> Size {
        self.handed.get()
    }

    /// What was taken up from an earlier run.
    #[must_use]
    pub fn recovered(&self) -> Size {
        self.recovered.get()
    }

    /// What has arrived.
    #[must_use]
    pub fn delivered(&self) -> Size {
        self.delivered.get()
    }

    /// What was given up for that reason.
    #[must_use]
    pub fn dropped(&self, why: Lost) -> Size {
        self.dropped[why as usize].get()
    }

    /// What waits.
    #[must_use]
    pub fn waiting(&self) -> Size {
        self.waiting.get()
    }

    /// Whether the sum of the module's head is right.
    #[must_use]
    pub fn are_even(&self) -> bool {
        let dropped: Size = Lost::ALL.iter().map(|why| self.dropped(*why)).sum();
        self.handed() + self.recovered() == self.delivered() + dropped + self.waiting()
    }

    /// All figures: name, whether it only grows, value.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, bool, u64)> {
        let (handed, delivered, waiting) = (self.handed(), self.delivered(), self.waiting());
        let mut figures = vec![
            (
                "push.windows_handed",
                true,
                self.counted(Event::WindowHanded),
            ),
            (
                "push.windows_dropped",
                true,
                self.counted(Event::WindowDropped),
            ),
            (
                "push.samples_left_out",
                true,
                self.counted(Event::SampleLeftOut),
            ),
            ("push.stacks_cut", true, self.counted(Event::StackCut)),
            (
                "push.labels_left_out",
                true,
                self.counted(Event::LabelLeftOut),
            ),
            (
                "push.comments_left_out",
                true,
                self.counted(Event::CommentLeftOut),
            ),
            ("push.requests_handed", true, handed.requests),
            ("push.samples_handed", true, handed.samples),
            ("push.handed_bytes", true, handed.bytes),
            ("push.requests_recovered", true, self.recovered().requests),
            ("push.samples_recovered", true, self.recovered().samples),
            ("push.recovered_bytes", true, self.recovered().bytes),
            ("push.requests_delivered", true, delivered.requests),
            ("push.samples_delivered", true, delivered.samples),
            ("push.delivered_bytes", true, delivered.bytes),
            ("push.requests_waiting", false, waiting.requests),
            ("push.samples_waiting", false, waiting.samples),
            ("push.waiting_bytes", false, waiting.bytes),
            ("push.attempts", true, self.counted(Event::Attempt)),
            ("push.retries", true, self.counted(Event::Retry)),
            (
                "push.profiles_rejected",
                true,
                self.counted(Event::ProfileRejected),
            ),
            ("push.disk_failed", true, self.counted(Event::DiskFailed)),
            ("push.files_damaged", true, self.counted(Event::FileDamaged)),
            ("push.files_old", true, self.counted(Event::FileOld)),
            ("push.files_stay", true, self.counted(Event::FileStays)),
        ];
        for (why, names) in Lost::ALL.into_iter().zip(DROPPED) {
            let size = self.dropped(why);
            for (name, value) in names
                .into_iter()
                .zip([size.requests, size.samples, size.bytes])
            {
                figures.push((name, true, value));
            }
        }
        figures
    }
}

/// Names of what is dropped: requests, samples, bytes.
const DROPPED: [[&str; 3]; Lost::ALL.len()] = [
    [
        "push.requests_dropped_spool_full",
        "push.samples_dropped_spool_full",
        "push.dropped_spool_full_bytes",
    ],
    [
        "push.requests_dropped_too_large",
        "push.samples_dropped_too_large",
        "push.dropped_too_large_bytes",
    ],
    [
        "push.requests_dropped_refused",
        "push.samples_dropped_refused",
        "push.dropped_refused_bytes",
    ],
    [
        "push.requests_dropped_failed",
        "push.samples_dropped_failed",
        "push.dropped_failed_bytes",
    ],
    [
        "push.requests_dropped_end",
        "push.samples_dropped_end",
        "push.dropped_end_bytes",
    ],
    [
        "push.requests_dropped_damaged",
        "push.samples_dropped_damaged",
        "push.dropped_damaged_bytes",
    ],
    [
        "push.requests_replaced",
        "push.samples_replaced",
        "push.replaced_bytes",
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_move_keeps_the_books_even_and_a_move_that_is_left_out_shows() {
        let books = Books::default();
        let size = |n| Size {
            requests: 1,
            samples: n,
            bytes: 10 * n,
        };
        books.hand_over(size(1));
        books.hand_over(size(2));
        books.take_up(size(4));
        assert!(books.are_even());
        books.deliver(size(1));
        books.drop_waiting(size(2), Lost::Refused);
        assert!(books.are_even());
        assert_eq!(books.waiting(), size(4));
        books.delivered.add(size(4));
        assert!(!books.are_even());
    }

    #[test]
    fn no_two_figures_have_a_name_in_common_and_each_loss_has_three() {
        let figures = Books::default().figures();
        let names: HashSet<_> = figures.iter().map(|figure| figure.0).collect();
        assert_eq!(names.len(), figures.len());
        let dropped = names
            .iter()
            .filter(|name| name.contains("dropped_"))
            .count();
        assert_eq!(dropped, 3 * (Lost::ALL.len() - 1), "replaced is not lost");
    }
}
