//! How samples are provoked, and kept from doing harm: the signal and its handler, which engine sends it, the fault
//! handler. (Timers and perf events are in `threads`, one a thread.)

pub mod engine;
pub mod faults;
pub mod signal;
