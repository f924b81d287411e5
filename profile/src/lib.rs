//! The profile model shared by the agent and the command line tool.
//!
//! The agent builds profiles and span lists here ([`builder`], [`spans`]) and writes them
//! ([`gzip`]); the command line tool reads them back ([`model`]), other formats too (`formats`), and adds them up (`merge`).
//! What kinds of profile there are stands here for both ([`kind`]). The crate knows neither JVMs nor signals, so that a
//! file can be checked and read on any machine.
//!
//! The wire messages ([`pprof`], [`otlp`]) are structs written by hand with prost's derive: the
//! few messages needed do not justify a protocol compiler in the build, nor copies of other
//! projects' `.proto` files.
#![forbid(unsafe_code)]

mod bounds;
pub mod builder;
pub mod comments;
pub mod content;
#[cfg(feature = "formats")]
pub mod formats;
pub mod gzip;
pub mod ids;
pub mod kind;
#[cfg(feature = "merge")]
pub mod merge;
pub mod model;
pub mod otlp;
pub mod pprof;
pub mod spans;
pub mod window;

/// Encodes and decodes the messages of this crate; here so that users need not name prost.
pub use prost::Message;
