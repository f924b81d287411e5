//! A socket of another process's in a folder that others may write to, too.
//!
//! Any user can put a socket into `/tmp`, in any name, and never take a connection: whoever connects and waits, waits for
//! ever. So only one that the process's user owns is connected to, and no connection is waited for without an end.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::process::Process;
use super::root::Folder;

/// How long a process may leave its queue of connections full.
const QUEUE: Duration = Duration::from_secs(5);
/// How often it is looked for room in the queue.
const LOOK: Duration = Duration::from_millis(20);

/// Who is to be at the other end.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Effective.
    user: u32,
    number: u32,
}

impl Peer {
    pub fn of(process: &Process) -> Self {
        Peer {
            user: process.user(),
            number: process.number(),
        }
    }

    /// Connects to the process itself: a socket of that name may be somebody else's, who has come first or has the same
    /// number in another container.
    ///
    /// # Errors
    /// There is none, it takes no connection, or ([`ErrorKind::Other`]) it is another's: the text says whose.
    pub fn connect(self, folder: &Folder, name: &str) -> io::Result<UnixStream> {
        open(folder, name, self, QUEUE)
    }
}

fn open(folder: &Folder, name: &str, peer: Peer, queue: Duration) -> io::Result<UnixStream> {
    let path = folder.entry(name);
    let another = |whose: String| {
        let shown = folder.shown(name);
        io::Error::other(format!(
            "{} is of {whose}, which is another: remove it",
            shown.display()
        ))
    };
    let file = fs::symlink_metadata(&path)?;
    if !file.file_type().is_socket() {
        return Err(io::Error::other(format!(
            "{} is no socket: remove it",
            folder.shown(name).display()
        )));
    }
    if file.uid() != peer.user {
        return Err(another(format!("user {}", file.uid())));
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(&path)?;
    let begun = Instant::now();
    loop {
        match connect(&stream, &address) {
            Ok(()) => break,
            // The queue is full: there is no connection that could be waited for.
            Err(Errno::AGAIN) if begun.elapsed() < queue => std::thread::sleep(LOOK),
            Err(Errno::AGAIN) => {
                let text = format!("it takes no connection within {queue:?}: is it stopped?");
                return Err(io::Error::new(ErrorKind::TimedOut, text));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(false)?;
    // 0 where it is outside this program's namespace of processes.
    let found = getsockopt(&stream, PeerCredentials)?.pid();
    if u32::try_from(found) != Ok(peer.number) {
        return Err(another(format!("process {found}")));
    }
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::root::Root;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    fn made() -> (tempfile::TempDir, Folder, UnixListener) {
        let kept = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(kept.path().join("sock")).expect("a socket");
        listener.set_nonblocking(true).expect("a mode");
        let root = Root::of(Path::new("/proc/self")).expect("a root");
        let folder = root.folder(kept.path()).expect("a folder");
        (kept, folder, listener)
    }

    fn own() -> Peer {
        Peer::of(&Process::find(std::process::id()).expect("this one"))
    }

    #[test]
    fn a_process_is_connected_to_by_its_number() {
        let (_kept, folder, listener) = made();
        assert!(own().connect(&folder, "sock").is_ok());
        assert!(listener.accept().is_ok());
        let number = own().number;
        let other = Peer {
            number: number + 1,
            ..own()
        };
        let error = other.connect(&folder, "sock").expect_err("a number");
        assert_eq!(error.kind(), ErrorKind::Other);
        let error = error.to_string();
        assert!(error.contains(&format!("of process {number},")), "{error}");
    }

    #[test]
    fn another_users_socket_is_not_even_connected_to() {
        let (_kept, folder, listener) = made();
        let user = own().user;
        let other = Peer {
            user: user + 1,
            ..own()
        };
        let error = other.connect(&folder, "sock").expect_err("a user");
        assert_eq!(error.kind(), ErrorKind::Other);
        let error = error.to_string();
        assert!(error.contains(&format!("of user {user},")), "{error}");
        let none = listener.accept().expect_err("no connection");
        assert_eq!(none.kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_socket_that_takes_no_connection_is_not_waited_for_without_an_end() {
        let (_kept, folder, listener) = made();
        rustix::net::listen(&listener, 0).expect("a queue of one");
        let connect = || open(&folder, "sock", own(), Duration::from_millis(50));
        let _first = connect().expect("the one in the queue");
        let error = connect().expect_err("a full queue");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        drop(listener.accept().expect("the first"));
        assert!(connect().is_ok(), "room again");
    }
}
