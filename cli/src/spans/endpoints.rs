//! Local root spans gathered by their names.

use std::collections::HashMap;

use crate::figures::Sum;

use super::roots::Roots;

/// The row of local root spans whose name no file tells.
const NO_NAME: &str = "(no name)";

/// All local root spans of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub name: String,
    pub cost: Sum,
    /// Durations of the spans that ended, ascending, ns.
    pub durations: Vec<u64>,
    /// Cost of the spans that ended: what a span costs must not count those still running.
    pub cost_of_ended: Sum,
}

impl Endpoint {
    fn new(name: &str) -> Self {
        Endpoint {
            name: name.to_owned(),
            cost: Sum::default(),
            durations: Vec::new(),
            cost_of_ended: Sum::default(),
        }
    }

    /// Mean cost of a span that ended.
    pub fn cost_per_span(&self) -> Option<i128> {
        let spans = self.durations.len() as i128;
        (spans > 0).then(|| self.cost_of_ended.value / spans)
    }

    /// The duration that `percent` of the spans do not exceed (nearest rank), ns.
    pub fn duration_percentile(&self, percent: usize) -> Option<u64> {
        let rank = (self.durations.len() * percent).div_ceil(100).max(1);
        self.durations.get(rank - 1).copied()
    }
}

/// The endpoints, most costly first. Together with the untagged samples they add up to the whole.
pub fn of(roots: &Roots) -> Vec<Endpoint> {
    let mut by_name: HashMap<&str, Endpoint> = HashMap::new();
    for root in roots.iter() {
        let name = root.name.as_deref().unwrap_or(NO_NAME);
        let endpoint = by_name.entry(name).or_insert_with(|| Endpoint::new(name));
        endpoint.cost.add(root.cost);
        if let Some(ended) = root.ended {
            endpoint.durations.push(ended.duration_nanos);
            endpoint.cost_of_ended.add(root.cost);
        }
    }
    for (name, cost) in &roots.named_only {
        by_name
            .entry(name)
            .or_insert_with(|| Endpoint::new(name))
            .cost
            .add(*cost);
    }
    let mut endpoints: Vec<_> = by_name.into_values().collect();
    for endpoint in &mut endpoints {
        endpoint.durations.sort_unstable();
    }
    endpoints.sort_by(|a, b| {
        b.cost
            .value
            .cmp(&a.cost.value)
            .then_with(|| a.name.cmp(&b.name))
    });
    endpoints
}
