//! The output directory. A file appears under its name when it is whole: a reader, or a kill in the middle,
//! never meets half of one. Nothing is synced: that may stall the drain for seconds, and the application's own
//! writes to that disk with it. The price is that a crash of the machine may leave the newest files empty or cut.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// An output directory that could be written to when it was opened.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    is_off: bool,
}

impl Directory {
    /// Makes the directory where needed and writes a probe into it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        let probe = path.join(format!(".vtprof-probe-{}", std::process::id()));
        File::create(&probe)?;
        fs::remove_file(&probe)?;
        Ok(Self {
            path,
            is_off: false,
        })
    }

    /// None: nothing is written.
    #[must_use]
    pub fn off() -> Self {
        Self {
            path: PathBuf::from("no file (out=off)"),
            is_off: true,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Absolute path, or what a message to people says in its place where there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where files go, in an answer: the absolute path, or `off` where there are none.
    #[must_use]
    pub fn word(&self) -> String {
        if self.is_off {
            "off".to_owned()
        } else {
            self.path.display().to_string()
        }
    }

    /// Writes a whole file under a temporary name ([`temporary`]) and renames it.
    ///
    /// # Errors
    /// Those of the file system; the temporary file is removed then.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(File) -> io::Result<File>,
    ) -> io::Result<PathBuf> {
        // A directory removed under a running service is made again.
        fs::create_dir_all(&self.path)?;
        let temporary = self.path.join(temporary(name));
        let path = self.path.join(name);
        let written = File::create(&temporary)
            .and_then(content)
            .map(drop)
            .and_then(|()| fs::rename(&temporary, &path));
        if let Err(error) = written {
            // The first error is the one to tell.
            let _removed = fs::remove_file(&temporary);
            return Err(error);
        }
        Ok(path)
    }
}

/// What a file is called until it is whole.
#[must_use]
pub fn temporary(name: &str) -> String {
    format!(".{name}.tmp")
}

/// The name that a file would have had, from its temporary one.
#[must_use]
pub fn unfinished(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::{gzip, pprof};

    fn fresh(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vtprof-dir-{}-{name}", std::process::id()));
        let _absent = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_file_is_there_whole_and_nothing_temporary_stays() {
        let directory = Directory::open(&fresh("whole")).unwrap();
        let profile = pprof::Profile {
            string_table: vec![b"".to_vec()],
            ..Default::default()
        };
        let path = directory
            .write("a.pb.gz", |file| gzip::write_gz(&profile, file))
            .unwrap();
        let read: pprof::Profile = gzip::read(File::open(path).unwrap(), 1 << 20).unwrap();
        assert_eq!(read, profile);
        assert_eq!(unfinished(&temporary("a.pb.gz")), Some("a.pb.gz"));
        let names: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.pb.gz"]);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let directory = Directory::open(&fresh("failed")).unwrap();
        fs::create_dir(directory.path().join("a.pb.gz")).unwrap();
        assert!(directory.write("a.pb.gz", Ok).is_err());
        let full = |_| Err(io::Error::other("disk full"));
        assert!(directory.write("b.pb.gz", full).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_a_directory_an_answer_says_off_and_no_path() {
        assert_eq!(Directory::off().word(), "off");
        let directory = Directory::open(&fresh("word")).unwrap();
        assert_eq!(Path::new(&directory.word()), directory.path());
    }

    #[test]
    fn a_place_that_is_no_directory_is_refused_at_once() {
        let file = fresh("file");
        File::create(&file).unwrap();
        assert!(Directory::open(&file).is_err());
        assert!(Directory::open(&file.join("below")).is_err());
    }
}
