//! What makes a sample one that pprof readers refuse.

use thiserror::Error;

/// Why a sample was not taken into the profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SampleError {
    /// No location at all: a failed walk needs a named synthetic frame.
    #[error("the stack is empty: a failed walk needs a named frame")]
    EmptyStack,
    /// Not one value for each sample type.
    #[error("{found} values for {wanted} sample types")]
    ValueCount {
        /// Values given.
        found: usize,
        /// Sample types of the profile.
        wanted: usize,
    },
    /// A key that is not `[a-zA-Z_][a-zA-Z0-9_]*`.
    #[error("label key '{0}' is not [a-zA-Z_][a-zA-Z0-9_]*")]
    LabelKey(String),
    /// A key that occurs twice in one sample.
    #[error("label key '{0}' occurs twice in one sample")]
    DuplicateLabelKey(String),
    /// A location that another builder handed out.
    #[error("location {0} of the stack is not of this profile")]
    UnknownLocation(usize),
}

/// Whether a text may be a label key: `[a-zA-Z_][a-zA-Z0-9_]*`, what Pyroscope and Prometheus take.
pub fn is_label_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
