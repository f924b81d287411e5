//! Messages of the OpenTelemetry protocol, the subset in use.

#[cfg(feature = "merge")]
mod entries;
#[cfg(feature = "merge")]
mod gather;
#[cfg(feature = "formats")]
pub mod json;
#[cfg(feature = "merge")]
mod memo;
pub mod process_context;
pub mod profiles;
#[cfg(feature = "merge")]
mod read_profiles;
#[cfg(feature = "formats")]
pub(crate) mod shape;
pub mod trace;
mod write_profiles;

#[cfg(feature = "merge")]
pub use gather::Gathered;
#[cfg(feature = "formats")]
pub(crate) use read_profiles::read_within;
#[cfg(feature = "merge")]
pub use read_profiles::{ProfilesError, read_profiles};
pub use write_profiles::write_profiles;
