//! Who is inside a handler and what is done there, so that the books of a run can be closed.
//!
//! A handler enters before it counts anything, and leaves when all is counted. So while nobody is inside, each signal
//! in the books has its sample or its loss there, too. The books stay like that once the gate is closed: who comes
//! later counts outside of them, in `signals.after_stop` alone. To delete the timers is not enough: a thread may have
//! lost its CPU between the signal and the handler's first line, and a signal that is pending may be delivered
//! without its timer (timer_delete(2) leaves that open, and kernels differ).
//!
//! | mode | who enters | books |
//! |---|---|---|
//! | armed | takes a sample | sample, or loss by reason |
//! | disarmed | takes none | loss |
//! | closed | takes none | nothing |
//!
//! It begins disarmed. `arm` and `disarm`, `open` and `close` are pairs; after `end` it is closed for good, and what
//! is asked beside or after that changes nothing.
//!
//! **Empty after a change of mode is final.** `enter` adds to `inside` and then reads the mode; `is_empty` adds 0 to
//! `inside`, after its caller has changed the mode. What is added to one atomic is added in one order. An `enter`
//! that comes after such a look reads what the look has written, and so sees the new mode (Release there, Acquire
//! here). One that comes before it counts until it leaves, and what its handler has done by then is seen by the look
//! that finds nobody (Release in the subtraction, Acquire in the look). To acquire by a load in place of the addition
//! would not do: it could read a number of before.

use crate::primitive::{AtomicU32, AtomicU64, Ordering};

/// What is done by who enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Samples are taken.
    Armed,
    /// None is taken; what is lost is counted.
    Disarmed,
    /// None is taken, and the books are closed.
    Closed,
}

const DISARMED: u32 = 0;
const ARMED: u32 = 1;
const CLOSED: u32 = 2;
/// Closed; nothing leads on from here.
const ENDED: u32 = 3;

/// See the module. All of it is async-signal-safe and may be called from any thread.
pub struct Gate {
    /// Changed by read-modify-writes alone, so that no change is made of a mode that is over. Pair: Release in `turn`
    /// and `end`, Acquire in `mode`.
    mode: AtomicU32,
    /// Handlers between `enter` and `leave`. Pair: AcqRel in `enter` and `is_empty`, Release in `leave`.
    inside: AtomicU64,
}

impl Gate {
    /// Disarmed, with nobody inside.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            mode: AtomicU32::new(DISARMED),
            inside: AtomicU64::new(0),
        }
    }

    /// Disarmed, with nobody inside. Loom's atomics are not made at compile time.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            mode: AtomicU32::new(DISARMED),
            inside: AtomicU64::new(0),
        }
    }

    /// Disarmed until now: samples are taken.
    pub fn arm(&self) {
        self.turn(DISARMED, ARMED);
    }

    /// Armed until now: no sample is begun any more; those that have begun are over once [`Gate::is_empty`].
    pub fn disarm(&self) {
        self.turn(ARMED, DISARMED);
    }

    /// Disarmed until now: the books are closed once [`Gate::is_empty`].
    pub fn close(&self) {
        self.turn(DISARMED, CLOSED);
    }

    /// Closed until now: who enters counts again.
    pub fn open(&self) {
        self.turn(CLOSED, DISARMED);
    }

    /// The books are closed once [`Gate::is_empty`], and are not opened again.
    pub fn end(&self) {
        self.mode.swap(ENDED, Ordering::Release);
    }

    /// From any other mode, and so from `ENDED`, nothing changes.
    fn turn(&self, from: u32, to: u32) {
        let _other_mode =
            self.mode
                .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
    }

    /// What would be done by who entered now.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self.mode.load(Ordering::Acquire) {
            ARMED => Mode::Armed,
            DISARMED => Mode::Disarmed,
            _ => Mode::Closed,
        }
    }

    /// Comes in, and says what is to be done there; out when that is dropped.
    pub fn enter(&self) -> Inside<'_> {
        self.inside.fetch_add(1, Ordering::AcqRel);
        Inside {
            gate: self,
            mode: self.mode(),
        }
    }

    /// Whether nobody is inside. Who has left has done so with all that it did there; for who comes, see the module.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inside.fetch_add(0, Ordering::AcqRel) == 0
    }

    /// Whether somebody may be inside; sure where it is the calling thread itself. Cheaper than [`Gate::is_empty`],
    /// and says nothing of anybody else.
    #[must_use]
    pub fn may_be_inside(&self) -> bool {
        self.inside.load(Ordering::Relaxed) > 0
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// One who is inside, until this is dropped.
#[must_use]
pub struct Inside<'g> {
    gate: &'g Gate,
    mode: Mode,
}

impl Inside<'_> {
    /// What is to be done, by the mode at the entry.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.gate.inside.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_mode_leads_on_from_one_other_and_the_end_is_the_end() {
        let gate = Gate::new();
        let changes: [fn(&Gate); 4] = [Gate::arm, Gate::disarm, Gate::close, Gate::open];
        let [arm, disarm, close, open] = changes;
        let modes = |changes: &[fn(&Gate)]| -> Vec<Mode> {
            let each = changes.iter().map(|change| {
                change(&gate);
                gate.mode()
            });
            each.collect()
        };
        use Mode::{Armed, Closed, Disarmed};
        assert_eq!(gate.mode(), Disarmed);
        assert_eq!(
            modes(&[open, disarm, arm, close, open, arm]),
            [Disarmed, Disarmed, Armed, Armed, Armed, Armed]
        );
        assert_eq!(
            modes(&[disarm, close, arm, disarm, open, arm]),
            [Disarmed, Closed, Closed, Closed, Disarmed, Armed]
        );
        gate.end();
        assert_eq!(modes(&changes), [Closed; 4]);
    }

    #[test]
    fn who_is_inside_goes_by_the_mode_at_its_entry_and_is_out_when_dropped() {
        let gate = Gate::new();
        gate.arm();
        assert!(gate.is_empty() && !gate.may_be_inside());
        let first = gate.enter();
        gate.disarm();
        let second = gate.enter();
        assert_eq!((first.mode(), second.mode()), (Mode::Armed, Mode::Disarmed));
        drop(first);
        assert!(!gate.is_empty() && gate.may_be_inside());
        drop(second);
        assert!(gate.is_empty() && !gate.may_be_inside());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::{sync::Arc, thread};

    /// The books in small.
    struct Books {
        gate: Gate,
        signals: AtomicU64,
        taken: AtomicU64,
        lost: AtomicU64,
    }

    impl Books {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                gate: Gate::new(),
                signals: AtomicU64::new(0),
                taken: AtomicU64::new(0),
                lost: AtomicU64::new(0),
            })
        }

        /// As `handler::on_timer` does.
        fn signal(&self) {
            let inside = self.gate.enter();
            if inside.mode() == Mode::Closed {
                return;
            }
            self.signals.fetch_add(1, Ordering::Relaxed);
            let outcome = match inside.mode() {
                Mode::Armed => &self.taken,
                Mode::Disarmed | Mode::Closed => &self.lost,
            };
            outcome.fetch_add(1, Ordering::Relaxed);
        }

        /// Signals, and those of which it is known what became of them.
        fn read(&self) -> (u64, u64) {
            let outcomes = self.taken.load(Ordering::Relaxed) + self.lost.load(Ordering::Relaxed);
            (self.signals.load(Ordering::Relaxed), outcomes)
        }
    }

    fn handler(books: &Arc<Books>) -> thread::JoinHandle<()> {
        let books = Arc::clone(books);
        thread::spawn(move || books.signal())
    }

    /// Two handlers of which one may hide the other's entry or leave, and who takes away what samples are taken from.
    #[test]
    fn loom_nobody_takes_a_sample_once_the_gate_is_disarmed_and_nobody_is_inside() {
        loom::model(|| {
            let shared = Arc::new((Gate::new(), AtomicU32::new(0)));
            shared.0.arm();
            let handlers = [(); 2].map(|()| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (gate, gone) = &*shared;
                    let inside = gate.enter();
                    if inside.mode() == Mode::Armed {
                        assert_eq!(gone.load(Ordering::Relaxed), 0);
                    }
                })
            });
            let (gate, gone) = &*shared;
            gate.disarm();
            if gate.is_empty() {
                gone.store(1, Ordering::Relaxed);
            }
            for handler in handlers {
                handler.join().unwrap();
            }
        });
    }

    /// A handler anywhere in a session's end.
    #[test]
    fn loom_books_are_even_when_nobody_is_inside_and_closed_ones_do_not_change() {
        loom::model(|| {
            let books = Books::new();
            books.gate.arm();
            let handler = handler(&books);
            books.gate.disarm();
            books.gate.end();
            let closed = books.gate.is_empty().then(|| books.read());
            handler.join().unwrap();
            let (signals, outcomes) = books.read();
            assert_eq!(signals, outcomes);
            if let Some(closed) = closed {
                assert_eq!(closed, (signals, outcomes));
            }
        });
    }

    /// A session that is started again while another thread ends it.
    #[test]
    fn loom_what_has_ended_is_not_opened_by_a_start_beside_it() {
        loom::model(|| {
            let books = Books::new();
            books.gate.close();
            let starter = {
                let books = Arc::clone(&books);
                thread::spawn(move || {
                    books.gate.open();
                    books.gate.arm();
                })
            };
            let handler = handler(&books);
            books.gate.end();
            let closed = books.gate.is_empty().then(|| books.read());
            starter.join().unwrap();
            handler.join().unwrap();
            assert_eq!(books.gate.mode(), Mode::Closed);
            let (signals, outcomes) = books.read();
            assert_eq!(signals, outcomes);
            if let Some(closed) = closed {
                assert_eq!(closed, (signals, outcomes));
            }
        });
    }
}
