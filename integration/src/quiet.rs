//! JVMs that do next to nothing.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::jdk::Jdk;
use crate::jvm::{Finished, Running};
use crate::launch::Launch;

const LIMIT: Duration = Duration::from_secs(60);

/// Says hello, and ends well.
///
/// # Errors
/// It does not start, or ends otherwise.
pub fn hello(jdk: &Jdk, dir: &Path, options: &str) -> Result<Finished> {
    let launch = Launch::new(jdk).agent(options)?.truth_program(["hello"])?;
    Running::start(&launch, dir, LIMIT)?.wait()?.success()
}

/// Has so many threads, which wait, until it is ended.
///
/// # Errors
/// It does not start.
pub fn idle(jdk: &Jdk, dir: &Path, options: &str, threads: u64) -> Result<Running> {
    let launch = Launch::new(jdk)
        .agent(options)?
        .plain_program("Idle", ["600".to_owned(), threads.to_string()])?;
    let mut running = Running::start(&launch, dir, LIMIT)?;
    running.line("idle=")?;
    Ok(running)
}
