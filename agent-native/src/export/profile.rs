//! A window of one kind as pprof.

use std::collections::HashMap;
use std::sync::Arc;

use vtprof_profile::builder::{LocationId, ProfileBuilder, SampleError};
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::kind::Kind;

use super::rounding::Rounding;
use crate::aggregate::frames::Location;
use crate::aggregate::window::Window;
use crate::symbolize::symbolizer::Function;

/// When the window was, ns.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Start since the Unix epoch.
    pub start_unix_ns: u64,
    /// Length.
    pub duration_ns: u64,
}

/// The profile of a window of that kind. `period` is in the unit of the kind's period; `root_name` names a local
/// root, `full` the stack of what had no room.
///
/// # Errors
/// A sample pprof readers would refuse: none can be made here, so one is a fault to be told.
pub fn build(
    kind: Kind,
    window: &Window,
    when: Span,
    period: u64,
    full: &Arc<Function>,
    mut root_name: impl FnMut(u64) -> Arc<str>,
    comments: &[String],
) -> Result<ProfileBuilder, SampleError> {
    let period = signed(period);
    let amount = kind.amount();
    let mut builder = ProfileBuilder::new(&[kind.count(), amount], kind.period(), period);
    builder.default_sample_type(amount.kind);
    builder.set_time(signed(when.start_unix_ns), signed(when.duration_ns));
    for comment in comments {
        builder.comment(comment);
    }
    // CPU time is summed in periods, what else there is in its own unit.
    let unit = if kind == Kind::Cpu { period } else { 1 };
    let mut rounding = Rounding::new(when.start_unix_ns);
    let mut known: HashMap<Location, LocationId> = HashMap::new();
    let mut stack = Vec::new();
    let mut failure = None;
    window.for_each(full, |entry| {
        stack.clear();
        for location in entry.stack {
            let id = *known.entry(location.clone()).or_insert_with(|| {
                let function = &location.function;
                let id = builder.function(&function.name, &function.name, &function.file, 0);
                builder.location(id, i64::from(location.line))
            });
            stack.push(id);
        }
        let values = [
            rounding.whole(entry.sum.count),
            rounding.whole(entry.sum.amount).saturating_mul(unit),
        ];
        // An empty text is no label.
        let state = kind.label().zip(entry.state).unwrap_or(("state", ""));
        let tag = entry.tag;
        let added = if tag.is_empty() {
            builder.sample(&stack, &values, &[("thread", entry.thread), state])
        } else {
            let trace = TraceId::from_halves(tag.trace_hi, tag.trace_lo).to_string();
            let (span, root) = (SpanId(tag.span).to_string(), SpanId(tag.root).to_string());
            let name = root_name(tag.root);
            builder.sample(
                &stack,
                &values,
                &[
                    ("trace_id", &trace),
                    ("span_id", &span),
                    ("local_root_span_id", &root),
                    ("span_name", &name),
                    ("thread", entry.thread),
                    state,
                ],
            )
        };
        if let Err(error) = added {
            failure.get_or_insert(error);
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(builder),
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
