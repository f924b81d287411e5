//! Parks of threads that keep their OS thread: of the platform, and virtual ones that are pinned. JVMTI has no event for
//! them, so `Unsafe.park`, through which each goes, gets a function of ours in place of the JVM's, which it calls.
//!
//! The place is the JVM's own: JVMTI's `NativeMethodBind` lets an agent choose to what a native method is bound. HotSpot
//! binds those of `Unsafe` once, when it initialises `java.base`, before VMStart; an environment with early VMStart may
//! ask for a method's name by then, and has its own, since it is told of VMStart earlier, too. An agent that comes late
//! finds the method bound. To bind it again would make HotSpot warn on stdout (`jni_RegisterNatives`, `jni.cpp`: "Re-registering
//! of platform native method"), so there these parks are not seen.
//!
//! The function stays for as long as the JVM does, and only calls the JVM's when nothing is sampled.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};

use jni_sys::{JNIEnv, JavaVM, jboolean, jlong, jmethodID, jobject};
use once_cell::sync::OnceCell;
use vtprof_signal::gate::Mode;

use super::bindings::jvmtiEnv;
use super::callbacks::guarded;
use super::contention::{Contention, listening};
use super::jni::Jni;
use super::jvmti::{Callbacks, Capability, Event, Jvmti, Result};
use crate::log;
use crate::session::{self, Session};

const CLASS: &str = "Ljdk/internal/misc/Unsafe;";
const METHOD: &str = "park";

type Park = unsafe extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);

/// The JVM's own function, null until it is known. Release where it is noted, which is before the JVM may call ours, pairs
/// with Acquire there.
static PARK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// The environment that is told of native methods. It may be switched off in the live phase only.
static LISTENER: OnceCell<Jvmti> = OnceCell::new();

static CALLBACKS: Callbacks =
    Callbacks::none().with(Event::NativeMethodBind, on_bind as *const c_void);

/// In OnLoad: waits for the method to be bound.
///
/// # Errors
/// JVMTI's; parks are not seen then.
///
/// # Safety
/// `vm` is the `JavaVM*` that the JVM passed to `Agent_OnLoad`.
pub unsafe fn prepare(vm: *mut JavaVM) -> Result<()> {
    // SAFETY: as the caller promises.
    let Some(jvmti) = (unsafe { Jvmti::new(vm) }) else {
        return Ok(());
    };
    jvmti.add_capabilities(&[
        Capability::GenerateNativeMethodBindEvents,
        Capability::GenerateEarlyVmStart,
    ])?;
    jvmti.set_callbacks(&CALLBACKS)?;
    jvmti.notify(Event::NativeMethodBind, true)?;
    LISTENER.get_or_init(|| jvmti);
    Ok(())
}

/// In the live phase: no more methods are told of. Whether parks are seen.
pub fn settle() -> bool {
    if let Some(jvmti) = LISTENER.get()
        && let Err(error) = jvmti.notify(Event::NativeMethodBind, false)
    {
        log::debug(&format!("the event of native methods stays on: {error}"));
    }
    !PARK.load(Ordering::Acquire).is_null()
}

extern "C" fn on_bind(
    env: *mut jvmtiEnv,
    _jni: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    address: *mut c_void,
    bound: *mut *mut c_void,
) {
    let bind = || {
        let jvmti = Jvmti::of(env);
        let is_it = PARK.load(Ordering::Acquire).is_null()
            && jvmti.method_name(method).is_ok_and(|name| name == METHOD)
            && jvmti
                .method_class_signature(method)
                .is_ok_and(|class| class == CLASS);
        if is_it {
            PARK.store(address, Ordering::Release);
            let ours: Park = park;
            // SAFETY: JVMTI passes a place for the address of a function with the method's signature, as ours has.
            unsafe { *bound = ours as *mut c_void };
        }
    };
    if catch_unwind(AssertUnwindSafe(bind)).is_err() {
        log::error("a callback failed; please report this line with the one before it");
    }
}

/// `Unsafe.park`. Waits for locks begin and end here on the thread itself.
unsafe extern "system" fn park(
    env: *mut JNIEnv,
    this: jobject,
    is_absolute: jboolean,
    time: jlong,
) {
    let function = PARK.load(Ordering::Acquire);
    if function.is_null() {
        return;
    }
    // SAFETY: the JVM gave that address for the method, so it is a function of its signature.
    let function = unsafe { std::mem::transmute::<*mut c_void, Park>(function) };
    let mut thread = None;
    listening(env, |session, contention, jni| {
        if session.shared.gate.mode() == Mode::Armed {
            thread = begin(session, contention, jni);
        }
    });
    // SAFETY: the arguments are the JVM's own, for that method.
    unsafe { function(env, this, is_absolute, time) };
    if let Some(thread) = thread {
        ended(env, thread);
    }
}

/// The calling thread, a local reference, if it is about to park for a lock: that is noted.
fn begin(session: &Session, contention: &Contention, jni: Jni) -> Option<jobject> {
    let thread = session.jvmti.current_thread().ok()?;
    let id = session.layout.thread_id(jni, thread);
    // SAFETY: `thread` is the calling one.
    unsafe { contention.park_in_place(session, jni, thread, id) }.then_some(thread)
}

/// The calling thread, `thread`, is back. Waits that have begun are always ended, also where sampling was stopped since.
fn ended(env: *mut JNIEnv, thread: jobject) {
    if let Some(session) = session::get()
        && let Some(contention) = &session.contention
    {
        guarded(env, |jni| {
            let id = session.layout.thread_id(jni, thread);
            if let Some(ended) = contention.unpark(id) {
                contention.conclude(session, jni, thread, ended);
            }
        });
    }
}
