//! A walk that a fault cannot end the process with.
//!
//! AsyncGetCallTrace reads a stack that is in the middle of anything, and has faulted in the past. The walk
//! is called through a trampoline that notes where to go on; if a fault comes while it is armed, the fault
//! handler ([`crate::fault`]) edits the interrupted context so that the trampoline returns "faulted".
//!
//! Not `siglongjmp`: it would jump over Rust frames, which is undefined, and has to save a signal mask by a
//! system call each time. Returning from the fault handler restores the mask that was in force.
//!
//! One thing a faulted walk leaves behind: `Thread::_in_asgct` stays set. HotSpot does not publish where it is, so
//! it is left; only `find_pc_desc_internal` reads it, and then does not fill its cache.
//!
//! x86-64 only; elsewhere walks are called plainly and [`SUPPORTED`] says so.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::walk::{AsyncGetCallTrace, CallTrace};

/// Whether walks are guarded on this architecture.
pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");

/// Where a faulting walk goes on. Written by the thread that walks, read by the fault handler on that same
/// thread: program order is all that is needed, so Relaxed throughout.
#[repr(C)]
pub struct Recovery {
    /// Stack pointer the trampoline goes on with. Offset 0: known to the trampoline.
    stack: AtomicU64,
    /// 1 while a fault is to be recovered from. Offset 8: known to the trampoline.
    armed: AtomicU32,
    /// Kernel id of the thread that walks, 0 for none: how the fault handler finds this.
    os_thread: AtomicU32,
}

const _: () = assert!(
    core::mem::offset_of!(Recovery, stack) == 0 && core::mem::offset_of!(Recovery, armed) == 8
);

impl Recovery {
    /// Nobody walks.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            stack: AtomicU64::new(0),
            armed: AtomicU32::new(0),
            os_thread: AtomicU32::new(0),
        }
    }

    /// Whether kernel thread `os_thread` is walking here, and a fault is to be recovered from.
    #[must_use]
    pub fn is_armed_for(&self, os_thread: u32) -> bool {
        self.os_thread.load(Ordering::Relaxed) == os_thread
            && self.armed.load(Ordering::Relaxed) != 0
    }

    /// The walk has faulted: gives what to go on with, stack pointer and instruction. A second fault is not
    /// recovered from.
    #[must_use]
    pub fn disarm(&self) -> (u64, u64) {
        self.armed.store(0, Ordering::Relaxed);
        (self.stack.load(Ordering::Relaxed), recovery_address())
    }

    /// Walks under guard on kernel thread `os_thread`; `false` when the walk faulted, and its frames are
    /// worth nothing.
    ///
    /// # Safety
    /// As for `walker` itself.
    pub unsafe fn walk(
        &self,
        os_thread: u32,
        walker: AsyncGetCallTrace,
        trace: *mut CallTrace,
        depth: i32,
        context: *mut c_void,
    ) -> bool {
        self.os_thread.store(os_thread, Ordering::Relaxed);
        // SAFETY: the caller's; `self` is a `Recovery` that outlives the call.
        let faulted = unsafe { call(walker, trace, depth, context, self) };
        self.os_thread.store(0, Ordering::Relaxed);
        faulted == 0
    }

    /// Runs `entry`, which takes `request` where AsyncGetCallTrace takes a context, and is given no frames; `false`
    /// when it faulted.
    ///
    /// # Safety
    /// As for `entry` itself.
    pub unsafe fn run(
        &self,
        os_thread: u32,
        entry: AsyncGetCallTrace,
        request: *mut c_void,
    ) -> bool {
        let mut trace = CallTrace {
            env: 0,
            frames_found: 0,
            frames: core::ptr::null_mut(),
        };
        // SAFETY: the caller's.
        unsafe { self.walk(os_thread, entry, &raw mut trace, 0, request) }
    }
}

impl Default for Recovery {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls `walker(trace, depth, context)`; returns 0, or 1 when a fault ended it. System V ABI: what a callee
/// must preserve is on the stack at the noted stack pointer, so nothing of the walk's state is needed.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn call(
    walker: AsyncGetCallTrace,
    trace: *mut CallTrace,
    depth: i32,
    context: *mut c_void,
    recovery: *const Recovery,
) -> u32 {
    core::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // MXCSR and the x87 control word are the callee's to preserve as well; the slot also aligns the stack.
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rbx, r8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov esi, edx",
        "mov rdx, rcx",
        "mov [rbx], rsp",
        "mov dword ptr [rbx + 8], 1",
        "call rax",
        "mov dword ptr [rbx + 8], 0",
        "xor eax, eax",
        "jmp 3f",
        // Entered from the fault handler, with the noted stack pointer.
        ".hidden vtprof_walk_faulted",
        ".globl vtprof_walk_faulted",
        "vtprof_walk_faulted:",
        "mov eax, 1",
        "3:",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    /// A place inside `call`, not a function.
    fn vtprof_walk_faulted();
}

#[cfg(target_arch = "x86_64")]
fn recovery_address() -> u64 {
    vtprof_walk_faulted as *const () as u64
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn call(
    walker: AsyncGetCallTrace,
    trace: *mut CallTrace,
    depth: i32,
    context: *mut c_void,
    _recovery: *const Recovery,
) -> u32 {
    // SAFETY: the caller's.
    unsafe { walker(trace, depth, context) };
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn recovery_address() -> u64 {
    0
}
