//! Services that are made up, so that their truth is known: requests, what they cost, and profiles that sample it as the
//! agent does.

// Each test file is a crate of its own and uses its part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;

use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::{SpanRecord, SpanStatus, spans_to_traces};

use crate::support::{self, Folder, PERIOD, START, WINDOW, local_root, tags};

pub const MS: f64 = 1e6;
/// Waits of this length or more stand for themselves, ns.
const BLOCKED_PERIOD: f64 = 1e6;

/// The same draws in each run.
pub struct Draws(u64);

impl Draws {
    /// From 0 up to 1.
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A service at work.
pub struct Made {
    folder: Folder,
    profiles: BTreeMap<Kind, ProfileBuilder>,
    spans: Vec<SpanRecord>,
    pub draws: Draws,
}

/// A request, or nobody.
#[derive(Clone)]
pub struct Who {
    id: String,
    name: String,
}

impl Made {
    /// One that has done nothing yet, with profiles of these kinds.
    pub fn new(kinds: &[Kind]) -> Self {
        let profiles = kinds.iter().map(|kind| {
            let types = [kind.count(), kind.amount()];
            let period = if *kind == Kind::Cpu {
                PERIOD
            } else {
                1_000_000
            };
            let mut builder = ProfileBuilder::new(&types, kind.period(), period);
            builder.default_sample_type(kind.amount().kind);
            builder.set_time(START, WINDOW);
            (*kind, builder)
        });
        Made {
            folder: Folder::new(),
            profiles: profiles.collect(),
            spans: Vec::new(),
            draws: Draws(42),
        }
    }

    /// A line of comment in a profile.
    pub fn comment(&mut self, kind: Kind, line: &str) {
        self.profiles
            .get_mut(&kind)
            .expect("the kind")
            .comment(line);
    }

    /// A request that ended.
    pub fn request(&mut self, name: &str, millis: f64) -> Who {
        self.ended(name, millis, SpanStatus::Unset)
    }

    /// One that ended so.
    pub fn ended(&mut self, name: &str, millis: f64, status: SpanStatus) -> Who {
        let who = self.open(name);
        let mut span = local_root(&who.id, name, 0);
        span.end_unix_nanos += (millis * MS) as u64;
        span.status = status;
        self.spans.push(span);
        who
    }

    /// One that has not.
    pub fn open(&mut self, name: &str) -> Who {
        let id = (self.draws.draw() * 1e18) as u64 | 1;
        Who {
            id: format!("{id:016x}"),
            name: name.to_owned(),
        }
    }

    /// So many ms of CPU in that stack, leaf first: a sample each period, the first anywhere in it.
    pub fn burn(&mut self, who: Option<&Who>, millis: f64, stack: &[&str]) {
        let samples = (millis * MS / PERIOD as f64 + self.draws.draw()).floor() as i64;
        if samples > 0 {
            let values = [samples, samples * PERIOD];
            self.sample(Kind::Cpu, who, values, stack, None);
        }
    }

    /// `waits` waits of so many ms each.
    pub fn wait(&mut self, who: &Who, state: &str, waits: usize, millis: f64, stack: &[&str]) {
        let nanos = millis * MS;
        for _ in 0..waits {
            if nanos >= BLOCKED_PERIOD {
                let values = [1, nanos as i64];
                self.sample(Kind::Blocked, Some(who), values, stack, Some(state));
            } else if self.draws.draw() * BLOCKED_PERIOD < nanos {
                let values = [(BLOCKED_PERIOD / nanos) as i64, BLOCKED_PERIOD as i64];
                self.sample(Kind::Blocked, Some(who), values, stack, Some(state));
            }
        }
    }

    /// Of waits that are told otherwise: so many ms ready to run without a carrier.
    pub fn late(&mut self, who: &Who, millis: f64, stack: &[&str]) {
        let values = [0, (millis * MS) as i64];
        self.sample(Kind::Blocked, Some(who), values, stack, Some("runnable"));
    }

    /// What another kind has.
    pub fn event(&mut self, kind: Kind, who: Option<&Who>, amount: i64, stack: &[&str]) {
        self.sample(kind, who, [1, amount], stack, None);
    }

    fn sample(
        &mut self,
        kind: Kind,
        who: Option<&Who>,
        values: [i64; 2],
        stack: &[&str],
        state: Option<&str>,
    ) {
        let builder = self.profiles.get_mut(&kind).expect("the kind");
        let stack: Vec<_> = stack
            .iter()
            .map(|name| {
                let function = builder.function(name, "", "", 0);
                builder.location(function, 1)
            })
            .collect();
        let mut labels = who.map_or_else(Vec::new, |who| tags(&who.id, &who.name).to_vec());
        labels.extend(state.map(|state| ("state", state)));
        builder.sample(&stack, &values, &labels).expect("a sample");
    }

    /// The folder, with its files.
    pub fn write(self) -> Folder {
        for (kind, builder) in self.profiles {
            let name = format!("shop-1-{}-20231114T221320Z.pb.gz", kind.name());
            support::write(&builder.finish(), &self.folder.file(&name));
        }
        if !self.spans.is_empty() {
            support::write_spans(
                &spans_to_traces("shop", self.spans),
                &self.folder.file("shop-1-spans-20231114T221320Z.pb.gz"),
            );
        }
        self.folder
    }
}

pub fn path(folder: &Folder) -> &str {
    text(folder.path())
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}
