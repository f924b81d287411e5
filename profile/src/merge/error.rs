//! Why a profile cannot be added to others.

use thiserror::Error;

use crate::model::{Flaw, ValueType};

/// A profile that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// Its values are others.
    #[error("its values are {found}, those of the files before are {wanted}: they have no sum")]
    Types {
        /// Its sample types.
        found: String,
        /// Those of the profiles before.
        wanted: String,
    },
    /// A table is full.
    #[error("the sum is too large: {0}")]
    Full(#[from] Flaw),
}

impl MergeError {
    pub(super) fn types(found: &[ValueType], wanted: &[ValueType]) -> Self {
        let list = |types: &[ValueType]| {
            let all: Vec<_> = types
                .iter()
                .map(|t| format!("{}/{}", t.kind, t.unit))
                .collect();
            all.join(", ")
        };
        MergeError::Types {
            found: list(found),
            wanted: list(wanted),
        }
    }
}
