//! Mount events of virtual threads, and the proof that `sample` may take over from them.
//!
//! On JDK 24+ the handler can read the running thread's id from the carrier's `JavaThread`. Whether it does
//! so rightly on *this* JVM is not assumed: `mount` is in force first, each mount compares what the handler
//! would read with the thread the JVM says was mounted, and after [`PROOF`] agreements tags need the events
//! no longer. At one disagreement they stay on for good. The self-test of frozen frames ([`super::selftest`])
//! lives on the same events, and may have them switched on again; the engines of blocked time ([`super::blocking`])
//! and of waits for locks ([`super::contention`]) have them on throughout, and so has whoever shows contexts to other
//! processes ([`crate::publish`]).

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use jni_sys::{JNIEnv, jobject};
use vtprof_signal::shared::Source;

use super::bindings::jvmtiEnv;
use super::callbacks::guarded;
use super::identity;
use super::jni::Jni;
use super::jvmti::{ExtensionEvent, Jvmti, Result};
use crate::log;
use crate::options::ContextStrategy;
use crate::publish;
use crate::session::{self, Session};

/// Agreements after which `sample` is trusted.
pub const PROOF: u32 = 16;

const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";

/// The two events of this JVM and how far the proof has come.
#[derive(Debug)]
pub struct Mounts {
    events: Option<(ExtensionEvent, ExtensionEvent)>,
    /// Whether they are on. Written by the starting thread, then by the drain alone: Relaxed.
    on: AtomicBool,
    /// Whether tags need them: until `sample` has taken over. As `on`.
    tags: AtomicBool,
    /// Whether agreement is being looked for. Relaxed: a hint to the callbacks.
    proving: AtomicBool,
    /// Pair: Release in `mount`, Acquire in `settle_source`.
    agreements: AtomicU32,
    /// Relaxed: read after `agreements`, so that of a thread that disagreed and then agreed both are seen.
    disagreed: AtomicBool,
    /// Whether any mount event ever came: it may be that none does (`-XX:-DoJVMTIVirtualThreadTransitions`). Relaxed: a
    /// hint.
    seen: AtomicBool,
}

impl Mounts {
    /// Looks the events up. `tags` when a handler needs to be told who runs; `prove` when `sample` is wanted for that
    /// and this JVM has what it reads.
    pub fn find(jvmti: Jvmti, tags: bool, prove: bool) -> Result<Self> {
        let events = jvmti
            .extension_event(MOUNT)?
            .zip(jvmti.extension_event(UNMOUNT)?);
        Ok(Self {
            events,
            on: AtomicBool::new(false),
            tags: AtomicBool::new(tags),
            proving: AtomicBool::new(tags && prove && events.is_some()),
            agreements: AtomicU32::new(0),
            disagreed: AtomicBool::new(false),
            seen: AtomicBool::new(false),
        })
    }

    /// Switches the events on. `false` when this JVM has none.
    pub fn enable(&self, jvmti: Jvmti) -> Result<bool> {
        let Some((mount, unmount)) = self.events else {
            return Ok(false);
        };
        jvmti.enable_extension(unmount, on_unmount as *const c_void)?;
        jvmti.enable_extension(mount, on_mount as *const c_void)?;
        self.on.store(true, Ordering::Relaxed);
        Ok(true)
    }

    fn disable(&self, jvmti: Jvmti) -> Result<()> {
        if let Some((mount, unmount)) = self.events {
            jvmti.disable_extension(mount)?;
            jvmti.disable_extension(unmount)?;
        }
        self.on.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Whether events have been seen to come, so that an unmount of what runs now will be seen too.
    pub fn work(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// Draws conclusions once there are some, and has the events on while somebody needs them; called by the
    /// drain thread now and then.
    pub fn settle(&self, session: &Session) {
        self.settle_source(session);
        session.self_test.settle(session);
        if self.events.is_none() {
            return;
        }
        // Each is asked, since each remembers when it was.
        let proves = session.self_test.needs_events();
        let heals = session.healing.needs_events();
        let wanted =
            self.tags.load(Ordering::Relaxed) || proves || heals || session.follows_switches();
        if wanted == self.on.load(Ordering::Relaxed) {
            return;
        }
        let switched = if wanted {
            self.enable(session.jvmti).map(drop)
        } else {
            self.disable(session.jvmti)
        };
        if let Err(error) = switched {
            // Not tried again and again.
            self.on.store(wanted, Ordering::Relaxed);
            let stay = if wanted { "off" } else { "on, at their cost" };
            log::warn(&format!("mount events stay {stay}: {error}"));
        }
    }

    fn settle_source(&self, session: &Session) {
        if !self.proving.load(Ordering::Relaxed) {
            return;
        }
        let agreements = self.agreements.load(Ordering::Acquire);
        if self.disagreed.load(Ordering::Relaxed) {
            self.proving.store(false, Ordering::Relaxed);
            log::warn(
                "context=mount: the thread id read in the handler differs from the mounted thread's on this JVM, so context=sample is not used",
            );
            session.set_strategy("mount (sample failed its self-test)");
            return;
        }
        if agreements < PROOF {
            return;
        }
        self.proving.store(false, Ordering::Relaxed);
        session.shared.set_source(Source::OwnerId);
        self.tags.store(false, Ordering::Relaxed);
        log::info(&format!(
            "context=sample: {PROOF} mounts agreed with the thread id read in the handler; tags need no mount events"
        ));
        session.set_strategy("sample (self-test passed)");
    }
}

/// Where no handler asks who runs.
pub const NO_STRATEGY: &str = "none (cpu=off: each sample is taken by the thread it is of)";

/// What the log says of the strategy at start.
pub fn describe(
    wanted: ContextStrategy,
    has_owner_id: bool,
    virtual_threads: bool,
) -> &'static str {
    match (wanted, has_owner_id, virtual_threads) {
        (_, _, false) => "mount (no virtual threads on this JVM: each thread is its own)",
        (ContextStrategy::Mount, ..) => "mount (asked for)",
        (_, true, _) => "mount until sample has passed its self-test",
        (_, false, _) => "mount (sample needs JDK 24 or later)",
    }
}

extern "C" fn on_mount(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    if let Some(session) = session::get().filter(|session| !session.is_over()) {
        guarded(env, |jni| mount(session, jni, thread));
    }
}

fn mount(session: &'static Session, jni: Jni, mounted: jobject) {
    let mounts = &session.mounts;
    let thread = session.layout.thread_id(jni, mounted);
    let block = identity::block(session, jni.env());
    if let Some(block) = block {
        block.mount(thread);
    }
    if session.publishes {
        publish::threads::follow(session, block);
    }
    // Before anything else that takes time, which is not the thread's wait.
    let contention = session.contention.as_ref();
    let had_waited = contention.and_then(|contention| contention.unpark(thread));
    if let Some(blocking) = &session.blocking {
        blocking.mount(session, jni, mounted, thread);
    }
    if let (Some(contention), Some(ended)) = (contention, had_waited) {
        contention.conclude(session, jni, mounted, ended);
    }
    let Some(block) = block else {
        return;
    };
    if !mounts.seen.load(Ordering::Relaxed) {
        mounts.seen.store(true, Ordering::Relaxed);
    }
    let is_proving = session.self_test.is_due();
    if is_proving || session.healing.is_on() {
        let carrier = session.layout.java_thread(jni.address());
        // SAFETY: the event is of virtual threads alone, and `jni` is the mounted thread's.
        unsafe { session.healing.mount(jni, carrier, mounted) };
    }
    if is_proving {
        // SAFETY: as above.
        unsafe { session.self_test.look(session, jni, block, mounted) };
    }
    if mounts.proving.load(Ordering::Relaxed) {
        // SAFETY: `jni` is this thread's environment, so that is its JavaThread; the offset is VMStructs'
        // (`proving` is set only where there is one).
        let read = unsafe {
            session
                .shared
                .owner_id(session.layout.java_thread(jni.address()))
        };
        if read == thread {
            mounts.agreements.fetch_add(1, Ordering::Release);
        } else {
            mounts.disagreed.store(true, Ordering::Relaxed);
        }
    }
}

extern "C" fn on_unmount(_jvmti: *mut jvmtiEnv, env: *mut JNIEnv, thread: jobject) {
    if let Some(session) = session::get() {
        guarded(env, |jni| unmount(session, jni, thread));
    }
}

fn unmount(session: &'static Session, jni: Jni, thread: jobject) {
    // Not as soon as the session is over: until the handler is disarmed, samples are taken by what the block says.
    if session.is_silent() {
        if session.publishes {
            publish::threads::hide();
        }
        return;
    }
    let block = identity::block(session, jni.env());
    if let Some(block) = block {
        block.unmount();
    }
    if session.publishes {
        publish::threads::follow(session, block);
    }
    if !session.times_switches() {
        return;
    }
    let id = session.layout.thread_id(jni, thread);
    if let Some(blocking) = &session.blocking {
        blocking.unmount(session, jni, thread, id);
    }
    if let Some(contention) = &session.contention {
        contention.unmount(session, jni, thread, id);
    }
}
