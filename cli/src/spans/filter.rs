//! Which local root spans are listed.

use vtprof_profile::ids::TraceId;

use crate::args::{Moment, SpansArgs};

use super::roots::Root;

/// All conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// One of these, where there are any.
    names: Vec<String>,
    trace: Option<TraceId>,
    since: Option<Moment>,
    until: Option<Moment>,
}

impl Filter {
    pub fn new(args: &SpansArgs) -> Self {
        Filter {
            names: args.name.clone(),
            trace: args.trace,
            since: args.since,
            until: args.until,
        }
    }

    /// Whether it lets all through.
    pub fn is_open(&self) -> bool {
        self.names.is_empty() && self.is_of_names()
    }

    /// Whether names are all that it looks at.
    fn is_of_names(&self) -> bool {
        self.trace.is_none() && self.since.is_none() && self.until.is_none()
    }

    /// Whether a span is listed. One whose start and end no file tells is in the windows in which it has samples.
    pub fn lets_through(&self, root: &Root) -> bool {
        let trace = root.trace.as_ref().and_then(|text| text.parse().ok());
        self.is_named(root.name.as_deref())
            && self.trace.is_none_or(|wanted| trace == Some(wanted))
            && self
                .since
                .is_none_or(|since| root.times().is_some_and(|(_, end)| end >= since.0))
            && self
                .until
                .is_none_or(|until| root.times().is_some_and(|(start, _)| start <= until.0))
    }

    /// Whether samples that have a name and no id are listed.
    pub fn lets_name_through(&self, name: &str) -> bool {
        self.is_of_names() && self.is_named(Some(name))
    }

    fn is_named(&self, name: Option<&str>) -> bool {
        let of_name = |name| self.names.iter().any(|wanted| wanted == name);
        self.names.is_empty() || name.is_some_and(of_name)
    }
}
