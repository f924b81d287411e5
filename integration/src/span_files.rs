//! The span lists that lie beside the profiles.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use vtprof_profile::content::Content;
use vtprof_profile::gzip;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::otlp::trace::Span;

use crate::recording::files;

/// A span as the agent reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// Its trace.
    pub trace: TraceId,
    /// Its parent, remote ones included.
    pub parent: Option<SpanId>,
    /// Its final name.
    pub name: String,
    /// OTLP's number of its kind.
    pub kind: i32,
    /// OTLP's number of its status.
    pub status: i32,
    /// Start, ns since 1970.
    pub start: u64,
    /// End, ns since 1970.
    pub end: u64,
}

/// Every span of every span list in `dir`.
///
/// # Errors
/// There is no list, one is not readable, an id is none, or a span is reported twice.
pub fn read(dir: &Path) -> Result<HashMap<SpanId, Reported>> {
    let lists = files(dir, "-spans-")?;
    if lists.is_empty() {
        bail!("no span list in {}", dir.display());
    }
    let mut spans = HashMap::new();
    for path in lists {
        for span in spans_of(&path).with_context(|| path.display().to_string())? {
            let id = SpanId::from_wire(&span.span_id).context("a span without an id")?;
            let reported = Reported {
                trace: TraceId::from_wire(&span.trace_id).context("a span without a trace")?,
                parent: SpanId::from_wire(&span.parent_span_id),
                name: span.name,
                kind: span.kind,
                status: span.status.map_or(0, |status| status.code),
                start: span.start_time_unix_nano,
                end: span.end_time_unix_nano,
            };
            if spans.insert(id, reported).is_some() {
                bail!("span {id} is reported twice");
            }
        }
    }
    Ok(spans)
}

fn spans_of(path: &Path) -> Result<Vec<Span>> {
    let bytes = gzip::read_bytes(File::open(path)?, gzip::DEFAULT_LIMIT)?;
    Ok(match Content::of(&bytes)? {
        Content::Empty => Vec::new(),
        Content::Spans(traces) => traces
            .resource_spans
            .into_iter()
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans)
            .collect(),
        Content::Other => bail!("these are no spans"),
    })
}
