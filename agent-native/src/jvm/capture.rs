//! A sample of the calling thread, taken in an event: its stack, its tag, and where its label is.
//!
//! In a callback on the thread that is sampled, which is what makes it right: only its own thread may look a
//! record up outside the handler, and `GetStackTrace` of the caller stops nobody. No lock is taken and no Java
//! called; memory is taken for a sample that finds room, and for no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jni_sys::jobject;
use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::context_table::Lookup;
use vtprof_signal::counters::Counter;
use vtprof_signal::perf::thread_cpu_ns;
use vtprof_signal::scratch::DEPTH;
use vtprof_signal::tag::Tag;
use vtprof_signal::walk::CallFrame;

use super::bindings::jvmtiFrameInfo;
use super::identity;
use super::jni::Jni;
use super::jvmti::Result;
use crate::aggregate::tally::Tally;
use crate::aggregate::weight::Weight;
use crate::events::object::{ObjectRef, Objects};
use crate::events::sample::EventHead;
use crate::session::Session;

/// Frames asked for: one more than are kept, to see whether there are more.
pub(super) const ASKED: usize = DEPTH + 1;

/// What a sample costs is measured at one of so many.
const MEASURED: u32 = 16;
/// Whose turn it is. Relaxed: a number alone.
static TURN: AtomicU32 = AtomicU32::new(0);

/// What the caller knows of the event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Any that is on but [`Kind::Cpu`].
    pub kind: Kind,
    /// What the sample stands for.
    pub weight: Weight,
    /// See [`EventHead::leaf_class`].
    pub leaf_class: Option<Arc<str>>,
    /// See [`EventHead::state`].
    pub state: Option<&'static str>,
    /// See [`EventHead::delayed`].
    pub delayed: f64,
}

/// Takes a sample of `thread`, which is the calling one (virtual where one is mounted), and hands it to the drain.
/// Needs 16 KiB of stack.
///
/// # Errors
/// JVMTI's, where it gives no stack; nothing is handed on then.
pub fn take(session: &Session, jni: Jni, thread: jobject, event: Event) -> Result<()> {
    take_following(session, jni, thread, event, None)
}

/// As [`take`]; the drain follows `object` from then on, if there is one.
///
/// # Errors
/// As those of [`take`].
pub fn take_following(
    session: &Session,
    jni: Jni,
    thread: jobject,
    event: Event,
    object: Option<jobject>,
) -> Result<()> {
    // One in sixteen, as the clock is a system call.
    let began = TURN
        .fetch_add(1, Ordering::Relaxed)
        .is_multiple_of(MEASURED)
        .then(thread_cpu_ns);
    let taken = take_unmeasured(session, jni, thread, event, object);
    if let Some(began) = began {
        let used = thread_cpu_ns().saturating_sub(began);
        session
            .shared
            .counters
            .add(Counter::CaptureNs, used * u64::from(MEASURED));
    }
    taken
}

fn take_unmeasured(
    session: &Session,
    jni: Jni,
    thread: jobject,
    event: Event,
    object: Option<jobject>,
) -> Result<()> {
    let mut frames: [jvmtiFrameInfo; ASKED] = std::array::from_fn(|_| jvmtiFrameInfo::default());
    let count = session.jvmti.own_stack(thread, &mut frames)?;
    let time_ns = now_ns();
    let id = session.layout.thread_id(jni, thread);
    let tag = match session.shared.contexts.lookup(id) {
        Lookup::Tag(tag) => tag,
        // Busy it is only while its own thread rewrites it, which calls nothing meanwhile.
        Lookup::Empty | Lookup::Busy => Tag::EMPTY,
    };
    let head = EventHead {
        kind: event.kind,
        time_ns,
        tag,
        place: identity::seat(session, jni.env()).map(|seat| seat.cookie),
        leaf_class: event.leaf_class,
        weight: event.weight,
        state: event.state,
        delayed: event.delayed,
        is_cut: count > DEPTH,
    };
    let kept = frames.get(..count.min(DEPTH)).unwrap_or_default();
    let kept = kept.iter().map(frame);
    let Some(object) = object else {
        session.event_samples.push(head, kept);
        return Ok(());
    };
    let counters = session.shared.counters;
    let mut is_full = true;
    let refer = || {
        is_full = false;
        let reference = jni.weak_ref_in_callback(object);
        if reference.is_none() {
            counters.add(Counter::LiveNoReference, 1);
        }
        reference.map(|reference| ObjectRef::new(reference as usize))
    };
    let refused = session.event_samples.push_object(head, refer, kept);
    if is_full || refused.is_some() {
        counters.add(Tally::of(Kind::Live).queue_full, 1);
    }
    if let Some(reference) = refused {
        jni.let_go(reference);
    }
    Ok(())
}

/// The stack of `thread`, which is the calling one, youngest first, and whether there was more. Needs 16 KiB of stack.
///
/// # Errors
/// JVMTI's.
pub fn own_frames(session: &Session, thread: jobject) -> Result<(Box<[CallFrame]>, bool)> {
    let mut frames: [jvmtiFrameInfo; ASKED] = std::array::from_fn(|_| jvmtiFrameInfo::default());
    let count = session.jvmti.own_stack(thread, &mut frames)?;
    let kept = frames.get(..count.min(DEPTH)).unwrap_or_default();
    Ok((kept.iter().map(frame).collect(), count > DEPTH))
}

/// JVMTI's bytecode index is -1 in a native method, and below 2¹⁶ elsewhere (JVM specification, 4.7.3).
pub(super) fn frame(info: &jvmtiFrameInfo) -> CallFrame {
    CallFrame {
        bci: i32::try_from(info.location)
            .ok()
            .filter(|bci| *bci >= 0)
            .unwrap_or(-1),
        method: info.method as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_jvmti_is_one_of_ours_and_never_taken_for_a_stub() {
        for (location, bci) in [
            (0, 0),
            (65_535, 65_535),
            (-1, -1),
            (i64::MAX, -1),
            (i64::from(i32::MIN), -1),
            (i64::MIN, -1),
        ] {
            let info = jvmtiFrameInfo {
                method: std::ptr::without_provenance_mut(640),
                location,
            };
            assert_eq!(frame(&info), CallFrame { bci, method: 640 });
            assert_eq!(frame(&info).as_stub(), None);
        }
    }
}
