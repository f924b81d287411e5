//! The socket of `vtprof ctl`: one client after the other, each with one line, within bounds of time and length.
//!
//! Who may ask is told by the kernel (`SO_PEERCRED`): the process' own user, and root. A client that sends nothing, or
//! drips, holds up others for [`PATIENCE`], and nobody else: no application thread waits here.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::folder::{self, Folder};
use super::request::{self, LONGEST};

/// How long a client may take to send its line, and again to take the answer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A socket that is listened to. Its file goes with it.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    folder: Folder,
    path: PathBuf,
    /// Of its file, which is removed only if it is that.
    identity: Identity,
}

/// Device, number and time of change of a file: a number alone is another file's once this one is removed.
type Identity = (u64, u64, i64, i64);

fn identity(path: &Path) -> io::Result<Identity> {
    let status = fs::symlink_metadata(path)?;
    Ok((
        status.dev(),
        status.ino(),
        status.ctime(),
        status.ctime_nsec(),
    ))
}

/// What became of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    Answered,
    /// Another user's, no request, or one that did not come in time.
    Refused,
    /// There was none after all.
    Nobody,
}

impl Socket {
    /// Below `parent`, under the name of this process: its number as it sees itself, and when it began, so that no other
    /// process has that name, in another container either that shares the folder.
    ///
    /// # Errors
    /// Those of the file system, and what is wrong with the folder.
    pub fn open(parent: &Path) -> io::Result<Self> {
        let folder = Folder::open(parent)?;
        folder.sweep();
        let path = folder.path_of(&name()?);
        // Of an agent that was here before, in this very process.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        // The folder keeps others out already.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        let identity = identity(&path)?;
        if !folder.is_there() {
            return Err(io::Error::other(
                "the folder of sockets was exchanged just now",
            ));
        }
        Ok(Self {
            listener,
            folder,
            path,
            identity,
        })
    }

    /// Whether a client finds it still: whoever cleans `/tmp` up may have removed it.
    pub fn is_there(&self) -> bool {
        self.folder.is_there() && self.is_its_file()
    }

    fn is_its_file(&self) -> bool {
        identity(&self.path).is_ok_and(|now| now == self.identity)
    }

    /// To wait for a client by.
    pub fn descriptor(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// Serves a client, if one waits: `answer` gets its line.
    pub fn serve(&self, answer: impl FnOnce(&str) -> String) -> io::Result<Served> {
        let mut stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Served::Nobody),
            Err(error) => return Err(error),
        };
        let line = may_ask(&stream, folder::user()).and_then(|()| line(&mut stream, PATIENCE));
        let (text, served) = match line {
            Ok(line) => (answer(&line), Served::Answered),
            Err(reason) => (request::failure(&reason), Served::Refused),
        };
        // Whoever asked may have gone.
        let _taken = stream
            .set_write_timeout(Some(PATIENCE))
            .and_then(|()| stream.write_all(text.as_bytes()));
        Ok(served)
    }
}

impl Socket {
    /// Removes the file, and wakes up who waits for a client.
    pub fn close(&self) {
        if self.is_its_file() {
            // Where it is gone, it is gone.
            let _gone = fs::remove_file(&self.path);
        }
        // SAFETY: the descriptor is the listener's, which lives; nothing else is passed.
        unsafe { libc::shutdown(self.descriptor(), libc::SHUT_RDWR) };
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}

/// Of this process.
fn name() -> io::Result<String> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may contain anything; the time is the 22nd field (proc_pid_stat(5)).
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let started = fields.split_ascii_whitespace().nth(19).unwrap_or("0");
    Ok(format!("{}-{started}.sock", std::process::id()))
}

/// Whether the client is of this user, or root.
fn may_ask(stream: &UnixStream, user: u32) -> Result<(), String> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is the stream's; `peer` and `length` are places for the answer, of the size that is said.
    let code = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if code == 0 && (peer.uid == user || peer.uid == 0) {
        Ok(())
    } else {
        Err(format!(
            "this JVM is of user {user}, and takes requests from that user and from root alone"
        ))
    }
}

/// The client's line, without its end.
fn line(stream: &mut UnixStream, patience: Duration) -> Result<String, String> {
    let until = Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut part = [0; 256];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(format!("no request came within {patience:?}"));
        }
        let read = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(left)))
            .and_then(|()| stream.read(&mut part));
        let count = match read {
            Ok(count) => count,
            // The time is over: told above.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(error) => return Err(format!("the request cannot be read: {error}")),
        };
        let new = part.get(..count).unwrap_or_default();
        bytes.extend_from_slice(new);
        if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            bytes.truncate(end);
            return String::from_utf8(bytes).map_err(|_| "the request is not UTF-8".to_owned());
        }
        if bytes.len() > LONGEST {
            return Err(format!(
                "a request has {LONGEST} bytes at the most, in one line"
            ));
        }
        if count == 0 {
            return Err("a request is a line, and ends as one".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Shutdown;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vtprof-sock-{}-{name}", std::process::id()));
        let _absent = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    fn answered(bytes: &[u8]) -> Result<String, String> {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        client.write_all(bytes).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        line(&mut server, PATIENCE)
    }

    #[test]
    fn a_client_is_answered_by_its_line_and_the_file_goes_with_the_socket() {
        let parent = fresh("line");
        let socket = Socket::open(&parent).unwrap();
        assert_eq!(socket.serve(|_| unreachable!()).unwrap(), Served::Nobody);
        let path = socket.path.clone();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"set cpu=off\nmore").unwrap();
        let served = socket.serve(|line| format!("{line}!\n"));
        assert_eq!(served.unwrap(), Served::Answered);
        let mut text = String::new();
        // It may end in a reset: what it sent beyond its line was not read.
        let _all = client.read_to_string(&mut text);
        assert_eq!(text, "set cpu=off!\n");
        assert!(socket.is_there());
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_whose_file_was_removed_knows_it_and_removes_no_other() {
        let parent = fresh("removed");
        let socket = Socket::open(&parent).unwrap();
        let path = socket.path.clone();
        fs::remove_file(&path).unwrap();
        assert!(!socket.is_there());
        let second = Socket::open(&parent).unwrap();
        drop(socket);
        assert!(path.exists() && second.is_there());
    }

    #[test]
    fn what_is_no_line_is_told_so() {
        let long = vec![b'x'; LONGEST + 300];
        for (bytes, part) in [
            (&b""[..], "a line"),
            (b"stop", "a line"),
            (b"\xff\xfe\n", "UTF-8"),
            (&long, "1024 bytes"),
        ] {
            let text = answered(bytes).unwrap_err();
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(answered(b"status\n").as_deref(), Ok("status"));
    }

    #[test]
    fn a_client_that_drips_is_waited_for_no_longer_than_one_that_is_silent() {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        let dripping = std::thread::spawn(move || {
            while client.write_all(b".").is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let text = line(&mut server, Duration::from_millis(100)).unwrap_err();
        assert!(text.contains("within 100ms"), "{text}");
        drop(server);
        dripping.join().unwrap();
    }

    #[test]
    fn another_users_client_is_refused_and_root_is_not() {
        let (_client, server) = UnixStream::pair().unwrap();
        let me = folder::user();
        assert_eq!(may_ask(&server, me), Ok(()));
        let other = may_ask(&server, me + 1);
        assert_eq!(other.is_ok(), me == 0, "{other:?}");
    }
}
