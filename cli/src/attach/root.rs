//! The files that another process sees, reached without a way out of its root.
//!
//! A path below `/proc/PID/root` is walked by the kernel as any other: a link of the process's, such as `/tmp` to `/etc`, then
//! leads to this program's `/etc`, and that may be root's to write. So nothing there is opened by its path, but below a
//! descriptor of the root, with which links lead where they lead for the process (`openat2(2)`, `RESOLVE_IN_ROOT`).

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

/// Most of a file of options, bytes.
const LONGEST_TEXT: u64 = 1 << 20;
/// How often a file is opened that the kernel cannot be sure of.
const TRIES: u32 = 8;

/// What a process calls `/`.
#[derive(Debug)]
pub struct Root {
    descriptor: OwnedFd,
    /// The path by which a person finds it.
    shown: PathBuf,
}

/// A folder that it sees.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    shown: PathBuf,
}

impl Root {
    /// Of that folder in `/proc`.
    ///
    /// # Errors
    /// It may not be looked into, or the process has ended.
    pub fn of(process: &Path) -> io::Result<Self> {
        Self::at(process.join("root"))
    }

    fn at(shown: PathBuf) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = openat(CWD, &shown, flags, Mode::empty())?;
        Ok(Root { descriptor, shown })
    }

    /// A path of the process's, as a person finds it; not one to open.
    pub fn shown(&self, path: &Path) -> PathBuf {
        self.shown.join(relative(path))
    }

    /// Whether a file is there for it.
    pub fn has_file(&self, path: &Path) -> bool {
        let file = self.open(path, OFlags::PATH);
        file.is_ok_and(|file| File::from(file).metadata().is_ok_and(|file| file.is_file()))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read, is no file, no UTF-8 or longer than any file of options.
    pub fn text(&self, path: &Path) -> io::Result<String> {
        // A pipe would keep this program waiting for whoever has its other end.
        let file = File::from(self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut text = String::new();
        file.take(LONGEST_TEXT + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LONGEST_TEXT {
            return Err(io::Error::other("it is longer than 1 MiB"));
        }
        Ok(text)
    }

    /// A folder.
    ///
    /// # Errors
    /// There is none, or the process may not be looked at.
    pub fn folder(&self, path: &Path) -> io::Result<Folder> {
        Ok(Folder {
            descriptor: self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?,
            shown: self.shown(path),
        })
    }

    fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let path = relative(path);
        let flags = flags | OFlags::CLOEXEC;
        let open = || {
            let resolve = ResolveFlags::IN_ROOT;
            openat2(&self.descriptor, path, flags, Mode::empty(), resolve)
        };
        match tried_again(open) {
            // Kernels before 5.6, and filters of system calls that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => walked(self.descriptor.as_fd(), path, flags),
            opened => Ok(opened?),
        }
    }
}

impl Folder {
    /// An entry, by a path that no link of the process's is part of, as long as this folder is kept.
    pub fn entry(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// See [`names_in`].
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn names(&self) -> io::Result<Vec<String>> {
        names_in(&self.path())
    }

    /// Its owner's number, as this program calls that user.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(fstat(&self.descriptor)?.st_uid)
    }

    /// An entry, as a person finds it.
    pub fn shown(&self, name: &str) -> PathBuf {
        self.shown.join(name)
    }

    fn path(&self) -> PathBuf {
        let number = self.descriptor.as_raw_fd();
        Path::new("/proc/self/fd").join(number.to_string())
    }
}

/// The names of a folder's entries, but for those that are no UTF-8.
///
/// # Errors
/// It cannot be listed.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// The kernel gives up a path with a `..` in it (a link's, too) whenever anything is renamed anywhere meanwhile, as it might
/// have led out of the root: so that is tried some times.
fn tried_again<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 1..TRIES {
        match open() {
            Err(Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    open()
}

fn relative(path: &Path) -> &Path {
    let path = path.strip_prefix("/").unwrap_or(path);
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// Opens a path step by step, and follows no link at all.
fn walked(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut folder = openat(
        root,
        ".",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let refused = |what: &str| {
        let text = format!("{what} on the way is not followed where the kernel has no openat2");
        io::Error::new(ErrorKind::Unsupported, text)
    };
    let mut steps = path.components().peekable();
    while let Some(step) = steps.next() {
        let name = match step {
            Component::Normal(name) => name,
            Component::CurDir => ".".as_ref(),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refused("a .."));
            }
        };
        let looked = openat(
            &folder,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let looked = File::from(looked);
        if looked.metadata()?.file_type().is_symlink() {
            return Err(refused("a link"));
        }
        if steps.peek().is_none() {
            return Ok(openat(
                &folder,
                name,
                flags | OFlags::NOFOLLOW,
                Mode::empty(),
            )?);
        }
        folder = OwnedFd::from(looked);
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A root with links that lead out of it by this program's paths; and a folder beside it.
    fn made() -> (tempfile::TempDir, Root, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir_all(inside.join("var/tmp")).expect("folders");
        fs::create_dir(&outside).expect("a folder");
        fs::write(outside.join("secret"), "outside").expect("a file");
        fs::write(inside.join("var/tmp/own"), "inside").expect("a file");
        symlink(&outside, inside.join("out")).expect("a link");
        symlink("../../outside", inside.join("up")).expect("a link");
        symlink("/var/tmp", inside.join("tmp")).expect("a link");
        let root = Root::at(inside).expect("a root");
        (folder, root, outside)
    }

    #[test]
    fn a_link_leads_where_it_leads_for_the_process() {
        let (_kept, root, _) = made();
        let tmp = root.folder(Path::new("/tmp")).expect("its /tmp");
        assert_eq!(tmp.names().expect("names"), ["own"]);
        assert_eq!(
            fs::read_to_string(tmp.entry("own")).expect("a file"),
            "inside"
        );
        assert_eq!(root.text(Path::new("/tmp/own")).expect("text"), "inside");
        assert!(root.has_file(Path::new("/var/tmp/own")) && !root.has_file(Path::new("/tmp")));
    }

    #[test]
    fn no_link_leads_out_of_the_root() {
        let (_kept, root, outside) = made();
        for way in ["/out", "/up", "/../outside"] {
            let error = root.folder(Path::new(way)).expect_err(way);
            assert_eq!(error.kind(), ErrorKind::NotFound, "{way}: {error}");
            assert!(!root.has_file(&Path::new(way).join("secret")), "{way}");
            assert!(root.text(&Path::new(way).join("secret")).is_err(), "{way}");
        }
        assert!(outside.join("secret").is_file());
    }

    #[test]
    fn a_path_that_the_kernel_gives_up_is_tried_some_times_and_other_errors_are_told_at_once() {
        let tries = |errors: u32, error: Errno| {
            let mut tried = 0;
            let opened = tried_again(|| {
                tried += 1;
                if tried > errors { Ok(()) } else { Err(error) }
            });
            (opened, tried)
        };
        assert_eq!(tries(0, Errno::AGAIN), (Ok(()), 1));
        assert_eq!(tries(TRIES - 1, Errno::AGAIN), (Ok(()), TRIES));
        assert_eq!(
            tries(u32::MAX, Errno::AGAIN),
            (Err(Errno::AGAIN), TRIES),
            "not for ever"
        );
        assert_eq!(tries(1, Errno::NOENT), (Err(Errno::NOENT), 1));
    }

    #[test]
    fn without_openat2_no_link_is_followed_at_all() {
        let (_kept, root, _) = made();
        let walk = |path: &str| walked(root.descriptor.as_fd(), Path::new(path), OFlags::RDONLY);
        assert!(walk("var/tmp/own").is_ok() && walk(".").is_ok());
        for way in [
            "out/secret",
            "tmp",
            "tmp/own",
            "up/secret",
            "var/../../outside/secret",
        ] {
            let error = walk(way).expect_err(way);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{way}: {error}");
        }
    }

    #[test]
    fn a_pipe_is_no_file_of_options() {
        let (_kept, root, _) = made();
        let pipe = root.shown(Path::new("pipe"));
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        assert!(root.text(Path::new("/pipe")).is_err());
    }
}
