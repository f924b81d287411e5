//! What leaves the process by the network, and what comes in by it. Knows neither JVM nor signals.
//!
//! Data goes one way: a [`window::Window`] that has ended → [`request::Request`]s in a back end's form → spool → HTTP.
//!
//! | module | noun |
//! |---|---|
//! | [`origin`] | whom profiles come from |
//! | [`window`] | what is delivered |
//! | [`request`] | it, as one server wants it |

#![forbid(unsafe_code)]

pub mod origin;
pub mod request;
pub mod window;
