//! The agent's socket: `/tmp/vtprof-UID/PID-START.sock`, as the JVM sees it.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::attach::library::is_library;
use crate::attach::peer::Peer;
use crate::attach::process::Process;
use crate::attach::root::{Folder, Root};

/// How long the agent may take: it may have another client, and `flush=` may be 5 minutes.
const PATIENCE: Duration = Duration::from_secs(330);
/// Most of an answer that is read, bytes.
const LIMIT: u64 = 4 << 20;

/// The agent's answer to a line.
///
/// # Errors
/// There is no agent, or none that can be asked.
pub fn ask(process: &Process, line: &str) -> Result<String> {
    process.check_user()?;
    let mut stream = connect(process)?;
    let fault = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => anyhow!(
            "{} does not answer within {} s: is it stopped, or is its disk?",
            process.named(),
            PATIENCE.as_secs()
        ),
        _ => anyhow!("{}: the agent's socket: {error}", process.named()),
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(fault)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(fault)?;
    stream
        .write_all(format!("{line}\n").as_bytes())
        .map_err(fault)?;
    let mut text = String::new();
    stream
        .take(LIMIT)
        .read_to_string(&mut text)
        .map_err(fault)?;
    Ok(text)
}

fn connect(process: &Process) -> Result<UnixStream> {
    let start = format!("{}-", process.inner_number());
    let is_socket = |name: &String| name.starts_with(&start) && name.ends_with(".sock");
    // Held while paths below them are in use.
    let folders = folders(process);
    let peer = Peer::of(process);
    let sockets = folders.iter().flat_map(|folder| {
        let names = folder.names().unwrap_or_default().into_iter();
        names
            .filter(is_socket)
            .map(|name| (folder, name))
            .collect::<Vec<_>>()
    });
    let mut full = None;
    for (folder, name) in sockets {
        match peer.connect(folder, &name) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => full = Some(error),
            // Left over, or another's.
            Err(_) => {}
        }
    }
    Err(full.map_or_else(
        || missing(process),
        |full| anyhow!("{}: the agent's socket: {full}", process.named()),
    ))
}

/// Folders that may have it, as the process sees them, or as this program does where it may not look there. The user's
/// number may be another in the JVM's namespace, so all that are called so; but for other users', who may have put there
/// whatever they like.
fn folders(process: &Process) -> Vec<Folder> {
    let roots = [process.root().ok(), Root::of(Path::new("/proc/self")).ok()];
    let all = roots.into_iter().flatten();
    all.flat_map(|root| folders_of(process.user(), &root, Path::new("/tmp")))
        .collect()
}

fn folders_of(user: u32, root: &Root, parent: &Path) -> Vec<Folder> {
    let is_one = |name: &String| {
        let user = name.strip_prefix("vtprof-");
        user.is_some_and(|user| !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let names = root.folder(parent).and_then(|folder| folder.names());
    let names = names.unwrap_or_default().into_iter().filter(is_one);
    names
        .filter_map(|name| root.folder(&parent.join(name)).ok())
        .filter(|folder| folder.owner().is_ok_and(|owner| owner == user))
        .collect()
}

/// Why there is none.
fn missing(process: &Process) -> anyhow::Error {
    let name = process.named();
    let mapped = match process.mapped() {
        Ok(mapped) => mapped,
        Err(error) => return error,
    };
    let number = process.number();
    if mapped.iter().any(|path| is_library(path)) {
        anyhow!(
            "the vtprof in {name} has no socket: it was loaded with ctl=off, is an older one, profiles nothing or has ended; vtprof attach {number} --control status asks it through the JVM"
        )
    } else {
        anyhow!("there is no vtprof in {name}: vtprof attach {number} loads it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;

    #[test]
    fn a_folder_is_looked_into_by_its_owner_whatever_number_is_in_its_name() {
        let kept = tempfile::tempdir().expect("a folder");
        for name in ["vtprof-1", "vtprof-1000", "vtprof-", "vtprof-1x", "other"] {
            std::fs::create_dir(kept.path().join(name)).expect("a folder");
        }
        let root = Root::of(Path::new("/proc/self")).expect("a root");
        let user = geteuid().as_raw();
        let count = |user| folders_of(user, &root, kept.path()).len();
        assert_eq!((count(user), count(user + 1)), (2, 0));
    }
}
