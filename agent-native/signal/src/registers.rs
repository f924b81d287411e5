//! The registers that a walk begins with, in the context of an interruption.

use core::ffi::c_void;

/// Registers of the interrupted code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// `rip`.
    pub pc: u64,
    /// `rsp`.
    pub sp: u64,
    /// `rbp`.
    pub fp: u64,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Those in `context`; `None` of null, and on other architectures.
    ///
    /// # Safety
    /// `context` is the `ucontext_t*` of the running signal handler, or null.
    #[must_use]
    pub unsafe fn of(context: *mut c_void) -> Option<Self> {
        // SAFETY: by the contract above.
        let context = unsafe { context.cast::<libc::ucontext_t>().as_ref() }?;
        let register = |number: i32| {
            let registers = &context.uc_mcontext.gregs;
            registers.get(number as usize).map(|it| it.cast_unsigned())
        };
        Some(Self {
            pc: register(libc::REG_RIP)?,
            sp: register(libc::REG_RSP)?,
            fp: register(libc::REG_RBP)?,
        })
    }

    /// What is in `rax`: the result of a system call, where one has just ended.
    ///
    /// # Safety
    /// As for [`Registers::of`].
    #[must_use]
    pub unsafe fn result(context: *mut c_void) -> Option<i64> {
        // SAFETY: by the contract above.
        let context = unsafe { context.cast::<libc::ucontext_t>().as_ref() }?;
        let registers = &context.uc_mcontext.gregs;
        registers.get(libc::REG_RAX as usize).copied()
    }

    /// Puts these into `context`. Walks are given a changed context in place, not a copy: it would be the largest
    /// thing on a stack that may be small. Whoever changes it puts back what was there.
    ///
    /// # Safety
    /// As for [`Registers::of`]; nothing else refers to it meanwhile.
    pub unsafe fn put(self, context: *mut c_void) {
        // SAFETY: by the contract above.
        let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_mut() }) else {
            return;
        };
        for (number, value) in [
            (libc::REG_RIP, self.pc),
            (libc::REG_RSP, self.sp),
            (libc::REG_RBP, self.fp),
        ] {
            if let Some(place) = context.uc_mcontext.gregs.get_mut(number as usize) {
                *place = value.cast_signed();
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Registers {
    /// # Safety
    /// None is needed: they are not known on this architecture.
    #[must_use]
    pub unsafe fn of(_context: *mut c_void) -> Option<Self> {
        None
    }

    /// # Safety
    /// None is needed: it is not known on this architecture.
    #[must_use]
    pub unsafe fn result(_context: *mut c_void) -> Option<i64> {
        None
    }

    /// # Safety
    /// None is needed: nothing is put on this architecture.
    pub unsafe fn put(self, _context: *mut c_void) {}
}
