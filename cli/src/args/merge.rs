//! `vtprof merge`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use vtprof_profile::kind::Kind;

use super::FilesArgs;
use crate::focus::Focus;

/// Stands among the kinds for files of spans.
const SPANS: &str = "spans";

#[derive(Debug, Args)]
pub struct MergeArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// File to write, gzipped unless it ends in .pb; a folder (one that is there, or a name that ends in '/') for a file a
    /// kind, and one of spans; or '-' for standard output
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,

    /// This kind alone
    #[arg(long, value_parser = kinds_and_spans())]
    pub kind: Option<KindOrSpans>,

    /// Only samples and spans of one span, local root span, trace or endpoint; may be given several times, then all must
    /// hold
    #[arg(long, value_name = "span=HEX|root=HEX|trace=HEX|name=ENDPOINT")]
    pub focus: Vec<Focus>,

    /// Give each sample the span id of its local root span: samples of child spans are its own then
    #[arg(long)]
    pub roll_up: bool,

    /// Leave these labels out; samples that differed by them alone are added up
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub drop_labels: Vec<String>,
}

/// What a file of the agent can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindOrSpans {
    /// A profile.
    Kind(Kind),
    /// Spans that ended.
    Spans,
}

fn kinds_and_spans() -> impl TypedValueParser<Value = KindOrSpans> {
    let names = Kind::ALL.map(Kind::name).into_iter().chain([SPANS]);
    PossibleValuesParser::new(names).try_map(|name| match Kind::from_name(&name) {
        Some(kind) => Ok(KindOrSpans::Kind(kind)),
        None if name == SPANS => Ok(KindOrSpans::Spans),
        None => Err("no such kind"),
    })
}
