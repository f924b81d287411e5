//! `vtprof diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use vtprof_profile::kind::Kind;

use super::input::kinds;
use super::{AnswerArgs, FilesArgs};
use crate::requests::{Fast, Slow};
use crate::stats::Per;

#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// The bad side, where a side is more than a file or a folder; then all before are the good one
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["slow", "fast"])]
    pub bad: Vec<PathBuf>,

    /// Compare slow spans of the files with fast ones: those at or above a percentile of their endpoint's durations, or a
    /// duration, as '>=800ms' [default with --fast: p99]
    #[arg(long, value_name = "pN|>=DURATION")]
    pub slow: Option<Slow>,

    /// Those at or below [default with --slow: p50]
    #[arg(long, value_name = "pN|<=DURATION")]
    pub fast: Option<Fast>,

    /// Only requests of this name (of the local root span)
    #[arg(long, value_name = "ENDPOINT")]
    pub name: Option<String>,

    /// What costs are set against [default: request where both sides have spans that ended, else second, else share]
    #[arg(long, value_enum)]
    pub per: Option<Per>,

    /// Count requests that ended in an error as others
    #[arg(long)]
    pub with_errors: bool,

    /// Profiles to compare [default: cpu, else the first kind that both sides have]
    #[arg(long, value_parser = kinds())]
    pub kind: Option<Kind>,

    /// Sample type to compare [default: that of the kind, else the files' default]
    #[arg(long, value_name = "KIND")]
    pub sample_type: Option<String>,

    /// What rows are ordered and judged by
    #[arg(long, value_enum, default_value_t = DiffOrder::Total)]
    pub sort: DiffOrder,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffOrder {
    /// Samples with it anywhere in the stack
    Total,
    /// Samples with it as the leaf
    #[value(name = "self")]
    SelfValue,
}
