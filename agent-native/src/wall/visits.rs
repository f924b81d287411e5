//! One round after the other over all threads that run Java.
//!
//! A tick has a budget of looks, of clocks read and of threads asked; where one is used up the round goes on at the
//! next tick. So the cost is bounded and the interval is not: each visit stands for the time since the last.
//!
//! A thread that waits is asked once, which wakes it, and from then on looked at from outside ([`vtprof_signal::visit`]):
//! - Its CPU clock stands still since it was seen to stand: it has not run, so it stands there still, and its record is
//!   as it was. One system call of some 0.3 µs.
//! - It has run a little since it was asked: by the end of the handler, or more. If the words on its stack are those of
//!   the imprint, and its clock has not gone on while they and its tag were read, it stands where it stood.
//!
//! What a thread wrote before it went to sleep is seen by who reads a clock that stands still: the kernel's
//! `schedule()` is a full barrier, and on x86-64, the only architecture with imprints, stores are seen in order.

use std::time::Duration;

use vtprof_signal::block::{Block, Imprint};
use vtprof_signal::context_table::Lookup;
use vtprof_signal::cookie::{Cookie, Generation};
use vtprof_signal::counters::Counter;
use vtprof_signal::handler::{TimerInfo, now_ns};
use vtprof_signal::shared::Shared;
use vtprof_signal::tag::Tag;
use vtprof_signal::visit::{Digest, LARGEST};

use super::Wall;
use super::repeats::Repeat;
use crate::jvm::memory;
use crate::threads::registry::Registry;
use crate::threads::timer::{OsThreadId, cpu_time_ns};

/// A tick, if the budget of a second is divided so.
const TICK: Duration = Duration::from_millis(10);
/// Of such a tick: 2 % of a core at 25 µs each, if all threads run and switch all the time.
const SIGNALS: u32 = 8;
/// Of such a tick.
const CLOCKS: u32 = 32;
/// Of such a tick.
const LOOKS: u32 = 256;
/// Places that are looked at under one lock.
const BATCH: usize = 32;
/// CPU time, ns, that the end of a handler may take. A thread that has used more since it was asked has moved on: its
/// stack is not worth a look.
const HANDLER_END: u64 = 1_000_000;

/// What may be done in a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    looks: u32,
    clocks: u32,
    signals: u32,
}

impl Budget {
    /// As much a second, whatever the period.
    pub fn of(period: Duration) -> Self {
        let share = |of: u32| {
            let share = u128::from(of) * period.as_micros() / TICK.as_micros();
            u32::try_from(share).unwrap_or(u32::MAX).max(1)
        };
        Self {
            looks: share(LOOKS),
            clocks: share(CLOCKS),
            signals: share(SIGNALS),
        }
    }

    fn is_used_up(self) -> bool {
        self.looks == 0 || self.clocks == 0 || self.signals == 0
    }
}

/// What was seen of a place last.
#[derive(Clone, Copy)]
struct Seen {
    generation: Generation,
    /// CPU clock of its thread, ns.
    cpu_ns: u64,
    /// Whether it was asked; the block knows whether it has answered.
    is_asked: bool,
    /// Sample and tag of the thread, which was seen to stand; 0 where it was not.
    sample_ns: u64,
    tag: Tag,
}

impl Seen {
    const NOTHING: Self = Self {
        generation: Generation(u32::MAX),
        cpu_ns: 0,
        is_asked: false,
        sample_ns: 0,
        tag: Tag::EMPTY,
    };
}

/// Nothing that was asked before is waited for any more. Nobody is in a handler.
pub fn forget(registry: &Registry) {
    registry.each_place(0, usize::MAX, |_, block| {
        block.set_imprint(None);
        block.answer();
        true
    });
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
    stack: Vec<u8>,
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
            stack: Vec::new(),
        }
    }

    /// What passed before, and what was seen, is of no account.
    pub fn restart(&mut self) {
        self.seen.clear();
        self.next = 0;
        self.round_ns = (now_ns(), 0);
    }

    /// Visits as many threads as the budget of a tick allows, each once at the most.
    pub fn tick(&mut self) {
        self.left = self.budget;
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
            }
            let most = BATCH.min(to_go).min(places - self.next);
            let passed = registry.each_place(self.next, most, |cookie, block| {
                if self.left.is_used_up() {
                    return false;
                }
                self.left.looks -= 1;
                if block.jni_env() != 0 {
                    // No Java thread ends while the registry is locked.
                    self.visit(cookie, block);
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

    /// The thread of `block` is Java's, and is kept from its end.
    fn visit(&mut self, cookie: Cookie, block: &Block) {
        let Some((os_thread, generation)) = block.owner() else {
            return;
        };
        let at = cookie.block.0 as usize;
        let seen = self.seen.get(at).copied().unwrap_or(Seen::NOTHING);
        let is_known = seen.generation == generation;
        if is_known && seen.is_asked && block.is_asked() {
            self.shared.counters.add(Counter::WallUnanswered, 1);
            return;
        }
        if !self.wall.of_all && self.tag_of(block) == Lookup::Empty {
            if is_known {
                self.see(at, Seen::NOTHING);
            }
            return;
        }
        if !is_known {
            // What came before was not its own, or of no account: it stands for the time since the last round came by.
            // So one that lives for less than a round is sampled in proportion.
            block.account_from(now_ns().saturating_sub(self.round_ns.1));
        }
        self.left.clocks -= 1;
        let os_thread = OsThreadId(os_thread);
        let Some(cpu_ns) = cpu_time_ns(os_thread) else {
            return;
        };
        if is_known && seen.sample_ns != 0 && seen.cpu_ns == cpu_ns {
            self.repeat(cookie, block, seen);
            return;
        }
        if is_known
            && let Some(imprint) = block.imprint()
            && cpu_ns.saturating_sub(seen.cpu_ns) < HANDLER_END
        {
            self.left.signals -= 1;
            if let Some(tag) = self.stands(block, imprint, os_thread, cpu_ns) {
                let seen = Seen {
                    generation,
                    cpu_ns,
                    is_asked: false,
                    sample_ns: imprint.sample_ns,
                    tag,
                };
                self.see(at, seen);
                self.repeat(cookie, block, seen);
                return;
            }
        }
        // The clock of a thread that runs goes on between two looks.
        let is_off_cpu = cpu_time_ns(os_thread) == Some(cpu_ns);
        if !self.wall.of_running && !is_off_cpu {
            self.see(at, Seen::NOTHING);
            return;
        }
        self.left.signals = self.left.signals.saturating_sub(1);
        self.see(
            at,
            Seen {
                generation,
                cpu_ns,
                is_asked: true,
                ..Seen::NOTHING
            },
        );
        block.ask();
        if !send(os_thread, self.registry.signal(), cookie, is_off_cpu) {
            block.answer();
            self.shared.counters.add(Counter::WallRefused, 1);
        }
    }

    fn see(&mut self, at: usize, seen: Seen) {
        if let Some(place) = self.seen.get_mut(at) {
            *place = seen;
        }
    }

    /// The tag of what runs there, as far as it can be told from outside.
    fn tag_of(&self, block: &Block) -> Lookup {
        // SAFETY: `block` is one of a Java thread that is kept from its end, as for `visit`.
        let running = unsafe { self.shared.running(block) };
        self.shared.contexts.peek(running)
    }

    /// The tag of a thread, if it stands as the imprint has it, and did not run since its clock was read.
    fn stands(
        &mut self,
        block: &Block,
        imprint: Imprint,
        os_thread: OsThreadId,
        cpu_ns: u64,
    ) -> Option<Tag> {
        let tag = match self.tag_of(block) {
            Lookup::Tag(tag) => tag,
            Lookup::Empty if self.wall.of_all => Tag::EMPTY,
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
        let stands = digest.get() == imprint.digest && cpu_time_ns(os_thread) == Some(cpu_ns);
        stands.then_some(tag)
    }

    fn repeat(&self, place: Cookie, block: &Block, seen: Seen) {
        let at_ns = now_ns();
        let repeat = Repeat {
            place,
            sample_ns: seen.sample_ns,
            at_ns,
            micros: block.account(at_ns),
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
fn send(thread: OsThreadId, signal: i32, cookie: Cookie, is_off_cpu: bool) -> bool {
    // As large as the kernel's `siginfo_t`, of which all that is not set must be zero.
    #[repr(C)]
    union Info {
        whole: [u64; 16],
        visit: std::mem::ManuallyDrop<TimerInfo>,
    }
    const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());
    let mut info = Info { whole: [0; 16] };
    info.visit = std::mem::ManuallyDrop::new(TimerInfo::of_visit(signal, cookie, is_off_cpu));
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
