//! What profilers outside of the process may read (`publish_context=on`): which span each thread is in, and whose process
//! this is. OTEP 4947 ("Thread Context", open-telemetry/opentelemetry-specification as of 17 July 2026) and OTEP 4719
//! ("Process Context", as of 7 April 2026).
//!
//! | module | noun |
//! |---|---|
//! | [`variable`] | the thread-local variable by which others find a thread's record |
//! | [`threads`] | which record that is: the one of the Java thread that runs |
//! | [`process`] | the mapping by which others find what is said of the process |
//! | [`resource`] | what that is |

pub mod process;
pub mod resource;
pub mod threads;
pub mod variable;

use crate::jvm::jni::Jni;
use crate::log;
use crate::session::Session;

/// Publishes what is said of the process, and says what will be missing. The session is about to run.
pub fn begin(session: &Session, jni: Jni, has_mounts: bool) {
    if session.has_virtual_threads && !session.bound_virtual_threads && !has_mounts {
        log::warn(
            "publish_context=on shows contexts of platform threads alone here: this JVM sends no mount events",
        );
    }
    if let Err(error) = process::publish(&resource::payload(session, jni)) {
        log::warn(&format!(
            "publish_context=on: no process context, without which readers may pass over those of threads: {error}"
        ));
    }
}
