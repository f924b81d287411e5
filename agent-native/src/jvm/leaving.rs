//! Whether a virtual thread that leaves its carrier does so for good: the JVM tells of its end as of any other unmount.
//!
//! Who comes back has said why it goes in `VirtualThread.state` (parking, yielding, blocked, waiting) before it goes. At its
//! end it is running still (`VirtualThread.run`, JDK 21 to 27). The numbers differ, so that of running is asked for.

use jni_sys::{jfieldID, jobject};
use once_cell::sync::OnceCell;

use super::jni::Jni;

/// See the module. Learnt at the first unmount, as the class is not to be initialised before it is used: who sets the
/// scheduler's properties in `main` would be too late.
#[derive(Debug, Default)]
pub struct Leaving(OnceCell<Option<Known>>);

#[derive(Clone, Copy, Debug)]
struct Known {
    state: jfieldID,
    running: i32,
}

// SAFETY: an id and a number, which belong to no thread.
unsafe impl Send for Known {}
// SAFETY: as above; never changed after it was made.
unsafe impl Sync for Known {}

impl Leaving {
    /// Whether `thread`, which calls this when it leaves its carrier, is at its end; `false` where this JVM does not say.
    pub fn is_for_good(&self, jni: Jni, thread: jobject) -> bool {
        let known = self.0.get_or_init(|| learn(jni, thread));
        known.is_some_and(|known| {
            // SAFETY: a live reference to a thread of the class that the field was looked up in: all that leave carriers
            // are of that one class, which is final.
            let state = unsafe { jni.int_field(thread, known.state) };
            state == known.running
        })
    }
}

fn learn(jni: Jni, thread: jobject) -> Option<Known> {
    // SAFETY: the event's own reference, not null.
    let class = unsafe { jni.class_of(thread) };
    let known = jni.field(class, "state", "I").ok().and_then(|state| {
        let running = jni.static_int(class, "RUNNING").ok()?;
        Some(Known { state, running })
    });
    jni.delete_local(class);
    known
}
