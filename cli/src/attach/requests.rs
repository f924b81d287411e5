//! Requests to a JVM, as HotSpot's attach listener takes them: over a socket in its `/tmp`, which it opens once it is asked to.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::geteuid;

use super::peer::Peer;
use super::process::Process;
use super::root::Folder;

/// How long the JVM may take to listen.
const LISTENING: Duration = Duration::from_secs(20);
/// How long it may take to answer: a load starts the agent, a stop writes its files.
const ANSWER: Duration = Duration::from_secs(330);
/// Longest argument that a JVM takes in this version of the protocol, bytes.
const LONGEST: usize = 1024;
/// How often a request without an answer is sent again, and after what time.
const RETRIES: u32 = 3;
const RETRY: Duration = Duration::from_millis(200);
/// Arguments of a request, always.
const ARGUMENTS: usize = 3;
/// Most of an answer that is read, bytes. One with all properties has some KiB.
const ANSWER_LIMIT: u64 = 4 << 20;

/// What a JVM says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 0 where it took the request.
    pub code: i32,
    pub text: String,
}

/// A JVM that listens.
#[derive(Debug)]
pub struct Listener {
    folder: Folder,
    /// The socket's in it.
    socket: String,
    name: String,
    peer: Peer,
}

/// Where JVMs have their sockets: always there, whatever `java.io.tmpdir` says.
fn temporary(process: &Process) -> Result<Folder> {
    let path = Path::new("/tmp");
    let folder = process.root()?.folder(path);
    folder.with_context(|| format!("{}, as {} sees it", path.display(), process.named()))
}

impl Listener {
    /// Asks the JVM to listen, where it does not yet.
    ///
    /// # Errors
    /// It does not.
    pub fn of(process: &Process) -> Result<Self> {
        let listener = Listener {
            folder: temporary(process)?,
            socket: format!(".java_pid{}", process.inner_number()),
            name: process.named(),
            peer: Peer::of(process),
        };
        if !listener.listens() {
            let trigger = Trigger::set(&listener.folder, process)?;
            let waited = listener.wait(process);
            trigger.remove();
            waited?;
        }
        Ok(listener)
    }

    fn connect(&self) -> io::Result<UnixStream> {
        self.peer.connect(&self.folder, &self.socket)
    }

    fn listens(&self) -> bool {
        // One that is left over from a process of the same number takes no connection.
        self.connect().is_ok()
    }

    fn wait(&self, process: &Process) -> Result<()> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(10);
        for deadline in [LISTENING / 2, LISTENING] {
            process.quit_signal()?;
            while begun.elapsed() < deadline {
                if self.listens() {
                    return Ok(());
                }
                if !process.is_alive() {
                    bail!("{} has ended", self.name);
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(200));
            }
        }
        // It cannot put its own in the place of another's.
        if let Err(error) = self.connect()
            && error.kind() == ErrorKind::Other
        {
            bail!("{} does not listen: {error}", self.name);
        }
        bail!(
            "{} does not listen, {} s after it was asked to: is it in a long pause, or was -XX:+DisableAttachMechanism in a file of options?",
            self.name,
            LISTENING.as_secs()
        )
    }

    /// Sends one request.
    ///
    /// # Errors
    /// It cannot be sent or is not answered; what the JVM thinks of it is in the answer.
    pub fn ask(&self, command: &str, arguments: &[&str]) -> Result<Answer> {
        let request = encode(command, arguments)?;
        let mut answer = self.exchange(&request)?;
        // A JVM that has just begun to listen may drop the first: nothing was done then.
        for _ in 0..RETRIES {
            if !answer.is_empty() {
                break;
            }
            std::thread::sleep(RETRY);
            answer = self.exchange(&request)?;
        }
        decode(&String::from_utf8_lossy(&answer)).with_context(|| {
            format!(
                "{} gives no answer: it takes requests from its own user and group alone, and from root",
                self.name
            )
        })
    }

    /// The answer to a request; empty where the connection was closed without one.
    fn exchange(&self, request: &[u8]) -> Result<Vec<u8>> {
        let fault = |error| anyhow!("{}: the attach socket: {error}", self.name);
        let mut stream = self.connect().map_err(fault)?;
        stream.set_read_timeout(Some(ANSWER)).map_err(fault)?;
        stream.write_all(request).map_err(fault)?;
        let mut answer = Vec::new();
        match stream.take(ANSWER_LIMIT).read_to_end(&mut answer) {
            Ok(_) => {}
            // Whoever may not ask is cut off.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => answer.clear(),
            Err(error) => return Err(fault(error)),
        }
        Ok(answer)
    }
}

fn encode(command: &str, arguments: &[&str]) -> Result<Vec<u8>> {
    let mut request = b"1\0".to_vec();
    let arguments = arguments.iter().copied().chain(std::iter::repeat(""));
    for word in std::iter::once(command).chain(arguments.take(ARGUMENTS)) {
        if word.len() > LONGEST {
            bail!(
                "{} bytes are more than the {LONGEST} that a JVM takes in a request: put options into a file, config=FILE",
                word.len()
            );
        }
        if word.contains('\0') {
            bail!("a NUL character in {word:?}: leave it out");
        }
        request.extend_from_slice(word.as_bytes());
        request.push(0);
    }
    Ok(request)
}

fn decode(text: &str) -> Result<Answer> {
    let (code, text) = text.split_once('\n').unwrap_or((text, ""));
    Ok(Answer {
        code: code.trim().parse()?,
        text: text.trim_end().to_owned(),
    })
}

/// The file by which a JVM knows that a SIGQUIT asks it to listen and not for its threads.
struct Trigger(PathBuf);

impl Trigger {
    fn set(folder: &Folder, process: &Process) -> Result<Self> {
        let name = format!(".attach_pid{}", process.inner_number());
        let mut faults = Vec::new();
        // It looks into both.
        let working = process.folder().join("cwd").join(&name);
        for (path, shown) in [
            (folder.entry(&name), folder.shown(&name)),
            (working.clone(), working),
        ] {
            let made = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o660)
                .open(&path);
            match made {
                Ok(_) => return Ok(Trigger(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // Left over, or of somebody who asks right now; believed if it is its user's or root's.
                    let owner = fs::symlink_metadata(&path).map(|file| file.uid());
                    if owner
                        .is_ok_and(|owner| owner == process.user() || owner == geteuid().as_raw())
                    {
                        return Ok(Trigger(path));
                    }
                    faults.push(format!("{}: somebody else's", shown.display()));
                }
                Err(error) => faults.push(format!("{}: {error}", shown.display())),
            }
        }
        bail!(
            "{} cannot be asked to listen, no file can be made that tells it to: {}",
            process.named(),
            faults.join(", ")
        )
    }

    fn remove(self) {
        // The JVM may have done so, or its folder is gone with it.
        let _gone = fs::remove_file(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_version_a_command_and_three_arguments() {
        assert_eq!(
            encode("load", &["/x/libvtprof.so", "true", "cpu=1ms"]).expect("a request"),
            b"1\0load\0/x/libvtprof.so\0true\0cpu=1ms\0"
        );
        assert_eq!(
            encode("properties", &[]).expect("one"),
            b"1\0properties\0\0\0\0"
        );
        let long = "x".repeat(LONGEST + 1);
        let refused = encode("load", &["a", "true", &long]).expect_err("too long");
        assert!(refused.to_string().contains("config=FILE"), "{refused}");
        assert!(encode("load", &["a\0b"]).is_err());
    }

    #[test]
    fn an_answer_is_a_code_and_a_text() {
        let answer = |code, text: &str| Answer {
            code,
            text: text.to_owned(),
        };
        assert_eq!(
            decode("0\nreturn code: 0\n").ok(),
            Some(answer(0, "return code: 0"))
        );
        assert_eq!(decode("100\nno\nyes\n").ok(), Some(answer(100, "no\nyes")));
        assert_eq!(decode("0\n").ok(), Some(answer(0, "")));
        assert!(decode("").is_err());
    }
}
