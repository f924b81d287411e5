//! How long threads waited for locks: the engine of [`Kind::Lock`].
//!
//! **Monitors**, of all threads, by JVMTI's `MonitorContendedEnter` and `…Entered`, which come on the thread itself when
//! it has spun in vain: from the one to the other it waits. They come with the monitor, and the second while the thread
//! has it, so nothing is done there but what must be, and samples are thinned ([`Thinning`]). On the way out of
//! `Object.wait` there is no first event: such a wait is counted, and not known.
//!
//! **Locks of `java.util.concurrent`**: while a thread is parked, its field `parkBlocker` holds what it is parked for. If
//! that is a synchronizer (which a latch is, too, but no lock), it waits for a lock: a virtual thread from its unmount to
//! its next mount, one that keeps its OS thread from the call of `Unsafe.park` to its return ([`super::parks`]). It may find
//! the lock taken again by then, and park once more: two waits, whose sum is right. A pinned thread is told as unmounted
//! and mounted again before it parks, a wait of next to nothing.
//!
//! Neither needs a record of the thread's, so threads without a span are in it as well, untagged. What is waited for is
//! noted in [`Waiters`], where [`super::owners`] finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jni_sys::{JNIEnv, jclass, jfieldID, jobject};
use once_cell::sync::OnceCell;
use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::gate::Mode;
use vtprof_signal::tag::JavaThreadId;

use super::blocking;
use super::callbacks::guarded;
use super::capture;
use super::jni::{self, Jni};
use super::jvmti::{Capability, Jvmti, Result};
use super::monitors;
use super::waiters::{Entered, Held, Wait, Waiters};
use crate::events::chance;
use crate::events::thinning::Thinning;
use crate::log;
use crate::session::{self, Session};

/// See the module.
#[derive(Debug)]
pub struct Contention {
    thinning: Thinning,
    /// When sampling began last, ns: what was waited before is of no window. Relaxed: a time alone, written before
    /// samples are taken.
    begun_ns: AtomicU64,
    /// Who waits for a monitor.
    pub monitors: Waiters<Held>,
    /// Who is parked for a lock.
    pub parks: Waiters<Held>,
    /// `None` where this JVM's classes are not as expected.
    pub synchronizers: Option<Synchronizers>,
}

/// What is known of locks of `java.util.concurrent`.
#[derive(Debug)]
pub struct Synchronizers {
    /// `AbstractOwnableSynchronizer`, which each is.
    class: jclass,
    /// The synchronizer of latches, that nobody has and all wait for.
    latch: jclass,
    /// `Thread.parkBlocker`.
    blocker: jfieldID,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`.
    owner: jfieldID,
    /// `None` where queues are not as expected: then owners are not known for sure.
    queue: Option<Queue>,
    /// `VirtualThread`, where there is such a class.
    virtual_thread: Option<jclass>,
    /// Looked up when a virtual thread is met, as its class would be initialised by it.
    pinned: OnceCell<Option<Pinned>>,
}

/// `VirtualThread.state`, and its values while a thread is parked without leaving its carrier.
#[derive(Debug)]
struct Pinned {
    state: jfieldID,
    values: Vec<i32>,
}

/// How `AbstractQueuedSynchronizer` queues those who wait: `head.next` is the first of them, its `waiter` the thread,
/// and its `status` has [`WAITING`] from before it parks until whoever gives the lock away wakes it.
#[derive(Debug)]
struct Queue {
    class: jclass,
    head: jfieldID,
    next: jfieldID,
    waiter: jfieldID,
    status: jfieldID,
}

/// `AbstractQueuedSynchronizer.WAITING`.
const WAITING: i32 = 1;

/// The first of those who wait, parked and not woken: local references.
#[derive(Clone, Copy, Debug)]
pub struct First {
    pub node: jobject,
    pub waiter: jobject,
}

// SAFETY: global references and field ids, which belong to no thread.
unsafe impl Send for Synchronizers {}
// SAFETY: as above; never changed after it was made.
unsafe impl Sync for Synchronizers {}

/// A wait that is over.
#[derive(Debug)]
pub struct Ended {
    wait: Wait<Held>,
    at_ns: u64,
}

/// Asks for what the events and the look at a monitor's owner need. Costs nothing until [`Contention::begin`]: HotSpot
/// can give both at any time and prepares nothing for them (`init_always_capabilities` and `update` in
/// `jvmtiManageCapabilities.cpp`, JDK 17 to 25).
///
/// # Errors
/// JVMTI's.
pub fn prepare(jvmti: Jvmti) -> Result<()> {
    jvmti.add_capabilities(&[
        Capability::GenerateMonitorEvents,
        Capability::GetMonitorInfo,
    ])
}

impl Synchronizers {
    fn learn(jni: Jni) -> jni::Result<Self> {
        let thread = jni.find_class("java/lang/Thread")?;
        let class =
            jni.find_class_for_good("java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
        Ok(Self {
            class,
            latch: jni.find_class_for_good("java/util/concurrent/CountDownLatch$Sync")?,
            blocker: jni.field(thread, "parkBlocker", "Ljava/lang/Object;")?,
            owner: jni.field(class, "exclusiveOwnerThread", "Ljava/lang/Thread;")?,
            queue: Queue::learn(jni)
                .inspect_err(|error| {
                    log::info(&format!("owners of locks are not known here: {error}"));
                })
                .ok(),
            virtual_thread: jni.find_class_for_good("java/lang/VirtualThread").ok(),
            pinned: OnceCell::new(),
        })
    }

    /// Whether `thread`, for which JVMTI takes the caller, is what parks. Before JDK 24 a virtual thread becomes its carrier
    /// for a while, as when it sets its alarm, and JVMTI does not say so; the carrier may park then, for a lock of its own.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread.
    unsafe fn is_parking(&self, jni: Jni, thread: jobject) -> bool {
        let Some(class) = self.virtual_thread else {
            return true;
        };
        // SAFETY: as the caller promises; the class is a global reference.
        if !unsafe { jni.is_instance(thread, class) } {
            return true;
        }
        let pinned = self.pinned.get_or_init(|| Pinned::learn(jni, class).ok());
        pinned.as_ref().is_some_and(|pinned| {
            // SAFETY: a field of `VirtualThread`, which `thread` is.
            let state = unsafe { jni.int_field(thread, pinned.state) };
            pinned.values.contains(&state)
        })
    }

    /// The lock that `thread` is parked for, as a local reference.
    ///
    /// # Safety
    /// `thread` is a live reference to a thread.
    unsafe fn awaited(&self, jni: Jni, thread: jobject) -> Option<jobject> {
        // SAFETY: a field of `Thread`, which `thread` is.
        let blocker = unsafe { jni.object_field(thread, self.blocker) }?;
        // SAFETY: `blocker` was just made, the classes are global references.
        let is_lock = unsafe {
            jni.is_instance(blocker, self.class) && !jni.is_instance(blocker, self.latch)
        };
        if !is_lock {
            jni.delete_local(blocker);
        }
        is_lock.then_some(blocker)
    }

    /// The thread that has `lock` for itself, as a local reference.
    ///
    /// # Safety
    /// `lock` is a live reference to what [`awaited`](Self::awaited) gave.
    pub unsafe fn owner_of(&self, jni: Jni, lock: jobject) -> Option<jobject> {
        // SAFETY: a field of `AbstractOwnableSynchronizer`, which `lock` is.
        unsafe { jni.object_field(lock, self.owner) }
    }

    /// The first of those who wait for `lock`, if it is parked and was not woken.
    ///
    /// # Safety
    /// As of [`owner_of`](Self::owner_of).
    pub unsafe fn first(&self, jni: Jni, lock: jobject) -> Option<First> {
        let queue = self.queue.as_ref()?;
        // SAFETY: `lock` is an object, the class a global reference.
        if !unsafe { jni.is_instance(lock, queue.class) } {
            return None;
        }
        // SAFETY: fields of `AbstractQueuedSynchronizer` and of its nodes, each read of one.
        unsafe {
            let head = jni.object_field(lock, queue.head)?;
            let node = jni.object_field(head, queue.next)?;
            let waiter = jni.object_field(node, queue.waiter)?;
            (jni.int_field(node, queue.status) & WAITING != 0).then_some(First { node, waiter })
        }
    }
}

impl Pinned {
    fn learn(jni: Jni, class: jclass) -> jni::Result<Self> {
        Ok(Self {
            state: jni.field(class, "state", "I")?,
            // The second is not in each JDK.
            values: jni.static_ints(class, &["PINNED", "TIMED_PINNED"]),
        })
    }
}

impl Queue {
    fn learn(jni: Jni) -> jni::Result<Self> {
        const NODE: &str = "Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$Node;";
        let class =
            jni.find_class_for_good("java/util/concurrent/locks/AbstractQueuedSynchronizer")?;
        let node = jni.find_class(NODE.trim_start_matches('L').trim_end_matches(';'))?;
        Ok(Self {
            class,
            head: jni.field(class, "head", NODE)?,
            next: jni.field(node, "next", NODE)?,
            waiter: jni.field(node, "waiter", "Ljava/lang/Thread;")?,
            status: jni.field(node, "status", "I")?,
        })
    }
}

impl Contention {
    /// With that period, ns.
    pub fn new(jni: Jni, period_ns: u64) -> Self {
        let synchronizers = Synchronizers::learn(jni).inspect_err(|error| {
            log::warn(&format!(
                "lock= sees monitors alone here, no locks of java.util.concurrent: {error}"
            ));
        });
        Self {
            thinning: Thinning::new(period_ns),
            begun_ns: AtomicU64::new(0),
            monitors: Waiters::new(),
            parks: Waiters::new(),
            synchronizers: synchronizers.ok(),
        }
    }

    /// Another period, ns; 0 for off. While no samples are taken.
    pub fn set_period(&self, period_ns: u64) {
        self.thinning.set_least_ns(period_ns);
    }

    /// Whether waits are sampled, or would be if sampling were not stopped.
    pub fn is_on(&self) -> bool {
        self.thinning.least_ns() > 0
    }

    /// Waits count from now on. Before samples are taken.
    pub fn note_begin(&self) {
        self.begun_ns.store(now_ns(), Ordering::Relaxed);
    }

    /// Monitors tell of their waits.
    pub fn begin(&self, session: &Session) {
        // Of a run before, whose ends nobody has listened to.
        if let Some(jni) = session.vm.env() {
            for wait in self.monitors.take_all() {
                wait.lock.release(jni);
            }
        }
        if self.is_on()
            && let Err(error) = monitors::notify(session.jvmti, true)
        {
            log::warn(&format!("waits for monitors are not sampled: {error}"));
        }
    }

    /// Monitors tell of no more waits. Callbacks that have begun may still hand on what they have.
    pub fn end(&self, jvmti: Jvmti, others_are_told: bool) {
        if !others_are_told && let Err(error) = monitors::notify(jvmti, false) {
            // In the last phase, for one; nothing is taken all the same.
            log::debug(&format!("the events of monitors stay on: {error}"));
        }
    }

    /// The calling virtual thread, `leaving` with the id `thread`, is about to leave its carrier.
    pub fn unmount(&self, session: &Session, jni: Jni, leaving: jobject, thread: JavaThreadId) {
        if session.shared.gate.mode() == Mode::Armed {
            // SAFETY: the event's own thread.
            let _is_for_a_lock = unsafe { self.park(session, jni, leaving, thread) };
        }
    }

    /// The calling thread, `parking` with the id `thread`, is about to park on its OS thread; whether that is for a lock.
    ///
    /// # Safety
    /// `parking` is a live reference to a thread.
    pub unsafe fn park_in_place(
        &self,
        session: &Session,
        jni: Jni,
        parking: jobject,
        thread: JavaThreadId,
    ) -> bool {
        let synchronizers = self.synchronizers.as_ref();
        // SAFETY: as the caller promises.
        synchronizers.is_some_and(|known| unsafe {
            known.is_parking(jni, parking) && self.park(session, jni, parking, thread)
        })
    }

    /// The calling thread, `parking` with the id `thread`, is about to park; whether that is for a lock.
    ///
    /// # Safety
    /// `parking` is a live reference to a thread.
    unsafe fn park(
        &self,
        session: &Session,
        jni: Jni,
        parking: jobject,
        thread: JavaThreadId,
    ) -> bool {
        let Some(synchronizers) = self.synchronizers.as_ref().filter(|_| self.is_on()) else {
            return false;
        };
        // SAFETY: as the caller promises.
        let Some(lock) = (unsafe { synchronizers.awaited(jni, parking) }) else {
            return false;
        };
        note(session, jni, &self.parks, thread, lock, now_ns());
        jni.delete_local(lock);
        // Who parks waits for no monitor.
        self.forget(session, jni, thread);
        true
    }

    /// The calling thread waits for no monitor, whatever has been told.
    pub fn forget(&self, session: &Session, jni: Jni, thread: JavaThreadId) {
        if let Some(wait) = self.monitors.leave(thread) {
            session.shared.counters.add(Counter::LockNoEnd, 1);
            wait.lock.release(jni);
        }
    }

    /// The calling thread is parked no more: on a carrier again, if it is a virtual one that had left it.
    pub fn unpark(&self, thread: JavaThreadId) -> Option<Ended> {
        let wait = self.parks.leave(thread)?;
        let at_ns = now_ns();
        Some(Ended { wait, at_ns })
    }

    /// Samples what has ended, of the calling thread `waiter`, if chance wills it, and lets go of the lock.
    pub fn conclude(&self, session: &Session, jni: Jni, waiter: jobject, ended: Ended) {
        self.sample(session, jni, waiter, &ended);
        ended.wait.lock.release(jni);
    }

    fn sample(&self, session: &Session, jni: Jni, waiter: jobject, ended: &Ended) {
        if session.shared.gate.mode() != Mode::Armed || !self.is_on() {
            return;
        }
        let begun_ns = self.begun_ns.load(Ordering::Relaxed);
        let delay_ns = ended
            .at_ns
            .saturating_sub(ended.wait.since_ns.max(begun_ns));
        let period_ns = self.thinning.period_ns(ended.at_ns);
        let Some(weight) = chance::weight(delay_ns, period_ns, blocking::draw) else {
            return;
        };
        self.thinning.took(ended.at_ns);
        let counters = session.shared.counters;
        if self.thinning.is_thinned(period_ns) {
            counters.add(Counter::LockThinned, 1);
        }
        let taken = class_name(session, jni, &ended.wait.lock).is_some_and(|class| {
            let event = capture::Event {
                kind: Kind::Lock,
                weight,
                leaf_class: Some(class),
                state: None,
                delayed: 0.0,
            };
            capture::take(session, jni, waiter, event).is_ok()
        });
        if !taken {
            counters.add(Counter::LockNoStack, 1);
        }
    }
}

/// The calling thread begins to wait for `lock`.
fn note(
    session: &Session,
    jni: Jni,
    waiters: &Waiters<Held>,
    thread: JavaThreadId,
    lock: jobject,
    since_ns: u64,
) {
    let left_over = match Held::in_callback(jni, lock, ()) {
        Some(lock) => match waiters.enter(thread, Wait { since_ns, lock }) {
            Entered::Remembered => return,
            Entered::InPlaceOf(before) => {
                session.shared.counters.add(Counter::LockNoEnd, 1);
                Some(before)
            }
            Entered::Refused(wait) => {
                session.shared.counters.add(Counter::LockOverflow, 1);
                Some(wait)
            }
        },
        None => {
            session.shared.counters.add(Counter::LockOverflow, 1);
            None
        }
    };
    if let Some(wait) = left_over {
        wait.lock.release(jni);
    }
}

/// Signature of the class of a lock, while it is there.
pub fn class_name(session: &Session, jni: Jni, lock: &Held) -> Option<Arc<str>> {
    let lock = lock.local(jni)?;
    // SAFETY: a live reference, just made.
    let class = unsafe { jni.class_of(lock) };
    let signature = session.jvmti.class_signature(class);
    jni.delete_local(class);
    jni.delete_local(lock);
    signature.ok().map(Arc::from)
}

/// Runs `body` for the session there is.
pub(super) fn listening(
    env: *mut JNIEnv,
    body: impl FnOnce(&'static Session, &'static Contention, Jni),
) {
    if let Some(session) = session::get().filter(|session| !session.is_over())
        && let Some(contention) = &session.contention
    {
        guarded(env, |jni| body(session, contention, jni));
    }
}

/// The calling thread is about to wait for a monitor.
pub fn enter(env: *mut JNIEnv, thread: jobject, object: jobject) {
    listening(env, |session, contention, jni| {
        if session.shared.gate.mode() == Mode::Armed && contention.is_on() {
            let id = session.layout.thread_id(jni, thread);
            note(session, jni, &contention.monitors, id, object, now_ns());
        }
    });
}

/// The calling thread has waited for a monitor and has it now.
pub fn entered(env: *mut JNIEnv, thread: jobject, object: jobject) {
    let at_ns = now_ns();
    listening(env, |session, contention, jni| {
        let id = session.layout.thread_id(jni, thread);
        let wait = contention.monitors.leave(id);
        // Of another monitor: its beginning was noted over the one of this.
        let (wait, other) = match wait {
            Some(wait) if wait.lock.is(jni, object) => (Some(wait), None),
            other => (None, other),
        };
        if let Some(other) = other {
            other.lock.release(jni);
        }
        match wait {
            Some(wait) => contention.conclude(session, jni, thread, Ended { wait, at_ns }),
            // Stopped or off, beginnings are not noted.
            None if session.shared.gate.mode() != Mode::Armed || !contention.is_on() => {}
            None => session.shared.counters.add(Counter::LockNoBeginning, 1),
        }
    });
}
