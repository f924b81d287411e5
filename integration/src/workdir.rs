//! A folder for one run, kept when its test fails: the profiles are the evidence.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// A temporary folder. Removed on drop, except while a panic unwinds.
#[derive(Debug)]
pub struct WorkDir {
    dir: Option<TempDir>,
    path: PathBuf,
}

impl WorkDir {
    /// A new, empty folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(name: &str) -> Result<WorkDir> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("vtprof-{name}-"))
            .tempdir()
            .context("no temporary folder")?;
        let path = dir.path().to_owned();
        Ok(WorkDir {
            dir: Some(dir),
            path,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else {
            return;
        };
        let keep = std::thread::panicking() || std::env::var_os("VTPROF_KEEP").is_some();
        if keep {
            eprintln!("kept {}", dir.keep().display());
        }
    }
}
