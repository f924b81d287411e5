//! Samples of allocations: JVMTI's `SampledObjectAlloc`, on the thread that allocates.
//!
//! HotSpot samples an object if a point falls into it, and draws the distance to the next point of that OS thread
//! anew (`threadHeapSampler.cpp`): exponential, so each object is sampled by its size alone, whatever came before.
//! Only the first point of a thread that was there before the event came on is another: drawn for another interval,
//! or long passed, as a JVM may count bytes while nobody asks (`memAllocator.cpp`, JDK 25). What it stands for is not
//! known, so that one is left out and counted, and a profile does not begin with a jump of one interval a thread.
//! It costs no more than some interval of each such thread.
//!
//! The callback runs wherever Java or the VM allocates. None of its calls allocates in the Java heap (own stack,
//! signature of a class, a field, a weak reference where objects are followed), so it is not entered again, and none
//! looks at exceptions. Its one lock is the registry's, once for an OS thread older than the agent; who holds that
//! waits for no other thread and allocates nothing in the Java heap.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jni_sys::{JNIEnv, jclass, jlong, jobject};
use vtprof_profile::kind::Kind;
use vtprof_signal::counters::Counter;

use super::bindings::jvmtiEnv;
use super::callbacks::guarded;
use super::capture;
use super::jni::Jni;
use super::jvmti::{Capability, Event, Jvmti, Result};
use crate::aggregate::weight::Weight;
use crate::log;
use crate::session::{self, Session};

/// One time of sampling, from a start to a stop; [`Run::NONE`] while nothing is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run(u32);

impl Run {
    const NONE: Self = Self(0);
}

thread_local! {
    /// The run in which points of this OS thread are known to be where they should be. Touched by callbacks alone.
    static KNOWN: Cell<Run> = const { Cell::new(Run::NONE) };
}

/// See the module.
#[derive(Debug)]
pub struct Allocations {
    /// Bytes between two samples, on average; 0 where they are off. Release in `set_interval`, between the end of a run and the beginning of
    /// the next, with Acquire before the run is looked at: who sees the new one does not see the old run.
    interval: AtomicU32,
    /// Whether the objects are followed, for [`Kind::Live`].
    follows: bool,
    /// The run that goes on. Relaxed: a thread that learns late of it leaves out a sample, or takes one more, which
    /// the drain counts as come while stopped.
    run: AtomicU32,
    /// Runs begun. Relaxed: they are begun one after another, under the lock of the session's phase.
    begun: AtomicU32,
}

/// Asks for what the event needs, and sets the interval before there are threads that would have drawn from
/// another. Costs nothing until [`Allocations::begin`]; in any phase.
///
/// # Errors
/// JVMTI's: this JVM has not got it, or another agent has it for itself alone.
pub fn prepare(jvmti: Jvmti, interval: u32) -> Result<()> {
    jvmti.add_capabilities(&[Capability::GenerateSampledObjectAllocEvents])?;
    jvmti.set_heap_sampling_interval(interval)
}

impl Allocations {
    /// Nothing is sampled yet.
    pub fn new(interval: Option<u32>, follows: bool) -> Self {
        Self {
            interval: AtomicU32::new(interval.unwrap_or(0)),
            follows,
            run: AtomicU32::new(Run::NONE.0),
            begun: AtomicU32::new(0),
        }
    }

    /// Another interval, or none. While there is no run: the first sample of each thread in the next is left out, as its
    /// point may have been drawn from the interval before.
    ///
    /// # Errors
    /// JVMTI's: there is none then.
    pub fn set_interval(&self, jvmti: Jvmti, interval: Option<u32>) -> Result<()> {
        let set = interval.map_or(Ok(()), |interval| {
            jvmti.set_heap_sampling_interval(interval)
        });
        let interval = interval.filter(|_| set.is_ok()).unwrap_or(0);
        self.interval.store(interval, Ordering::Release);
        set
    }

    fn interval(&self) -> Option<u32> {
        Some(self.interval.load(Ordering::Acquire)).filter(|interval| *interval > 0)
    }

    /// Samples from now on, if that was asked for.
    pub fn begin(&self, jvmti: Jvmti) {
        let Some(interval) = self.interval() else {
            return;
        };
        // 2³² starts are not lived to see.
        let run = self.begun.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.run.store(run, Ordering::Relaxed);
        match jvmti.notify(Event::SampledObjectAlloc, true) {
            Ok(()) => log::info(&format!(
                "allocations are sampled each {interval} bytes on average"
            )),
            Err(error) => log::warn(&format!("allocations are not sampled: {error}")),
        }
    }

    /// Samples no more. Callbacks that have begun may still hand on what they have.
    pub fn end(&self, jvmti: Jvmti) {
        if self.interval().is_none() || self.run.swap(Run::NONE.0, Ordering::Relaxed) == Run::NONE.0
        {
            return;
        }
        if let Err(error) = jvmti.notify(Event::SampledObjectAlloc, false) {
            // In the last phase, for one; nothing is taken all the same.
            log::debug(&format!("the event of allocations stays on: {error}"));
        }
    }

    /// The calling OS thread has just begun: its first point is drawn for this run.
    pub fn begin_thread(&self) {
        if self.interval().is_some() {
            KNOWN.set(self.run());
        }
    }

    fn run(&self) -> Run {
        Run(self.run.load(Ordering::Relaxed))
    }
}

/// The event.
pub extern "C" fn on_sampled(
    _jvmti: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jobject,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    let Some(session) = session::get().filter(|session| !session.is_over()) else {
        return;
    };
    let allocated = Allocated {
        object,
        class,
        size,
    };
    guarded(env, |jni| sample(session, jni, thread, allocated));
}

/// What the event says of the object.
#[derive(Clone, Copy)]
struct Allocated {
    object: jobject,
    class: jclass,
    size: jlong,
}

fn sample(session: &Session, jni: Jni, thread: jobject, allocated: Allocated) {
    let Some(interval) = session.allocations.interval() else {
        return;
    };
    let run = session.allocations.run();
    if run == Run::NONE {
        return;
    }
    let counters = session.shared.counters;
    if KNOWN.replace(run) != run {
        counters.add(Counter::AllocFirst, 1);
        return;
    }
    // A thread that is just being attached has no object yet.
    let taken = (!thread.is_null()).then(|| {
        let event = capture::Event {
            kind: Kind::Alloc,
            weight: Weight::of_object(allocated.size.cast_unsigned(), interval),
            leaf_class: Some(Arc::from(session.jvmti.class_signature(allocated.class)?)),
            state: None,
            delayed: 0.0,
        };
        let followed = session.allocations.follows.then_some(allocated.object);
        capture::take_following(session, jni, thread, event, followed)
    });
    if !matches!(taken, Some(Ok(()))) {
        counters.add(Counter::AllocNoStack, 1);
    }
}
