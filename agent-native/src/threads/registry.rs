//! Who is under a timer or a perf event, by kernel thread id.
//!
//! Java threads come and go by JVMTI events, on themselves; all others (collector, compiler, VM, and
//! libraries' own) are found by looking at the kernel's list now and then. A block whose thread has gone
//! is given to another only after the drain has passed all samples of the former one.
//!
//! Locks are never taken in the handler; the mutex here is held for a few map operations and a system call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use vtprof_signal::block::Block;
use vtprof_signal::blocks::{Blocks, CAPACITY, CHUNK};
use vtprof_signal::cookie::{BlockIndex, Cookie, Era, Generation};
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::tag::JavaThreadId;

use super::name::fold_digits;
use super::own;
use super::perf::Perf;
use super::ticker::Ticker;
use super::timer::{OsThreadId, Pace, cpu_time_ns};
use crate::log;

/// How a Java thread is told to the registry.
#[derive(Clone, Copy, Debug)]
pub struct JavaIdentity {
    /// `JNIEnv*`.
    pub jni_env: u64,
    /// `JavaThread*`.
    pub java_thread: u64,
    /// `Thread.threadId()`.
    pub thread: JavaThreadId,
}

/// A thread's block, and which life of it the thread has.
#[derive(Clone, Copy)]
pub struct Seat {
    pub block: &'static Block,
    pub cookie: Cookie,
}

struct Entry {
    block: &'static Block,
    index: BlockIndex,
    generation: Generation,
    is_java: bool,
    /// A thread names itself a moment after it starts, so a native one's name is read twice.
    name_is_first: bool,
    ticker: Option<Ticker>,
    /// Where there is no ticker, or one that does not tell whether the thread is alive: when the thread started.
    started: Option<u64>,
}

impl Entry {
    fn seat(&self) -> Seat {
        Seat {
            block: self.block,
            cookie: Cookie {
                block: self.index,
                generation: self.generation,
            },
        }
    }

    /// Whether `thread`, whose entry this is, is still there. Its timer tells; without one (perf, refused, or sampling
    /// is stopped) the kernel is asked, as the id may be another's by now.
    fn is_alive(&self, thread: OsThreadId) -> bool {
        let told = self.ticker.as_ref().and_then(Ticker::thread_is_alive);
        told.unwrap_or_else(|| {
            self.started.is_some() && super::tasks::started(thread) == self.started
        })
    }
}

struct State {
    entries: HashMap<OsThreadId, Entry>,
    /// By block index: the label of who has or last had it, with the life it belongs to.
    labels: Vec<(Generation, Arc<str>)>,
    /// By block index: the life of a Java thread that has it. By itself, so that many are looked through in no time.
    java: Vec<Option<Generation>>,
    free: Vec<BlockIndex>,
    /// Released, but samples of them may be in the ring still.
    resting: Vec<BlockIndex>,
    /// While threads that ran before the agent are being taken in: Java threads whose end was seen, not to be
    /// taken for running any more. `None` once that is done.
    ended: Option<HashSet<JavaThreadId>>,
    /// No thread is taken in any more.
    closed: bool,
    /// Threads are taken in, but without a timer. So it stays while there is no period.
    paused: bool,
    /// Of CPU time; `None` while it is off.
    period: Option<Duration>,
    /// Which period that is.
    era: Era,
    /// How perf events are made; `None` where all threads have timers.
    perf: Option<Perf>,
    excluded: HashSet<OsThreadId>,
    /// CPU time, ns, of threads that ended for Java while their OS thread lives on (the primordial one, or a
    /// native one that detached): it was sampled, so it is not lost when they are taken in again.
    accounted: HashMap<OsThreadId, u64>,
    random: u64,
    refusal_reported: bool,
    fallback_reported: bool,
    /// What is to be said, by the next scan: where stderr is a pipe that nobody reads, threads that start or end would wait
    /// behind a line.
    to_say: Vec<String>,
}

/// See the module. One for a process.
pub struct Registry {
    blocks: &'static Blocks,
    counters: &'static Counters,
    signal: i32,
    pace: Pace,
    state: Mutex<State>,
}

impl Registry {
    /// Nobody known yet. `signal` must have its handler before a thread is added; without a `period` there is no
    /// timer, and it is not used.
    pub fn new(
        blocks: &'static Blocks,
        counters: &'static Counters,
        signal: i32,
        pace: Pace,
        period: Option<Duration>,
        perf: Option<Perf>,
    ) -> Self {
        if let Some(perf) = &perf {
            perf.begin();
        }
        Self {
            blocks,
            counters,
            signal,
            pace,
            state: Mutex::new(State {
                entries: HashMap::new(),
                labels: Vec::new(),
                java: Vec::new(),
                free: Vec::new(),
                resting: Vec::new(),
                ended: Some(HashSet::new()),
                closed: false,
                paused: period.is_none(),
                period,
                era: Era::default(),
                perf,
                excluded: HashSet::new(),
                accounted: HashMap::new(),
                random: vtprof_signal::clock::now_ns() | 1,
                refusal_reported: false,
                fallback_reported: false,
                to_say: Vec::new(),
            }),
        }
    }

    /// Leaves a thread of the agent's own out: its CPU time is told apart, in the comments ([`own`]).
    pub fn exclude(&self, thread: OsThreadId) {
        own::begun(thread);
        let mut state = self.state.lock();
        state.excluded.insert(thread);
        Self::retire(&mut state, thread);
    }

    /// The calling thread, one of those, is about to end: its number may be another's next.
    pub fn end_excluded(&self) {
        own::ends();
        self.state.lock().excluded.remove(&OsThreadId::current());
    }

    /// Takes a Java thread in, or makes a thread known as native Java's. `None` at the bound of threads.
    pub fn add_java(&self, thread: OsThreadId, identity: JavaIdentity, name: &str) -> Option<Seat> {
        let mut state = self.state.lock();
        self.add_java_locked(&mut state, thread, identity, name)
    }

    /// As [`Registry::add_java`] for a thread that is not the caller and may be ending: `find` looks it up
    /// while no end can be processed, and a thread whose end was processed already is left out.
    pub fn add_running_java(
        &self,
        find: impl FnOnce() -> Option<(OsThreadId, JavaIdentity)>,
        name: &str,
    ) {
        let mut state = self.state.lock();
        if let Some((thread, identity)) = find()
            && state
                .ended
                .as_ref()
                .is_some_and(|ended| !ended.contains(&identity.thread))
        {
            self.add_java_locked(&mut state, thread, identity, name);
        }
    }

    fn add_java_locked(
        &self,
        state: &mut State,
        thread: OsThreadId,
        identity: JavaIdentity,
        name: &str,
    ) -> Option<Seat> {
        if state.excluded.contains(&thread) {
            return None;
        }
        // An entry whose thread is gone, under an id that was given to this one since.
        if state
            .entries
            .get(&thread)
            .is_some_and(|entry| !entry.is_alive(thread))
        {
            Self::retire(state, thread);
        }
        if !state.entries.contains_key(&thread) {
            self.insert(state, thread)?;
        }
        let entry = state.entries.get_mut(&thread)?;
        entry.is_java = true;
        entry
            .block
            .set_java(identity.jni_env, identity.java_thread, identity.thread);
        let seat = entry.seat();
        if let Some(life) = state.java.get_mut(seat.cookie.block.0 as usize) {
            *life = Some(seat.cookie.generation);
        }
        set_label(state, seat.cookie.block, name);
        Some(seat)
    }

    /// A Java thread ends; called on it. Its block is the handler's no longer when this returns.
    pub fn remove_java(&self, thread: OsThreadId, java: JavaThreadId) {
        let mut state = self.state.lock();
        // Without signals nothing is scanned, which is what lets such go again, and no CPU time is told.
        if Self::retire(&mut state, thread) && self.signal != 0 {
            let used = cpu_time_ns(thread).unwrap_or(0);
            state.accounted.insert(thread, used);
        }
        if let Some(ended) = &mut state.ended {
            ended.insert(java);
        }
    }

    /// The threads that were there before the agent are all known.
    pub fn seeding_done(&self) {
        self.state.lock().ended = None;
    }

    /// Number of the signal by which threads are sampled; 0 where none are.
    pub fn signal(&self) -> i32 {
        self.signal
    }

    /// The block of a thread.
    pub fn seat_of(&self, thread: OsThreadId) -> Option<Seat> {
        self.state.lock().entries.get(&thread).map(Entry::seat)
    }

    /// Brings the registry in line with the kernel's list: threads not yet known are taken in as native
    /// ones, native ones that are gone are let go.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn scan(&self) -> std::io::Result<()> {
        self.reconcile(super::tasks::list()?);
        Ok(())
    }

    /// `tasks` is a list of a moment ago: a thread may have started since, and be known. So it says which
    /// threads to take in, not which to let go: that is asked of each one's timer.
    fn reconcile(&self, tasks: Vec<OsThreadId>) {
        let present: HashSet<_> = tasks.iter().copied().collect();
        let mut state = self.state.lock();
        let gone: Vec<_> = state
            .entries
            .iter()
            .filter(|(id, entry)| !entry.is_alive(**id))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            Self::retire(&mut state, id);
        }
        // One that has begun since the list was made is there.
        state
            .excluded
            .retain(|id| present.contains(id) || super::tasks::name(*id).is_some());
        state.accounted.retain(|id, _| present.contains(id));
        for id in tasks {
            if state.excluded.contains(&id) {
                continue;
            }
            let known = state.entries.get_mut(&id).map(|entry| {
                let again = !entry.is_java && std::mem::take(&mut entry.name_is_first);
                (entry.index, again)
            });
            if known.is_some_and(|(_, again)| !again) {
                continue;
            }
            // Without a name it is gone already.
            let Some(name) = super::tasks::name(id) else {
                continue;
            };
            let index = match known {
                Some((index, _)) => Some(index),
                None => self.insert(&mut state, id),
            };
            if let Some(index) = index {
                set_label(&mut state, index, &name);
            }
        }
        say_what_waits(state);
    }

    /// Label of the thread that had `block` in that life.
    pub fn label(&self, block: BlockIndex, generation: Generation) -> Option<Arc<str>> {
        let state = self.state.lock();
        let (life, label) = state.labels.get(block.0 as usize)?;
        (*life == generation).then(|| Arc::clone(label))
    }

    /// How many blocks there are, free ones among them.
    pub fn places(&self) -> usize {
        self.state.lock().labels.len()
    }

    /// Hands out the Java threads at `count` places from `first` on until `each` says `false`: how many places were
    /// passed. None of them gets past its end meanwhile ([`Registry::remove_java`]), so it is to be quick.
    pub fn each_java(
        &self,
        first: usize,
        count: usize,
        mut each: impl FnMut(Cookie) -> bool,
    ) -> usize {
        let state = self.state.lock();
        let end = first.saturating_add(count).min(state.java.len());
        let places = state.java.get(first..end).unwrap_or_default();
        let taken = (first..).zip(places).position(|(place, life)| {
            let cookie = life.map(|generation| Cookie {
                block: BlockIndex(place as u32),
                generation,
            });
            cookie.is_some_and(|cookie| !each(cookie))
        });
        taken.unwrap_or(places.len())
    }

    /// The drain is about to empty the ring: returns the blocks that may be given out again once it has.
    pub fn begin_drain(&self) -> Vec<BlockIndex> {
        std::mem::take(&mut self.state.lock().resting)
    }

    /// The ring was emptied since those were resting.
    pub fn end_drain(&self, rested: Vec<BlockIndex>) {
        self.state.lock().free.extend(rested);
    }

    /// Stops all timers, for good. The session disarms first.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.ended = None;
        let all: Vec<_> = state.entries.keys().copied().collect();
        for id in all {
            Self::retire(&mut state, id);
        }
        say_what_waits(state);
    }

    fn insert(&self, state: &mut State, thread: OsThreadId) -> Option<BlockIndex> {
        if state.closed {
            return None;
        }
        let Some((index, block)) = self.take_block(state) else {
            self.counters.add(Counter::ThreadsOverflow, 1);
            return None;
        };
        let generation = block.assign(thread.0);
        let accounted = state.accounted.remove(&thread).unwrap_or(0);
        let before = cpu_time_ns(thread).unwrap_or(0).saturating_sub(accounted);
        let cookie = Cookie {
            block: index,
            generation,
        };
        let ticker = if state.paused {
            None
        } else {
            self.ticker(state, thread, block, cookie)
                .inspect(|_| self.counters.add(Counter::CpuBeforeTimerNs, before))
        };
        let is_told = ticker
            .as_ref()
            .is_some_and(|ticker| ticker.thread_is_alive().is_some());
        self.counters.add(Counter::ThreadsSeen, 1);
        if let Some(label) = state.labels.get_mut(index.0 as usize) {
            label.0 = generation;
        }
        state.entries.insert(
            thread,
            Entry {
                block,
                index,
                generation,
                is_java: false,
                name_is_first: true,
                started: (!is_told).then(|| super::tasks::started(thread)).flatten(),
                ticker,
            },
        );
        Some(index)
    }

    fn take_block(&self, state: &mut State) -> Option<(BlockIndex, &'static Block)> {
        if state.free.is_empty() {
            let made = state.labels.len();
            if made >= CAPACITY {
                return None;
            }
            let chunk: Box<[Block; CHUNK]> = (0..CHUNK)
                .map(|_| Block::new())
                .collect::<Box<[Block]>>()
                .try_into()
                .ok()?;
            // Never freed: a handler may hold it.
            if !self.blocks.add_chunk(made / CHUNK, Box::leak(chunk)) {
                return None;
            }
            let unnamed: Arc<str> = Arc::from("?");
            state.labels.resize(made + CHUNK, (Generation(0), unnamed));
            state.java.resize(made + CHUNK, None);
            state
                .free
                .extend((made..made + CHUNK).rev().map(|i| BlockIndex(i as u32)));
        }
        let index = state.free.pop()?;
        Some((index, self.blocks.get(index)?))
    }

    /// Takes a thread out; `false` when it was not in.
    fn retire(state: &mut State, thread: OsThreadId) -> bool {
        let Some(entry) = state.entries.remove(&thread) else {
            return false;
        };
        entry.block.clear_java();
        if let Some(life) = state.java.get_mut(entry.index.0 as usize) {
            *life = None;
        }
        drop(entry.ticker);
        entry.block.release();
        state.resting.push(entry.index);
        true
    }
}

/// Without the lock.
fn say_what_waits(mut state: MutexGuard<'_, State>) {
    let lines = std::mem::take(&mut state.to_say);
    drop(state);
    for line in lines {
        log::warn(&line);
    }
}

fn set_label(state: &mut State, index: BlockIndex, name: &str) {
    if let Some((_, label)) = state.labels.get_mut(index.0 as usize) {
        *label = Arc::from(fold_digits(name).as_str());
    }
}

/// Uniform in (0, period], so that a thread that lives for less than a period is sampled in proportion.
fn random_phase(state: &mut u64, period: Duration) -> Duration {
    // xorshift64: any spread will do here.
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(*state % period + 1)
}

mod timers;

#[cfg(test)]
mod tests;
