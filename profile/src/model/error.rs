//! Why a file is no readable profile: which entry, at which byte, and what is wrong with it.

use thiserror::Error;

/// A file that cannot be read as pprof.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// No byte at all.
    #[error("the file is empty")]
    Empty,
    /// Every profile says what its values are; this one does not.
    #[error("no sample types: not a pprof profile")]
    NoSampleTypes,
    /// An entry of a table is wrong.
    #[error("{part} at byte {offset}: {flaw}")]
    Entry {
        /// The entry, e.g. `sample`.
        part: &'static str,
        /// Where it starts in the uncompressed file.
        offset: usize,
        /// What is wrong.
        flaw: Flaw,
    },
    /// A field outside the tables is wrong.
    #[error("{part}: {flaw}")]
    Header {
        /// The field, e.g. `sample type`.
        part: &'static str,
        /// What is wrong.
        flaw: Flaw,
    },
}

impl ModelError {
    pub(crate) fn at(part: &'static str, offset: usize) -> impl Fn(Flaw) -> ModelError {
        move |flaw| ModelError::Entry { part, offset, flaw }
    }

    /// The same, of a part that begins so many bytes into the file.
    #[cfg(feature = "formats")]
    pub(crate) fn further(self, start: usize) -> ModelError {
        match self {
            ModelError::Entry { part, offset, flaw } => ModelError::Entry {
                part,
                offset: start + offset,
                flaw,
            },
            other => other,
        }
    }

    pub(super) fn in_header(part: &'static str, flaw: Flaw) -> ModelError {
        ModelError::Header { part, flaw }
    }

    pub(super) fn header(flaw: Flaw) -> ModelError {
        ModelError::Header {
            part: "header",
            flaw,
        }
    }
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Not protobuf, or cut short.
    #[error("{0}")]
    Wire(String),
    /// A string index beyond the string table.
    #[error("string {index} is beyond the {len} strings of the file")]
    String {
        /// The index.
        index: i64,
        /// Entries of the string table.
        len: usize,
    },
    /// An id that no entry has.
    #[error("{table} {id} is not in the file")]
    Dangling {
        /// The table the id belongs to.
        table: &'static str,
        /// The id.
        id: u64,
    },
    /// An index beyond a table.
    #[error("{table} {index} is not in the file")]
    Index {
        /// The table.
        table: &'static str,
        /// The index.
        index: i64,
    },
    /// Id 0, which means "none".
    #[error("its id is 0, which means none")]
    ZeroId,
    /// An id that an earlier entry has.
    #[error("its id {0} is taken")]
    DuplicateId(u64),
    /// Not one value for each sample type.
    #[error("{found} values for {wanted} sample types")]
    ValueCount {
        /// Values of the sample.
        found: usize,
        /// Sample types of the file.
        wanted: usize,
    },
    /// The first string is not empty, so that index 0 cannot mean "not set".
    #[error("the first string is not empty")]
    FirstString,
    /// No string at all.
    #[error("it is missing")]
    Missing,
    /// More of something than any file has.
    #[error("more than {most} {what}: no profiler writes that, leave the file out")]
    Most {
        /// The most that is read.
        most: u64,
        /// Of what.
        what: &'static str,
    },
    /// Named so often that it would be far more than the bytes of the file.
    #[error(
        "more than {most} {what}, too many for a file of {bytes} bytes: it is damaged or made to fill memory, leave it out"
    )]
    Expands {
        /// The most that is read of a file of this size.
        most: u64,
        /// Of what.
        what: &'static str,
        /// Bytes of the uncompressed file.
        bytes: u64,
    },
    /// The sum of values of one sample type.
    #[error("values of one stack add up to more than 64 bits hold")]
    Sum,
    /// More entries than an index can name.
    #[error("more than 2^32 entries")]
    TooMany,
}
