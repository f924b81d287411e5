//! JVMTI events: thin entries that hand on to the session. Those of virtual threads' mounts are in
//! [`super::mounts`].
//!
//! A callback catches panics: unwinding into the JVM is undefined. It takes no lock that is held across Java
//! code, loads no class and calls no Java method, but for VMStart and VMInit, which run before the
//! application does.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni_sys::{JNIEnv, jclass, jobject};
use vtprof_signal::tag::JavaThreadId;

use super::bindings::jvmtiEnv;
use super::jni::Jni;
use super::jvmti::{Callbacks, Event, Jvmti, Result};
use super::{allocations, collections, extension, identity, monitors, shim, stubs};
use crate::log;
use crate::publish;
use crate::session::{self, Session};
use crate::start;
use crate::threads::registry::JavaIdentity;
use crate::threads::timer::OsThreadId;

static CALLBACKS: Callbacks = Callbacks::none()
    .with(Event::VmStart, on_vm_start as *const c_void)
    .with(Event::VmInit, on_vm_init as *const c_void)
    .with(Event::VmDeath, on_vm_death as *const c_void)
    .with(Event::ThreadStart, on_thread_start as *const c_void)
    .with(Event::ThreadEnd, on_thread_end as *const c_void)
    .with(Event::VirtualThreadStart, on_thread_start as *const c_void)
    .with(
        Event::VirtualThreadEnd,
        on_virtual_thread_end as *const c_void,
    )
    .with(Event::ClassLoad, on_nothing as *const c_void)
    .with(Event::ClassPrepare, on_class_prepare as *const c_void)
    .with(Event::CompiledMethodLoad, on_nothing as *const c_void)
    .with(
        Event::DynamicCodeGenerated,
        stubs::on_generated as *const c_void,
    )
    .with(
        Event::GarbageCollectionStart,
        collections::on_start as *const c_void,
    )
    .with(
        Event::GarbageCollectionFinish,
        collections::on_finish as *const c_void,
    )
    .with(
        Event::SampledObjectAlloc,
        allocations::on_sampled as *const c_void,
    )
    .with(
        Event::MonitorContendedEnter,
        monitors::on_enter as *const c_void,
    )
    .with(
        Event::MonitorContendedEntered,
        monitors::on_entered as *const c_void,
    );

/// Switches on what is needed from the start: the VM's phases, and classes, whose method ids
/// AsyncGetCallTrace cannot make itself. Where that is used (`signals`), compiled methods are listened to because
/// HotSpot records debug information between safepoints while somebody does (`debugInfoRec.cpp`), and loads of
/// classes because AsyncGetCallTrace refuses to walk while nobody does.
pub fn enable(jvmti: Jvmti, signals: bool) -> Result<()> {
    jvmti.set_callbacks(&CALLBACKS)?;
    for event in [
        Event::VmStart,
        Event::VmInit,
        Event::VmDeath,
        Event::ClassPrepare,
    ] {
        jvmti.notify(event, true)?;
    }
    if signals {
        for event in [Event::ClassLoad, Event::CompiledMethodLoad] {
            jvmti.notify(event, true)?;
        }
    }
    Ok(())
}

/// Switches on what needs a session. The ends of virtual threads are listened to only where they are threads
/// of the OS, or once contexts are seen to be left behind.
pub fn enable_live(session: &Session) -> Result<()> {
    session.jvmti.notify(Event::ThreadStart, true)?;
    session.jvmti.notify(Event::ThreadEnd, true)?;
    if session.blocking.is_some()
        && let Err(error) = collections::watch(session.jvmti)
    {
        // Without the capability for one, of which a line was said at start.
        log::debug(&format!("collections are not told: {error}"));
    }
    if session.wall.is_some()
        && let Err(error) = monitors::notify(session.jvmti, true)
    {
        // As above.
        log::debug(&format!("entered monitors are not told: {error}"));
    }
    if session.bound_virtual_threads {
        session.jvmti.notify(Event::VirtualThreadStart, true)?;
    }
    if session.listens_to_virtual_thread_ends() {
        session.jvmti.notify(Event::VirtualThreadEnd, true)?;
    }
    Ok(())
}

/// Frees from now on what a virtual thread that ends leaves in the record table.
pub fn listen_to_virtual_thread_ends(session: &Session) {
    match session.jvmti.notify(Event::VirtualThreadEnd, true) {
        Ok(()) => log::info(
            "scopes are left open when virtual threads end: their ends are listened to from now on, at some 0.7 µs each",
        ),
        Err(error) => log::warn(&format!(
            "scopes are left open when virtual threads end, and their ends cannot be listened to: {error}"
        )),
    }
}

/// Makes the method ids of the classes that were loaded before their events came.
pub fn prepare_loaded_classes(session: &Session, jni: Jni) {
    each_loaded_class(session, jni, |class| {
        // A class that is not prepared yet comes by its event.
        let _unprepared = session.classes.prepare(session.jvmti, jni, class);
    });
}

/// Links the copies of the shim that were initialised before the agent came.
pub fn adopt_loaded_shims(session: &Session, jni: Jni) {
    each_loaded_class(session, jni, |class| {
        if session
            .jvmti
            .class_signature(class)
            .is_ok_and(|signature| signature == shim::SIGNATURE)
        {
            let linked =
                shim::register(jni, class, session.shims).and_then(|()| shim::relink(jni, class));
            if let Err(error) = linked {
                log::warn(&format!("the shim in this JVM cannot be linked: {error}"));
            }
        }
    });
}

fn each_loaded_class(session: &Session, jni: Jni, mut each: impl FnMut(jclass)) {
    jni.with_frame(|| match session.jvmti.loaded_classes() {
        Ok(classes) => {
            jni.ensure_capacity(classes.len());
            for class in classes {
                each(class);
                jni.delete_local(class);
            }
        }
        Err(error) => log::warn(&format!(
            "classes loaded before the agent are not named: {error}"
        )),
    });
}

/// Takes in the platform threads that run already.
pub fn adopt_running_threads(session: &Session, jni: Jni) {
    jni.with_frame(|| {
        let threads = match session.jvmti.all_threads() {
            Ok(threads) => threads,
            Err(error) => {
                log::warn(&format!(
                    "threads that run already are not sampled as Java's: {error}"
                ));
                return;
            }
        };
        jni.ensure_capacity(threads.len());
        for thread in threads {
            adopt_running_thread(session, jni, thread);
            jni.delete_local(thread);
        }
    });
    session.registry.seeding_done();
    // Threads that are not Java's are of use to timers alone.
    if session.signal.is_some()
        && let Err(error) = session.registry.scan()
    {
        log::warn(&format!("threads of the VM are not sampled: {error}"));
    }
}

fn adopt_running_thread(session: &Session, jni: Jni, thread: jobject) {
    let name = jni.with_frame(|| session.jvmti.thread_name(thread));
    let Ok(name) = name else {
        return;
    };
    session.registry.add_running_java(
        || {
            let (jni_env, os_thread) = session.layout.of_running(jni, thread)?;
            let identity = JavaIdentity {
                jni_env,
                java_thread: session.layout.java_thread(jni_env),
                thread: session.layout.thread_id(jni, thread),
            };
            Some((OsThreadId(os_thread), identity))
        },
        &name,
    );
}

/// Whether virtual threads are continuations, and not OS threads of their own (`-XX:-VMContinuations`).
pub fn has_continuations(jni: Jni) -> bool {
    let supported = jni
        .find_class("jdk/internal/vm/ContinuationSupport")
        .and_then(|class| {
            let method = jni.static_method(class, "isSupported", "()Z")?;
            // SAFETY: the method was looked up with that signature.
            unsafe { jni.call_static_boolean(class, method, "ContinuationSupport.isSupported") }
        });
    supported.unwrap_or(true)
}

/// Runs `body` with the environment that JVMTI has passed to a callback; a panic is told and goes no further.
pub(super) fn guarded(env: *mut JNIEnv, body: impl FnOnce(Jni)) {
    // SAFETY: JVMTI passes the calling thread's own environment to its callbacks.
    let jni = unsafe { Jni::new(env) };
    if catch_unwind(AssertUnwindSafe(|| body(jni))).is_err() {
        log::error("a callback failed; please report this line with the one before it");
    }
}

extern "C" fn on_nothing() {}

extern "C" fn on_vm_start(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv) {
    guarded(env, |jni| {
        if let Some(prepared) = start::prepared()
            && let Some(jar) = &prepared.jar
        {
            jni.with_frame(|| extension::install(jni, jar));
        }
    });
}

extern "C" fn on_vm_init(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, _thread: jobject) {
    guarded(env, |jni| {
        if let Some(prepared) = start::prepared()
            && let Err(error) = jni.with_frame(|| start::live(prepared, jni))
        {
            start::report(&error);
        }
    });
}

extern "C" fn on_vm_death(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv) {
    guarded(env, |_| start::stop());
}

extern "C" fn on_thread_start(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    guarded(env, |jni| {
        if let Some(session) = session::get() {
            session.allocations.begin_thread();
            let id = session.layout.thread_id(jni, thread);
            let name = session.jvmti.thread_name(thread).unwrap_or_default();
            identity::adopt(session, jni, id, &name);
        }
    });
}

extern "C" fn on_thread_end(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    guarded(env, |jni| {
        if let Some(session) = session::get() {
            let id = session.layout.thread_id(jni, thread);
            forget_context(session, id);
            if let Some(contention) = &session.contention {
                contention.forget(session, jni, id);
            }
            identity::remember(None);
            session.registry.remove_java(OsThreadId::current(), id);
        }
    });
}

/// The calling thread ends, and its record with it.
fn forget_context(session: &Session, thread: JavaThreadId) {
    if session.publishes {
        publish::threads::hide();
    }
    session.shared.contexts.remove(thread);
}

extern "C" fn on_virtual_thread_end(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    guarded(env, |jni| {
        if let Some(session) = session::get() {
            let id = session.layout.thread_id(jni, thread);
            forget_context(session, id);
            if session.bound_virtual_threads {
                identity::remember(None);
                session.registry.remove_java(OsThreadId::current(), id);
            } else if let Some(block) = identity::block(session, env) {
                block.unmount();
            }
        }
    });
}

extern "C" fn on_class_prepare(
    jvmti: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    let _ = jvmti;
    guarded(env, |jni| {
        let Some(prepared) = start::prepared() else {
            return;
        };
        if let Err(error) = prepared.classes.prepare(prepared.jvmti, jni, class) {
            log::debug(&format!("method ids of a class: {error}"));
        }
        if prepared
            .jvmti
            .class_signature(class)
            .is_ok_and(|signature| signature == shim::SIGNATURE)
            && let Err(error) = shim::register(jni, class, &prepared.shims)
        {
            log::warn(&format!(
                "the shim in this JVM cannot be linked ({error}): spans stay unknown; use the vtprof-otel.jar of agent {}",
                env!("CARGO_PKG_VERSION")
            ));
        }
    });
}
