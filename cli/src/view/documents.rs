//! The document of what is held, made when it is asked for and kept until that changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use hyper::body::Bytes;
use vtprof_profile::ids::SpanId;
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::SpanFiles;

use super::windows::{Content, Snapshot};
use crate::figures::plural;
use crate::flame::condition::Condition;
use crate::flame::document::{About, Builder, Part};
use crate::flame::groups::Side;
use crate::spans::roots::Roots;
use crate::text::without_times;

/// A document and what it is of.
#[derive(Debug, Clone)]
struct Made {
    version: u64,
    /// A span that stands for itself however fast it was.
    root: Option<SpanId>,
    gzip: Bytes,
}

/// See the module.
#[derive(Debug)]
pub struct Documents {
    title: String,
    snapshot: Mutex<Arc<Snapshot>>,
    last: Mutex<Option<Made>>,
}

impl Documents {
    /// Of nothing yet.
    pub fn new(title: String) -> Self {
        Documents {
            title,
            snapshot: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// What is held from now on.
    pub fn publish(&self, snapshot: Snapshot) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }

    /// What is held.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&snapshot)
    }

    /// The document, as gzipped JSON, and its version.
    ///
    /// # Errors
    /// A profile that cannot be read by its sample types.
    pub fn get(&self, root: Option<SpanId>) -> Result<(u64, Bytes)> {
        // Whoever asks meanwhile waits for it and does not make it again.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot();
        if let Some(made) = last.as_ref()
            && made.version == snapshot.version
            && (root.is_none() || made.root == root)
        {
            return Ok((made.version, made.gzip.clone()));
        }
        let gzip = Bytes::from(self.make(&snapshot, root)?);
        *last = Some(Made {
            version: snapshot.version,
            root,
            gzip: gzip.clone(),
        });
        Ok((snapshot.version, gzip))
    }

    fn make(&self, snapshot: &Snapshot, root: Option<SpanId>) -> Result<Vec<u8>> {
        let part = |profile| Part {
            kind: Kind::of(profile),
            profile,
            files: 1,
        };
        let mut parts = Vec::new();
        let mut spans = SpanFiles::default();
        let mut moments = BTreeMap::new();
        let mut left_out = 0_u64;
        for content in &snapshot.contents {
            match &**content {
                Content::Profile { profile, series } => match series {
                    None => parts.push(part(profile)),
                    // Of a process the last: the others are of the same objects.
                    Some(series) => {
                        let kept = moments.entry(series).or_insert(profile);
                        if profile.time_nanos >= kept.time_nanos {
                            *kept = profile;
                        }
                    }
                },
                Content::Spans {
                    list,
                    left_out: more,
                } => {
                    spans.join(list.clone());
                    left_out = left_out.saturating_add(*more);
                }
            }
        }
        let last = moments.into_values();
        parts.extend(last.map(|profile| part(profile)));
        let mut notes = snapshot.notes.clone();
        if left_out > 0 {
            let spans = plural(i128::from(left_out), "more span");
            notes.push(format!("{spans} ended and are in no span file"));
        }
        let mut builder = Builder::new();
        let spans = spans.finish();
        notes.extend(without_times(
            spans.roots_without_times(),
            "local root span",
        ));
        // Each part is a file, with its time.
        let (names, all) = (Roots::default(), Condition::default());
        builder.add_with(Side::Shown, &parts, [spans], (&names, &all), root)?;
        builder.finish(&About {
            title: &self.title,
            version: env!("CARGO_PKG_VERSION"),
            notes: &notes,
        })
    }
}
