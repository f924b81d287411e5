//! The command line: what several commands share in `input`, else a module a command.

mod attach;
mod check;
mod convert;
mod ctl;
mod diff;
mod flame;
mod input;
mod merge;
mod moment;
mod run;
mod spans;
mod top;
mod view;
mod why;

use clap::{Parser, Subcommand};

pub use attach::{AgentArgs, AttachArgs, Control, Length};
pub use check::CheckArgs;
pub use convert::ConvertArgs;
pub use ctl::{CtlArgs, CtlRequest};
pub use diff::{DiffArgs, DiffOrder};
pub use flame::{FlameArgs, FlameFormat};
pub use input::{AnswerArgs, FilesArgs, InputArgs, kinds};
pub use merge::{KindOrSpans, MergeArgs};
pub use moment::Moment;
pub use run::RunArgs;
pub use spans::{SpansArgs, SpansBy};
pub use top::{TopArgs, TopBy, TopOrder};
pub use view::ViewArgs;
pub use why::WhyArgs;

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
    /// Why slow spans of an endpoint are slow: CPU, lock, I/O, queue, sleep, no carrier, garbage collection; in which frame
    ///
    /// Takes the slow and the fast spans of an endpoint and splits what the slow ones are longer by into the time that they
    /// compute and that they wait, by what for, and what no profile has. The part that most is lost in comes first, with the
    /// deepest frame that has most of it and is no plumbing (the JDK's and the like), and the frame in which it ends. Of locks it
    /// says who has them meanwhile, of collections who allocates, of threads without a carrier who has the CPUs.
    ///
    /// A span costs what all samples with its local root cost. The spread between spans is what a difference is held against; a
    /// verdict needs five slow spans or more and an interval of half the difference or less. Where it has none, it says how many
    /// spans it would take. Spans that ended in an error do not count.
    #[command(override_usage = "vtprof why [OPTIONS] [ENDPOINT] <FILE>...")]
    Why(WhyArgs),
    /// What functions cost more on one side than on another, per request, and whether that may be chance
    ///
    /// The sides are GOOD and BAD, a file or a folder each, or the slow and the fast spans of the same files (--slow, --fast).
    /// A request is a local root span that ended, and not in an error: one that failed is no request, and its samples do not
    /// count, as a quick failure is no quick answer; --with-errors counts it as any other. Nor do samples of requests whose end
    /// is in no file count. Samples outside of any request (collector, compilers) count for all, unless --name is given.
    /// Per second and as shares, all samples count.
    ///
    /// A request with all its samples is one observation, and the spread between requests is what a difference is held
    /// against; samples outside of requests are counts, tested as such. A row is taken for a difference where no more than one
    /// in twenty such rows is there by chance (Benjamini-Hochberg). Rows are ordered by what is surely lost times the share of
    /// it that is new, so what has changed stands before its callers.
    #[command(
        override_usage = "vtprof diff [OPTIONS] <GOOD> <BAD>\n       vtprof diff [OPTIONS] <GOOD>... --bad <BAD>...\n       vtprof diff [OPTIONS] --slow <pN|>=DURATION> --fast <pN|<=DURATION> <FILE>..."
    )]
    Diff(DiffArgs),
    /// Whether the tags of CPU samples can be right, by what spans can have had
    ///
    /// A span that one thread works for has no more CPU time than it lasted, together with its blocked time, and none while it
    /// is not open. Chance is accounted for: a few samples are no proof, and of 2,000 right files one is called wrong at the
    /// most. Spans that several threads work for at once (child spans that overlap, several threads in the samples) are not
    /// judged by their durations. Exit status: 0 nothing against the tags, 1 they cannot be right, 2 nothing could be checked.
    Check(CheckArgs),
    /// A flame graph as one HTML page, a picture (SVG) or collapsed stacks; also of the difference of two sets of samples
    Flame(FlameArgs),
    /// Endpoints, slow spans and flame graphs of a folder in the browser, on this machine only, as files arrive
    View(ViewArgs),
    /// Many files to one: samples of the same stack and labels added up
    ///
    /// Windows, counters and, into a folder, spans. Profiles of what is in use are of a moment: of each process the last
    /// counts. What is written is read again by vtprof and by go tool pprof.
    Merge(MergeArgs),
    /// pprof, collapsed stacks and OTLP profiles to one another, and to speedscope
    ///
    /// Several inputs are added up. Sums are the same in each format; labels only pprof and OTLP have, in which the trace
    /// and span of a sample are its link.
    Convert(ConvertArgs),
    /// Load the agent into a JVM that runs, and record
    ///
    /// Tags need vtprof-otel.jar in the JVM from its start; spans older than the agent stay untagged. With --for the agent
    /// stops after that time, and on Ctrl-C: its last files are written, and no timer is left.
    Attach(AttachArgs),
    /// Ask the vtprof in a JVM how things stand, switch it, change its rates while it runs
    ///
    /// Over a socket of the agent's that its own user and root can use, in containers as well. A kind can be set that was on
    /// when the agent was loaded; each change ends a window, so that a file has one period. Answers when it is done.
    Ctl(CtlArgs),
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
