//! `vtprof why`.

use clap::Args;

use super::FilesArgs;
use crate::requests::{Fast, Slow};

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Files as elsewhere; before them the name of a local root span [default: the one whose slow spans lose most time]
    #[command(flatten)]
    pub files: FilesArgs,

    /// The endpoint, where its name is also that of a file
    #[arg(long, value_name = "ENDPOINT")]
    pub name: Option<String>,

    /// Slow spans: at or above a percentile of the endpoint's durations, or a duration, as '>=800ms' [default: p99]
    #[arg(long, value_name = "pN|>=DURATION")]
    pub slow: Option<Slow>,

    /// Fast spans: at or below [default: p50]
    #[arg(long, value_name = "pN|<=DURATION")]
    pub fast: Option<Fast>,

    /// Count spans that ended in an error as others
    #[arg(long)]
    pub with_errors: bool,

    /// Beginnings of the names of your own classes, such as com.acme. [default: all that is not the JDK's and the like]
    #[arg(long, value_name = "PREFIX")]
    pub app: Vec<String>,

    /// Frames to print of each part, 0 for all [default: 5, with JSON and CSV all]
    #[arg(long, short = 'n', value_name = "ROWS")]
    pub limit: Option<usize>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print CSV: a line for each part, and one for each frame of it
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl WhyArgs {
    /// Rows to print at most; `None` for all.
    pub fn row_limit(&self) -> Option<usize> {
        const ROWS: usize = 5;
        match self.limit {
            Some(0) => None,
            Some(rows) => Some(rows),
            None if self.json || self.csv => None,
            None => Some(ROWS),
        }
    }
}
