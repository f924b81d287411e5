//! `vtprof spans`.

use clap::{Args, ValueEnum};

use vtprof_profile::ids::TraceId;

use super::{InputArgs, Moment};

#[derive(Debug, Args)]
pub struct SpansArgs {
    #[command(flatten)]
    pub input: InputArgs,

    /// Only local root spans of this name; may be given several times
    #[arg(long, value_name = "ENDPOINT")]
    pub name: Vec<String>,

    /// Only local root spans of this trace
    #[arg(long, value_name = "HEX")]
    pub trace: Option<TraceId>,

    /// Only local root spans that ended after that: RFC 3339, or how long ago, such as 15m. Their costs are whole
    #[arg(long, value_name = "TIME")]
    pub since: Option<Moment>,

    /// Only local root spans that began before that
    #[arg(long, value_name = "TIME")]
    pub until: Option<Moment>,

    /// One table only [default: both; with --csv that of spans]
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
