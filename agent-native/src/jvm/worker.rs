//! A thread of the agent's own that is attached to the VM.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::jni::Jni;
use crate::session::Session;
use crate::threads::timer::OsThreadId;

/// Starts a thread that runs `body` and is not sampled; `failed` follows where it cannot be attached, or panics. `None` when
/// it could not be started.
pub fn spawn(
    session: &'static Session,
    name: &'static str,
    body: impl FnOnce(Jni) + Send + 'static,
    failed: impl FnOnce() + Send + 'static,
) -> Option<()> {
    let run = move || {
        session.registry.exclude(OsThreadId::current());
        let attached = session.vm.attached(name, |jni| {
            catch_unwind(AssertUnwindSafe(|| body(jni))).is_ok()
        });
        if attached != Some(true) {
            failed();
        }
        session.registry.end_excluded();
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .ok()
        .map(drop)
}
