//! Formats of profiles beside pprof, and files told apart by what is in them.

mod calls;
pub mod collapsed;
mod detect;
mod format;
mod functions;
mod number;
mod otlp_json;
pub mod speedscope;

pub use detect::{Document, Foreign, FormatError, Hint, read};
pub use format::Format;
