//! What leaves the process by the network, and what comes in by it. Knows neither JVM nor signals.
//!
//! Data goes one way: a [`window::Window`] that has ended → [`request::Request`]s in a back end's form → spool → HTTP.
//!
//! | module | noun |
//! |---|---|
//! | [`origin`] | whom profiles come from |
//! | [`window`] | what is delivered |
//! | [`request`] | it, as one server wants it |
//! | [`form`] | in which form that is |
//! | [`pyroscope`] | the form of Pyroscope |
//! | [`otlp`] | that of OpenTelemetry |
//! | [`pprof`] | that of collectors of plain pprof |
//! | `parts` | a profile in parts that a server takes |
//! | `identity` | names of what is sent |
//! | `query` | the query of an address |
//! | [`target`] | where it goes |
//! | [`environment`] | where OpenTelemetry's variables say that is |
//! | [`office`] | where windows are handed in |
//! | `desk` | one target there |
//! | [`courier`] | who brings one target its requests |
//! | [`spool`] | what waits for it |
//! | [`http`] | how it is brought |
//! | [`rejected`] | what of it a server has thrown away |
//! | [`remote`] | what the process is told from afar |
//! | [`backoff`] | how long to wait after a failure |
//! | [`books`] | what became of it |
//! | [`secret`] | what is shown to nobody |
//! | [`clock`], [`say`] | time and lines, as they are handed in |

#![forbid(unsafe_code)]

pub mod backoff;
pub mod books;
pub mod clock;
pub mod courier;
mod desk;
pub mod environment;
pub mod form;
pub mod http;
mod identity;
pub mod office;
pub mod origin;
pub mod otlp;
mod parts;
pub mod pprof;
pub mod pyroscope;
mod query;
pub mod rejected;
pub mod remote;
pub mod request;
pub mod say;
pub mod secret;
pub mod spool;
pub mod target;
pub mod window;
