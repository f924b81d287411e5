//! The command line: what several commands share in `input`, else a module a command.

mod input;
mod moment;
mod spans;
mod top;

use clap::{Parser, Subcommand};

pub use input::{AnswerArgs, FilesArgs, InputArgs};
pub use moment::Moment;
pub use spans::{SpansArgs, SpansBy};
pub use top::{TopArgs, TopBy, TopOrder};

/// Reads profiles that say for each sample which span ran.
#[derive(Debug, Parser)]
#[command(name = "vtprof", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Functions by self and total, from any pprof files
    Top(TopArgs),
    /// CPU, allocations, blocked time by endpoint and by local root span, with durations where span files are given
    ///
    /// A span costs what it and all spans below it in the same process cost. ACCOUNTED is (CPU + blocked time) / duration:
    /// the share of a span's time that can be explained. It exceeds 100 % where several threads work or wait for one span
    /// at once, and falls short where no thread is in it, where a thread waits for a CPU or in a way that is not seen, and
    /// where files of some of its windows are missing.
    Spans(SpansArgs),
}
