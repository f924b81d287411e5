//! The agent's own list of the CPU profiles it wrote: with `log=debug` it names each.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::jvm::{Finished, Running};
use crate::recording::Window;

/// Wall and monotonic clock that go apart by more than that, ns, were not left to themselves.
const STEP: i64 = 300_000_000;

impl Running {
    /// CPU profiles so far, in the order of their windows.
    ///
    /// # Errors
    /// Its output cannot be read.
    pub fn wrote(&self) -> Result<Vec<PathBuf>> {
        let stderr = self.stderr()?;
        // The last line may be half written.
        let whole = stderr.rfind('\n').unwrap_or(0);
        Ok(profiles(&stderr[..whole]))
    }

    /// Waits until its list of profiles is such as `is_so` says.
    ///
    /// # Errors
    /// It ends first, or its time is up.
    pub fn until_wrote(
        &mut self,
        what: &str,
        mut is_so: impl FnMut(&[PathBuf]) -> bool,
    ) -> Result<()> {
        self.poll(what, |running| Ok(is_so(&running.wrote()?).then_some(())))
    }
}

impl Finished {
    /// CPU profiles of the whole run, in the order of their windows.
    pub fn wrote(&self) -> Vec<PathBuf> {
        profiles(&self.stderr)
    }
}

fn profiles(stderr: &str) -> Vec<PathBuf> {
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("vtprof: wrote "))
        .filter(|path| path.contains("-cpu-"))
        .map(PathBuf::from)
        .collect()
}

/// Holds that each window begins when the one before it ends.
///
/// # Errors
/// One does not; the message names its file.
pub fn assure_gapless(windows: &[Window]) -> Result<()> {
    for pair in windows.windows(2) {
        let gap = pair[1].monotonic - (pair[0].monotonic + pair[0].duration);
        ensure!(gap == 0, "{gap} ns before {}", pair[1].path.display());
    }
    Ok(())
}

/// Whether somebody set the wall clock while these windows were open.
pub fn clock_was_set(windows: &[Window]) -> bool {
    let offsets = || windows.iter().map(|window| window.start - window.monotonic);
    let (least, most) = (offsets().min(), offsets().max());
    least
        .zip(most)
        .is_some_and(|(least, most)| most - least > STEP)
}

/// The name of a file, to compare lists of them by.
pub fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// `CLOCK_MONOTONIC`, ns: what the agent's windows and `System.nanoTime` go by.
pub fn monotonic_now() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the call, and the clock exists on every Linux.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(code, 0, "no monotonic clock");
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn window(start: i64, monotonic: i64, duration: i64) -> Window {
        Window {
            path: "s-1-cpu-x.pb.gz".into(),
            start,
            monotonic,
            duration,
            period: 1,
            facts: HashMap::new(),
        }
    }

    #[test]
    fn profiles_of_cpu_time_are_found_among_other_lines() {
        let text = "vtprof: wrote /o/s-1-cpu-x.pb.gz\nvtprof: wrote /o/s-1-alloc-x.pb.gz\nwrote /o/s-1-cpu-y\n";
        assert_eq!(profiles(text), [PathBuf::from("/o/s-1-cpu-x.pb.gz")]);
    }

    #[test]
    fn a_gap_of_a_nanosecond_and_a_clock_that_was_set_are_seen() {
        let (first, next) = (window(9_000_000_000, 5, 10), window(9_000_000_010, 15, 10));
        assert!(assure_gapless(&[first.clone(), next.clone()]).is_ok());
        assert!(assure_gapless(&[first.clone(), window(9_000_000_010, 16, 10)]).is_err());
        assert!(!clock_was_set(&[first.clone(), next]));
        assert!(clock_was_set(&[first, window(8_000_000_010, 15, 10)]));
    }
}
