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

#![forbid(unsafe_code)]

pub mod form;
mod identity;
pub mod origin;
pub mod otlp;
mod parts;
pub mod pprof;
pub mod pyroscope;
mod query;
pub mod request;
pub mod window;
