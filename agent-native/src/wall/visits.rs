//! One round after the other over all threads that run Java.
//!
//! A tick has a budget: of time for looks from outside, and of threads that are asked. Where one is used up the round
//! goes on at the next tick. So the cost is bounded and the interval is not: each visit stands for the time since the
//! last.
//!
//! A thread that waits is asked once, which wakes it, and from then on looked at from outside ([`vtprof_signal::visit`]):
//! - Its CPU clock stands still since it was seen to stand, and its tag is what it was: it has not run, so it stands
//!   there still. One system call of some 0.3 µs.
//! - It has run a little since it was asked: by the end of the handler, or more. If the words on its stack are those of
//!   the imprint, and its clock has not gone on while they and its tag were read, it stands where it stood.
//!
//! What a thread wrote before it went to sleep is seen by who reads a clock that stands still: the kernel's
//! `schedule()` is a full barrier, and on x86-64, the only architecture with imprints, stores are seen in order.

use std::time::Duration;

use vtprof_signal::block::{Block, Imprint, passed};
use vtprof_signal::clock::now_ns;
use vtprof_signal::context_table::Lookup;
use vtprof_signal::cookie::{BlockIndex, Cookie, Generation};
use vtprof_signal::counters::Counter;
use vtprof_signal::shared::Shared;
use vtprof_signal::siginfo::TimerInfo;
use vtprof_signal::tag::Tag;
use vtprof_signal::visit::{Digest, LARGEST};

use super::Wall;
use super::repeats::Repeat;
use crate::jvm::memory;
use crate::threads::registry::Registry;
use crate::threads::timer::{OsThreadId, cpu_time_ns};

/// A tick, if the budget of a second is divided so.
const TICK: Duration = Duration::from_millis(10);
/// Threads asked in such a tick: 2 % of a core at 25 µs each, if all threads run and switch all the time.
const SIGNALS: u32 = 8;
/// For looks from outside, in such a tick: 0.3 % of a core. In time and not in looks, which may cost 0.3 µs or five times
/// as much, as memory is.
const LOOKS_NS: u64 = 30_000;
/// Where a round takes more ticks than that, so many are made at once: to wake up takes 25 µs itself.
const STRIDE: u32 = 5;
/// Places that are looked at under one lock.
const BATCH: usize = 32;
/// CPU time, ns, that the end of a handler may take. A thread that has used more since it was asked has moved on: its
/// stack is not worth a look.
const HANDLER_END: u64 = 1_000_000;
/// CPU time, ns, that a thread does not use before a signal is delivered that is pending.
const LOST: u64 = 10_000_000;

/// What may be done in a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    looks_ns: u64,
    signals: u32,
}

impl Budget {
    /// As much a second, whatever the period.
    pub fn of(period: Duration) -> Self {
        let share = |of: u64| {
            let share = u128::from(of) * period.as_micros() / TICK.as_micros();
            u64::try_from(share).unwrap_or(u64::MAX).max(1)
        };
        Self {
            looks_ns: share(LOOKS_NS),
            signals: u32::try_from(share(SIGNALS.into())).unwrap_or(u32::MAX),
        }
    }

    /// Of so many ticks.
    fn of_ticks(self, ticks: u32) -> Self {
        Self {
            looks_ns: self.looks_ns.saturating_mul(ticks.into()),
            signals: self.signals.saturating_mul(ticks),
        }
    }

    fn is_used_up(self) -> bool {
        self.looks_ns == 0 || self.signals == 0
    }
}

/// What was seen of a place last. All that is needed of a thread that stands, so that nothing else is touched for it.
#[derive(Clone, Copy)]
struct Seen {
    /// Life of the block; none that there is before it was seen.
    generation: Generation,
    os_thread: OsThreadId,
    /// CPU clock of its thread, ns.
    cpu_ns: u64,
    /// Up to when its time is accounted for, ns; while it was asked, the block knows.
    accounted_ns: u64,
    /// Whether it was asked; the block knows whether it has answered.
    is_asked: bool,
    /// Whether the kernel took the signal.
    is_sent: bool,
    /// Sample and tag of the thread, which was seen to stand; 0 where it was not.
    sample_ns: u64,
    tag: Tag,
}

impl Seen {
    const NOTHING: Self = Self {
        generation: Generation(u32::MAX),
        os_thread: OsThreadId(0),
        cpu_ns: 0,
        accounted_ns: 0,
        is_asked: false,
        is_sent: false,
        sample_ns: 0,
        tag: Tag::EMPTY,
    };
}

/// Nobody is asked any more, and no imprint left, at that many places: signals were turned away while the gate was
/// closed. Before it opens again; the engine does not tick meanwhile.
pub fn forget(shared: &Shared, places: usize) {
    for place in 0..places {
        if let Some(block) = shared.blocks.get(BlockIndex(place as u32)) {
            block.set_imprint(None);
            block.answer();
        }
    }
}

/// See the module. Used by the engine's thread alone.
pub struct Visits<'a> {
    wall: &'a Wall,
    shared: &'static Shared,
    registry: &'a Registry,
    budget: Budget,
    left: Budget,
    seen: Vec<Seen>,
    /// The place that is next.
    next: usize,
    /// When the round began, and how long the last took, ns.
    round_ns: (u64, u64),
    /// Ticks of the round so far.
    ticks: u32,
    /// Ticks that are made at once.
    stride: u32,
    stack: Vec<u8>,
    /// Whether a thread's CPU clock tells that it has run a little. One that goes in steps of 10 ms, as that of gVisor
    /// does, tells nothing: each thread is asked each time then.
    clock_is_fine: bool,
}

/// How long a CPU clock may stand while its thread runs, ns.
const FINE: u64 = 50_000;

/// Whether the CPU clock of the calling thread, read as those of others are, goes on while the thread runs.
fn clock_is_fine() -> bool {
    let me = OsThreadId::current();
    let stands = || {
        let (before, began) = (cpu_time_ns(me), now_ns());
        while cpu_time_ns(me) == before {
            if now_ns() - began > FINE {
                return true;
            }
        }
        false
    };
    // Where it lost its CPU in between it stands, too.
    (0..10).any(|_| !stands())
}

impl<'a> Visits<'a> {
    pub fn new(
        wall: &'a Wall,
        shared: &'static Shared,
        registry: &'a Registry,
        budget: Budget,
    ) -> Self {
        Self {
            wall,
            shared,
            registry,
            budget,
            left: budget,
            seen: Vec::new(),
            next: 0,
            round_ns: (now_ns(), 0),
            ticks: 0,
            stride: 1,
            stack: Vec::new(),
            clock_is_fine: clock_is_fine(),
        }
    }

    /// What passed before and what was seen is of no account.
    pub fn restart(&mut self, budget: Budget) {
        self.budget = budget;
        self.seen.clear();
        self.next = 0;
        self.round_ns = (now_ns(), 0);
        (self.ticks, self.stride) = (0, 1);
    }

    /// Visits as many threads as the budget allows, each once at the most. After how many ticks it is to be called again.
    pub fn tick(&mut self) -> u32 {
        self.left = self.budget.of_ticks(self.stride);
        self.ticks = self.ticks.saturating_add(self.stride);
        self.visit_all();
        self.stride
    }

    fn visit_all(&mut self) {
        let places = self.registry.places();
        self.seen.resize(places, Seen::NOTHING);
        let registry = self.registry;
        let mut to_go = places;
        while to_go > 0 && !self.left.is_used_up() {
            if self.next >= places {
                self.next = 0;
            }
            if self.next == 0 {
                let now = now_ns();
                self.round_ns = (now, now.saturating_sub(self.round_ns.0));
                self.stride = self.ticks.clamp(1, STRIDE);
                self.ticks = 0;
            }
            let most = BATCH.min(to_go).min(places - self.next);
            let passed = registry.each_java(self.next, most, |cookie| {
                if self.left.is_used_up() {
                    return false;
                }
                let at = cookie.block.0 as usize;
                let seen = self.seen.get(at).copied().unwrap_or(Seen::NOTHING);
                // No Java thread ends while the registry is locked.
                let (began, signals) = (now_ns(), self.left.signals);
                let seen = self.visit(cookie, seen);
                if signals == self.left.signals {
                    let took = now_ns().saturating_sub(began);
                    self.left.looks_ns = self.left.looks_ns.saturating_sub(took);
                }
                if let Some(place) = self.seen.get_mut(at) {
                    *place = seen;
                }
                true
            });
            if passed == 0 {
                return;
            }
            self.next += passed;
            to_go -= passed;
        }
    }

    /// What is seen now of a Java thread that is kept from its end.
    fn visit(&mut self, cookie: Cookie, mut seen: Seen) -> Seen {
        let Some(block) = self.shared.blocks.get(cookie.block) else {
            return seen;
        };
        if seen.generation != cookie.generation {
            let Some((os_thread, generation)) = block.owner() else {
                return Seen::NOTHING;
            };
            seen = Seen {
                generation,
                os_thread: OsThreadId(os_thread),
                // What came before was not its own, or of no account: it stands for the time since the last round came
                // by. So one that lives for less than a round is sampled in proportion.
                accounted_ns: now_ns().saturating_sub(self.round_ns.1),
                ..Seen::NOTHING
            };
        }
        if seen.os_thread.0 == 0 {
            return seen;
        }
        if seen.is_asked {
            if block.is_asked() {
                self.shared.counters.add(Counter::WallUnanswered, 1);
                return self.ask_again(cookie, seen);
            }
            seen.is_asked = false;
            seen.accounted_ns = block.accounted_ns();
        }
        // Before the clock: where that stands still, the tag is of a thread that stood, too, and so is the time.
        let at_ns = now_ns();
        let tag = self.tag_of(block);
        if !self.wall.of_all() && tag == Lookup::Empty {
            return Seen::NOTHING;
        }
        let Some(cpu_ns) = cpu_time_ns(seen.os_thread) else {
            // It ended without a word to the JVM. Its number may become another thread's.
            seen.os_thread = OsThreadId(0);
            return seen;
        };
        // A kernel that accounts for a hypervisor's time may leave some µs of a thread's out of its clock.
        let stood = self.clock_is_fine && seen.cpu_ns == cpu_ns;
        if seen.sample_ns != 0 && stood && tag == Lookup::of_tag(seen.tag) {
            self.repeat(cookie, &mut seen, at_ns);
            return seen;
        }
        let used_ns = cpu_ns.saturating_sub(seen.cpu_ns);
        seen.cpu_ns = cpu_ns;
        seen.sample_ns = 0;
        if self.clock_is_fine
            && let Some(imprint) = block.imprint()
            && used_ns < HANDLER_END
        {
            self.left.signals -= 1;
            let at_ns = now_ns();
            if let Some(tag) = self.stands(block, imprint, &seen) {
                seen.sample_ns = imprint.sample_ns;
                seen.tag = tag;
                self.repeat(cookie, &mut seen, at_ns);
                return seen;
            }
        }
        // The clock of a thread that runs goes on between two looks.
        let is_off_cpu = !self.clock_is_fine || cpu_time_ns(seen.os_thread) == Some(cpu_ns);
        if !self.wall.of_running() && !is_off_cpu {
            return Seen::NOTHING;
        }
        self.left.signals = self.left.signals.saturating_sub(1);
        block.account_from(seen.accounted_ns);
        block.ask(is_off_cpu);
        seen.is_asked = true;
        self.send(cookie, &mut seen);
        seen
    }

    /// Sends the signal again where it did not go: it was refused, or the thread has run since, so that it met another
    /// of its number that was pending. Not a real-time one: that waits for its thread however long, and a second one
    /// would, too. If the first comes after all, nothing is asked when the second does.
    fn ask_again(&mut self, cookie: Cookie, mut seen: Seen) -> Seen {
        if let Some(cpu_ns) = cpu_time_ns(seen.os_thread) {
            let merges = self.registry.signal() < libc::SIGRTMIN();
            let is_lost = merges && cpu_ns.saturating_sub(seen.cpu_ns) > LOST;
            if is_lost || !seen.is_sent {
                seen.cpu_ns = cpu_ns;
                self.left.signals = self.left.signals.saturating_sub(1);
                self.send(cookie, &mut seen);
            }
        }
        seen
    }

    /// What the thread is asked for stays so where the kernel refuses: its next signal of CPU time may see to it.
    fn send(&self, cookie: Cookie, seen: &mut Seen) {
        seen.is_sent = send(seen.os_thread, self.registry.signal(), cookie);
        if !seen.is_sent {
            self.shared.counters.add(Counter::WallRefused, 1);
        }
    }

    /// The tag of what runs there, as far as it can be told from outside.
    fn tag_of(&self, block: &Block) -> Lookup {
        // SAFETY: `block` is one of a Java thread that is kept from its end, as for `visit`.
        let running = unsafe { self.shared.running(block) };
        self.shared.contexts.peek(running)
    }

    /// The tag of a thread, if it stands as the imprint has it, and did not run since its clock was read.
    fn stands(&mut self, block: &Block, imprint: Imprint, seen: &Seen) -> Option<Tag> {
        let tag = match self.tag_of(block) {
            Lookup::Tag(tag) => tag,
            Lookup::Empty if self.wall.of_all() => Tag::EMPTY,
            Lookup::Empty | Lookup::Busy => return None,
        };
        let length = usize::try_from(imprint.length.min(LARGEST)).ok()?;
        self.stack.resize(length, 0);
        if !memory::read_into(imprint.sp as usize, &mut self.stack) {
            return None;
        }
        let (words, _) = self.stack.as_chunks::<8>();
        let digest = words.iter().fold(Digest::new(), |digest, word| {
            digest.with(u64::from_ne_bytes(*word))
        });
        let stands =
            digest.get() == imprint.digest && cpu_time_ns(seen.os_thread) == Some(seen.cpu_ns);
        stands.then_some(tag)
    }

    /// The thread stood at `at_ns` where it stood.
    fn repeat(&self, place: Cookie, seen: &mut Seen, at_ns: u64) {
        let (micros, until_ns) = passed(seen.accounted_ns, at_ns);
        seen.accounted_ns = until_ns;
        let repeat = Repeat {
            place,
            sample_ns: seen.sample_ns,
            at_ns,
            micros,
            tag: seen.tag,
        };
        let counter = if self.wall.repeats.push(repeat) {
            Counter::WallRepeated
        } else {
            Counter::WallRepeatsLost
        };
        self.shared.counters.add(counter, 1);
    }
}

/// Signals a thread of this process; `false` where the kernel does not take it.
fn send(thread: OsThreadId, signal: i32, cookie: Cookie) -> bool {
    // As large as the kernel's `siginfo_t`, of which all that is not set must be zero.
    #[repr(C)]
    union Info {
        whole: [u64; 16],
        visit: std::mem::ManuallyDrop<TimerInfo>,
    }
    const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());
    let mut info = Info { whole: [0; 16] };
    info.visit = std::mem::ManuallyDrop::new(TimerInfo::of_visit(signal, cookie));
    // SAFETY: the call takes no pointer but `info`, which is as large as it asks for.
    let code = unsafe {
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            libc::getpid(),
            thread.0.cast_signed(),
            signal,
            &raw const info,
        )
    };
    code == 0
}

#[cfg(test)]
mod tests;
