//! Native methods of the Java shim (`java-shim`, class `io.vtprof.otel.Native`).
//!
//! Registered when the class is prepared, in whatever class loader, so that nothing needs `System.load`,
//! which is restricted from JDK 24 on. Each resolves the record of its thread inside its one call: Java
//! never holds anything that belongs to a carrier.

use std::ffi::c_void;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use jni_sys::{JNIEnv, jclass, jint, jlong, jobject, jstring, jvalue};
use parking_lot::Mutex;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus};
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::Counter;
use vtprof_signal::record::TraceFlags;
use vtprof_signal::tag::{JavaThreadId, Tag};

use super::identity;
use super::jni::{self, Jni};
use crate::control::request;
use crate::figures::{self, text};
use crate::log;
use crate::publish;
use crate::session;
use crate::spans::event::SpanEvent;

/// Signature of the shim's class.
pub const SIGNATURE: &str = "Lio/vtprof/otel/Native;";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Longest span name kept, in UTF-16 units.
const NAME: usize = 256;
/// Copies of the shim remembered (one a class loader).
const COPIES: usize = 8;

/// Classes of the shim that are linked, as weak references: an application may be unloaded.
#[derive(Default)]
pub struct Shims(Mutex<Vec<Weak>>);

struct Weak(jobject);

// SAFETY: a weak global reference belongs to no thread.
unsafe impl Send for Weak {}

impl Shims {
    /// Those that are there, as local references. Java may run with them: the lock is given back.
    fn classes(&self, jni: Jni) -> Vec<jclass> {
        let known = self.0.lock();
        let alive = known.iter().filter_map(|weak| jni.local_ref(weak.0));
        alive.collect()
    }
}

/// Gives the class its native methods.
pub fn register(jni: Jni, class: jclass, shims: &Shims) -> jni::Result<()> {
    let natives = [
        (
            c"agentVersion",
            c"()Ljava/lang/String;",
            agent_version as *const c_void,
        ),
        (c"set", c"(JJJJJI)V", set as *const c_void),
        (
            c"spanStarted",
            c"(JJJJLjava/lang/String;)V",
            span_started as *const c_void,
        ),
        (
            c"spanEnded",
            c"(JJJJJLjava/lang/String;IJJIJ)V",
            span_ended as *const c_void,
        ),
        (
            c"figures",
            c"()Ljava/lang/String;",
            agent_figures as *const c_void,
        ),
        (c"spanLost", c"(J)V", span_lost as *const c_void),
        // The last: the class links only when all others are there.
        (c"link", c"(Ljava/lang/String;)I", link as *const c_void),
    ];
    let control = (
        c"control",
        c"(Ljava/lang/String;)Ljava/lang/String;",
        control as *const c_void,
    );
    // Apart, as a shim of before has no such method: `link` refuses it for its version, and it says so itself.
    // SAFETY: the function has the C signature of its method, as the descriptor says.
    let _older = unsafe { jni.register_natives(class, &[control]) };
    // SAFETY: each function below has the C signature of its method, as the descriptors above say.
    unsafe { jni.register_natives(class, &natives) }?;
    let mut known = shims.0.lock();
    known.retain(|weak| {
        let alive = jni.local_ref(weak.0);
        match alive {
            Some(local) => jni.delete_local(local),
            None => jni.delete_weak(weak.0),
        }
        alive.is_some()
    });
    if known.len() < COPIES {
        known.push(Weak(jni.weak_ref(class)?));
    }
    Ok(())
}

/// Tells a class that was initialised before the agent came that it can link now.
pub fn relink(jni: Jni, class: jclass) -> jni::Result<()> {
    let method = jni.static_method(class, "relink", "()V")?;
    // SAFETY: the method was looked up with that signature.
    unsafe { jni.call_static_void(class, method, "Native.relink") }
}

/// Has the shim make its MXBean, where the platform's MBean server is there or `forced`: whether there is nothing to be
/// done any more. On an attached thread of the agent's own.
pub fn manage(jni: Jni, shims: &Shims, forced: bool) -> bool {
    jni.with_frame(|| {
        let classes = shims.classes(jni);
        classes.into_iter().any(|class| {
            let Ok(method) = jni.static_method(class, "manage", "(Z)Z") else {
                return false;
            };
            let arguments = [jvalue { z: forced }];
            // SAFETY: the method takes a boolean and returns one.
            let done =
                unsafe { jni.call_static_boolean_with(class, method, &arguments, "Native.manage") };
            done.unwrap_or(false)
        })
    })
}

/// Name of an open local root, as it is now; asked of the shim on an attached thread of the agent's own.
pub fn current_name(jni: Jni, shims: &Shims, root: u64) -> Option<String> {
    jni.with_frame(|| {
        let classes = shims.classes(jni);
        classes.into_iter().find_map(|class| {
            let method = jni
                .static_method(class, "currentName", "(J)Ljava/lang/String;")
                .ok()?;
            let arguments = [jvalue {
                j: root.cast_signed(),
            }];
            // SAFETY: the method takes a long and returns a string or null.
            let name =
                unsafe { jni.call_static_object(class, method, &arguments, "Native.currentName") };
            // SAFETY: as above.
            unsafe { jni.string(name.ok()?, NAME) }
        })
    })
}

extern "system" fn link(env: *mut JNIEnv, _class: jclass, version: jstring) -> jint {
    static LINKED: AtomicBool = AtomicBool::new(false);
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    // SAFETY: the JVM passes null or a string.
    let version = unsafe { jni.string(version, NAME) };
    if version.as_deref() != Some(VERSION) {
        // The shim says so itself, once.
        return -1;
    }
    if !LINKED.swap(true, Ordering::Relaxed) {
        log::debug(&format!("shim {VERSION} linked"));
    }
    0
}

/// A request of one line, from Java: the answer is that of `vtprof ctl`.
extern "system" fn control(env: *mut JNIEnv, _class: jclass, line: jstring) -> jstring {
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    // One more than may be, so that a longer one is seen to be longer, and refused.
    // SAFETY: the JVM passes null or a string.
    let line = unsafe { jni.string(line, request::LONGEST + 1) }.unwrap_or_default();
    let answer = std::panic::catch_unwind(AssertUnwindSafe(|| match session::get() {
        Some(session) => request::answer(session, &line, "VtProf (Java)"),
        None => request::failure("vtprof does not profile this JVM"),
    }));
    let answer = answer.unwrap_or_else(|_| request::failure("the agent failed"));
    jni.new_string(&answer).unwrap_or(std::ptr::null_mut())
}

extern "system" fn agent_version(env: *mut JNIEnv, _class: jclass) -> jstring {
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    jni.new_string(VERSION).unwrap_or(std::ptr::null_mut())
}

extern "system" fn agent_figures(env: *mut JNIEnv, _class: jclass) -> jstring {
    let Some(session) = session::get() else {
        return std::ptr::null_mut();
    };
    let begun = session.begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let lines = std::panic::catch_unwind(AssertUnwindSafe(|| text::lines(&figures::all(session))));
    let Ok(lines) = lines else {
        return std::ptr::null_mut();
    };
    let text = format!("{}\n{lines}", begun.as_nanos());
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    jni.new_string(&text).unwrap_or(std::ptr::null_mut())
}

extern "system" fn set(
    env: *mut JNIEnv,
    _class: jclass,
    thread: jlong,
    trace_hi: jlong,
    trace_lo: jlong,
    span: jlong,
    root: jlong,
    flags: jint,
) {
    let Some(session) = session::get() else {
        return;
    };
    let thread = identity::current(session, env, JavaThreadId(thread));
    let tag = Tag {
        trace_hi: trace_hi.cast_unsigned(),
        trace_lo: trace_lo.cast_unsigned(),
        span: span.cast_unsigned(),
        root: root.cast_unsigned(),
    };
    let refused = if thread == JavaThreadId::NONE {
        (!tag.is_empty()).then_some(Counter::ContextThreadUnknown)
    } else {
        let flags = TraceFlags(flags.to_le_bytes()[0]);
        let stored = if session.publishes {
            publish::threads::set(session, env, thread, &tag, flags)
        } else {
            session
                .shared
                .contexts
                .set_with(thread, &tag, flags)
                .map(drop)
        };
        stored.is_err().then_some(Counter::ContextOverflow)
    };
    if let Some(counter) = refused {
        session.shared.counters.add(counter, 1);
    }
}

extern "system" fn span_started(
    env: *mut JNIEnv,
    _class: jclass,
    _trace_hi: jlong,
    _trace_lo: jlong,
    span: jlong,
    root: jlong,
    name: jstring,
) {
    let Some(session) = session::get() else {
        return;
    };
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    session.events.push(SpanEvent::Started {
        span: span.cast_unsigned(),
        root: root.cast_unsigned(),
        // SAFETY: the JVM passes null or a string.
        root_name: (span == root)
            .then(|| unsafe { jni.string(name, NAME) })
            .flatten(),
    });
}

extern "system" fn span_ended(
    env: *mut JNIEnv,
    _class: jclass,
    trace_hi: jlong,
    trace_lo: jlong,
    span: jlong,
    parent: jlong,
    root: jlong,
    name: jstring,
    kind: jint,
    start_unix_ns: jlong,
    end_unix_ns: jlong,
    status: jint,
    tagged_thread: jlong,
) {
    let at_ns = now_ns();
    let Some(session) = session::get() else {
        return;
    };
    // SAFETY: the JVM passes the calling thread's environment.
    let jni = unsafe { Jni::new(env) };
    let parent = SpanId(parent.cast_unsigned());
    let record = SpanRecord {
        trace: TraceId::from_halves(trace_hi.cast_unsigned(), trace_lo.cast_unsigned()),
        span: SpanId(span.cast_unsigned()),
        parent: (!parent.is_zero()).then_some(parent),
        local_root: SpanId(root.cast_unsigned()),
        // SAFETY: the JVM passes null or a string.
        name: unsafe { jni.string(name, NAME) }.unwrap_or_default(),
        kind: SpanKind::from_otlp(kind),
        start_unix_nanos: start_unix_ns.cast_unsigned(),
        end_unix_nanos: end_unix_ns.cast_unsigned(),
        status: SpanStatus::from_otlp(status),
    };
    if session.publishes {
        publish::threads::end(session, span.cast_unsigned(), JavaThreadId(tagged_thread));
    }
    session.events.push(SpanEvent::Ended {
        at_ns,
        record: Box::new(record),
    });
}

extern "system" fn span_lost(_env: *mut JNIEnv, _class: jclass, span: jlong) {
    if let Some(session) = session::get() {
        let span = span.cast_unsigned();
        if session.publishes {
            publish::threads::end(session, span, JavaThreadId::NONE);
        }
        session.events.push(SpanEvent::Lost { span });
    }
}
