//! `vtprof ctl`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "REQUEST",
    subcommand_help_heading = "Requests"
)]
pub struct CtlArgs {
    /// Process id of the JVM
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub pid: u32,

    #[command(subcommand)]
    pub request: CtlRequest,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum CtlRequest {
    /// How things stand: what is sampled how often, where the files are, all figures of the agent
    Status {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Sample again
    Start,
    /// Sample no more, and write what there is
    Stop,
    /// Write what there is, and go on
    Dump,
    /// Other rates, of kinds that the agent was loaded with: cpu=50hz, wall=off, every=10s
    Set {
        /// As the agent's options have them: cpu, wall, blocked, lock, alloc, every
        #[arg(value_name = "KEY=VALUE", required = true)]
        rates: Vec<String>,
    },
}

impl CtlRequest {
    /// As the agent reads it, without the end of the line.
    pub fn line(&self) -> String {
        match self {
            CtlRequest::Status { .. } => "status".to_owned(),
            CtlRequest::Start => "start".to_owned(),
            CtlRequest::Stop => "stop".to_owned(),
            CtlRequest::Dump => "dump".to_owned(),
            CtlRequest::Set { rates } => format!("set {}", rates.join(" ")),
        }
    }
}
