//! Collections that stop the world, as the JVM tells of them: JVMTI's `GarbageCollectionStart` and `…Finish`.
//!
//! Both are posted on the VM's thread while the world stands still (`SvcGCMarker` in HotSpot's
//! `vmGCOperations.hpp`), and no JNI or JVMTI function may be called there but for some (JVMTI specification,
//! "Garbage Collection Start"): nothing is.

use vtprof_signal::clock::now_ns;

use super::bindings::jvmtiEnv;
use super::jvmti::{Capability, Event, Jvmti, Result};
use crate::session;

/// Asks for what the events need.
///
/// # Errors
/// JVMTI's: this JVM has not got it, or another agent has it for itself alone.
pub fn prepare(jvmti: Jvmti) -> Result<()> {
    jvmti.add_capabilities(&[Capability::GenerateGarbageCollectionEvents])
}

/// Switches them on.
///
/// # Errors
/// JVMTI's.
pub fn watch(jvmti: Jvmti) -> Result<()> {
    jvmti.notify(Event::GarbageCollectionStart, true)?;
    jvmti.notify(Event::GarbageCollectionFinish, true)
}

/// The event.
pub extern "C" fn on_start(_jvmti: *mut jvmtiEnv) {
    if let Some(session) = session::get() {
        session.pauses.begin(now_ns());
    }
}

/// The event.
pub extern "C" fn on_finish(_jvmti: *mut jvmtiEnv) {
    if let Some(session) = session::get() {
        session.pauses.end(now_ns());
    }
}
