//! `vtprof view`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Folder that profiles and span files are written into
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8417)]
    pub port: u16,

    /// Most MiB to hold, of files when decompressed; the newest are shown
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub hold: u64,
}
