//! The profiles of one window: a file for each kind, under one time.

use std::path::PathBuf;
use std::sync::Arc;

use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use super::directory::Directory;
use super::file_name;
use super::profile::{self, Span};
use crate::aggregate::by_kind::ByKind;
use crate::aggregate::window::Window;
use crate::log;
use crate::symbolize::symbolizer::Function;

/// Where a window's files go, and what they have in common.
#[derive(Clone, Copy, Debug)]
pub struct WindowFiles<'a> {
    pub directory: &'a Directory,
    pub service: &'a str,
    /// The time in their names.
    pub named_unix_ns: u64,
    pub when: Span,
    pub comments: &'a [String],
}

impl WindowFiles<'_> {
    /// The name of the file of that kind.
    pub fn name(&self, kind: &str) -> String {
        file_name::name(self.service, std::process::id(), kind, self.named_unix_ns)
    }

    /// Writes the profile of each kind that has a sample, and in any case that of the first kind that is on, which
    /// carries the counters. `period` is in the unit of the kind's period, 0 for one that is off; `root_name` names a
    /// local root, `full` the stack of what had no room.
    ///
    /// Profiles are also left in `sent`, where there is one.
    ///
    /// # Errors
    /// The first, with the file's name; the others have been tried all the same.
    pub fn write(
        &self,
        windows: &ByKind<Window>,
        period: impl Fn(Kind) -> u64,
        full: &Arc<Function>,
        root_name: impl Fn(u64) -> Arc<str>,
        mut sent: Option<&mut Vec<(Kind, Profile)>>,
    ) -> Result<(), String> {
        let mut written = Ok(());
        let first = Kind::ALL.into_iter().find(|kind| period(*kind) > 0);
        for (kind, window) in windows.iter() {
            if Some(kind) != first && window.samples() == 0 {
                continue;
            }
            let sent = sent.as_deref_mut();
            written =
                written.and(self.write_one(kind, window, period(kind), full, &root_name, sent));
        }
        written
    }

    fn write_one(
        &self,
        kind: Kind,
        window: &Window,
        period: u64,
        full: &Arc<Function>,
        root_name: impl Fn(u64) -> Arc<str>,
        sent: Option<&mut Vec<(Kind, Profile)>>,
    ) -> Result<(), String> {
        let name = self.name(kind.name());
        let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
        let built = profile::build(
            kind,
            window,
            self.when,
            period,
            full,
            root_name,
            self.comments,
        );
        let built = built.map_err(|error| failed(&error))?;
        let wrote = |path: PathBuf| log::debug(&format!("wrote {}", path.display()));
        let Some(sent) = sent else {
            let written = self.directory.write(&name, |file| built.write_gz(file));
            return written.map(wrote).map_err(|error| failed(&error));
        };
        let profile = built.finish();
        let written = if self.directory.is_off() {
            Ok(())
        } else {
            let written = self
                .directory
                .write(&name, |file| gzip::write_gz(&profile, file));
            written.map(wrote).map_err(|error| failed(&error))
        };
        sent.push((kind, profile));
        written
    }
}

#[cfg(test)]
mod tests;
