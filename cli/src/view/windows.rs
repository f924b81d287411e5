//! The files of a folder, as they come and go: the newest are held, up to a bound.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use vtprof_profile::gzip::ReadError;
use vtprof_profile::model::Profile;
use vtprof_profile::spans::SpanFiles;

use crate::figures::{self, plural};
use crate::input::{self, Loaded, Series};
use crate::text::note;

/// Tells a file from another that has taken its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    len: u64,
}

/// What a file holds.
#[derive(Debug)]
pub enum Content {
    Profile {
        profile: Box<Profile>,
        /// Where it is of a moment: which ones are of the same process.
        series: Option<Series>,
    },
    /// Spans that ended.
    Spans { list: SpanFiles, left_out: u64 },
}

#[derive(Debug)]
enum State {
    /// All that is in it.
    Held(Vec<Arc<Content>>),
    /// Beyond the bound.
    LeftOut,
    /// JSON of something else.
    Other,
    Refused,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    /// Bytes when decompressed.
    bytes: u64,
    state: State,
}

/// What is held at a time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Changes whenever what is held does.
    pub version: u64,
    /// Oldest first.
    pub contents: Vec<Arc<Content>>,
    /// What is to be known of them, a line each.
    pub notes: Vec<String>,
}

/// See the module.
#[derive(Debug)]
pub struct Windows {
    folder: PathBuf,
    /// Most bytes held, decompressed.
    bound: u64,
    known: BTreeMap<PathBuf, Entry>,
    version: u64,
}

impl Entry {
    fn is_held(&self) -> bool {
        matches!(self.state, State::Held(_))
    }
}

impl Windows {
    /// Nothing read yet.
    pub fn new(folder: &Path, bound: u64) -> Self {
        Windows {
            folder: folder.to_owned(),
            bound,
            known: BTreeMap::new(),
            version: 0,
        }
    }

    /// Looks at the folder. `None` if nothing has changed.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn refresh(&mut self) -> io::Result<Option<Snapshot>> {
        let mut files = Vec::new();
        for path in input::list(&self.folder)? {
            // One that is gone again is not there.
            if let Ok(metadata) = fs::metadata(&path) {
                let stamp = Stamp {
                    modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    len: metadata.len(),
                };
                files.push((stamp, path));
            }
        }
        // Newest first; of one moment in order of names.
        files.sort_by(|(a, name), (b, other)| {
            b.modified.cmp(&a.modified).then_with(|| other.cmp(name))
        });

        let mut changed = false;
        let mut before = std::mem::take(&mut self.known);
        let mut room = Some(self.bound);
        for (stamp, path) in &files {
            let known = before.remove(path).filter(|entry| entry.stamp == *stamp);
            let was_held = known.as_ref().map(Entry::is_held);
            let fits = |bytes: u64| room.is_some_and(|room| bytes <= room);
            let read = match known {
                // There is room again: those behind it have gone.
                Some(entry) if matches!(entry.state, State::LeftOut) && fits(entry.bytes) => None,
                known => known,
            };
            let Some(mut entry) = read.or_else(|| self.read(path, *stamp, room)) else {
                continue;
            };
            if entry.is_held() && !fits(entry.bytes) {
                entry.state = State::LeftOut;
            }
            changed |= was_held != Some(entry.is_held());
            room = match entry.state {
                State::Held(_) => room.map(|room| room - entry.bytes),
                // What is older is not held either, or there would be holes.
                State::LeftOut => None,
                State::Other | State::Refused => room,
            };
            self.known.insert(path.clone(), entry);
        }
        changed |= !before.is_empty();
        if !changed && self.version > 0 {
            return Ok(None);
        }
        self.version += 1;
        Ok(Some(self.snapshot(&files)))
    }

    /// `None` where it is gone.
    fn read(&self, path: &Path, stamp: Stamp, room: Option<u64>) -> Option<Entry> {
        let entry = |bytes, state| {
            Some(Entry {
                stamp,
                bytes,
                state,
            })
        };
        if room.is_none() {
            // Its length on disk stands in until there is room for it.
            return entry(stamp.len, State::LeftOut);
        }
        match input::read_one(path, self.bound) {
            Ok((None, _)) => entry(0, State::Other),
            Ok((Some(loaded), bytes)) => {
                let contents = loaded.into_iter();
                let contents = contents.map(|loaded| Arc::new(content(loaded, path)));
                entry(bytes, State::Held(contents.collect()))
            }
            Err(error) if is_gone(&error) => None,
            Err(error) if is_too_large(&error) => {
                note(&format!(
                    "{}: left out, more than {} MiB when decompressed; --hold raises the limit",
                    path.display(),
                    self.bound >> 20
                ));
                entry(0, State::Refused)
            }
            Err(error) => {
                note(&format!("{}: left out: {error:#}", path.display()));
                entry(0, State::Refused)
            }
        }
    }

    fn snapshot(&self, newest_first: &[(Stamp, PathBuf)]) -> Snapshot {
        let mut snapshot = Snapshot {
            version: self.version,
            ..Snapshot::default()
        };
        let (mut bytes, mut held, mut beyond) = (0, 0_i128, 0_i128);
        let (mut others, mut refused) = (Vec::new(), Vec::new());
        for (_, path) in newest_first.iter().rev() {
            let Some(entry) = self.known.get(path) else {
                continue;
            };
            match &entry.state {
                State::Held(contents) => {
                    bytes += entry.bytes;
                    held += 1;
                    snapshot.contents.extend(contents.iter().map(Arc::clone));
                }
                State::LeftOut => beyond += 1,
                State::Other => others.push(path.display().to_string()),
                State::Refused => refused.push(path.display().to_string()),
            }
        }
        let held = plural(held, "file");
        let size = |bytes: u64| figures::value(i128::from(bytes), "bytes");
        let mut notes = vec![format!(
            "{held} held, {} of {}",
            size(bytes),
            size(self.bound)
        )];
        if beyond > 0 {
            notes[0] += &format!(
                "; {} left out, --hold raises the bound",
                plural(beyond, "older file")
            );
        }
        if let Some(first) = refused.first() {
            let files = plural(refused.len() as i128, "file");
            notes.push(format!(
                "{files} that cannot be read, e.g. {first}: why is on vtprof's standard error"
            ));
        }
        if let Some(first) = others.first() {
            notes.push(input::other_files(others.len(), first));
        }
        snapshot.notes = notes;
        snapshot
    }
}

fn content(loaded: Loaded<SpanFiles>, path: &Path) -> Content {
    match loaded {
        Loaded::Profile(profile) => Content::Profile {
            series: input::series(&profile, &path.display().to_string()),
            profile,
        },
        Loaded::Spans { list, left_out } => Content::Spans { list, left_out },
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind) == Some(io::ErrorKind::NotFound)
    };
    error.chain().any(io)
}

fn is_too_large(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ReadError::TooLarge { .. }))
}
