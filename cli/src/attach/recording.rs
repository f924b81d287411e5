//! A recording of a given length, and the files it leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::process::Process;

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
    folder: PathBuf,
    /// Each name of a file of that process has it.
    mark: String,
    before: BTreeSet<String>,
}

impl Files {
    pub fn of(process: &Process, out: &Path) -> Self {
        // A process that ends takes its root away.
        let folder = if process.has_another_root() {
            process.seen(out)
        } else {
            out.to_owned()
        };
        let mut files = Files {
            folder,
            mark: format!("-{}-", process.inner_number()),
            before: BTreeSet::new(),
        };
        files.before = files.names();
        files
    }

    fn names(&self) -> BTreeSet<String> {
        // A directory that is not there yet has none.
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names
            .filter(|name| {
                !name.starts_with('.') && name.ends_with(".pb.gz") && name.contains(&self.mark)
            })
            .collect()
    }

    /// Those that were not there at first.
    pub fn new_ones(&self) -> Vec<PathBuf> {
        let now = self.names();
        let new = now.difference(&self.before);
        new.map(|name| self.folder.join(name)).collect()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
