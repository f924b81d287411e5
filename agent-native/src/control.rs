//! What is asked of the vtprof that is in the JVM already: by an attach, by `vtprof ctl`, from Java; and what it asks of
//! itself.
//!
//! | module | noun |
//! |---|---|
//! | here | the request of an attach (`control=stop`) |
//! | [`request`] | a request of one line, and its answer |
//! | [`folder`] | where sockets are, in a `/tmp` that others write to as well |
//! | [`socket`] | the socket of `vtprof ctl`, and one client after the other |
//! | [`budget`] | whether the agent takes more CPU time than it may |
//! | [`keeper`] | the thread of the two above |

pub mod budget;
pub mod folder;
pub mod keeper;
pub mod request;
pub mod socket;

pub use keeper::{begin, end};

use crate::jvm::vm::Vm;
use crate::log;
use crate::options::OptionError;
use crate::options::control::Control;
use crate::session::{self, SwitchError};
use crate::twin;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{0}")]
    Options(#[from] OptionError),
    #[error("{0}")]
    Switch(#[from] SwitchError),
    #[error("control: vtprof does not profile this JVM; load it first, without control")]
    NotHere,
    #[error(
        "control: the vtprof in this JVM came from another file; name the libvtprof.so that it was loaded from"
    )]
    Elsewhere,
}

/// Does what is asked.
pub fn obey(vm: Vm, control: Control) -> Result<(), ControlError> {
    let Some(session) = session::get() else {
        let claimed = vm
            .env()
            .is_some_and(|jni| jni.with_frame(|| twin::is_claimed(jni)));
        return Err(if claimed {
            ControlError::Elsewhere
        } else {
            ControlError::NotHere
        });
    };
    match control {
        Control::Start => session.resume()?,
        Control::Stop => session.pause()?,
        Control::Status => log::answer(&session.status()),
    }
    Ok(())
}
