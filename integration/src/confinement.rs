//! What a process may not do, or not so much of, from before it becomes a JVM.
//!
//! Each runs between fork and exec, so it makes system calls and nothing else.

use std::io;

/// Something that is done to a process before it becomes another program.
pub type Confinement = fn() -> io::Result<()>;

/// Descriptors that [`few_descriptors`] leaves: a JVM that starts has a dozen open.
const FEW: u64 = 36;
const CAP_SYS_ADMIN: libc::c_ulong = 21;
const CAP_PERFMON: libc::c_ulong = 38;

fn checked(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `perf_event_open` is answered with EPERM, as by the seccomp profile of most container runtimes.
///
/// # Errors
/// The kernel does not take the filter.
pub fn no_perf_events() -> io::Result<()> {
    let step = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    // Offset 0 of `struct seccomp_data` is the number of the call.
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_perf_event_open as u32,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: plain system calls; the filter outlives the second, which copies it.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        checked(libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        ))
    }
}

/// The right to see the kernel's time is given away, where there is one: the program then has only the capabilities
/// that are still in the bounding set.
///
/// # Errors
/// The kernel does not let it go.
pub fn no_kernel_time() -> io::Result<()> {
    // SAFETY: plain system calls without memory.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    for capability in [CAP_SYS_ADMIN, CAP_PERFMON] {
        // SAFETY: as above.
        checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) })?;
    }
    Ok(())
}

/// Few descriptors may be open. (A JVM takes as many as it may have, but for `-XX:-MaxFDLimit`.)
///
/// # Errors
/// The kernel refuses the limit.
pub fn few_descriptors() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: FEW,
        rlim_max: FEW,
    };
    // SAFETY: a plain system call that reads `limit`.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })
}
