//! How a document is written: tables by columns, which compress well and are read at once. `web/document.js` reads them.

use std::collections::HashMap;

use serde::Serialize;
use vtprof_profile::spans::SpanStatus;

use super::groups::Group;
use super::texts::{TextId, Texts};
use crate::spans::endpoints;
use crate::text::{printable, shortened};

/// What a document says of itself.
#[derive(Debug, Default, Serialize)]
pub struct About<'a> {
    pub title: &'a str,
    pub version: &'a str,
    /// What is to be known of the inputs, a line each.
    pub notes: &'a [String],
}

#[derive(Serialize)]
pub struct Document<'a> {
    pub format: u32,
    pub about: &'a About<'a>,
    pub few: u32,
    pub bins_per_octave: f64,
    pub compares: bool,
    pub nodes: Nodes,
    pub frames: Frames,
    /// Endpoints' names; `endpoints` has those of the side that is shown, groups name all by their place here.
    pub endpoint_names: Vec<TextId>,
    pub endpoints: Endpoints,
    pub groups: GroupColumns,
    pub profiles: Vec<ProfileColumns>,
    pub texts: Vec<String>,
}

/// In an order in which parents come first and a node's subtree follows it.
#[derive(Serialize)]
pub struct Nodes {
    /// How far back its parent is.
    pub up: Vec<u32>,
    pub frame: Vec<u32>,
}

#[derive(Default, Serialize)]
pub struct Frames {
    pub name: Vec<TextId>,
    pub file: Vec<TextId>,
    pub class: Vec<u8>,
}

#[derive(Default)]
pub struct Names {
    pub texts: Vec<TextId>,
    pub known: HashMap<String, u32>,
}

impl Names {
    pub fn add(&mut self, name: &str, texts: &mut Texts) -> u32 {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let at = self.texts.len() as u32;
        self.texts.push(texts.add(&printable(&shortened(name))));
        self.known.insert(name.to_owned(), at);
        at
    }
}

/// In the order of their cost. Durations are in ns, null where none ended.
#[derive(Default, Serialize)]
pub struct Endpoints {
    pub name: Vec<u32>,
    pub ended: Vec<usize>,
    pub p50: Vec<Option<u64>>,
    pub p95: Vec<Option<u64>>,
    pub p99: Vec<Option<u64>>,
    pub max: Vec<Option<u64>>,
}

impl Endpoints {
    pub fn of(endpoints: &[endpoints::Endpoint], names: &mut Names, texts: &mut Texts) -> Self {
        let mut columns = Endpoints::default();
        for endpoint in endpoints {
            columns.name.push(names.add(&endpoint.name, texts));
            columns.ended.push(endpoint.durations.len());
            columns.p50.push(endpoint.duration_percentile(50));
            columns.p95.push(endpoint.duration_percentile(95));
            columns.p99.push(endpoint.duration_percentile(99));
            columns.max.push(endpoint.duration_percentile(100));
        }
        columns
    }
}

/// -1 where something is not known or is of no span.
#[derive(Default, Serialize)]
pub struct GroupColumns {
    pub side: Vec<u8>,
    pub endpoint: Vec<i64>,
    pub bin: Vec<i32>,
    pub spans: Vec<u64>,
    pub ended: Vec<u64>,
    /// Of groups that are one span: their numbers, then what is known of each.
    pub single: Vec<u32>,
    pub id: Vec<String>,
    pub trace: Vec<Option<String>>,
    pub start_millis: Vec<i64>,
    pub duration: Vec<Option<u64>>,
    pub status: Vec<Option<&'static str>>,
}

impl GroupColumns {
    pub fn of(groups: &[Group], names: &mut Names, texts: &mut Texts) -> Self {
        let mut columns = GroupColumns::default();
        for (number, group) in (0..).zip(groups) {
            let endpoint = group.endpoint.as_deref();
            let endpoint = endpoint.map(|name| names.add(name, texts));
            columns.side.push(group.side as u8);
            columns.endpoint.push(endpoint.map_or(-1, i64::from));
            columns.bin.push(group.bin.map_or(-1, i32::from));
            columns.spans.push(group.spans);
            columns.ended.push(group.ended);
            let Some(root) = &group.root else {
                continue;
            };
            let clean = |text: &str| printable(&shortened(text));
            let start = root.ended.map(|ended| ended.start_unix_nanos / 1_000_000);
            columns.single.push(number);
            columns.id.push(clean(&root.id));
            columns.trace.push(root.trace.as_deref().map(clean));
            columns
                .start_millis
                .push(start.map_or(-1, |start| start as i64));
            columns
                .duration
                .push(root.ended.map(|ended| ended.duration_nanos));
            columns
                .status
                .push(root.ended.map(|ended| match ended.status {
                    SpanStatus::Unset => "unset",
                    SpanStatus::Ok => "ok",
                    SpanStatus::Error => "error",
                }));
        }
        columns
    }
}

#[derive(Serialize)]
pub struct ProfileColumns {
    /// Of the kind; null for what vtprof does not write.
    pub name: Option<&'static str>,
    pub default: usize,
    pub types: Vec<TypeColumn>,
    /// What is shown, then the base.
    pub sides: Vec<RowColumns>,
}

#[derive(Serialize)]
pub struct TypeColumn {
    pub name: String,
    pub unit: String,
    pub counted: bool,
    pub is_count: bool,
}

#[derive(Serialize)]
pub struct RowColumns {
    /// How far behind that of the row before.
    pub node: Vec<u32>,
    pub group: Vec<u32>,
    /// A column a type, then the number of samples.
    pub values: Vec<Vec<i64>>,
    pub window_millis: Option<(i64, i64)>,
    pub files: u64,
}
