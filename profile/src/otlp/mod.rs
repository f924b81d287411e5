//! Messages of the OpenTelemetry protocol, the subset in use.

#[cfg(feature = "merge")]
mod gather;
#[cfg(feature = "formats")]
pub mod json;
pub mod process_context;
pub mod profiles;
#[cfg(feature = "merge")]
mod read_profiles;
pub mod trace;
mod write_profiles;

#[cfg(feature = "merge")]
pub use gather::Gathered;
#[cfg(feature = "merge")]
pub use read_profiles::{ProfilesError, read_profiles};
pub use write_profiles::write_profiles;
