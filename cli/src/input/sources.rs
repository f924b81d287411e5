//! From paths to files.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use crate::text::note;

/// Endings of the files that are read from a folder.
const ENDINGS: [&str; 4] = [".pb.gz", ".pb", ".pprof", ".pprof.gz"];

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// Named by the user.
    Named(PathBuf),
    /// Found in a folder the user named; it may be gone again by the time it is read.
    Found(PathBuf),
}

impl Source {
    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::Named(path) | Source::Found(path) => path.display().to_string(),
        }
    }
}

/// Whether a file of that name is read where its folder is. A leading dot marks files in the making.
pub fn is_read_from_folder(name: &str) -> bool {
    !name.starts_with('.') && ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Folders replaced by their files, in order of names; each file once, since twice would count
/// its samples twice.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            if sources.contains(&Source::Stdin) {
                bail!("'-' is given twice, but standard input can be read once");
            }
            sources.push(Source::Stdin);
            continue;
        }
        let candidates = if path.is_dir() {
            files_of(path)?.into_iter().map(Source::Found).collect()
        } else {
            vec![Source::Named(path.clone())]
        };
        for candidate in candidates {
            let (Source::Named(file) | Source::Found(file)) = &candidate else {
                continue;
            };
            // A pipe such as /dev/fd/63 has no canonical path; whatever else is wrong with a path,
            // opening it will say.
            let repeated = file
                .canonicalize()
                .is_ok_and(|canonical| !seen.insert(canonical));
            if repeated {
                note(&format!("{}: given twice, read once", file.display()));
            } else {
                sources.push(candidate);
            }
        }
    }
    Ok(sources)
}

/// The files of a folder that are read, in order of names.
///
/// # Errors
/// It cannot be listed.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if is_read_from_folder(&name) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = folder.display();
    let files = list(folder).map_err(|error| anyhow!("{name}: cannot list: {error}"))?;
    if files.is_empty() {
        bail!(
            "{name}: no profiles in this folder (looked for *{})",
            ENDINGS.join(", *")
        );
    }
    Ok(files)
}
