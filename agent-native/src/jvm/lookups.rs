//! Lookups in what HotSpot publishes of itself, which say what was missing.

use super::memory;
use super::vmstructs::VmStructs;

/// Why frozen frames are not read on this JVM.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    #[error("they are only read on x86-64")]
    Architecture,
    #[error("not with {0}")]
    Collector(&'static str),
    #[error("this JVM does not publish {0}")]
    Unpublished(String),
    #[error("class {0} was not found")]
    Class(&'static str),
    #[error("its interpreter lies in none of what would be its code heaps")]
    CodeHeaps,
    #[error("what would be one of its code heaps is none: {low:#x} to {high:#x}")]
    NoHeap { low: u64, high: u64 },
}

/// `None` where nothing can be read.
pub(super) fn word_at(address: u64) -> Option<u64> {
    memory::read::<8>(address as usize).map(u64::from_ne_bytes)
}

/// Those of this JVM.
pub(super) struct Structs<'a>(pub(super) &'a VmStructs);

impl Structs<'_> {
    /// Offset of that field, in the first of `types` that has it.
    pub(super) fn field(&self, types: &[&str], field: &str) -> Result<u64, Missing> {
        self.0
            .offset(types, field)
            .map(|offset| offset as u64)
            .ok_or_else(|| Missing::Unpublished(format!("{}::{field}", types.join("/"))))
    }

    /// The first of `fields` there is.
    pub(super) fn any(&self, types: &[&str], fields: &[&str]) -> Result<u64, Missing> {
        fields
            .iter()
            .find_map(|field| self.field(types, field).ok())
            .ok_or_else(|| {
                Missing::Unpublished(format!("{}::{}", types.join("/"), fields.join("/")))
            })
    }

    /// A static word, by the first of its names that there is.
    pub(super) fn word(&self, of_type: &str, names: &[&str]) -> Result<u64, Missing> {
        self.0
            .static_word(of_type, names)
            .ok_or_else(|| Missing::Unpublished(format!("{of_type}::{}", names.join("/"))))
    }

    /// A static number of bits to shift by.
    pub(super) fn shift(&self, of_type: &str, names: &[&str]) -> Result<u32, Missing> {
        self.0
            .static_int(of_type, names)
            .and_then(|shift| u32::try_from(shift).ok())
            .filter(|shift| *shift < 32)
            .ok_or_else(|| Missing::Unpublished(format!("{of_type}::{}", names.join("/"))))
    }

    /// Bytes of a type.
    pub(super) fn size(&self, name: &str) -> Result<u64, Missing> {
        self.0
            .size_of(name)
            .ok_or_else(|| Missing::Unpublished(format!("the size of {name}")))
    }

    /// A flag of the command line, or its default.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Missing> {
        self.0
            .flag(name)
            .ok_or_else(|| Missing::Unpublished(format!("the flag {name}")))
    }
}
