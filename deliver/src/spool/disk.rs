//! Requests in files of a folder of their own, which only their owner may read.
//!
//! ```text
//! DIR/<mark of service and target>/<process>/lock            held while that process lives
//!                                           /<number>.req    one request, whole
//! ```
//!
//! Files appear under their name when they are whole. The next process of the service takes up what those before it left:
//! it has their lock, which the kernel opens when a process ends, however it ends. Until a process has its lock its folder's
//! name begins with a dot. No link is followed in there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::record;
use crate::books::Size;
use crate::request::Request;

const LOCK: &str = "lock";
const ENDING: &str = "req";
const TEMPORARY: &str = "tmp";
/// Before the name of a folder that has no lock yet.
const HIDDEN: &str = ".";
/// Largest file that is read, bytes: none that was written is larger.
const LARGEST: u64 = 256 << 20;

/// What nobody has taken up for so long is removed: its service or target may have another name by now.
const OLDEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// One target's files.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    /// Held until the process ends, or this is dropped.
    _lock: File,
    next: u64,
}

/// A file that an earlier process left.
#[derive(Debug)]
pub struct Found {
    /// Where it is now.
    pub path: PathBuf,
    /// Its length.
    pub length: u64,
    /// What is in it.
    pub size: Size,
}

/// What earlier processes left.
#[derive(Debug, Default)]
pub struct Left {
    /// Whole, oldest first.
    pub whole: Vec<Found>,
    /// Files that were not, and are gone.
    pub damaged: u64,
    /// Files of other services or targets that nobody has taken up for a week, and are gone.
    pub old: u64,
}

impl Disk {
    /// Opens the folder of a target (`mark`) for this process (`name`, which no other has), and takes up what those left
    /// that have ended.
    ///
    /// # Errors
    /// Those of the file system; the folder belongs to somebody else, or others may look into it.
    pub fn open(root: &Path, mark: u64, name: &str) -> io::Result<(Self, Left)> {
        let all = root.join(format!("{mark:016x}"));
        let folder = all.join(name);
        // Nobody takes it up before it is locked.
        let unlocked = all.join(format!("{HIDDEN}{name}"));
        make(root)?;
        make(&all)?;
        make(&unlocked)?;
        let lock = lock(&unlocked.join(LOCK))?;
        lock.try_lock()?;
        let mine = lock.metadata()?.uid();
        let checked = check_root(root, mine)
            .and_then(|()| check(&all, mine))
            .and_then(|()| check(&unlocked, mine))
            .and_then(|()| fs::rename(&unlocked, &folder));
        if let Err(error) = checked {
            // The first error is the one to tell.
            let _gone =
                fs::remove_file(unlocked.join(LOCK)).and_then(|()| fs::remove_dir(&unlocked));
            return Err(error);
        }
        let mut disk = Self {
            folder,
            _lock: lock,
            next: 0,
        };
        let mut left = Left::default();
        let mut others: Vec<_> = fs::read_dir(&all)?.flatten().map(|it| it.path()).collect();
        others.sort_by_key(|path| modified(path));
        others.retain(|path| *path != disk.folder && !is_hidden(path));
        for other in &others {
            disk.take_up(other, &mut left);
        }
        for all in folders(root, mine).iter().filter(|path| is_mark(path)) {
            for old in folders(all, mine) {
                left.old += remove_old(&old);
            }
        }
        Ok((disk, left))
    }

    /// Takes over another process's files if it has ended. What does not work is left for the next.
    fn take_up(&mut self, other: &Path, left: &mut Left) {
        // None where it is being removed by another who does the same.
        let Ok(lock) = lock_of(other) else {
            return;
        };
        if lock.try_lock().is_err() {
            return;
        }
        let Ok(entries) = fs::read_dir(other) else {
            return;
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut is_empty = true;
        for path in paths {
            let ending = path.extension().and_then(|it| it.to_str());
            if ending == Some(TEMPORARY) {
                left.damaged += u64::from(fs::remove_file(&path).is_ok());
            }
            if ending != Some(ENDING) {
                continue;
            }
            let new = self.path();
            let (request, length) = match read(&path) {
                Ok(found) => found,
                Err(Unread::Damaged) => {
                    left.damaged += u64::from(fs::remove_file(&path).is_ok());
                    continue;
                }
                Err(Unread::Now(_)) => {
                    is_empty = false;
                    continue;
                }
            };
            if fs::rename(&path, &new).is_err() {
                is_empty = false;
            } else {
                left.whole.push(Found {
                    path: new,
                    length,
                    size: Size::of(&request),
                });
            }
        }
        if !is_empty {
            // With its lock, or nobody would take it up.
            return;
        }
        // The folder goes with its lock; if somebody has put something else there, it stays, and that is no fault.
        let _gone = fs::remove_file(other.join(LOCK)).and_then(|()| fs::remove_dir(other));
    }

    /// The next file's path.
    fn path(&mut self) -> PathBuf {
        self.next += 1;
        self.folder.join(format!("{:020}.{ENDING}", self.next))
    }

    /// Writes a request; its path and length.
    ///
    /// # Errors
    /// Those of the file system; nothing stays behind then.
    pub fn write(&mut self, request: &Request) -> io::Result<(PathBuf, u64)> {
        let bytes = record::encode(request)
            .ok_or_else(|| io::Error::other("a type of content that no file has"))?;
        let path = self.path();
        let temporary = path.with_extension(TEMPORARY);
        let written = new(&temporary)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&temporary, &path));
        if let Err(error) = written {
            // The first error is the one to tell.
            let _removed = fs::remove_file(&temporary);
            return Err(error);
        }
        Ok((path, bytes.len() as u64))
    }
}

/// Why there is no request of a file.
#[derive(Debug)]
pub enum Unread {
    /// It is not whole, or is not there any more: it never will be read.
    Damaged,
    /// It could not be read now (no more descriptors, no memory, no right, a disk's error): the file may be well.
    Now(io::Error),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        let is_link = error.raw_os_error() == Some(libc::ELOOP);
        if is_link || error.kind() == io::ErrorKind::NotFound {
            Self::Damaged
        } else {
            Self::Now(error)
        }
    }
}

impl From<record::Damaged> for Unread {
    fn from(_: record::Damaged) -> Self {
        Self::Damaged
    }
}

/// The request in a file, and the file's length.
///
/// # Errors
/// It cannot be read, or is not whole.
pub fn read(path: &Path) -> Result<(Request, u64), Unread> {
    let file = opened(path)?;
    let found = file.metadata()?;
    let is_strange = !found.is_file() && !found.is_dir();
    if is_strange || found.len() > LARGEST {
        return Err(Unread::Damaged);
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST), &mut bytes)?;
    let request = record::decode(&bytes)?;
    Ok((request, bytes.len() as u64))
}

/// A new file that only its owner may read.
fn new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// The file of a lock: no link is followed, and what is in it stays.
fn lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

/// The lock of another process's folder. To write, though nothing is written: over NFS a lock that keeps others out can be
/// had in no other way (flock(2)).
fn lock_of(folder: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(folder.join(LOCK))
}

/// A file to read: no link is followed, and no pipe waited for.
fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(HIDDEN.as_bytes()))
}

/// Whether it is called as a target's folder is: others in the same place are not the spool's.
fn is_mark(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether nobody but this user and root can take a folder in it away or put another in its place.
fn check_root(root: &Path, mine: u32) -> io::Result<()> {
    let found = fs::metadata(root)?;
    let is_sticky = found.mode() & libc::S_ISVTX != 0;
    let is_trusted = found.uid() == mine || found.uid() == 0;
    if is_trusted && (found.mode() & 0o022 == 0 || is_sticky) {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "others can change {}: name a folder in it, which is made then",
        root.display()
    )))
}

fn check(path: &Path, mine: u32) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_dir() && found.uid() == mine && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is not this user's alone: name another folder",
        path.display()
    )))
}

/// A folder that only its owner may look into; one that is there stays as it is.
fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// This user's folders in one. No link is followed.
fn folders(path: &Path, mine: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| check(path, mine).is_ok()).collect()
}

/// Removes a process's folder if it has ended and nothing in it is newer than [`OLDEST`]; how many requests were in it.
fn remove_old(folder: &Path) -> u64 {
    let Ok(lock) = lock_of(folder) else {
        return 0;
    };
    if lock.try_lock().is_err() {
        return 0;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    let newest = paths.iter().filter_map(|path| modified(path)).max();
    let age = newest.and_then(|time| SystemTime::now().duration_since(time).ok());
    if age.is_none_or(|age| age < OLDEST) {
        return 0;
    }
    let mut requests = 0;
    for path in paths {
        let ending = path.extension().and_then(|it| it.to_str());
        if matches!(ending, Some(ENDING | TEMPORARY)) && fs::remove_file(&path).is_ok() {
            requests += u64::from(ending == Some(ENDING));
        }
    }
    // If somebody has put something else there, it stays, and that is no fault.
    let _gone = fs::remove_file(folder.join(LOCK)).and_then(|()| fs::remove_dir(folder));
    requests
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|it| it.modified()).ok()
}

/// Rights of a file or folder, for tests and for what is told.
#[must_use]
pub fn rights(path: &Path) -> Option<u32> {
    fs::metadata(path)
        .ok()
        .map(|it| it.permissions().mode() & 0o777)
}

#[cfg(test)]
mod tests;
