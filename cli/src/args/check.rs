//! `vtprof check`.

use clap::Args;

use super::{AnswerArgs, FilesArgs};

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// The label that holds a span's id, in hex or decimal, e.g. profile_id (Pyroscope) or 'local root span id' (Datadog)
    /// [default: span_id and local_root_span_id]
    #[arg(long, value_name = "LABEL")]
    pub span_label: Option<String>,

    /// Local root spans of this name work in several threads at once, which their child spans and threads may not show; may be
    /// given several times
    #[arg(long, value_name = "ENDPOINT")]
    pub fan_out: Vec<String>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}
