//! Files that are written: whole or not at all, and never into what is read.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::input::is_read_from_folder;

/// Where an answer goes that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
    /// A folder, in which each file has a name of its own.
    Folder(PathBuf),
}

impl Output {
    /// What the user named. A folder is one that is there, or a name that ends in '/'.
    pub fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            Output::Stdout
        } else if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            Output::Folder(path.to_owned())
        } else {
            Output::File(path.to_owned())
        }
    }

    /// Refuses what would do harm, before anything is read: a terminal for bytes that are no text, and a file in a folder
    /// that is read, where it would be read beside what it was made from the next time.
    ///
    /// # Errors
    /// Those.
    pub fn check(&self, inputs: &[PathBuf], is_text: bool) -> Result<()> {
        let folder = match self {
            Output::Stdout if is_text || !io::stdout().is_terminal() => return Ok(()),
            Output::Stdout => bail!(
                "a profile is no text for a terminal: redirect standard output, or name a file with -o"
            ),
            Output::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if !is_read_from_folder(&name) {
                    return Ok(());
                }
                match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    _ => Path::new("."),
                }
            }
            Output::Folder(path) => path,
        };
        // What is not there is no input.
        let Ok(folder) = folder.canonicalize() else {
            return Ok(());
        };
        let inputs: Vec<PathBuf> = inputs
            .iter()
            .filter_map(|i| i.canonicalize().ok())
            .collect();
        // All files of a folder are named one by one where a shell has replaced a pattern.
        let lies_there = |input: &PathBuf| input.is_file() && input.parent() == Some(&folder);
        let is_read = inputs.contains(&folder);
        if is_read || matches!(self, Output::Folder(_)) && inputs.iter().any(lies_there) {
            bail!(
                "{}: this folder is read: whoever reads it again would count everything twice; write to another",
                folder.display()
            );
        }
        if let Output::File(named) = self
            && let Ok(path) = named.canonicalize()
            && !inputs.contains(&path)
            && inputs.iter().any(lies_there)
            && may_be_of_pattern(named, env::args_os())
        {
            bail!(
                "{}: is there already, beside what is read, and is none of it (a pattern behind -o?): put -o last, or remove it",
                path.display()
            );
        }
        Ok(())
    }

    /// Refuses a file that is one of the inputs, for whoever does not keep all that is in them.
    ///
    /// # Errors
    /// It is one.
    pub fn check_other(&self, inputs: &[PathBuf]) -> Result<()> {
        if let Output::File(named) = self
            && let Ok(path) = named.canonicalize()
            && inputs
                .iter()
                .any(|i| i.canonicalize().is_ok_and(|i| i == path))
        {
            bail!(
                "{}: is read: what is written would take its place; name another file",
                named.display()
            );
        }
        Ok(())
    }
}

/// Whether a shell may have made that file and the argument behind it of one pattern, which it does in order: that of
/// bytes, or one in which neither case nor signs matter.
fn may_be_of_pattern(output: &Path, args: impl Iterator<Item = OsString>) -> bool {
    let args: Vec<_> = args.collect();
    let [option, named, next] = [0, 1, 2].map(|skipped| args.iter().skip(skipped));
    let letters = |path: &Path| -> String {
        let path = path.to_string_lossy();
        let letters = path.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    option.zip(named).zip(next).any(|((option, named), next)| {
        let next = Path::new(next);
        (option == "-o" || option == "--output")
            && Path::new(named) == output
            && next.parent() == output.parent()
            && (output.as_os_str() < next.as_os_str() || letters(output) < letters(next))
    })
}

/// Writes a file: under a name that no reader looks at until it is whole, so that what was there before is kept where
/// writing fails, also where it is one of the inputs.
///
/// # Errors
/// Those of the file system and of `write`, with the name of the file.
pub fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let result = || -> Result<()> {
        // The file behind a link is replaced, and not the link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            // A device or a pipe is written to and not replaced.
            let mut file = BufWriter::new(fs::File::options().write(true).open(&target)?);
            write(&mut file)?;
            return Ok(file.flush()?);
        }
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            bail!("there is no folder {}", folder.display());
        }
        let mut file = tempfile::Builder::new()
            .prefix(".vtprof-")
            .permissions(permissions(&target))
            .tempfile_in(folder)
            // Its own text has a name that nobody knows.
            .map_err(|error| io::Error::from(error.kind()))?;
        let mut out = BufWriter::with_capacity(1 << 18, file.as_file_mut());
        write(&mut out)?;
        out.flush()?;
        drop(out);
        file.as_file().sync_all()?;
        file.persist(&target)
            .map_err(|error| anyhow!(error.error))?;
        Ok(())
    };
    result().with_context(|| format!("{}: cannot write", path.display()))
}

/// Those of the file that is replaced, else what the process's mask leaves.
fn permissions(path: &Path) -> Permissions {
    let known = fs::metadata(path).map(|metadata| metadata.permissions());
    known.unwrap_or_else(|_| Permissions::from_mode(0o666))
}
