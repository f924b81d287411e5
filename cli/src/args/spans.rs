//! `vtprof spans`.

use clap::{Args, ValueEnum};

use super::InputArgs;

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
