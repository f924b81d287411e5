//! All of vtprof that runs inside a signal handler, and nothing else.
//!
//! A handler interrupts its thread anywhere: inside `malloc`, with a lock held, on a thread that is
//! dying. So this crate is `no_std` and allocates nothing, takes no lock, reads no thread-local, formats
//! nothing and has no path to a panic; `integration/tests/undefined_symbols.rs` holds the built library
//! to that. Memory a handler may see is handed over once ([`shared::publish`]) and never freed.
//!
//! | module | noun |
//! |---|---|
//! | [`handler`] | the entry point: one timer signal becomes one sample, or one counted loss |
//! | [`siginfo`] | what the kernel says of a signal |
//! | [`capture`] | from an interruption to its sample in the ring |
//! | [`walk`] | the AsyncGetCallTrace ABI |
//! | [`guard`], [`fault`] | a walk that a fault cannot end the process with |
//! | [`visit`] | a signal of the wall engine, and whether the thread that it meets waits |
//! | [`registers`] | what a walk begins with |
//! | [`epilogue`] | a method that has taken its frame down already |
//! | [`code_cache`] | which code is native |
//! | [`leaf_call`] | C code that Java code has called, and whether it can be told from where |
//! | [`leaf_frame`] | the youngest compiled method's frame, and whether it lies where its size says |
//! | [`complete`] | a virtual thread's whole stack, or the reason why not |
//! | [`frozen`], [`chunk`], [`code`], [`heaps`], [`methods`] | the walk of what it has left in the heap |
//! | [`layout`], [`load`] | where HotSpot keeps what that walk reads, and how it is read |
//! | [`truncation`] | why older frames are missing |
//! | [`stubs`] | HotSpot's stubs, and who has called them |
//! | [`scratch`] | buffers for a walk, claimed and given back |
//! | [`sample`] | how a sample lies in the ring |
//! | [`ring`] | hand-over to the drain thread |
//! | [`context_table`] | which span a Java thread is in |
//! | [`record`] | what other processes may read of that |
//! | [`blocks`], [`block`] | what the handler knows about its OS thread |
//! | [`cookie`] | how a timer names its block |
//! | [`perf`] | how a perf event does, and what its signal stands for |
//! | [`counters`] | every loss by name |
//! | [`durations`] | how long it all took |
//! | [`clock`] | the kernel's clocks |
//! | [`gate`] | who is inside, and whether anything is done there |
//! | [`shared`] | the one root from which a handler reaches all of it |
#![cfg_attr(not(any(test, loom)), no_std)]
// Tests may panic and use std; the library may not.
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::std_instead_of_core
    )
)]

pub mod block;
#[cfg(not(loom))]
pub mod blocks;
#[cfg(not(loom))]
pub mod capture;
#[cfg(not(loom))]
pub mod chunk;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod code;
#[cfg(not(loom))]
pub mod code_cache;
#[cfg(not(loom))]
pub mod complete;
pub mod context_table;
pub mod cookie;
pub mod counters;
pub mod durations;
#[cfg(not(loom))]
pub mod epilogue;
#[cfg(not(loom))]
pub mod fault;
#[cfg(not(loom))]
pub mod frozen;
pub mod gate;
#[cfg(not(loom))]
pub mod guard;
#[cfg(not(loom))]
pub mod handler;
#[cfg(not(loom))]
pub mod heaps;
#[cfg(all(feature = "inject", not(loom)))]
pub mod inject;
#[cfg(not(loom))]
pub mod layout;
#[cfg(not(loom))]
pub mod leaf_call;
#[cfg(not(loom))]
pub mod leaf_frame;
#[cfg(not(loom))]
pub mod load;
#[cfg(not(loom))]
pub mod methods;
#[cfg(not(loom))]
pub mod perf;
pub mod primitive;
pub mod record;
#[cfg(not(loom))]
pub mod registers;
pub mod ring;
#[cfg(not(loom))]
pub mod sample;
#[cfg(not(loom))]
pub mod scratch;
#[cfg(not(loom))]
pub mod shared;
#[cfg(not(loom))]
pub mod siginfo;
#[cfg(not(loom))]
pub mod stubs;
pub mod tag;
#[cfg(not(loom))]
pub mod truncation;
#[cfg(not(loom))]
pub mod visit;
#[cfg(not(loom))]
pub mod walk;
