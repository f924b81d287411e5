//! The command line: what several commands share in `input`, else a module a command.

mod attach;
mod check;
mod input;
mod moment;
mod run;
mod spans;
mod top;

use clap::{Parser, Subcommand};

pub use attach::{AgentArgs, AttachArgs, Control, Length};
pub use check::CheckArgs;
pub use input::{AnswerArgs, FilesArgs, InputArgs};
pub use moment::Moment;
pub use run::RunArgs;
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
    /// Whether the tags of CPU samples can be right, by what spans can have had
    ///
    /// A span that one thread works for has no more CPU time than it lasted, together with its blocked time, and none while it
    /// is not open. Chance is accounted for: a few samples are no proof, and of 2,000 right files one is called wrong at the
    /// most. Spans that several threads work for at once (child spans that overlap, several threads in the samples) are not
    /// judged by their durations. Exit status: 0 nothing against the tags, 1 they cannot be right, 2 nothing could be checked.
    Check(CheckArgs),
    /// Load the agent into a JVM that runs, and record
    ///
    /// Tags need vtprof-otel.jar in the JVM from its start; spans older than the agent stay untagged. With --for the agent
    /// stops after that time, and on Ctrl-C: its last files are written, and no timer is left.
    Attach(AttachArgs),
    /// Start a JVM with the agent in it
    ///
    /// This program becomes that JVM: signals, output and exit status are its own. A command other than java, such as a
    /// script, gets the agent in JAVA_TOOL_OPTIONS, which every JVM that it starts reads and names in a line.
    Run(RunArgs),
    /// Print the completions for a shell
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, with all commands
    Man,
}
