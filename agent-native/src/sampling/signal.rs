//! The signal: which one, and our handler on it.
//!
//! A real-time signal by default and not SIGPROF: JFR's CPU-time sampling (JDK 25) refuses to start while
//! another handler holds that one. Once installed the handler stays: a signal that is still on its way when
//! sampling stops would otherwise end the process.

use std::io;

use vtprof_signal::handler;

use crate::log;

/// Real-time signals below this offset are left to libraries that take the first.
const SPARED: i32 = 5;

/// Why there is no signal.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    #[error("no real-time signal is free: name one with signal=rtmin+N, or give signal=prof")]
    NoneFree,
    #[error("signal {0} has a handler of vtprof already")]
    Taken(i32),
    #[error("signal {0}: {1}")]
    Refused(i32, io::Error),
}

/// Installs the handler on `wanted`, or on the first free real-time signal. Returns its number.
///
/// # Errors
/// See [`SignalError`].
pub fn install(wanted: Option<i32>) -> Result<i32, SignalError> {
    let number = match wanted {
        Some(number) => number,
        None => (libc::SIGRTMIN() + SPARED..=libc::SIGRTMAX())
            .find(|number| is_free(*number))
            .ok_or(SignalError::NoneFree)?,
    };
    let refused = |error| SignalError::Refused(number, error);
    let previous = current(number).map_err(refused)?;
    if previous.sa_sigaction == handler::on_signal as *const () as usize {
        return Err(SignalError::Taken(number));
    }
    handler::set_previous(
        previous.sa_sigaction,
        previous.sa_flags & libc::SA_SIGINFO != 0,
    );
    // SAFETY: `sigaction` is a plain C struct for which zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler::on_signal as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: both calls write to the set given; the numbers are valid signals.
    unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        // Faults in the handler must reach the JVM's handler, not end the process at once.
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGTRAP,
        ] {
            libc::sigdelset(&raw mut action.sa_mask, fault);
        }
    }
    // SAFETY: the action is whole, and its handler has the signature SA_SIGINFO asks for.
    if unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    Ok(number)
}

/// Whether our handler is still the one of the signal, looked at now and then.
pub struct Watch {
    number: i32,
    displaced: bool,
}

impl Watch {
    pub fn new(number: i32) -> Self {
        Self {
            number,
            displaced: false,
        }
    }

    /// Says once that another handler stands in the place of ours, which is not fought; `true` when it did.
    pub fn look(&mut self) -> bool {
        if self.displaced || is_ours(self.number) {
            return false;
        }
        self.displaced = true;
        log::error(&format!(
            "another handler of signal {} was installed after vtprof's: samples are lost from then on, choose another with signal=",
            self.number
        ));
        true
    }
}

/// Whether a signal has no handler.
pub fn is_free(number: i32) -> bool {
    current(number).is_ok_and(|action| action.sa_sigaction == libc::SIG_DFL)
}

fn is_ours(number: i32) -> bool {
    current(number)
        .is_ok_and(|action| action.sa_sigaction == handler::on_signal as *const () as usize)
}

fn current(number: i32) -> io::Result<libc::sigaction> {
    // SAFETY: a plain C struct for which zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only asks.
    if unsafe { libc::sigaction(number, std::ptr::null(), &raw mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_displaces_ours_is_told_of_once() {
        let number = install(None).unwrap();
        let mut watch = Watch::new(number);
        assert!(!watch.look());
        // SAFETY: nobody sends this signal.
        unsafe { libc::signal(number, libc::SIG_IGN) };
        assert!(watch.look());
        assert!(!watch.look());
    }
}
