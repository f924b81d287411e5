//! The agent that breaks on purpose: built with the feature `inject`, in a folder of its own, so that the agent
//! under test has none of it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

use crate::artifacts::repository;
use crate::launch::Launch;

/// What is broken, as `agent-native/src/inject.rs` reads it.
const VARIABLE: &str = "VTPROF_INJECT";

/// Builds it, once a process, and returns its path.
///
/// # Errors
/// It cannot be built.
pub fn agent() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
}

fn build() -> Result<PathBuf> {
    let script = repository().join("scripts/injecting.sh");
    let output = Command::new(&script)
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(
        output.status.success(),
        "the injecting agent does not build: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim_end()))
}

/// Loads it, with these options of the agent, to break what `what` says (`walks=4,loads=100`, `layout=sp`).
///
/// # Errors
/// It cannot be built.
pub fn load(launch: Launch, options: &str, what: &str) -> Result<Launch> {
    Ok(launch.agent_at(&agent()?, options).env(VARIABLE, what))
}
