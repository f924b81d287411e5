//! The table of `vtprof top` for people.

use std::io::Write;

use anyhow::Result;

use crate::args::TopBy;
use crate::cost::Pricing;
use crate::figures::{self, FEW, Sum, percent, plus_minus, share, thousands};
use crate::listing::Listing;
use crate::text::note;

use super::View;

/// Writes the table under lines that say what it stands on.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    let View {
        top,
        chooser,
        measure,
        pricing,
        shown,
        rest,
    } = *view;
    let value = |sum: Sum| figures::value(sum.value, &measure.unit);
    let samples = |sum: Sum| {
        if chooser.counted() {
            thousands(sum.samples)
        } else {
            figures::dash()
        }
    };
    let error = |sum: Sum| plus_minus(chooser.error(sum));
    let part = |sum: Sum| percent(share(sum.value, top.in_focus.value));

    writeln!(out, "{}", chooser.summary(top.whole))?;
    if !top.focus.is_empty() {
        let of = percent(share(top.in_focus.value, top.whole.value));
        writeln!(
            out,
            "in focus: {} ({of}), samples {}",
            value(top.in_focus),
            samples(top.in_focus)
        )?;
        if top.samples_seen == 0 {
            note(
                "no sample matches: name= is the name of a local root span, root= its id and all below it, span= one span without its children, trace= a trace; `vtprof spans` lists names and ids",
            );
        }
    }
    if let Some(pricing) = pricing {
        writeln!(
            out,
            "{} vCPU on average, {} vCPU-hours a month",
            cost_cells(pricing, top.in_focus)[0],
            cost_cells(pricing, top.in_focus)[1]
        )?;
    }
    writeln!(out)?;
    let by = match top.by {
        TopBy::Function => "FUNCTION",
        TopBy::File => "FILE",
        TopBy::Package => "PACKAGE",
    };
    let mut headers = vec!["SELF", "SELF %", "±", "SAMPLES"];
    if pricing.is_some() {
        headers.extend(["VCPU", "VCPU-H/MONTH"]);
    }
    headers.extend(["TOTAL", "TOTAL %", "±", by]);
    let mut listing = Listing::new(&headers, headers.len() - 1);
    let own_cells = |sum: Sum| {
        let mut cells = vec![value(sum), part(sum), error(sum), samples(sum)];
        cells.extend(
            pricing
                .into_iter()
                .flat_map(|pricing| cost_cells(pricing, sum)),
        );
        cells
    };
    for row in shown {
        let mut cells = own_cells(row.own);
        cells.extend([
            value(row.total),
            part(row.total),
            error(row.total),
            row.name.clone(),
        ]);
        listing.row(&cells, chooser.counted() && row.total.samples < FEW);
    }
    if !rest.is_empty() {
        let own: Sum = rest.iter().map(|row| row.own).sum();
        let name = format!(
            "({} more, --limit 0 for all)",
            thousands(rest.len() as i128)
        );
        // Totals of several functions share samples, so they have no sum.
        let dash = figures::dash;
        let mut cells = own_cells(own);
        cells.extend([dash(), dash(), dash(), name]);
        listing.row(&cells, false);
    }
    listing.write(out)?;
    Ok(())
}

fn cost_cells(pricing: Pricing, sum: Sum) -> [String; 2] {
    let cost = pricing.of(sum.value);
    [
        format!("{:.3}", cost.vcpus),
        format!("{:.1}", cost.vcpu_hours_a_month),
    ]
}
