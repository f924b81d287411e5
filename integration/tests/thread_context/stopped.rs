//! A thread of another process, stopped for as long as it is looked at.

use std::io;

use anyhow::{Result, bail};

/// Let go on drop.
pub struct Stopped {
    thread: libc::pid_t,
    /// The signal that was about to be delivered to it, 0 for none: it is handed on.
    signal: libc::c_int,
}

impl Stopped {
    /// Stops it wherever it is; `None` where it has ended.
    pub fn stop(thread: u32) -> Result<Option<Stopped>> {
        let thread = libc::pid_t::try_from(thread)?;
        // SAFETY: plain system calls.
        let seized = unsafe { ptrace(libc::PTRACE_SEIZE, thread) };
        if seized.is_err() {
            return Ok(None);
        }
        // SAFETY: as above.
        unsafe { ptrace(libc::PTRACE_INTERRUPT, thread) }?;
        let mut status = 0;
        // SAFETY: writes to the place given.
        if unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) } != thread {
            bail!("waitpid: {}", io::Error::last_os_error());
        }
        if !libc::WIFSTOPPED(status) {
            return Ok(None);
        }
        let is_event = status >> 16 != 0;
        let signal = if is_event { 0 } else { libc::WSTOPSIG(status) };
        Ok(Some(Stopped { thread, signal }))
    }

    /// Its thread pointer.
    pub fn thread_pointer(&self) -> Result<u64> {
        // SAFETY: a structure of integers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the thread is stopped; the kernel writes to the place given.
        let got = unsafe {
            libc::ptrace(
                libc::PTRACE_GETREGS,
                self.thread,
                std::ptr::null_mut::<libc::c_void>(),
                &raw mut registers,
            )
        };
        if got != 0 {
            bail!("registers: {}", io::Error::last_os_error());
        }
        Ok(registers.fs_base)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // SAFETY: lets the stopped thread go, with the signal it had coming. It may have been killed meanwhile, and then
        // there is nobody to let go.
        unsafe {
            libc::ptrace(
                libc::PTRACE_DETACH,
                self.thread,
                std::ptr::null_mut::<libc::c_void>(),
                libc::c_long::from(self.signal),
            );
        }
    }
}

/// # Safety
/// A request without addresses.
unsafe fn ptrace(request: libc::c_uint, thread: libc::pid_t) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: as the caller promises.
    match unsafe { libc::ptrace(request, thread, none, none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
