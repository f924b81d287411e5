//! A recording of a given length, and the files it leaves.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::process::Process;
use super::root::{Root, names_in};

/// How often the end is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How a recording came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its time was over.
    Done,
    /// Somebody wants this program to end.
    Interrupted,
    /// The process has ended.
    Gone,
}

/// Set by a signal that asks this program to end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on such a signal is noted: the agent would go on otherwise.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn watch() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second one ends the program as it would without: nobody is to be kept waiting.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                128 + signal,
                Arc::clone(&flag),
            )
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("a signal cannot be watched")?;
        }
        Ok(Interrupt(flag))
    }
}

/// Waits while the agent records; progress is shown on a terminal.
pub fn wait(process: &Process, length: Duration, interrupt: &Interrupt) -> End {
    let bar = ProgressBar::new(length.as_secs());
    let style = ProgressStyle::with_template("vtprof: recording {bar:40} {pos} of {len} s");
    // A template that is no longer valid shows the plain bar.
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let begun = Instant::now();
    let end = loop {
        let passed = begun.elapsed();
        if passed >= length {
            break End::Done;
        }
        if interrupt.0.load(Ordering::Relaxed) {
            break End::Interrupted;
        }
        if !process.is_alive() {
            break End::Gone;
        }
        bar.set_position(passed.as_secs());
        std::thread::sleep(LOOK.min(length - passed));
    };
    bar.finish_and_clear();
    end
}

/// The files that one process has in a directory, as seen from here.
pub struct Files {
    /// Where its files are not this program's; held, as a process that ends takes its root away.
    root: Option<Root>,
    out: PathBuf,
    /// As a person finds it.
    folder: PathBuf,
    /// Each name of a file of that process has it.
    mark: String,
    before: Result<BTreeSet<String>, String>,
}

impl Files {
    /// Those that are there now.
    ///
    /// # Errors
    /// The process may not be looked at, or has ended.
    pub fn of(process: &Process, out: &Path) -> Result<Self> {
        let root = process
            .has_another_root()
            .then(|| process.root())
            .transpose()?;
        let folder = root
            .as_ref()
            .map_or_else(|| out.to_owned(), |root| root.shown(out));
        let mut files = Files {
            root,
            out: out.to_owned(),
            folder,
            mark: format!("-{}-", process.inner_number()),
            before: Ok(BTreeSet::new()),
        };
        files.before = files.names(true);
        Ok(files)
    }

    /// `may_miss`: a directory that is not there has no files.
    fn names(&self, may_miss: bool) -> Result<BTreeSet<String>, String> {
        let names = match &self.root {
            Some(root) => root.folder(&self.out).and_then(|folder| folder.names()),
            None => names_in(&self.folder),
        };
        let names = match names {
            Err(error) if may_miss && error.kind() == ErrorKind::NotFound => Vec::new(),
            names => names.map_err(|error| error.to_string())?,
        };
        let its = |name: &String| {
            !name.starts_with('.') && name.ends_with(".pb.gz") && name.contains(&self.mark)
        };
        Ok(names.into_iter().filter(its).collect())
    }

    /// Those that were not there at first; `is_alive`: the process is still there.
    ///
    /// # Errors
    /// The directory could not be listed, then or now; the text says why.
    pub fn new_ones(&self, is_alive: bool) -> Result<Vec<PathBuf>, String> {
        let before = self.before.as_ref().map_err(Clone::clone)?;
        // Without a directory nothing was written; unless the process's mounts have ended with it, and the files with them.
        let now = self.names(is_alive || self.root.is_none())?;
        let new = now.difference(before);
        Ok(new.map(|name| self.folder.join(name)).collect())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
