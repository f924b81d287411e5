//! HotSpot's stubs: hand-written code that compiled methods call for SHA, AES, array copies, checksums.
//!
//! A stub has no frame that AsyncGetCallTrace knows, so it answers "unknown Java frame" (-5) there. Its caller is
//! behind it all the same, and is found by two things that must both hold: the return address is where this
//! stub's own code keeps it just now, and the instruction before it calls this very stub, or one that may have
//! gone on into it (a copy of what turns out not to overlap). A stack is never searched for one: what earlier
//! calls have left there looks alike. Where either fails, the walk stays failed: so it does in stubs that use the
//! frame pointer for something else (SHA-512).
//!
//! Which stubs there are, the agent asks of JVMTI (`DynamicCodeGenerated`: a documented list by address), so
//! nothing of HotSpot's own layout is needed, and it works on each JDK.
//!
//! x86-64 only: on others there are no stubs here.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::counters::{Counter, Counters};
use crate::guard::Recovery;
use crate::load::Loads;
use crate::registers::Registers;
use crate::walk::{CallFrame, CallTrace};

/// One stub: the addresses of its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stub {
    /// First byte. Names the stub.
    pub start: u64,
    /// Past the last.
    pub end: u64,
}

/// The stubs of this JVM, by address, none inside another.
pub struct Table(pub &'static [Stub]);

impl Table {
    /// The stub that `pc` lies in.
    #[must_use]
    pub fn containing(&self, pc: u64) -> Option<Stub> {
        let after = self.0.partition_point(|stub| stub.start <= pc);
        let stub = *self.0.get(after.checked_sub(1)?)?;
        (pc < stub.end).then_some(stub)
    }
}

/// What the handler knows of stubs.
pub struct Stubs {
    /// Null until they are known. Pair: Release in `publish`, Acquire in `table`.
    table: AtomicPtr<Table>,
}

impl Stubs {
    /// None known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            table: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Replaces what is known. Both tables stay: a handler may hold the former.
    pub fn publish(&self, table: &'static Table) {
        let table = core::ptr::from_ref(table).cast_mut();
        self.table.store(table, Ordering::Release);
    }

    /// What is known. Async-signal-safe.
    #[must_use]
    pub fn table(&self) -> Option<&'static Table> {
        // SAFETY: only `publish` stores here, and it stores a `&'static Table`.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }
}

impl Default for Stubs {
    fn default() -> Self {
        Self::new()
    }
}

/// The code cache is no larger, bytes (`CODE_CACHE_SIZE_LIMIT`, globalDefinitions.hpp).
const CODE_CACHE: u64 = 2 << 30;

/// A stub's frame is no larger than this, bytes.
const FRAME: u64 = 1 << 16;

/// How the calling method's registers were when it called the stub that `now` is in, as far as a walk needs them;
/// `None` where that cannot be told.
#[must_use]
pub fn caller(loads: Loads, stubs: &Table, now: Registers) -> Option<Registers> {
    let Registers { pc, sp, fp } = now;
    let stub = stubs.containing(pc)?;
    let is_own = |entry: u64| (stub.start..stub.end).contains(&entry);
    let returns = loads.at::<u8>(pc) == RETURN;
    let is_stack = |at: u64| at.is_multiple_of(8) && at >= sp && at.wrapping_sub(sp) < FRAME;
    if !is_stack(sp) {
        return None;
    }
    // With a frame: the return address is above the saved frame pointer. Where one stub has gone on into
    // another, the frame is the first one's, or a like one in the same place.
    if is_stack(fp)
        && let Some((returns_to, entry)) = call_to(loads, stubs, fp.wrapping_add(8))
        && has_frame(loads, entry)
        && (!is_own(entry) || pc > entry.wrapping_add(PUSHED))
        && !returns
    {
        return Some(Registers {
            pc: returns_to,
            sp: fp.wrapping_add(16),
            fp: loads.at(fp),
        });
    }
    // Without one: not yet made, not any more, or never.
    if let Some((returns_to, entry)) = call_to(loads, stubs, sp)
        && (returns || is_own(entry) && (pc <= entry || !has_frame(loads, entry)))
    {
        return Some(Registers {
            pc: returns_to,
            sp: sp.wrapping_add(8),
            fp,
        });
    }
    // The frame pointer is saved but not set yet.
    if let Some((returns_to, entry)) = call_to(loads, stubs, sp.wrapping_add(8))
        && is_own(entry)
        && has_frame(loads, entry)
        && pc == entry.wrapping_add(PUSHED)
    {
        return Some(Registers {
            pc: returns_to,
            sp: sp.wrapping_add(16),
            fp: loads.at(sp),
        });
    }
    None
}

/// `ret`.
const RETURN: u8 = 0xC3;
/// Length of `push rbp`.
const PUSHED: u64 = 1;

/// Whether the code at `entry` begins with `push rbp; mov rbp, rsp`, in either encoding.
fn has_frame(loads: Loads, entry: u64) -> bool {
    matches!(
        loads.at::<u32>(entry).to_le_bytes(),
        [0x55, 0x48, 0x8B, 0xEC] | [0x55, 0x48, 0x89, 0xE5]
    )
}

/// The return address kept at `slot` and the place that was called, if it follows a call of a stub, and from code
/// that is no stub.
fn call_to(loads: Loads, stubs: &Table, slot: u64) -> Option<(u64, u64)> {
    let returns_to: u64 = loads.at(slot);
    // In the code cache, which has one reserved piece of 2 GiB at most; so what is read around it is mapped, or at
    // least nobody else's.
    let is_near = stubs
        .0
        .first()
        .is_some_and(|stub| stub.start.abs_diff(returns_to) < CODE_CACHE);
    if !is_near || stubs.containing(returns_to).is_some() {
        return None;
    }
    let before = |bytes: u64| returns_to.wrapping_sub(bytes);
    let entry = if loads.at::<u8>(before(5)) == 0xE8 {
        // call rel32
        returns_to.wrapping_add_signed(i64::from(loads.at::<i32>(before(4))))
    } else if loads.at::<u16>(before(13)).to_le_bytes() == [0x49, 0xBA]
        && loads.at::<u16>(before(3)).to_le_bytes() == [0x41, 0xFF]
        && loads.at::<u8>(before(1)) == 0xD2
    {
        // mov r10, imm64; call r10
        loads.at(before(11))
    } else {
        return None;
    };
    stubs.containing(entry).map(|_| (returns_to, entry))
}

/// What goes through the trampoline.
struct Request {
    stubs: &'static Table,
    now: Registers,
    answer: Option<Registers>,
}

/// Called through the trampoline of [`crate::guard`], in the shape of AsyncGetCallTrace.
///
/// # Safety
/// `request` is a [`Request`], to which nothing else refers meanwhile.
unsafe extern "C" fn enter(_: *mut CallTrace, _: i32, request: *mut c_void) {
    // SAFETY: by the contract above.
    let request = unsafe { &mut *request.cast::<Request>() };
    // SAFETY: called through the trampoline; nothing here owns anything.
    let loads = unsafe { Loads::under_guard() };
    request.answer = caller(loads, request.stubs, request.now);
}

/// Puts `context` where the caller of the stub that was interrupted would have been: the frame that stands for the
/// stub, and the registers to [`put`](Registers::put) back afterwards.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler or null, on kernel thread `os_thread`; nothing else
/// refers to it meanwhile; faults are contained ([`crate::guard`]), and no walk under `recovery` is under way.
pub unsafe fn step_out(
    stubs: &Stubs,
    recovery: &Recovery,
    os_thread: u32,
    context: *mut c_void,
    counters: &Counters,
) -> Option<(CallFrame, Registers)> {
    // SAFETY: by the contract above.
    let now = unsafe { Registers::of(context) }?;
    let stubs = stubs.table()?;
    let stub = stubs.containing(now.pc)?;
    counters.add(Counter::StubsMet, 1);
    let mut request = Request {
        stubs,
        now,
        answer: None,
    };
    // SAFETY: `enter` takes what is passed here, and it outlives the call.
    let whole = unsafe { recovery.run(os_thread, enter, (&raw mut request).cast::<c_void>()) };
    if !whole {
        counters.add(Counter::StubsFaulted, 1);
        return None;
    }
    let caller = request.answer?;
    let caller = Registers {
        // Inside the call instruction, so that what is named is the place of the call and not the next one.
        pc: caller.pc.wrapping_sub(1),
        ..caller
    };
    // SAFETY: by the contract above.
    unsafe { caller.put(context) };
    Some((CallFrame::stub(stub.start), now))
}

#[cfg(test)]
mod tests;
