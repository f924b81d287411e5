//! Threads that have entered a monitor for which they had to wait, told on the thread itself ([`super::monitors`]).
//!
//! Asked for where the wall engine runs. The callbacks number the waits in the thread's block, and only if a visit has
//! met it in that very wait and could not walk it they take its stack ([`crate::wall::entered`]). Numbered at the
//! beginning: HotSpot tells of none in the middle of a mount, and what has not begun does not end. They take no lock but
//! the registry's, once for a thread older than the agent, and call no Java.

use jni_sys::{JNIEnv, jobject};
use vtprof_signal::clock::now_ns;

use super::callbacks::guarded;
use super::capture;
use super::identity;
use super::jvmti::{Capability, Jvmti, Result};
use crate::session::{self, Session};
use crate::wall::entered::Entered;

/// Asks for what the event needs.
///
/// # Errors
/// JVMTI's: this JVM has not got it, or another agent has it for itself alone.
pub fn prepare(jvmti: Jvmti) -> Result<()> {
    jvmti.add_capabilities(&[Capability::GenerateMonitorEvents])
}

/// The calling thread is about to wait for a monitor.
pub fn enter(env: *mut JNIEnv) {
    let Some(session) = listener() else {
        return;
    };
    let Some(block) = identity::block(session, env) else {
        return;
    };
    // SAFETY: the calling thread's own block, and it is in a callback, so alive.
    let running = unsafe { session.shared.running(block) };
    // One that leaves its carrier to wait may tell of the end on another.
    if running == block.own_thread() || session.shared.visits.are_pinned() {
        block.begin_wait();
    }
}

/// The calling thread has waited for a monitor and has it now.
pub fn entered(env: *mut JNIEnv, thread: jobject) {
    if let Some(session) = listener() {
        guarded(env, |_| tell(session, env, thread));
    }
}

fn listener() -> Option<&'static Session> {
    session::get().filter(|session| session.wall.is_some() && !session.is_over())
}

fn tell(session: &Session, env: *mut JNIEnv, thread: jobject) {
    let Some(wall) = &session.wall else {
        return;
    };
    let Some(seat) = identity::seat(session, env) else {
        return;
    };
    let Some(wait) = seat.block.end_wait() else {
        return;
    };
    let Ok((frames, is_cut)) = capture::own_frames(session, thread) else {
        return;
    };
    wall.entered.push(Entered {
        place: seat.cookie,
        wait,
        at_ns: now_ns(),
        frames,
        is_cut,
    });
}
