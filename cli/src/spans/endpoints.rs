//! Local root spans gathered by their names.

use std::collections::HashMap;

use crate::stats::percentile;

use super::columns::{Column, ColumnId, Costs};
use super::roots::Roots;

/// The row of local root spans whose name no file tells.
pub const NO_NAME: &str = "(no name)";

/// All local root spans of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub name: String,
    pub costs: Costs,
    /// Durations of the spans that ended, ascending, ns.
    pub durations: Vec<u64>,
    /// Costs of the spans that ended: what a span costs must not count those still running.
    pub costs_of_ended: Costs,
}

impl Endpoint {
    fn new(name: &str) -> Self {
        Endpoint {
            name: name.to_owned(),
            costs: Costs::default(),
            durations: Vec::new(),
            costs_of_ended: Costs::default(),
        }
    }

    /// Mean cost of a span that ended.
    pub fn cost_per_span(&self, column: ColumnId) -> Option<i128> {
        let spans = self.durations.len() as i128;
        (spans > 0).then(|| self.costs_of_ended.of(column).value / spans)
    }

    /// Relative standard error of that.
    pub fn error_per_span(&self, id: ColumnId, column: &Column) -> Option<f64> {
        column.chooser.error(self.costs_of_ended.of(id))
    }

    /// What the spans that ended lasted together, ns.
    pub fn duration(&self) -> i128 {
        self.durations.iter().map(|nanos| i128::from(*nanos)).sum()
    }

    /// The duration that `percent` of the spans do not exceed (nearest rank), ns.
    pub fn duration_percentile(&self, percent: u32) -> Option<u64> {
        percentile(&self.durations, f64::from(percent))
    }
}

/// The endpoints, most costly first by the first column. Together with the untagged samples they add up to the whole.
pub fn of(roots: &Roots, lead: Option<ColumnId>) -> Vec<Endpoint> {
    let mut by_name: HashMap<&str, Endpoint> = HashMap::new();
    for root in roots.iter() {
        let name = root.name.as_deref().unwrap_or(NO_NAME);
        let endpoint = by_name.entry(name).or_insert_with(|| Endpoint::new(name));
        endpoint.costs.add_all(&root.costs);
        if let Some(ended) = root.ended {
            endpoint.durations.push(ended.duration_nanos);
            endpoint.costs_of_ended.add_all(&root.costs);
        }
    }
    for (name, costs) in &roots.named_only {
        by_name
            .entry(name)
            .or_insert_with(|| Endpoint::new(name))
            .costs
            .add_all(costs);
    }
    let mut endpoints: Vec<_> = by_name.into_values().collect();
    for endpoint in &mut endpoints {
        endpoint.durations.sort_unstable();
    }
    endpoints.sort_by(|a, b| {
        let cost = |endpoint: &Endpoint| endpoint.costs.of_lead(lead).value;
        cost(b).cmp(&cost(a)).then_with(|| a.name.cmp(&b.name))
    });
    endpoints
}
