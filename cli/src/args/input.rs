//! What commands read, and how they answer.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use vtprof_profile::kind::Kind;

/// The files.
#[derive(Debug, Clone, Args)]
pub struct FilesArgs {
    /// pprof and span files (gzipped or not), folders of them, or '-' for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Largest file to read, in MiB when decompressed
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub max_mib: u64,
}

/// How a listing is answered.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Print JSON; all rows, unless --limit is given
    #[arg(long)]
    pub json: bool,

    /// Print one table as CSV, in raw numbers; all rows, unless --limit is given
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Rows to print, 0 for all [default: 20]
    #[arg(long, short = 'n', value_name = "ROWS")]
    pub limit: Option<usize>,
}

/// What listings of one measure or of several read and how they answer.
#[derive(Debug, Args)]
pub struct InputArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// Sample type to show, by its kind, e.g. cpu [default: that of --kind, else the file's default, else that of its kind,
    /// else its last]
    #[arg(long, value_name = "KIND")]
    pub sample_type: Option<String>,

    /// Profiles to show, where there are several kinds, which are not added up [default: spans shows all beside each
    /// other, top cpu, else the first of this order that is there]
    #[arg(long, value_parser = kinds())]
    pub kind: Option<Kind>,

    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Takes the name of a kind.
pub fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .try_map(|name| Kind::from_name(&name).ok_or("no such kind"))
}

impl InputArgs {
    /// The sample type to show: that of the kind asked for, where no other was.
    pub fn measure(&self) -> Option<&str> {
        let amount = self.kind.map(|kind| kind.amount().kind);
        self.sample_type.as_deref().or(amount)
    }
}

impl FilesArgs {
    /// Most decompressed bytes of one file.
    pub fn byte_limit(&self) -> u64 {
        self.max_mib << 20
    }
}

impl AnswerArgs {
    /// Rows to print at most; `None` for all.
    pub fn row_limit(&self) -> Option<usize> {
        const ROWS_OF_A_TABLE: usize = 20;
        match self.limit {
            Some(0) => None,
            Some(rows) => Some(rows),
            None if self.json || self.csv => None,
            None => Some(ROWS_OF_A_TABLE),
        }
    }
}
