//! How samples are provoked, and kept from doing harm: the signal and its handler, the fault handler. (The timers are in `threads`, one a thread.)

pub mod faults;
pub mod signal;
