//! What the handler knows about the OS thread it interrupts.
//!
//! The timer carries the block's index, so the handler needs no thread-local storage: the first access to
//! one from a shared library may call `malloc`, which has deadlocked profilers before.

use crate::cookie::Generation;
use crate::primitive::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::tag::JavaThreadId;

/// One OS thread under a timer. Never freed; given to another thread only after the drain has passed all
/// of the former one's samples (`threads` in the agent).
///
/// Writers: the agent when it takes or gives back the block, the thread itself in its JVMTI callbacks.
/// Reader: the handler on that same thread, so what it needs of ordering is program order.
///
/// The second line is the wall engine's. It passes between the engine's thread and the handler on the block's thread
/// like a baton: the engine's while `asked` is 0, else the handler's.
#[repr(C, align(64))]
pub struct Block {
    /// Kernel thread id while in use, 0 while free. Pair: Release in `assign`/`release`, Acquire in
    /// `is_for` — the fields below were written before it.
    os_thread: AtomicU32,
    /// Which life. Written with `os_thread`.
    generation: AtomicU32,
    /// `JNIEnv*` of the Java thread, 0 for others and once the thread is ending. Pair: Release in
    /// `set_java`, Acquire in `jni_env`.
    jni_env: AtomicU64,
    /// `JavaThread*`, valid while `jni_env` is not 0. Relaxed: published by `jni_env`.
    java_thread: AtomicU64,
    /// Own `Thread.threadId()` of the platform thread (of the carrier, where it is one). Relaxed: read by
    /// the thread itself and its handler only.
    own_thread: AtomicI64,
    /// Thread id of what runs here now, by the mount events. Relaxed: as `own_thread`.
    running: AtomicI64,
    /// Inside a walk: a second signal must not start another. Relaxed: same thread only.
    walking: AtomicU32,
    /// Not 0 from when the engine signals the thread until its handler is done: [`ASKED`] or [`ASKED_OFF_CPU`]. Pair:
    /// Release in `ask` and `answer`, Acquire in `asked`.
    asked: AtomicU32,
    /// 1 while a perf event is in its first period, which is another than the following. Relaxed: written before the
    /// event is published (`perf`), then by the handler alone. So are the two below.
    first_period: AtomicU32,
    /// CPU time of the thread, ns, up to which it was counted in periods; modulo 2⁶⁴.
    counted_ns: AtomicU64,
    /// CPU time of the thread, ns, before which no sample is to be taken again.
    rests_until_ns: AtomicU64,
    /// Up to when time that passes is accounted for, ns. Relaxed, as all below: it goes with `asked`.
    accounted_ns: AtomicU64,
    /// See [`Imprint`]; `sample_ns` is 0 where there is none.
    sample_ns: AtomicU64,
    sp: AtomicU64,
    length: AtomicU64,
    digest: AtomicU64,
    /// 1 where the thread was met in a wait for a monitor, and could not be walked. Relaxed: the thread's own, and its
    /// handler's.
    wants_stack: AtomicU32,
    /// Number of its last wait for a monitor that the JVM told of, and in the lowest bit whether that goes on. Numbers go
    /// on from life to life. As the former.
    waits: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Block>() == 128 && core::mem::offset_of!(Block, asked) < 64);

/// In `asked`: of a thread that was on a CPU.
const ASKED: u32 = 1;
/// In `asked`: of one that was on none.
const ASKED_OFF_CPU: u32 = 2;

/// Whole µs from `since_ns` to `now_ns`, and when the last of them ends, ns.
#[must_use]
pub fn passed(since_ns: u64, now_ns: u64) -> (u32, u64) {
    let micros = now_ns.saturating_sub(since_ns) / 1_000;
    let until_ns = since_ns.saturating_add(micros.saturating_mul(1_000));
    (u32::try_from(micros).unwrap_or(u32::MAX), until_ns)
}

/// What a thread's stack looked like when it was last sampled by the wall clock, in a wait: bit by bit, so that it can
/// be told from outside whether it still stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Imprint {
    /// When the sample was taken, ns: its name.
    pub sample_ns: u64,
    /// The stack pointer.
    pub sp: u64,
    /// Bytes from there to the stack's end.
    pub length: u64,
    /// Of all words in them ([`crate::visit::Digest`]).
    pub digest: u64,
}

/// Loom's atomics are not made at compile time, the others are.
macro_rules! free_block {
    () => {
        Self {
            os_thread: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            jni_env: AtomicU64::new(0),
            java_thread: AtomicU64::new(0),
            own_thread: AtomicI64::new(0),
            running: AtomicI64::new(0),
            walking: AtomicU32::new(0),
            first_period: AtomicU32::new(0),
            counted_ns: AtomicU64::new(0),
            rests_until_ns: AtomicU64::new(0),
            asked: AtomicU32::new(0),
            accounted_ns: AtomicU64::new(0),
            sample_ns: AtomicU64::new(0),
            sp: AtomicU64::new(0),
            length: AtomicU64::new(0),
            digest: AtomicU64::new(0),
            wants_stack: AtomicU32::new(0),
            waits: AtomicU64::new(0),
        }
    };
}

impl Block {
    /// A free block.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        free_block!()
    }

    /// A free block.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        free_block!()
    }

    /// Gives the block to kernel thread `os_thread`; returns the new life. One caller at a time.
    pub fn assign(&self, os_thread: u32) -> Generation {
        let generation = self.generation.load(Ordering::Relaxed).wrapping_add(1) & Generation::MASK;
        self.jni_env.store(0, Ordering::Relaxed);
        self.java_thread.store(0, Ordering::Relaxed);
        self.own_thread.store(0, Ordering::Relaxed);
        self.running.store(0, Ordering::Relaxed);
        self.walking.store(0, Ordering::Relaxed);
        self.sample_ns.store(0, Ordering::Relaxed);
        self.wants_stack.store(0, Ordering::Relaxed);
        self.waits.fetch_and(!1, Ordering::Relaxed);
        self.asked.store(0, Ordering::Release);
        self.generation.store(generation, Ordering::Relaxed);
        self.os_thread.store(os_thread, Ordering::Release);
        Generation(generation)
    }

    /// Takes the block back. Its timer must have been deleted.
    pub fn release(&self) {
        self.os_thread.store(0, Ordering::Release);
    }

    /// Whether this life of the block belongs to kernel thread `os_thread`.
    #[must_use]
    pub fn is_for(&self, os_thread: u32, generation: Generation) -> bool {
        self.os_thread.load(Ordering::Acquire) == os_thread
            && self.generation.load(Ordering::Relaxed) == generation.0
    }

    /// Kernel id and life of who has the block; `None` of a free one.
    #[must_use]
    pub fn owner(&self) -> Option<(u32, Generation)> {
        let os_thread = self.os_thread.load(Ordering::Acquire);
        let generation = Generation(self.generation.load(Ordering::Relaxed));
        (os_thread != 0).then_some((os_thread, generation))
    }

    /// Makes it a Java thread's block. `jni_env` and `java_thread` must stay valid until
    /// [`Block::clear_java`] has been called by that thread.
    pub fn set_java(&self, jni_env: u64, java_thread: u64, own: JavaThreadId) {
        self.java_thread.store(java_thread, Ordering::Relaxed);
        self.own_thread.store(own.0, Ordering::Relaxed);
        self.running.store(own.0, Ordering::Relaxed);
        self.jni_env.store(jni_env, Ordering::Release);
    }

    /// The thread is ending: the handler no longer touches anything of the JVM's here.
    pub fn clear_java(&self) {
        self.running.store(0, Ordering::Relaxed);
        self.jni_env.store(0, Ordering::Release);
    }

    /// `JNIEnv*`, or 0.
    #[must_use]
    pub fn jni_env(&self) -> u64 {
        self.jni_env.load(Ordering::Acquire)
    }

    /// `JavaThread*`; meaningful while [`Block::jni_env`] is not 0.
    #[must_use]
    pub fn java_thread(&self) -> u64 {
        self.java_thread.load(Ordering::Relaxed)
    }

    /// The platform thread's own id.
    #[must_use]
    pub fn own_thread(&self) -> JavaThreadId {
        JavaThreadId(self.own_thread.load(Ordering::Relaxed))
    }

    /// What runs here, by the mount events.
    #[must_use]
    pub fn running(&self) -> JavaThreadId {
        JavaThreadId(self.running.load(Ordering::Relaxed))
    }

    /// A virtual thread was mounted here. Called on this OS thread.
    pub fn mount(&self, thread: JavaThreadId) {
        self.running.store(thread.0, Ordering::Relaxed);
    }

    /// The virtual thread here is about to leave: the carrier is itself again. Called on this OS thread.
    pub fn unmount(&self) {
        self.running
            .store(self.own_thread.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// `false` when a walk is already under way on this thread.
    pub fn begin_walk(&self) -> bool {
        // Same thread only, so load and store need not be one step.
        if self.walking.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.walking.store(1, Ordering::Relaxed);
        true
    }

    /// Ends what [`Block::begin_walk`] began.
    pub fn end_walk(&self) {
        self.walking.store(0, Ordering::Relaxed);
    }

    /// CPU time of the thread is counted in periods from now on, at `cpu_ns` of its clock. The first signal comes
    /// after `first_ns`. It shall stand for one period however late it comes, up to half of one; so shall the next.
    pub fn begin_periods(&self, cpu_ns: u64, first_ns: u64, period_ns: u64) {
        let half_before = period_ns + period_ns / 2;
        self.counted_ns.store(
            cpu_ns.wrapping_add(first_ns).wrapping_sub(half_before),
            Ordering::Relaxed,
        );
        self.rests_until_ns.store(0, Ordering::Relaxed);
        self.first_period.store(1, Ordering::Relaxed);
    }

    /// `true` at the first signal since [`Block::begin_periods`].
    pub fn end_first_period(&self) -> bool {
        // Same thread only, so load and store need not be one step.
        let is_first = self.first_period.load(Ordering::Relaxed) != 0;
        self.first_period.store(0, Ordering::Relaxed);
        is_first
    }

    /// Whole periods that the thread has used, at `cpu_ns` of its clock, since they were last asked for. The rest is
    /// kept for the next time.
    pub fn take_periods(&self, cpu_ns: u64, period_ns: u64) -> u32 {
        let counted = self.counted_ns.load(Ordering::Relaxed);
        let grown = cpu_ns.wrapping_sub(counted);
        // More than half of all numbers: it has not come so far yet.
        if grown > u64::MAX / 2 {
            return 0;
        }
        let periods = grown.checked_div(period_ns).unwrap_or(0);
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        let taken = u64::from(periods).wrapping_mul(period_ns);
        self.counted_ns
            .store(counted.wrapping_add(taken), Ordering::Relaxed);
        periods
    }

    /// Whether the thread is to be left alone still, at `cpu_ns` of its clock.
    #[must_use]
    pub fn rests(&self, cpu_ns: u64) -> bool {
        cpu_ns < self.rests_until_ns.load(Ordering::Relaxed)
    }

    /// No sample is to be taken before `cpu_ns` of the thread's clock.
    pub fn rest_until(&self, cpu_ns: u64) {
        self.rests_until_ns.store(cpu_ns, Ordering::Relaxed);
    }

    /// The thread begins to wait for a monitor. Called by the thread itself.
    pub fn begin_wait(&self) {
        let number = self.waits.load(Ordering::Relaxed) >> 1;
        self.waits
            .store(number.wrapping_add(1) << 1 | 1, Ordering::Relaxed);
    }

    /// The thread has its monitor: the number of the wait, if its stack is wanted. Called by the thread itself.
    pub fn end_wait(&self) -> Option<u64> {
        let waits = self.waits.load(Ordering::Relaxed);
        let is_wanted = waits & 1 != 0 && self.wants_stack.load(Ordering::Relaxed) != 0;
        self.waits.store(waits & !1, Ordering::Relaxed);
        self.wants_stack.store(0, Ordering::Relaxed);
        is_wanted.then_some(waits >> 1)
    }

    /// The thread is to tell its own stack, once it has its monitor: the number of the wait; `None` where it is in none
    /// that was told of. In its handler.
    pub fn want_stack(&self) -> Option<u64> {
        let waits = self.waits.load(Ordering::Relaxed);
        if waits & 1 == 0 {
            return None;
        }
        self.wants_stack.store(1, Ordering::Relaxed);
        Some(waits >> 1)
    }

    /// The engine is about to signal the thread, which is on a CPU or on none.
    pub fn ask(&self, is_off_cpu: bool) {
        let asked = if is_off_cpu { ASKED_OFF_CPU } else { ASKED };
        self.asked.store(asked, Ordering::Release);
    }

    /// The handler has done what it was asked for, or is not going to be.
    pub fn answer(&self) {
        self.asked.store(0, Ordering::Release);
    }

    /// Whether a signal of the engine is on its way, or in the handler.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }

    /// If so, whether the thread was on no CPU.
    #[must_use]
    pub fn asked(&self) -> Option<bool> {
        let asked = self.asked.load(Ordering::Acquire);
        (asked != 0).then_some(asked == ASKED_OFF_CPU)
    }

    /// Accounts for the time that has passed up to `now_ns`: µs since it was last done. What is less than one is left
    /// for the next time. By who has the baton.
    pub fn account(&self, now_ns: u64) -> u32 {
        let (micros, until_ns) = passed(self.accounted_ns.load(Ordering::Relaxed), now_ns);
        self.accounted_ns.store(until_ns, Ordering::Relaxed);
        micros
    }

    /// Up to when that was done last. By who has the baton.
    #[must_use]
    pub fn accounted_ns(&self) -> u64 {
        self.accounted_ns.load(Ordering::Relaxed)
    }

    /// What passed before `now_ns` is of no account. By who has the baton.
    pub fn account_from(&self, now_ns: u64) {
        self.accounted_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Leaves an imprint, or none. By who has the baton.
    pub fn set_imprint(&self, imprint: Option<Imprint>) {
        let Some(imprint) = imprint else {
            self.sample_ns.store(0, Ordering::Relaxed);
            return;
        };
        self.sp.store(imprint.sp, Ordering::Relaxed);
        self.length.store(imprint.length, Ordering::Relaxed);
        self.digest.store(imprint.digest, Ordering::Relaxed);
        self.sample_ns.store(imprint.sample_ns, Ordering::Relaxed);
    }

    /// The imprint of the last sample by the wall clock, if it left one. By who has the baton.
    #[must_use]
    pub fn imprint(&self) -> Option<Imprint> {
        let sample_ns = self.sample_ns.load(Ordering::Relaxed);
        (sample_ns != 0).then(|| Imprint {
            sample_ns,
            sp: self.sp.load(Ordering::Relaxed),
            length: self.length.load(Ordering::Relaxed),
            digest: self.digest.load(Ordering::Relaxed),
        })
    }
}

impl Default for Block {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod model;
