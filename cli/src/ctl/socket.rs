//! The agent's socket: `/tmp/vtprof-UID/PID-START.sock`, as the JVM sees it.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::attach::library::LIBRARY;
use crate::attach::process::Process;

/// How long the agent may take: it may have another client, and `flush=` may be 5 minutes.
const PATIENCE: Duration = Duration::from_secs(330);
/// Most of an answer that is read, bytes.
const LIMIT: u64 = 4 << 20;

/// The agent's answer to a line.
///
/// # Errors
/// There is no agent, or none that can be asked.
pub fn ask(process: &Process, line: &str) -> Result<String> {
    let own = geteuid();
    if !own.is_root() && own.as_raw() != process.user() {
        bail!(
            "{} belongs to user {}, this is user {}: run as that user, or as root",
            process.named(),
            process.user(),
            own.as_raw()
        );
    }
    let Some(mut stream) = connect(process) else {
        return Err(missing(process));
    };
    let fault = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => anyhow!(
            "{} does not answer within {} s: is it stopped, or is its disk?",
            process.named(),
            PATIENCE.as_secs()
        ),
        _ => anyhow!("{}: the agent's socket: {error}", process.named()),
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(fault)?;
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

/// Connects to the process itself: a file of that name may be another's.
fn connect(process: &Process) -> Option<UnixStream> {
    let start = format!("{}-", process.inner_number());
    let folders = folders(process);
    let sockets = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    sockets
        .flat_map(|entries| entries.flatten())
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&start) && name.ends_with(".sock")
        })
        .find_map(|entry| {
            let stream = UnixStream::connect(entry.path()).ok()?;
            let peer = socket_peercred(&stream).ok()?.pid.as_raw_nonzero().get();
            (peer.unsigned_abs() == process.number()).then_some(stream)
        })
}

/// Folders that may have it. The user's number may be another in the JVM's namespace, so all that are called so.
fn folders(process: &Process) -> Vec<PathBuf> {
    let parents = [process.seen(Path::new("/tmp")), PathBuf::from("/tmp")];
    let entries = parents
        .iter()
        .filter_map(|parent| fs::read_dir(parent).ok());
    let is_one = |name: &str| {
        let user = name.strip_prefix("vtprof-");
        user.is_some_and(|user| !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_digit()))
    };
    entries
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_str().is_some_and(is_one))
        .map(|entry| entry.path())
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
    let is_agent = |path: &String| {
        let path = path.trim_end_matches(" (deleted)");
        Path::new(path)
            .file_name()
            .is_some_and(|name| name == LIBRARY)
    };
    if mapped.iter().any(is_agent) {
        anyhow!(
            "the vtprof in {name} has no socket: it was loaded with ctl=off, is an older one, profiles nothing or has ended; vtprof attach {number} --control status asks it through the JVM"
        )
    } else {
        anyhow!("there is no vtprof in {name}: vtprof attach {number} loads it")
    }
}
