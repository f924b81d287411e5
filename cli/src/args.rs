//! The command line.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, Parser, Subcommand, ValueEnum};
use vtprof_profile::kind::Kind;

use crate::focus::Focus;

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

/// What all commands read and how they answer.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// pprof and span files (gzipped or not), folders of them, or '-' for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Sample type to show, by its kind, e.g. cpu [default: the file's default, else its last]
    #[arg(long, value_name = "KIND")]
    pub sample_type: Option<String>,

    /// Profiles to show, where there are several kinds, which are not added up [default: spans shows all beside each
    /// other, top cpu, else the first of this order that is there]
    #[arg(long, value_parser = kinds())]
    pub kind: Option<Kind>,

    /// Print JSON; all rows, unless --limit is given
    #[arg(long)]
    pub json: bool,

    /// Rows to print, 0 for all [default: 20]
    #[arg(long, short = 'n', value_name = "ROWS")]
    pub limit: Option<usize>,

    /// Largest file to read, in MiB when decompressed
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub max_mib: u64,
}

/// Takes the name of a kind.
fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .try_map(|name| Kind::from_name(&name).ok_or("no such kind"))
}

impl InputArgs {
    /// Rows to print at most; `None` for all.
    pub fn row_limit(&self) -> Option<usize> {
        const ROWS_OF_A_TABLE: usize = 20;
        match self.limit {
            Some(0) => None,
            Some(rows) => Some(rows),
            None if self.json => None,
            None => Some(ROWS_OF_A_TABLE),
        }
    }

    /// Most decompressed bytes of one file.
    pub fn byte_limit(&self) -> u64 {
        self.max_mib << 20
    }
}

#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Only samples of one span, local root span, trace or endpoint; may be given several times,
    /// then all must hold
    #[arg(long, value_name = "span=HEX|root=HEX|trace=HEX|name=ENDPOINT")]
    pub focus: Vec<Focus>,

    /// What a row is
    #[arg(long, value_enum, default_value_t = TopBy::Function)]
    pub by: TopBy,

    /// What rows are ordered by
    #[arg(long, value_enum, default_value_t = TopOrder::SelfValue)]
    pub sort: TopOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopBy {
    /// A function by its name, whatever its lines
    Function,
    /// A source file
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopOrder {
    /// Samples with it as the leaf
    #[value(name = "self")]
    SelfValue,
    /// Samples with it anywhere in the stack
    Total,
}

#[derive(Debug, Args)]
pub struct SpansArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// One table only [default: both]
    #[arg(long, value_enum)]
    pub by: Option<SpansBy>,

    /// Kinds that have states (blocked: lock, io, …) by each of them, too; JSON has them in any case
    #[arg(long)]
    pub states: bool,

    /// The N slowest local root spans (needs span files)
    #[arg(long, value_name = "N", conflicts_with_all = ["by", "limit"], value_parser = clap::value_parser!(u32).range(1..))]
    pub slowest: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpansBy {
    /// Final names of local root spans
    Endpoint,
    /// Local root spans one by one
    Span,
}
