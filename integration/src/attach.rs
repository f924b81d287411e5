//! The agent loaded into a running JVM, or asked something there, by `jcmd`.

use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::artifacts;
use crate::jdk::Jdk;

/// How long `jcmd` waits for the JVM to listen, ms: its own 10 s are few on a machine that is stopped now and then.
const PATIENCE_MS: u32 = 120_000;

/// `jcmd` of that JVM; `None` where the JDK has none.
pub fn jcmd(jdk: &Jdk, pid: u32) -> Option<Command> {
    let mut command = Command::new(jdk.tool("jcmd")?);
    command
        .arg(format!("-J-Dsun.tools.attach.attachTimeout={PATIENCE_MS}"))
        .arg(pid.to_string());
    Some(command)
}

/// What `jcmd` answers to a load of the agent with these options.
///
/// # Errors
/// There is no `jcmd`, or no agent.
pub fn answer(jdk: &Jdk, pid: u32, options: &str) -> Result<String> {
    let output = ask(jdk, pid, options)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn ask(jdk: &Jdk, pid: u32, options: &str) -> Result<Output> {
    let output = jcmd(jdk, pid)
        .context("no jcmd")?
        .arg("JVMTI.agent_load")
        .arg(artifacts::agent()?)
        // In quotes: jcmd takes what stands before a = for a name of its own.
        .arg(format!("\"{options}\""))
        .output()?;
    Ok(output)
}

/// Loads the agent.
///
/// # Panics
/// The agent refuses.
pub fn attach(jdk: &Jdk, pid: u32, options: &str) {
    let output = ask(jdk, pid, options).expect("an answer");
    let answer = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        answer.contains("return code: 0"),
        "{options}: {}: {answer}{errors}",
        output.status
    );
}
