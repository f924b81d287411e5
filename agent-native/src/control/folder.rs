//! Where the sockets of a user's JVMs are: `/tmp/vtprof-UID`, which is that user's alone.
//!
//! `/tmp` is where HotSpot has its own, so that a client finds it without a word from the JVM, through `/proc/PID/root` in
//! a container as well. Others write there, too: so the folder must be this user's, with rights for nobody else, and no
//! symbolic link. What is in it then is no other user's work.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A socket without a listener that is older than this is left over: between bind and listen lie some µs.
const LEFT_OVER: Duration = Duration::from_secs(60);
/// Entries that are looked at for what is left over.
const MOST: usize = 1_000;

/// See the module.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Kept, to see that the path still leads here.
    handle: File,
}

/// Effective user of this process.
pub fn user() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

impl Folder {
    /// Below `parent`, made where it is not there.
    ///
    /// # Errors
    /// Those of the file system; or what is there is not this user's alone.
    pub fn open(parent: &Path) -> io::Result<Self> {
        let user = user();
        let path = parent.join(format!("vtprof-{user}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(&path)?;
        let status = handle.metadata()?;
        if status.uid() != user || status.mode() & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "{} is not this user's alone: remove it, or take rights from others",
                path.display()
            )));
        }
        Ok(Self { path, handle })
    }

    /// A name's path.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether the path leads to this folder still.
    pub fn is_there(&self) -> bool {
        let now = fs::symlink_metadata(&self.path);
        let then = self.handle.metadata();
        matches!((now, then), (Ok(now), Ok(then)) if (now.dev(), now.ino()) == (then.dev(), then.ino()))
    }

    /// Removes sockets that nobody listens to: of processes that were killed.
    pub fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else {
            return;
        };
        for entry in entries.flatten().take(MOST) {
            let path = entry.path();
            let is_old_socket = fs::symlink_metadata(&path).is_ok_and(|status| {
                status.file_type().is_socket()
                    && status.uid() == user()
                    && status
                        .modified()
                        .is_ok_and(|then| then.elapsed().is_ok_and(|age| age > LEFT_OVER))
            });
            if is_old_socket && is_refused(&path) {
                // Another JVM may have been faster.
                let _gone = fs::remove_file(&path);
            }
        }
    }
}

/// Whether nobody listens there. It does not wait: who listens and is busy is there.
fn is_refused(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    // SAFETY: a plain C struct for which zero is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    // The last byte stays zero.
    if bytes.len() >= address.sun_path.len() {
        return false;
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: numbers alone.
    let socket = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if socket < 0 {
        return false;
    }
    // SAFETY: the call has just made it, and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the descriptor is ours, the address is whole and of the size that is said.
    let code = unsafe {
        libc::connect(
            std::os::fd::AsRawFd::as_raw_fd(&socket),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_un>() as libc::socklen_t,
        )
    };
    code != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECONNREFUSED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::time::SystemTime;

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vtprof-ctl-{}-{name}", std::process::id()));
        let _absent = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn the_folder_is_this_users_alone_and_no_other_will_do() {
        let parent = fresh("alone");
        let folder = Folder::open(&parent).unwrap();
        let path = parent.join(format!("vtprof-{}", user()));
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(folder.is_there());
        Folder::open(&parent).expect("a second time");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = Folder::open(&parent).unwrap_err().to_string();
        assert!(refused.contains("this user's alone"), "{refused}");

        let elsewhere = parent.join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!folder.is_there());
        symlink(&elsewhere, &path).unwrap();
        assert!(Folder::open(&parent).is_err(), "a link");
        assert!(!folder.is_there());

        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        assert!(Folder::open(&parent).is_err(), "a file");
    }

    #[test]
    fn what_nobody_listens_to_is_removed_and_nothing_else() {
        let parent = fresh("sweep");
        let folder = Folder::open(&parent).unwrap();
        let (live, young, old, file) = (
            folder.path_of("1-1.sock"),
            folder.path_of("2-2.sock"),
            folder.path_of("3-3.sock"),
            folder.path_of("4-4.sock"),
        );
        let _listener = UnixListener::bind(&live).unwrap();
        for path in [&young, &old] {
            drop(UnixListener::bind(path).unwrap());
        }
        fs::write(&file, "").unwrap();
        for path in [&live, &old, &file] {
            age(path);
        }
        folder.sweep();
        assert!(live.exists() && young.exists() && file.exists() && !old.exists());
    }

    /// As if it were two minutes old. A socket cannot be opened, so by its path.
    fn age(path: &Path) {
        let then = SystemTime::now() - 2 * LEFT_OVER;
        let seconds = then
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let time = libc::timespec {
            tv_sec: seconds.cast_signed(),
            tv_nsec: 0,
        };
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is a C string, the times are two.
        let code = unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), [time; 2].as_ptr(), 0) };
        assert_eq!(code, 0);
    }
}
