//! From paths to files.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use crate::figures::plural;
use crate::text::note;

/// Endings of the files that are read from a folder, gzipped or not.
const ENDINGS: [&str; 10] = [
    ".pb",
    ".pprof",
    ".otlp",
    ".binpb",
    ".json",
    ".jsonl",
    ".collapsed",
    ".folded",
    ".collapsed.txt",
    ".folded.txt",
];
/// Of these, endings of what is there to be looked at: read beside what it was made from it would count twice.
const SPEEDSCOPE: &str = ".speedscope.json";
/// Of JSON alone the content tells whether it is meant.
const JSON: [&str; 2] = [".json", ".jsonl"];
const MARKS: [&str; 3] = [
    "\"resourceSpans\"",
    "\"resourceProfiles\"",
    "speedscope.app",
];
/// Endings of pictures, of which nothing is expected.
const PICTURES: [&str; 2] = [".html", ".svg"];

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
    let is_hidden = name.starts_with('.');
    !is_hidden && ends(name, &ENDINGS) && !ends(name, &[SPEEDSCOPE])
}

/// Whether a file of that name may be JSON of anything.
pub fn is_json(name: &str) -> bool {
    ends(name, &JSON)
}

/// Whether JSON has a word that only what is read has: the fields of OTLP, and where speedscope keeps its schema, as others have
/// a `$schema`, too.
pub fn is_marked(bytes: &[u8]) -> bool {
    MARKS.iter().any(|mark| {
        let mut windows = bytes.windows(mark.len());
        windows.any(|window| window == mark.as_bytes())
    })
}

fn ends(name: &str, endings: &[&str]) -> bool {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    endings.iter().any(|end| plain.ends_with(end))
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
    Ok(list_all(folder)?.0)
}

/// The files that are read and those of which one might think so.
fn list_all(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<String>)> {
    let mut files = Vec::new();
    let mut others = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if !path.is_file() {
            continue;
        }
        if is_read_from_folder(&name) {
            files.push(path);
        } else if !name.starts_with('.') && !ends(&name, &PICTURES) {
            others.push(name);
        }
    }
    files.sort();
    others.sort();
    Ok((files, others))
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = folder.display();
    let (files, others) =
        list_all(folder).map_err(|error| anyhow!("{name}: cannot list: {error}"))?;
    if files.is_empty() {
        bail!(
            "{name}: no profiles in this folder (looked for *{}, and each with .gz)",
            ENDINGS.join(", *")
        );
    }
    if let Some(first) = others.first() {
        note(&format!(
            "{name}: {} not read, e.g. {first}",
            plural(others.len() as i128, "other file")
        ));
    }
    Ok(files)
}
