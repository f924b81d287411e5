//! The table of `vtprof top` as CSV.

use std::io::Write;

use anyhow::Result;

use crate::csv::{self, Cell};
use crate::figures::{Sum, share};

use super::View;

/// Writes the table.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let unit = &view.measure.unit;
    let mut headers = vec![
        "name".to_owned(),
        format!("self_{unit}"),
        "self_share".to_owned(),
        "self_samples".to_owned(),
        "self_relative_error".to_owned(),
        format!("total_{unit}"),
        "total_share".to_owned(),
        "total_samples".to_owned(),
        "total_relative_error".to_owned(),
    ];
    if view.pricing.is_some() {
        headers.extend(["self_vcpus", "self_vcpu_hours_a_month"].map(str::to_owned));
    }
    let counted = view.chooser.counted();
    let figure = |sum: Sum| -> [Cell<'_>; 4] {
        [
            sum.value.into(),
            share(sum.value, view.top.in_focus.value).into(),
            counted.then_some(sum.samples).into(),
            view.chooser.error(sum).into(),
        ]
    };
    let rows = view.shown.iter().map(|row| {
        let mut cells = vec![row.name.as_str().into()];
        cells.extend(figure(row.own));
        cells.extend(figure(row.total));
        if let Some(pricing) = view.pricing {
            let cost = pricing.of(row.own.value);
            cells.extend([cost.vcpus.into(), cost.vcpu_hours_a_month.into()]);
        }
        cells
    });
    csv::write(&headers, rows, out)
}
