//! The agent's library: where it is, and whether the JVM can see it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::args::AgentArgs;

use crate::text::quoted;

use super::process::Process;

/// What the agent is called.
pub const LIBRARY: &str = "libvtprof.so";
/// What it looks for beside itself.
const EXTENSION: &str = "vtprof-otel.jar";

/// The library named, else the one beside this program; absolute, and not looked at.
///
/// # Errors
/// Nobody knows where this program is.
fn named(agent: Option<&Path>) -> Result<PathBuf> {
    if let Some(agent) = agent {
        return std::path::absolute(agent).with_context(|| format!("--agent {}", agent.display()));
    }
    let own = env::current_exe().context("the folder of this program")?;
    Ok(own.with_file_name(LIBRARY))
}

/// For a JVM that is started here.
///
/// # Errors
/// There is none.
pub fn here(args: &AgentArgs) -> Result<PathBuf> {
    let library = named(args.agent.as_deref())?;
    if library.is_file() {
        Ok(library)
    } else {
        Err(missing(&library))
    }
}

fn missing(library: &Path) -> anyhow::Error {
    anyhow!(
        "there is no {}: --agent names the agent's library, which lies beside vtprof where both were built by make",
        library.display()
    )
}

/// For a JVM that runs: the path by which it finds the library.
///
/// # Errors
/// It does not see it; what to copy is in the message.
pub fn seen_by(process: &Process, args: &AgentArgs) -> Result<String> {
    let library = named(args.agent.as_deref())?;
    let is_seen = process.root()?.has_file(&library);
    if !is_seen {
        if !library.is_file() {
            return Err(missing(&library));
        }
        if process.has_another_root() {
            // Not by a path below /proc/PID/root, nor into a folder that others write to: links there lead anywhere.
            let jar = library.with_file_name(EXTENSION);
            let jar = jar.is_file().then(|| format!(" and {}", quoted(&jar)));
            bail!(
                "{} has files of its own (a container?), and no {} among them: put {}{} into a folder that it sees and only its owner can write to (docker cp, podman cp, kubectl cp), and name the library there with --agent, by the path that it has inside",
                process.named(),
                library.display(),
                quoted(&library),
                jar.unwrap_or_default(),
            );
        }
        bail!(
            "{} cannot see {}: --agent names one that it sees",
            process.named(),
            library.display()
        );
    }
    library
        .into_os_string()
        .into_string()
        .map_err(|path| anyhow!("{}: a JVM takes no path that is not UTF-8", path.display()))
}

/// Whether a file that a process has in its memory is called as the library is, also where it is gone by now.
pub fn is_library(path: &str) -> bool {
    let path = path.trim_end_matches(" (deleted)");
    path.ends_with(&format!("/{LIBRARY}"))
}

/// The path by which a JVM has loaded the library already.
///
/// # Errors
/// It has not, or the file is not that one any more.
pub fn loaded_by(process: &Process) -> Result<String> {
    let mapped = process.mapped()?;
    let path = mapped.into_iter().find(|path| is_library(path)).ok_or_else(|| {
        anyhow!(
            "{LIBRARY} is not in {}, or under another name: --control asks a vtprof that is there already",
            process.named()
        )
    })?;
    match path.strip_suffix(" (deleted)") {
        None => Ok(path),
        Some(gone) => bail!(
            "{gone}, from which {} loaded the agent, was replaced or removed since: it cannot be asked any more",
            process.named()
        ),
    }
}
