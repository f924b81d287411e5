//! vtprof: a JVM agent whose profiles say which span really ran, on virtual threads too.
//!
//! This file holds the entry points; `ARCHITECTURE.md` beside it shows the house. Data goes one way:
//!
//! ```text
//! handler → ring → drain → aggregate → symbolize → profile → export
//! JVMTI event → events ↗
//! shim (Java) → jvm::shim → record ← handler
//! ```
//!
//! | module | room |
//! |---|---|
//! | [`start`], [`session`] | from an entry point to a running session, and what lives in it |
//! | [`options`] | what the user asked for |
//! | [`control`] | what an attach asks of a session that is there already |
//! | [`jvm`] | the only place that sees JNI and JVMTI |
//! | [`threads`] | OS threads and their CPU timers |
//! | [`sampling`] | the signal (its handler is the crate `vtprof-signal`) |
//! | [`events`] | samples taken in JVMTI events, on their way to the drain |
//! | [`wall`] | the wall engine, and its thread |
//! | [`drain`] | the agent's thread that sums, names and writes |
//! | [`spans`] | spans as the shim reports them |
//! | [`aggregate`] | sums of a window |
//! | [`symbolize`] | names and lines |
//! | [`remote`] | what switches it from afar |
//! | [`export`] | files |
//! | [`delivery`] | what sends windows (its trade is the crate `vtprof-deliver`) |
//! | [`publish`] | what profilers outside of the process may read |
//! | [`figures`] | what the agent says of itself |
//! | [`heap`] | how much memory the agent holds |

mod aggregate;
mod control;
mod delivery;
mod drain;
mod events;
mod export;
mod figures;
mod heap;
#[cfg(feature = "inject")]
mod inject;
mod jvm;
mod log;
mod options;
mod publish;
mod remote;
mod sampling;
mod service;
mod session;
mod spans;
mod start;
mod symbolize;
mod threads;
mod twin;
mod wall;

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};

use start::StartError;

/// `-agentpath:libvtprof.so=options`: called before the VM starts. Always 0, since any other answer ends the
/// JVM: without an agent the application still runs.
///
/// # Safety
/// Only the JVM calls it (JVMTI specification, section "Agent Start-Up").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the arguments are the JVM's own.
    entered(|| unsafe { start::on_load(vm, options) });
    JNI_OK
}

/// Live attach: called on a thread of the running VM. An error is the attaching tool's to show.
///
/// # Safety
/// Only the JVM calls it (JVMTI specification, section "Agent Start-Up").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the arguments are the JVM's own.
    if entered(|| unsafe { start::on_attach(vm, options) }) {
        JNI_OK
    } else {
        JNI_ERR
    }
}

/// The library is about to go: whatever still runs is stopped.
///
/// # Safety
/// Only the JVM calls it (JVMTI specification, section "Agent Shutdown").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn Agent_OnUnload(_vm: *mut JavaVM) {
    entered(|| {
        start::stop();
        Ok(())
    });
}

/// Runs an entry point: an error is told in one line, a panic does not reach the JVM.
fn entered(body: impl FnOnce() -> Result<(), StartError>) -> bool {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            start::report(&error);
            false
        }
        Err(_) => {
            log::error("the agent failed to start; the application runs on, unprofiled");
            false
        }
    }
}
