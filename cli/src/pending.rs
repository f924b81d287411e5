//! Profiles of which only all inputs together tell what counts: a request may get its last name in a later window, and the
//! span that another is below may be in a later file.

use anyhow::Result;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;
use vtprof_profile::spans::SpanList;

use crate::by_kind::{ByKind, OfKind};
use crate::focus::Focus;
use crate::spans::roots::{Root, Roots};
use crate::tags::{TagKeys, Tags};

/// See the module.
#[derive(Debug, Default)]
pub struct Pending {
    needs_names: bool,
    needs_roots: bool,
    asked: Option<Kind>,
    roots: Roots,
    held: ByKind,
}

impl Pending {
    /// For that focus, and the kind asked for; `needs_roots` where local roots are asked for beside it.
    pub fn new(focus: &[Focus], needs_roots: bool, asked: Option<Kind>) -> Self {
        let has = |is: fn(&Focus) -> bool| focus.iter().any(is);
        Pending {
            needs_names: has(|focus| matches!(focus, Focus::Name(_))),
            needs_roots: needs_roots || has(|focus| matches!(focus, Focus::Root(_))),
            asked,
            held: ByKind::new(asked),
            ..Pending::default()
        }
    }

    /// Whether spans tell anything.
    pub fn needs_spans(&self) -> bool {
        self.needs_names || self.needs_roots
    }

    /// Notes what any profile calls its local roots, whether its samples count or not: a request has one last name.
    pub fn note_names(&mut self, profile: &Profile) {
        if self.needs_names {
            self.roots.add_names(profile);
        }
    }

    /// Holds a profile whose samples cannot be judged yet; whether that is so.
    ///
    /// # Errors
    /// The sum of all that are held is too large.
    pub fn hold(&mut self, profile: &Profile) -> Result<bool> {
        let waits = self.needs_names
            || self.needs_roots && {
                let keys = TagKeys::of(profile);
                let mut samples = profile.samples.iter();
                samples.any(|sample| keys.read(profile, &sample).stands_in)
            };
        if waits {
            if !self.needs_names {
                // For a root that no span file has.
                self.roots.add_names(profile);
            }
            self.held.of(profile).add(profile)?;
        }
        Ok(waits)
    }

    /// As if no profile had been held; what was noted stays.
    pub fn forget_profiles(&mut self) {
        self.held = ByKind::new(self.asked);
    }

    /// Adds the spans of a file.
    pub fn add_spans(&mut self, list: SpanList) {
        if self.needs_spans() {
            self.roots.add_spans(list, 0);
        }
    }

    /// What was held, once all is read: a sum for each set of sample types, as they came in.
    pub fn finish(&mut self) -> Vec<OfKind> {
        self.roots.settle();
        std::mem::take(&mut self.held).finish_apart()
    }

    /// The local root of a sample that was held, if any.
    pub fn root_of(&self, tags: &Tags<'_>) -> Option<&Root> {
        self.roots.get(self.roots.find_of(tags)?)
    }
}
