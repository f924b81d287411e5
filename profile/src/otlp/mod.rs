//! Messages of the OpenTelemetry protocol, the subset in use.

pub mod trace;
