//! Requests in files of a folder of their own, which only their owner may read.
//!
//! ```text
//! DIR/<mark of service and target>/<process>/lock            held while that process lives
//!                                           /<number>.req    one request, whole
//! ```
//!
//! Files appear under their name when they are whole. The next process of the service takes up what those before it left:
//! it has their lock, which the kernel opens when a process ends, however it ends.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::record;
use crate::books::Size;
use crate::request::Request;

const LOCK: &str = "lock";
const ENDING: &str = "req";
const TEMPORARY: &str = "tmp";
/// Largest file that is read, bytes: none that was written is larger.
const LARGEST: u64 = 256 << 20;

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
        make(root)?;
        make(&all)?;
        make(&folder)?;
        let lock = owned(&folder.join(LOCK))?;
        lock.try_lock()?;
        let mine = lock.metadata()?.uid();
        for path in [&all, &folder] {
            let found = fs::symlink_metadata(path)?;
            if !found.is_dir() || found.uid() != mine || found.mode() & 0o077 != 0 {
                return Err(io::Error::other(format!(
                    "{} is not this user's alone: name another folder",
                    path.display()
                )));
            }
        }
        let mut disk = Self {
            folder,
            _lock: lock,
            next: 0,
        };
        let mut left = Left::default();
        let mut others: Vec<_> = fs::read_dir(&all)?.flatten().map(|it| it.path()).collect();
        others.sort_by_key(|path| modified(path));
        others.retain(|path| *path != disk.folder);
        for other in &others {
            disk.take_up(other, &mut left);
        }
        Ok((disk, left))
    }

    /// Takes over another process's files if it has ended. What does not work is left for the next.
    fn take_up(&mut self, other: &Path, left: &mut Left) {
        // None where it is being removed by another who does the same.
        let Ok(lock) = File::open(other.join(LOCK)) else {
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
        let written = owned(&temporary)
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
        if error.kind() == io::ErrorKind::NotFound {
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
    let file = OpenOptions::new().read(true).open(path)?;
    let length = file.metadata()?.len();
    if length > LARGEST {
        return Err(Unread::Damaged);
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST), &mut bytes)?;
    let request = record::decode(&bytes)?;
    Ok((request, bytes.len() as u64))
}

/// A file that only its owner may read.
fn owned(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// A folder that only its owner may look into; one that is there stays as it is.
fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
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
mod tests {
    use super::*;

    fn request(n: u8) -> Request {
        Request {
            path: "/p".to_owned(),
            content_type: "",
            gzip: false,
            body: vec![n; 10],
            samples: u64::from(n),
        }
    }

    fn samples(left: &Left) -> Vec<u64> {
        left.whole.iter().map(|found| found.size.samples).collect()
    }

    #[test]
    fn files_are_the_owners_alone_and_are_taken_up_once_their_process_has_ended() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().join("spool");
        let (mut first, left) = Disk::open(&root, 7, "1").unwrap();
        assert_eq!(samples(&left), [0; 0]);
        let paths = [1, 2, 3].map(|n| first.write(&request(n)).unwrap().0);
        assert_eq!(rights(&paths[0]), Some(0o600));
        assert_eq!(rights(paths[0].parent().unwrap()), Some(0o700));
        // Another target, and the same one while the first lives.
        assert_eq!(samples(&Disk::open(&root, 8, "2").unwrap().1), [0; 0]);
        let (second, left) = Disk::open(&root, 7, "2").unwrap();
        assert_eq!(samples(&left), [0; 0]);
        drop((first, second));
        let (_third, left) = Disk::open(&root, 7, "3").unwrap();
        assert_eq!(samples(&left), [1, 2, 3]);
        assert_eq!(read(&left.whole[2].path).unwrap().0, request(3));
        let folders = fs::read_dir(root.join(format!("{:016x}", 7)))
            .unwrap()
            .count();
        assert_eq!(folders, 1, "those of the ended are gone");
    }

    #[test]
    fn a_file_that_is_not_whole_is_counted_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
        let paths = [1, 2, 3].map(|n| disk.write(&request(n)).unwrap().0);
        let bytes = fs::read(&paths[1]).unwrap();
        fs::write(&paths[1], &bytes[..bytes.len() - 1]).unwrap();
        fs::write(paths[2].with_extension(TEMPORARY), b"half").unwrap();
        drop(disk);
        let (_disk, left) = Disk::open(root.path(), 7, "2").unwrap();
        assert_eq!(samples(&left), [1, 3]);
        assert_eq!(left.damaged, 2);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn a_file_that_cannot_be_read_now_stays_with_its_lock_for_another_time() {
        let root = tempfile::tempdir().unwrap();
        let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
        let paths = [1, 2].map(|n| disk.write(&request(n)).unwrap().0);
        drop(disk);
        // A folder of that name opens and cannot be read, as a file on a disk that fails, and for root too.
        fs::rename(&paths[0], root.path().join("well")).unwrap();
        fs::create_dir(&paths[0]).unwrap();
        assert!(matches!(read(&paths[0]), Err(Unread::Now(_))));
        let (second, left) = Disk::open(root.path(), 7, "2").unwrap();
        assert_eq!((samples(&left), left.damaged), (vec![2], 0));
        drop(second);
        fs::remove_dir(&paths[0]).unwrap();
        fs::rename(root.path().join("well"), &paths[0]).unwrap();
        let (_third, left) = Disk::open(root.path(), 7, "3").unwrap();
        let mut all = samples(&left);
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    }

    #[test]
    fn a_folder_that_others_may_look_into_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(format!("{:016x}", 7));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let error = Disk::open(root.path(), 7, "1").unwrap_err().to_string();
        assert!(error.contains("alone"), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
        fs::remove_dir_all(root.path()).unwrap();
        assert!(disk.write(&request(1)).is_err());
        assert!(!root.path().exists());
    }
}
