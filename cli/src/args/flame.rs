//! `vtprof flame`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;

use super::FilesArgs;
use super::input::kinds;
use crate::focus::Focus;

#[derive(Debug, Args)]
pub struct FlameArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// File to write, '-' for standard output [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// What to write [default: what the name of the output file ends in, else html]
    #[arg(long, value_enum)]
    pub format: Option<FlameFormat>,

    /// Kind to show [default: html has all kinds, svg and collapsed cpu, else the first that is there]
    #[arg(long, value_parser = kinds())]
    pub kind: Option<Kind>,

    /// Sample type to show, by its kind, e.g. alloc_objects [default: as top; html has all]
    #[arg(long, value_name = "KIND")]
    pub sample_type: Option<String>,

    /// Only samples of one span, local root span, trace or endpoint; may be given several times, then all must hold
    #[arg(long, value_name = "span=HEX|root=HEX|trace=HEX|name=ENDPOINT")]
    pub focus: Vec<Focus>,

    /// Only samples of these local root spans
    #[arg(long, value_name = "HEX,…", value_delimiter = ',')]
    pub roots: Vec<SpanId>,

    /// Compare with this file or folder; may be given several times
    #[arg(long, value_name = "FILE")]
    pub base: Vec<PathBuf>,

    /// Compare with samples of one span, local root span, trace or endpoint, of --base or else of the same files
    #[arg(long, value_name = "span=HEX|root=HEX|trace=HEX|name=ENDPOINT")]
    pub base_focus: Vec<Focus>,

    /// Compare with samples of these local root spans, of --base or else of the same files
    #[arg(long, value_name = "HEX,…", value_delimiter = ',')]
    pub base_roots: Vec<SpanId>,

    /// Title of the page or picture [default: the names of the inputs]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FlameFormat {
    /// One page that needs no network: all kinds, endpoints, spans, search, zoom, comparison
    Html,
    /// A picture
    Svg,
    /// A stack a line, as flamegraph.pl and others read it; with a base two values a line, the base's first
    Collapsed,
}

impl FlameArgs {
    /// Whether two sets of samples are compared.
    pub fn compares(&self) -> bool {
        !(self.base.is_empty() && self.base_focus.is_empty() && self.base_roots.is_empty())
    }
}
