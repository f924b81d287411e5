//! Who waits for which lock at this moment: a bounded map from Java threads, in shards.
//!
//! Keyed by the Java thread and not by the carrier: a virtual thread may wait on one and come back on another. A shard's
//! lock is held for an operation on its map and no longer, never over a call into the JVM, which might stop at a
//! safepoint or for a debugger. No handler takes it.
//!
//! The lock that is waited for is held by a weak reference ([`Held`]), as the one who looks for its owner must be able to
//! use it while the waiter goes: whoever of the two lets go of it last gives it back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jni_sys::jobject;
use parking_lot::Mutex;
use vtprof_signal::tag::JavaThreadId;

use super::jni::Jni;

/// Number of shards, by the low bits of thread ids, which are consecutive.
const SHARDS: usize = 64;
/// Waits in a shard: 65,536 in all, some 6 MiB.
const EACH: usize = 1_024;

/// A wait that goes on.
#[derive(Clone, Debug)]
pub struct Wait<L> {
    /// Its beginning, ns of CLOCK_MONOTONIC.
    pub since_ns: u64,
    /// What is waited for.
    pub lock: L,
}

/// What became of a wait that was to be remembered.
#[derive(Debug)]
pub enum Entered<L> {
    /// It is.
    Remembered,
    /// It is, in place of one that this thread had begun before.
    InPlaceOf(Wait<L>),
    /// There is no room for it.
    Refused(Wait<L>),
}

#[derive(Debug)]
struct Shard<L> {
    /// Entries. Relaxed: a thread looks for its own entry, which is earlier in its program order, so it sees one at the
    /// least if it has one.
    len: AtomicUsize,
    waits: Mutex<HashMap<JavaThreadId, Wait<L>>>,
}

/// See the module.
#[derive(Debug)]
pub struct Waiters<L> {
    shards: Box<[Shard<L>]>,
}

impl<L: Clone> Waiters<L> {
    /// Nobody waits.
    pub fn new() -> Self {
        let shard = || Shard {
            len: AtomicUsize::new(0),
            waits: Mutex::new(HashMap::new()),
        };
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
        }
    }

    fn shard(&self, thread: JavaThreadId) -> &Shard<L> {
        &self.shards[thread.0 as usize % SHARDS]
    }

    /// The calling thread begins to wait.
    pub fn enter(&self, thread: JavaThreadId, wait: Wait<L>) -> Entered<L> {
        let shard = self.shard(thread);
        let mut waits = shard.waits.lock();
        if waits.len() >= EACH && !waits.contains_key(&thread) {
            return Entered::Refused(wait);
        }
        match waits.insert(thread, wait) {
            Some(before) => Entered::InPlaceOf(before),
            None => {
                shard.len.fetch_add(1, Ordering::Relaxed);
                Entered::Remembered
            }
        }
    }

    /// The calling thread waits no more; `None` where it was not remembered. Costs a look where nobody waits.
    pub fn leave(&self, thread: JavaThreadId) -> Option<Wait<L>> {
        let shard = self.shard(thread);
        if shard.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let wait = shard.waits.lock().remove(&thread)?;
        shard.len.fetch_sub(1, Ordering::Relaxed);
        Some(wait)
    }

    /// How many wait, from any thread: of a moment ago.
    pub fn count(&self) -> usize {
        let len = |shard: &Shard<L>| shard.len.load(Ordering::Relaxed);
        self.shards.iter().map(len).sum()
    }

    /// The `n`th of them, in no order; `None` where there are no more by now.
    pub fn nth(&self, mut n: usize) -> Option<(JavaThreadId, Wait<L>)> {
        for shard in &self.shards {
            let len = shard.len.load(Ordering::Relaxed);
            if n < len {
                let waits = shard.waits.lock();
                let (thread, wait) = waits.iter().nth(n)?;
                return Some((*thread, wait.clone()));
            }
            n -= len;
        }
        None
    }

    /// How many parts there are.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Adds those of one part, and what they wait for, to `all`, from any thread.
    pub fn each(&self, shard: usize, all: &mut Vec<(JavaThreadId, L)>) {
        let Some(shard) = self.shards.get(shard) else {
            return;
        };
        if shard.len.load(Ordering::Relaxed) > 0 {
            let waits = shard.waits.lock();
            all.extend(waits.iter().map(|(id, wait)| (*id, wait.lock.clone())));
        }
    }

    /// Forgets the wait of `thread`, which will not end, from any thread; if it is the one that `is_it` knows.
    pub fn forget(&self, thread: JavaThreadId, is_it: impl FnOnce(&L) -> bool) -> Option<Wait<L>> {
        let shard = self.shard(thread);
        let mut waits = shard.waits.lock();
        if !is_it(&waits.get(&thread)?.lock) {
            return None;
        }
        shard.len.fetch_sub(1, Ordering::Relaxed);
        waits.remove(&thread)
    }

    /// Since when `thread` waits, ns, from any thread; `None` where it does not.
    pub fn since(&self, thread: JavaThreadId) -> Option<u64> {
        let waits = self.shard(thread).waits.lock();
        waits.get(&thread).map(|wait| wait.since_ns)
    }

    /// Forgets all.
    pub fn take_all(&self) -> Vec<Wait<L>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let taken = std::mem::take(&mut *shard.waits.lock());
            shard.len.fetch_sub(taken.len(), Ordering::Relaxed);
            all.extend(taken.into_values());
        }
        all
    }
}

#[derive(Debug)]
struct Weak(jobject);

// SAFETY: a weak global reference belongs to no thread.
unsafe impl Send for Weak {}
// SAFETY: as above; only read.
unsafe impl Sync for Weak {}

/// A weak reference to an object, shared, and what is kept with it. [`release`](Self::release) it: dropped, it stays with
/// the JVM.
#[derive(Debug)]
pub struct Held<T = ()>(Arc<(Weak, T)>);

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Held<T> {
    /// Of `object`, a live reference, in a callback; `None` where the JVM has no more memory.
    pub fn in_callback(jni: Jni, object: jobject, with: T) -> Option<Self> {
        let weak = jni.weak_ref_in_callback(object)?;
        Some(Self(Arc::new((Weak(weak), with))))
    }

    /// Whether the two are one.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What is kept with it.
    pub fn with(&self) -> &T {
        &self.0.1
    }

    /// The object as a local reference; `None` when it is gone.
    pub fn local(&self, jni: Jni) -> Option<jobject> {
        jni.local_ref(self.0.0.0)
    }

    /// Whether that is the object.
    pub fn is(&self, jni: Jni, object: jobject) -> bool {
        jni.is_same(self.0.0.0, object)
    }

    /// Lets go of it; the last one gives it back.
    pub fn release(self, jni: Jni) {
        if let Some((weak, _)) = Arc::into_inner(self.0) {
            jni.delete_weak(weak.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn wait(since_ns: u64) -> Wait<u64> {
        Wait {
            since_ns,
            lock: since_ns * 10,
        }
    }

    #[test]
    fn each_thread_finds_its_own_wait_once() {
        let waiters = Waiters::new();
        for id in 1..=1_000_i64 {
            let entered = waiters.enter(JavaThreadId(id), wait(id as u64));
            assert!(matches!(entered, Entered::Remembered));
        }
        assert_eq!(waiters.count(), 1_000);
        for id in 1..=1_000_i64 {
            assert_eq!(waiters.since(JavaThreadId(id)), Some(id as u64));
            let left = waiters.leave(JavaThreadId(id)).unwrap();
            assert_eq!((left.since_ns, left.lock), (id as u64, id as u64 * 10));
            assert!(waiters.leave(JavaThreadId(id)).is_none());
            assert_eq!(waiters.since(JavaThreadId(id)), None);
        }
        assert_eq!(waiters.count(), 0);
    }

    #[test]
    fn a_second_wait_of_a_thread_takes_the_place_of_the_first() {
        let waiters = Waiters::new();
        let thread = JavaThreadId(7);
        waiters.enter(thread, wait(1));
        let Entered::InPlaceOf(before) = waiters.enter(thread, wait(2)) else {
            panic!("the first is handed back");
        };
        assert_eq!((before.since_ns, waiters.count()), (1, 1));
        assert_eq!(waiters.leave(thread).unwrap().since_ns, 2);
    }

    #[test]
    fn a_full_shard_refuses_new_threads_and_keeps_the_others() {
        let waiters = Waiters::new();
        let id = |n: usize| JavaThreadId((n * SHARDS) as i64);
        for n in 0..EACH {
            waiters.enter(id(n), wait(1));
        }
        let refused = waiters.enter(id(EACH), wait(2));
        assert!(matches!(refused, Entered::Refused(wait) if wait.since_ns == 2));
        assert!(matches!(
            waiters.enter(id(3), wait(3)),
            Entered::InPlaceOf(_)
        ));
        let other_shard = waiters.enter(JavaThreadId(1), wait(4));
        assert!(matches!(other_shard, Entered::Remembered));
        assert_eq!(waiters.count(), EACH + 1);
        assert_eq!(waiters.take_all().len(), EACH + 1);
        assert_eq!(waiters.count(), 0);
        assert!(waiters.nth(0).is_none());
    }

    #[test]
    fn a_wait_is_forgotten_once_and_only_if_it_is_the_one_that_was_seen() {
        let waiters = Waiters::new();
        let thread = JavaThreadId(70);
        waiters.enter(thread, wait(1));
        let mut seen = Vec::new();
        (0..waiters.shards()).for_each(|shard| waiters.each(shard, &mut seen));
        assert_eq!(seen, [(thread, 10)]);
        assert!(waiters.forget(thread, |lock| *lock == 20).is_none());
        assert_eq!(waiters.count(), 1);
        let forgotten = waiters.forget(thread, |lock| *lock == 10);
        assert_eq!(forgotten.map(|wait| wait.since_ns), Some(1));
        assert_eq!(waiters.count(), 0);
        assert!(waiters.forget(thread, |_| true).is_none());
        assert!(waiters.leave(thread).is_none());
    }

    #[test]
    fn every_waiter_can_be_picked_by_its_number() {
        let waiters = Waiters::new();
        for id in 1..=300_i64 {
            waiters.enter(JavaThreadId(id * 7), wait(id as u64));
        }
        let picked: HashSet<_> = (0..300).map(|n| waiters.nth(n).unwrap().0).collect();
        assert_eq!(picked.len(), 300);
        assert!(waiters.nth(300).is_none());
    }
}
