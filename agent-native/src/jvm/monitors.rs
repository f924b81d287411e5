//! Waits for monitors, as JVMTI tells of them: `MonitorContendedEnter` and `…Entered`, on the thread that waits. Two want
//! to know: [`super::contention`], which charges waits to locks, and [`super::entering`], which has the stacks of those
//! that a visit could not walk. Each says when it is to be told; the events are on while one of them is.

use jni_sys::{JNIEnv, jobject};

use super::bindings::jvmtiEnv;
use super::jvmti::{Event, Jvmti, Result};
use super::{contention, entering};

/// Both.
const EVENTS: [Event; 2] = [Event::MonitorContendedEnter, Event::MonitorContendedEntered];

/// Switches both on or off.
///
/// # Errors
/// JVMTI's.
pub fn notify(jvmti: Jvmti, on: bool) -> Result<()> {
    EVENTS
        .into_iter()
        .try_for_each(|event| jvmti.notify(event, on))
}

/// The event.
pub extern "C" fn on_enter(
    _jvmti: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jobject,
    object: jobject,
) {
    contention::enter(env, thread, object);
    entering::enter(env);
}

/// The event.
pub extern "C" fn on_entered(
    _jvmti: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jobject,
    object: jobject,
) {
    contention::entered(env, thread, object);
    entering::entered(env, thread);
}
