//! A window that is closed before its time, because somebody wants to read it now.

use std::path::PathBuf;
use std::time::Duration;

use super::{Order, Phase, Session};
use crate::export::file_name;
use crate::options::value::spelled;

/// Why there is no new file.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    #[error(
        "sampling is stopped, and what was sampled before is in its files already: start goes on"
    )]
    Stopped,
    /// Within how long it was not written.
    #[error(
        "the window was not written within flush={}: it may come yet, or load the agent with a longer flush",
        spelled(*.0)
    )]
    Slow(Duration),
    #[error("a window is lost: {0}")]
    Lost(String),
}

/// The window that was closed last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LastWindow {
    /// The time in its files' names.
    named_unix_ns: u64,
    /// Why it was not written.
    fault: Option<String>,
}

impl Session {
    /// A window was closed. Called by the drain.
    pub fn set_last_window(&self, named_unix_ns: u64, written: &Result<(), String>) {
        *self.last_window.lock() = LastWindow {
            named_unix_ns,
            fault: written.as_ref().err().cloned(),
        };
    }

    /// Closes the window in progress, writes its files and begins the next: a pattern that those files have, with `*` for
    /// the kind; `None` with `out=off`, where it is sent alone. Not to be called by the drain.
    ///
    /// # Errors
    /// See [`DumpError`].
    pub fn dump(&self) -> Result<Option<PathBuf>, DumpError> {
        let phase = self.phase.lock();
        if self.is_over() || *phase == Phase::Stopped {
            return Err(DumpError::Stopped);
        }
        let flush = self.options.flush;
        let before_ns = self.last_window.lock().named_unix_ns;
        if !self.ending.ask(Order::Dump, flush) {
            return Err(DumpError::Slow(flush));
        }
        let last = self.last_window.lock().clone();
        drop(phase);
        // The drain may have had to begin a window first, and has closed none.
        if last.named_unix_ns == before_ns {
            return Err(DumpError::Slow(flush));
        }
        if let Some(fault) = last.fault {
            return Err(DumpError::Lost(fault));
        }
        if self.directory.is_off() {
            return Ok(None);
        }
        let name = file_name::name(&self.service, std::process::id(), "*", last.named_unix_ns);
        Ok(Some(self.directory.path().join(name)))
    }
}
