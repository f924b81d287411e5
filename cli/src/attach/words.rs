//! What the agent says on the JVM's standard error, where that is a file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use super::process::Process;

/// Begins each of its lines.
const MARK: &str = "vtprof: ";
/// Most that is read of what was written meanwhile, bytes.
const LIMIT: u64 = 1 << 20;

/// From now on.
pub struct Words {
    path: PathBuf,
    /// `None` where standard error is no file.
    from: Option<u64>,
}

impl Words {
    pub fn of(process: &Process) -> Self {
        let path = process.folder().join("fd/2");
        let file = path.metadata().ok().filter(std::fs::Metadata::is_file);
        Words {
            path,
            from: file.map(|file| file.len()),
        }
    }

    /// Its lines since, without their mark; `None` where they cannot be read.
    pub fn said(&self) -> Option<Vec<String>> {
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.from?)).ok()?;
        let mut bytes = Vec::new();
        file.take(LIMIT).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter_map(|line| line.strip_prefix(MARK));
        Some(lines.map(str::to_owned).collect())
    }

    /// Why the agent refused, as a part of a message.
    pub fn reason(&self) -> String {
        let errors = self.said().unwrap_or_default();
        let error = errors
            .iter()
            .rev()
            .find_map(|line| line.strip_prefix("error: "));
        error.map_or_else(
            || "the reason is a line on the JVM's standard error".to_owned(),
            str::to_owned,
        )
    }
}
