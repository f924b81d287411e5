//! `vtprof attach`, and what it has in common with `vtprof run`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

/// The agent that goes into a JVM.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Options of the agent, as behind -agentpath:libvtprof.so= [default: none, CPU 100 times a second]
    #[arg(
        long,
        value_name = "KEY=VALUE,…",
        default_value = "",
        hide_default_value = true
    )]
    pub options: String,

    /// Directory of the profiles, the option out= [default: vtprof under the JVM's working directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The agent's library, as the JVM sees it [default: libvtprof.so beside this program]
    #[arg(long, value_name = "PATH")]
    pub agent: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Process id of the JVM
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub pid: u32,

    #[command(flatten)]
    pub agent: AgentArgs,

    /// Record for so long, such as 60s or 5m, then stop and say where the files are
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<Length>,

    /// Ask the vtprof that is in the JVM already; with start, --for stops it again
    #[arg(long, value_enum, conflicts_with_all = ["options", "out", "agent"])]
    pub control: Option<Control>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Control {
    /// Sample again
    Start,
    /// Sample no more, and write what there is
    Stop,
    /// One line on the JVM's standard error
    Status,
}

impl Control {
    /// The agent's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Control::Start => "start",
            Control::Stop => "stop",
            Control::Status => "status",
        }
    }
}

/// How long something is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length(pub Duration);

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let length = text.parse::<SignedDuration>().ok();
        length
            .and_then(|length| Duration::try_from(length).ok())
            .filter(|length| *length >= Duration::from_secs(1))
            .map(Length)
            .ok_or_else(|| {
                format!("'{text}' is no length of a second or more: write such as 60s, 5m or 1h30m")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_second_or_more() {
        assert_eq!("60s".parse(), Ok(Length(Duration::from_secs(60))));
        assert_eq!("1h30m".parse(), Ok(Length(Duration::from_secs(5400))));
        for wrong in ["60", "0s", "-5s", "10ms", "soon", ""] {
            let error = wrong.parse::<Length>().expect_err(wrong);
            assert!(error.contains("60s"), "{error}");
        }
    }
}
