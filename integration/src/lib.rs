//! Real JVMs, real services, and a truth to hold the profiles against.
//!
//! The Java programs under `java/` burn CPU only in methods named after the class that a span
//! belongs to, and write down which span was whose. So each sample says by its frames what its
//! labels ought to be, and no test has to believe the code it tests.
//!
//! [`jdk`] finds the JVMs, [`artifacts`] what is under test, [`jvm`] runs a program under a time
//! limit, [`truth`] reads what happened, [`recording`] what was recorded, [`verdict`] and [`sums`]
//! compare the two; [`waits`] does so for blocked time. [`tool`] is the command. [`receivers`] are servers of others' code, [`received`] what they
//! say they got. The tests are in `tests/`, one behaviour a file.
//!
//! All of it is for tests: one process at a time, see [`jvm::Machine`].

pub mod artifacts;
pub mod attach;
pub mod confinement;
pub mod deep;
pub mod injecting;
pub mod jdk;
pub mod jvm;
pub mod launch;
pub mod quiet;
pub mod received;
pub mod receivers;
pub mod recording;
pub mod report;
pub mod scale;
pub mod service;
pub mod soak;
pub mod span_files;
pub mod sums;
pub mod tool;
pub mod truth;
pub mod truth_run;
pub mod verdict;
pub mod waits;
pub mod workdir;
pub mod wrote;
