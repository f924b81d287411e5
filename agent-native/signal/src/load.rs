//! Loads of JVM memory that may not be there: plain ones, for code that runs under guard.
//!
//! Everything in the walk of frozen frames goes through here, and that walk is called through the trampoline
//! of [`crate::guard`]: a load that faults abandons the whole walk. Not one guard a load: a fault means that
//! what was read before was not what it seemed, so there is nothing to go on with.

/// What may be loaded: any bits are a value.
pub trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for u64 {}

/// Proof that a walk runs under guard. Made by [`Loads::under_guard`] alone.
#[derive(Clone, Copy, Debug)]
pub struct Loads(());

impl Loads {
    /// # Safety
    /// The caller runs inside [`crate::guard::Recovery::walk`], or knows all that it loads to be mapped; no
    /// frame between it and the trampoline owns anything that a drop would give back.
    #[must_use]
    pub unsafe fn under_guard() -> Self {
        Self(())
    }

    /// The value at `address`; a fault ends the walk. Volatile: other threads write there.
    #[must_use]
    #[inline]
    pub fn at<T: Plain>(self, address: u64) -> T {
        #[cfg(test)]
        let address = rehearsal::address(address, size_of::<T>());
        #[cfg(feature = "inject")]
        let address = crate::inject::address(address);
        // SAFETY: an address that is not mapped faults, which `under_guard` promised to be recovered from; any
        // bits are a `T`. Reads of x86-64 need no alignment.
        unsafe { raw(address as *const T) }
    }
}

/// # Safety
/// As for [`Loads::at`].
#[inline]
unsafe fn raw<T: Plain>(address: *const T) -> T {
    if address.is_aligned() {
        // SAFETY: aligned; else by the contract above.
        unsafe { address.read_volatile() }
    } else {
        // SAFETY: by the contract above.
        unsafe { address.read_unaligned() }
    }
}

/// What tests do to the loads of their own thread.
#[cfg(test)]
pub(crate) mod rehearsal {
    use std::cell::RefCell;
    use std::ops::Range;

    /// What happens at which load, counted from 0.
    #[derive(Clone, Debug, Default)]
    pub struct Plan {
        /// All else is not mapped.
        pub mapped: Range<u64>,
        /// This one fails.
        pub faults_at: Option<u64>,
        /// Before this one, 1 is added to the int32 there.
        pub adds_at: Option<(u64, u64)>,
    }

    thread_local! {
        static PLAN: RefCell<Option<(Plan, u64)>> = const { RefCell::new(None) };
    }

    /// Loads of this thread are counted, and follow the plan.
    pub fn begin(plan: Plan) {
        PLAN.set(Some((plan, 0)));
    }

    /// They no longer do; how many there were.
    pub fn end() -> u64 {
        PLAN.take().map_or(0, |(_, loads)| loads)
    }

    /// Where to load from: where it says, or where nothing is mapped.
    pub fn address(address: u64, size: usize) -> u64 {
        // The fault itself comes after this borrow has ended: whoever goes on, the plan is free.
        PLAN.with_borrow_mut(|plan| {
            let Some((plan, loads)) = plan else {
                return address;
            };
            let nth = *loads;
            *loads += 1;
            if let Some((at, place)) = plan.adds_at
                && at == nth
            {
                // SAFETY: the test gives an int32 of its own.
                unsafe { *(place as *mut u32) += 1 };
            }
            let end = address.saturating_add(size as u64);
            let is_mapped = address >= plan.mapped.start && end <= plan.mapped.end;
            if is_mapped && plan.faults_at != Some(nth) {
                address
            } else {
                8
            }
        })
    }
}
