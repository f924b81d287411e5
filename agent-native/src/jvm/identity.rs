//! Which Java thread the caller of a native method is, and which block its OS thread has.
//!
//! From JDK 19 on the shim passes `Thread.threadId()`, which is final: nothing has to be asked, and nothing of
//! the OS thread is touched. Before that there is only `getId()`, which a subclass may override, and only
//! platform threads: there the block of the OS thread knows.

use std::cell::Cell;

use jni_sys::JNIEnv;
use vtprof_signal::block::Block;
use vtprof_signal::shared::Source;
use vtprof_signal::tag::JavaThreadId;

use super::jni::Jni;
use crate::session::Session;
use crate::threads::registry::{JavaIdentity, Seat};
use crate::threads::timer::OsThreadId;

thread_local! {
    /// The block of this OS thread, so that a mount does not take the registry's lock. Never touched by the
    /// handler, which has it from its timer.
    static SEAT: Cell<Option<Seat>> = const { Cell::new(None) };
}

/// Remembers, or forgets, the block of the calling OS thread.
pub fn remember(seat: Option<Seat>) {
    SEAT.set(seat);
}

/// The block of the calling OS thread, whose environment is `env`, once it is known as a Java thread's. A
/// remembered block must prove that it is still this thread's, or a tag could go astray.
pub fn seat(session: &Session, env: *mut JNIEnv) -> Option<Seat> {
    let is_ours = |seat: &Seat| seat.block.jni_env() == env as u64;
    SEAT.get().filter(is_ours).or_else(|| {
        // A thread that ran before the agent came: looked up once.
        let seat = session.registry.seat_of(OsThreadId::current());
        let seat = seat.filter(is_ours)?;
        SEAT.set(Some(seat));
        Some(seat)
    })
}

/// As [`seat`], where the life of the block does not matter.
pub fn block(session: &Session, env: *mut JNIEnv) -> Option<&'static Block> {
    seat(session, env).map(|seat| seat.block)
}

/// The calling Java thread: virtual where one is mounted. `said` is what the shim passed.
/// [`JavaThreadId::NONE`] when it is not known.
#[inline]
pub fn current(session: &Session, env: *mut JNIEnv, said: JavaThreadId) -> JavaThreadId {
    if session.has_final_thread_ids {
        if session.is_late() {
            catch_up(session, env, said);
        }
        return said;
    }
    block(session, env).map_or(JavaThreadId::NONE, Block::own_thread)
}

/// The agent came to a running VM: a virtual thread that was mounted before is told to the handler now, if
/// its unmount will be seen.
#[cold]
fn catch_up(session: &Session, env: *mut JNIEnv, thread: JavaThreadId) {
    if session.shared.source() == Source::Mount
        && let Some(block) = block(session, env)
        && block.running() != thread
        && (block.own_thread() == thread || session.mounts.work())
    {
        block.mount(thread);
    }
}

/// Takes the calling thread in as Java's, under `name`.
pub fn adopt(session: &Session, jni: Jni, thread: JavaThreadId, name: &str) {
    let identity = JavaIdentity {
        jni_env: jni.address(),
        java_thread: session.layout.java_thread(jni.address()),
        thread,
    };
    let seat = session
        .registry
        .add_java(OsThreadId::current(), identity, name);
    remember(seat);
}
