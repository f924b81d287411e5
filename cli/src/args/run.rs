//! `vtprof run`.

use std::ffi::OsString;

use clap::Args;

use super::AgentArgs;

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub agent: AgentArgs,

    /// What to start: java and its arguments, or a program that starts a JVM
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
