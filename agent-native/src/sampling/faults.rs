//! The fault handler: installed before the JVM's on SIGSEGV and SIGBUS, watched, and drawn conclusions from.
//!
//! By the bare system call and not by libc's `sigaction`, which `libjsig` may have replaced; of what the
//! kernel has, only the handler changes: mask, flags and restorer stay HotSpot's. Not under `-Xcheck:jni`:
//! HotSpot then warns of a changed handler, and people look for warnings there.

use std::ffi::c_void;

use vtprof_signal::counters::{Counter, Counters, of_all_walks};
use vtprof_signal::walk::AsyncGetCallTrace;
use vtprof_signal::{fault, guard};

use crate::jvm::library::code_around;
use crate::log;

/// Contained faults after which sampling switches itself off, if they are more than one in [`SHARE`] signals.
/// A few are no sign of trouble: AsyncGetCallTrace follows what it finds on a stack that is in the middle of
/// anything, and such a walk is thrown away.
pub const LIMIT: u64 = if cfg!(feature = "inject") {
    1 << 62
} else {
    1_000
};
const SHARE: u64 = 100;

const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The kernel's `struct sigaction` on x86-64 (`include/linux/signal_types.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelAction {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

const _: () = assert!(size_of::<KernelAction>() == 32);

/// What became of the fault handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Containment {
    /// Faults of walks are contained.
    On,
    /// Not here, and why.
    Off(&'static str),
}

/// Installs the handler; once the VM is live, when HotSpot's own is there. `walker` lies in the JVM's library.
pub fn install(walker: AsyncGetCallTrace) -> Containment {
    if !guard::SUPPORTED {
        return Containment::Off("not on this architecture");
    }
    if checks_jni() {
        return Containment::Off("-Xcheck:jni is on");
    }
    if let Some(code) = code_around(walker as *const c_void) {
        fault::set_library(code.start, code.end);
    }
    for signal in SIGNALS {
        let Some(previous) = swap(signal, None) else {
            return Containment::Off("the kernel does not tell the handler");
        };
        let is_function = previous.handler > 1;
        if !is_function || previous.flags & libc::SA_SIGINFO as u64 == 0 {
            return Containment::Off("the JVM has no handler of its own");
        }
        fault::set_previous(signal, previous.handler);
        let ours = KernelAction {
            handler: address(),
            ..previous
        };
        if swap(signal, Some(ours)).is_none() {
            return Containment::Off("the kernel refuses the handler");
        }
    }
    Containment::On
}

/// What is looked at now and then.
pub struct Watch {
    displaced: bool,
    stopped: bool,
    /// Frozen frames are read no more.
    visible_only: bool,
}

impl Watch {
    pub fn new() -> Self {
        Self {
            displaced: false,
            stopped: false,
            visible_only: false,
        }
    }

    /// Says once when another handler stands in front of ours; it is not fought, but then frozen frames are
    /// to be read no more. `true` when there were so many faults that sampling is to stop.
    pub fn look(&mut self, counters: &Counters, read_no_more: impl Fn()) -> bool {
        if !self.displaced {
            let displaced = SIGNALS
                .into_iter()
                .find(|signal| swap(*signal, None).is_some_and(|now| now.handler != address()));
            if let Some(signal) = displaced {
                self.displaced = true;
                self.visible_only = true;
                read_no_more();
                log::warn(&format!(
                    "another handler of signal {signal} was installed after vtprof's: a fault in a stack walk is now its to handle, so stacks are no longer completed"
                ));
            }
        }
        let signals = counters.get(Counter::Signals) + counters.get(Counter::WallSignals);
        let too_many = |faults: u64| faults >= LIMIT && faults.saturating_mul(SHARE) >= signals;
        let faults = of_all_walks(Counter::TruncatedFaulted) + of_all_walks(Counter::StubsFaulted);
        if too_many(faults) && !self.visible_only {
            self.visible_only = true;
            read_no_more();
            log::error(&format!(
                "{faults} reads of frozen frames and stubs' callers faulted (contained): stacks are no longer completed; please report the JVM's version"
            ));
        }
        let faults = of_all_walks(Counter::WalkFaulted);
        if !too_many(faults) || self.stopped {
            return false;
        }
        self.stopped = true;
        log::error(&format!(
            "{faults} stack walks faulted (contained): sampling is off for the rest of this run; please report the JVM's version"
        ));
        true
    }
}

fn address() -> u64 {
    fault::on_fault as *const () as u64
}

/// Reads the action of a signal and, where one is given, sets another.
fn swap(signal: i32, new: Option<KernelAction>) -> Option<KernelAction> {
    let mut old = KernelAction::default();
    let new = new
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref::<KernelAction>);
    // SAFETY: both point to structures of the kernel's layout or are null; the set is 8 bytes.
    let code = unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            new,
            &raw mut old,
            size_of::<u64>(),
        )
    };
    (code == 0).then_some(old)
}

/// Whether `-Xcheck:jni` stands on the command line or in a variable that adds to it.
fn checks_jni() -> bool {
    const FLAG: &[u8] = b"-Xcheck:jni";
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let in_command = command.split(|byte| *byte == 0).any(|word| word == FLAG);
    in_command
        || ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .any(|value| value.split_whitespace().any(|word| word.as_bytes() == FLAG))
}
