//! From paths to read files, one at a time, so that a folder of windows need not fit in memory.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use vtprof_profile::content::Content;
use vtprof_profile::gzip::{self, ReadError};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{ModelError, Profile};
use vtprof_profile::spans::{self, SpanList};

use crate::args::FilesArgs;
use crate::text::note;

/// Endings of the files that are read from a folder.
const ENDINGS: [&str; 4] = [".pb.gz", ".pb", ".pprof", ".pprof.gz"];
/// What the agent writes into the name of its span files.
const SPANS_IN_NAME: &str = "-spans-";

/// One file's content.
pub enum Loaded {
    /// A profile.
    Profile(Box<Profile>),
    /// Spans that ended, and how many more ended than the file has.
    Spans { list: SpanList, left_out: u64 },
}

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Stdin,
    /// Named by the user.
    Named(PathBuf),
    /// Found in a folder the user named; it may be gone again by the time it is read.
    Found(PathBuf),
}

/// The last profile of a moment that one process wrote.
struct Moment {
    name: String,
    profile: Box<Profile>,
    is_named: bool,
}

/// Reads all inputs in order and hands each to `take`. Profiles of a moment come last, of each process the latest: the
/// others are of the same objects.
///
/// # Errors
/// The first file that cannot be read or that `take` refuses, with its name.
pub fn read_all(args: &FilesArgs, mut take: impl FnMut(Loaded) -> Result<()>) -> Result<()> {
    let mut moments: BTreeMap<String, Moment> = BTreeMap::new();
    for source in sources(&args.files)? {
        let (name, bytes) = match &source {
            Source::Stdin => (
                "standard input".to_owned(),
                read(io::stdin().lock(), args).context("standard input")?,
            ),
            Source::Named(path) | Source::Found(path) => {
                let name = path.display().to_string();
                let file = match File::open(path) {
                    Ok(file) => file,
                    Err(error)
                        if error.kind() == ErrorKind::NotFound
                            && matches!(source, Source::Found(_)) =>
                    {
                        note(&format!(
                            "{name}: removed since the folder was listed, left out"
                        ));
                        continue;
                    }
                    Err(error) => return Err(anyhow!("{name}: cannot open: {error}")),
                };
                let bytes = read_file(file, args).with_context(|| name.clone())?;
                (name, bytes)
            }
        };
        match decode(&bytes, &name) {
            Ok(Loaded::Profile(profile)) if series(&profile, &name).is_some() => {
                let series = series(&profile, &name).unwrap_or_default();
                let moment = Moment {
                    name,
                    profile,
                    is_named: matches!(source, Source::Named(_)),
                };
                keep_latest(&mut moments, series, moment);
            }
            loaded => loaded.and_then(&mut take).context(name)?,
        }
    }
    for moment in moments.into_values() {
        take(Loaded::Profile(moment.profile)).context(moment.name)?;
    }
    Ok(())
}

/// Which process a profile of a moment is of, by the name that the agent gives its file, if it is one.
pub fn series(profile: &Profile, name: &str) -> Option<String> {
    let kind = Kind::of(profile).filter(|kind| kind.is_of_a_moment())?;
    let before = name.rsplit_once(&format!("-{}-", kind.name()));
    Some(before.map_or(name, |(process, _)| process).to_owned())
}

fn keep_latest(moments: &mut BTreeMap<String, Moment>, series: String, moment: Moment) {
    let left_out = match moments.get(&series) {
        Some(known) if known.profile.time_nanos > moment.profile.time_nanos => Some(moment),
        _ => moments.insert(series, moment),
    };
    if let Some(moment) = left_out.filter(|moment| moment.is_named) {
        note(&format!(
            "{}: left out, what is in use later is shown and not both added",
            moment.name
        ));
    }
}

/// A file without a byte is no list of no spans: a crash of the machine has left it.
fn read_file(file: File, args: &FilesArgs) -> Result<Vec<u8>> {
    if file
        .metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
    {
        return Err(ModelError::Empty.into());
    }
    read(file, args)
}

fn read(source: impl Read, args: &FilesArgs) -> Result<Vec<u8>> {
    gzip::read_bytes(source, args.byte_limit()).map_err(|error| match error {
        ReadError::TooLarge { .. } => {
            anyhow!(
                "more than {} MiB when decompressed; --max-mib raises the limit",
                args.max_mib
            )
        }
        other => other.into(),
    })
}

fn decode(bytes: &[u8], name: &str) -> Result<Loaded> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| *byte == b'{')
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
    {
        bail!("JSON; this version reads pprof and OTLP traces in protobuf only");
    }
    match Content::of(bytes).context("looks like OTLP spans, but is not")? {
        Content::Spans(traces) => Ok(Loaded::Spans {
            list: spans::traces_to_spans(&traces),
            left_out: spans::left_out(&traces),
        }),
        Content::Empty if name.contains(SPANS_IN_NAME) => Ok(Loaded::Spans {
            list: SpanList::default(),
            left_out: 0,
        }),
        Content::Empty | Content::Other => {
            Ok(Loaded::Profile(Box::new(Profile::from_bytes(bytes)?)))
        }
    }
}

/// Folders replaced by their files, in order of names; each file once, since twice would count
/// its samples twice.
fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
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
        // A leading dot marks files in the making.
        if !name.starts_with('.') && ENDINGS.iter().any(|end| name.ends_with(end)) && path.is_file()
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads one file of a folder, of at most `limit` bytes when decompressed; how many it had.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_one(path: &Path, limit: u64) -> Result<(Loaded, u64)> {
    let file = File::open(path).map_err(|error| anyhow!("cannot open: {error}"))?;
    let bytes = gzip::read_bytes(file, limit)?;
    let size = bytes.len() as u64;
    Ok((decode(&bytes, &path.display().to_string())?, size))
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
