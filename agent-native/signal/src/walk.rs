//! The AsyncGetCallTrace ABI: `src/hotspot/share/prims/forte.cpp` in the JDK. Not in any header.

use core::ffi::c_void;

use crate::counters::Counter;

/// `ASGCT_CallFrame`: one Java frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CallFrame {
    /// Bytecode index; negative where there is none (-3 for a native method).
    pub bci: i32,
    /// `jmethodID`: an opaque number. Never dereferenced; from JDK 26 on it is no pointer.
    pub method: u64,
}

const _: () =
    assert!(size_of::<CallFrame>() == 16 && core::mem::offset_of!(CallFrame, method) == 8);

impl CallFrame {
    /// An unused frame.
    pub const ZERO: Self = Self { bci: 0, method: 0 };

    /// Bytecode index that marks a stub: none that AsyncGetCallTrace gives.
    const STUB: i32 = i32::MIN;

    /// Bytecode index that marks native code: another such.
    const NATIVE: i32 = i32::MIN + 1;

    /// A frame of ours: the native code at `pc`.
    #[must_use]
    pub const fn native(pc: u64) -> Self {
        Self {
            bci: Self::NATIVE,
            method: pc,
        }
    }

    /// Where the native code is that this frame stands for; `None` for a frame of a method or a stub.
    #[must_use]
    pub const fn as_native(self) -> Option<u64> {
        if self.bci == Self::NATIVE {
            Some(self.method)
        } else {
            None
        }
    }

    /// A frame of ours: the stub whose code begins at `start`.
    #[must_use]
    pub const fn stub(start: u64) -> Self {
        Self {
            bci: Self::STUB,
            method: start,
        }
    }

    /// No frame: the number of a wait for a monitor, in the sample of a failed walk.
    #[must_use]
    pub const fn wait(number: u64) -> Self {
        Self {
            bci: 0,
            method: number,
        }
    }

    /// Where the stub begins that this frame stands for; `None` for a frame of a method.
    #[must_use]
    pub const fn as_stub(self) -> Option<u64> {
        if self.bci == Self::STUB {
            Some(self.method)
        } else {
            None
        }
    }
}

/// `ASGCT_CallTrace`.
#[derive(Debug)]
#[repr(C)]
pub struct CallTrace {
    /// `JNIEnv*` of the thread to walk: the interrupted one.
    pub env: u64,
    /// Frames found, or an error code ≤ 0.
    pub frames_found: i32,
    /// Where they go, leaf first.
    pub frames: *mut CallFrame,
}

const _: () = assert!(
    size_of::<CallTrace>() == 24
        && core::mem::offset_of!(CallTrace, frames_found) == 8
        && core::mem::offset_of!(CallTrace, frames) == 16
);

/// `void AsyncGetCallTrace(ASGCT_CallTrace *trace, jint depth, void* ucontext)`.
pub type AsyncGetCallTrace = unsafe extern "C" fn(*mut CallTrace, i32, *mut c_void);

/// Why a sample has no frames. The numbers are AsyncGetCallTrace's (`enum` in `forte.cpp`), with more for
/// what can go wrong around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Failure(pub i32);

impl Failure {
    /// No walk buffer was free.
    pub const NO_BUFFER: Self = Self(-100);
    /// The interrupted code had faults blocked.
    pub const FAULTS_BLOCKED: Self = Self(-101);
    /// The walk faulted.
    pub const FAULTED: Self = Self(-102);
    /// The time went by in the kernel, where no signal came.
    pub const IN_KERNEL: Self = Self(-103);

    /// AsyncGetCallTrace's `ticks_GC_active`: a collection had stopped the world.
    pub const GC_ACTIVE: Self = Self(-2);

    /// AsyncGetCallTrace's `ticks_unknown_Java`: the thread was in Java code, in a frame it does not know.
    pub const UNKNOWN_JAVA: Self = Self(-5);

    /// Whether the next walk of the same stack may have another answer: a collection, a deoptimisation or a stop was
    /// going on.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(self.0, -2 | -9 | -10 | -100)
    }

    /// The counter of this failure.
    #[must_use]
    pub const fn counter(self) -> Counter {
        match self.0 {
            0 => Counter::WalkNoJavaFrame,
            -1 => Counter::WalkNoClassLoad,
            -2 => Counter::WalkGcActive,
            -3 => Counter::WalkUnknownNotJava,
            -4 => Counter::WalkNotWalkableNotJava,
            -5 => Counter::WalkUnknownJava,
            -6 => Counter::WalkNotWalkableJava,
            -7 => Counter::WalkUnknownState,
            -8 => Counter::WalkThreadExit,
            -9 => Counter::WalkDeopt,
            -10 => Counter::WalkSafepoint,
            -100 => Counter::WalkNoBuffer,
            -101 => Counter::WalkFaultsBlocked,
            -102 => Counter::WalkFaulted,
            -103 => Counter::WalkInKernel,
            _ => Counter::WalkOther,
        }
    }
}
