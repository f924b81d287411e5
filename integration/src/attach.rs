//! The agent loaded into a running JVM, or asked something there, by `jcmd`.

use std::process::Command;

use anyhow::{Context, Result};

use crate::artifacts;
use crate::jdk::Jdk;

/// What `jcmd` answers to a load of the agent with these options.
///
/// # Errors
/// There is no `jcmd`, or no agent.
pub fn answer(jdk: &Jdk, pid: u32, options: &str) -> Result<String> {
    let output = Command::new(jdk.tool("jcmd").context("no jcmd")?)
        .arg(pid.to_string())
        .arg("JVMTI.agent_load")
        .arg(artifacts::agent()?)
        // In quotes: jcmd takes what stands before a = for a name of its own.
        .arg(format!("\"{options}\""))
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Loads the agent.
///
/// # Panics
/// The agent refuses.
pub fn attach(jdk: &Jdk, pid: u32, options: &str) {
    let answer = answer(jdk, pid, options).expect("an answer");
    assert!(answer.contains("return code: 0"), "{answer}");
}
