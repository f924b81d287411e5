//! Faults on purpose, for tests of their containment. Compiled only with the feature `inject`, which no
//! released library has.
//!
//! Three places: the context that AsyncGetCallTrace is given (registers that lead anywhere, or a context that is
//! nowhere; it looks there only in Java code), where it is to write frames, and the loads of the walk of frozen frames (addresses that are not mapped; never a wrong value,
//! which would be another fault).

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::walk::CallFrame;

/// One walk of so many is given a spoilt context, and one no room; 0 for none. Relaxed: a number of its own, as the others.
static WALKS: AtomicU32 = AtomicU32::new(0);
/// One load of so many is led astray; 0 for none.
static LOADS: AtomicU32 = AtomicU32::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);

/// Where nothing is mapped: the page at null, the kernel's half, and what is no address at all.
const NOWHERE: [u64; 4] = [
    8,
    0xFFFF_8000_0000_0000,
    0xDEAD_BEEF_DEAD_BEEF,
    u64::MAX - 4096,
];

/// From now on, one walk and one load of so many.
pub fn begin(walks: u32, loads: u32) {
    WALKS.store(walks, Ordering::Relaxed);
    LOADS.store(loads, Ordering::Relaxed);
}

/// splitmix64, one state for all threads.
fn random() -> u64 {
    let mut z = SEED.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn is_due(one_of: &AtomicU32) -> bool {
    random()
        .checked_rem(u64::from(one_of.load(Ordering::Relaxed)))
        .is_some_and(|rest| rest == 0)
}

fn nowhere() -> u64 {
    let at = random() as usize % NOWHERE.len();
    NOWHERE.get(at).copied().unwrap_or(8)
}

/// The address to load from.
#[must_use]
pub fn address(address: u64) -> u64 {
    if is_due(&LOADS) { nowhere() } else { address }
}

/// Where frames are to be written.
#[must_use]
pub fn frames(frames: *mut CallFrame) -> *mut CallFrame {
    if is_due(&WALKS) {
        nowhere() as *mut CallFrame
    } else {
        frames
    }
}

/// The context to walk from: the given one, a spoilt copy in `room`, or none at all.
///
/// # Safety
/// `context` is the `ucontext_t*` of the running signal handler.
pub unsafe fn context(
    context: *mut c_void,
    room: &mut MaybeUninit<libc::ucontext_t>,
) -> *mut c_void {
    if !is_due(&WALKS) {
        return context;
    }
    let kind = random() % 8;
    if kind == 0 {
        return nowhere() as *mut c_void;
    }
    // SAFETY: by the contract above; a plain C structure.
    let copy = room.write(unsafe { context.cast::<libc::ucontext_t>().read() });
    let registers = &mut copy.uc_mcontext.gregs;
    let stack = registers
        .get(libc::REG_RSP as usize)
        .map_or(0, |stack| stack.cast_unsigned());
    let mut set = |register: i32, value: u64| {
        if let Some(place) = registers.get_mut(register as usize) {
            *place = value.cast_signed();
        }
    };
    match kind {
        1 => set(libc::REG_RSP, nowhere()),
        2 => set(libc::REG_RBP, nowhere()),
        3 => set(libc::REG_RIP, nowhere()),
        // Inside the stack, but nobody's frame.
        4 => set(libc::REG_RSP, stack.wrapping_add(random() % 512 * 8)),
        5 => set(libc::REG_RBP, stack.wrapping_add(random() % 512 * 8)),
        6 => set(libc::REG_RSP, stack.wrapping_add(random() % 4096)),
        _ => {
            set(libc::REG_RSP, stack.wrapping_add(random() % 64 * 8));
            set(libc::REG_RBP, stack.wrapping_add(random() % 128 * 8));
        }
    }
    room.as_mut_ptr().cast()
}
