//! The comparison for people.

use std::io::Write;

use anyhow::Result;

use crate::args::DiffOrder;
use crate::figures::{self, FEW, dash, percent, plural, thousands};
use crate::listing::Listing;
use crate::requests::Left;
use crate::stats::{CHANCE, Difference, Per};
use crate::text::{note, printable};

use super::rows::{Compare, Verdict};
use super::{Row, View};

/// Writes the table under lines that say what it stands on.
pub fn write(view: &View<'_>, out: &mut impl Write) -> Result<()> {
    for (name, side) in view.names.iter().zip(view.sides) {
        let whole = side.side.whole;
        let mut line = format!("{}: ", name.text());
        if side.side.exposure.requests > 0 {
            line += &format!(
                "{}, ",
                plural(side.side.exposure.requests.into(), "request")
            );
        }
        line += &format!(
            "{} {}",
            view.measure.kind,
            figures::value(whole.value() as i128, &view.measure.unit)
        );
        if whole.samples > 0 {
            line += &format!(", {}", plural(whole.samples, "sample"));
        }
        line += &format!(", {}", plural(side.files.into(), "profile"));
        writeln!(out, "{}", printable(&line))?;
    }
    if let Some(whole) = &view.whole {
        let rate = |i: usize| {
            let side = &view.sides[i].side;
            amount(side.rate(&side.whole, view.per), view)
        };
        writeln!(
            out,
            "{}: {} against {}, {}",
            printable(&format!("{} {}", view.measure.kind, per(view.per))),
            rate(0),
            rate(1),
            difference(whole, view)
        )?;
    }
    for (name, side) in view.names.iter().zip(view.sides) {
        for (why, sum) in &side.left_out {
            if let Some(why) = left_out(*why, view.per) {
                let value = figures::value(sum.value, &view.measure.unit);
                note(&format!("{}: {value} {why} left out", name.text()));
            }
        }
    }
    for warning in &view.warnings {
        note(&format!("warning: {warning}"));
    }
    writeln!(out)?;
    let [first, second] = view.names.map(|name| name.text().to_uppercase());
    let (lead, other) = match view.order {
        DiffOrder::Total => ("TOTAL", "SELF"),
        DiffOrder::SelfValue => ("SELF", "TOTAL"),
    };
    let headers = [
        format!("{lead} {first}"),
        format!("{lead} {second}"),
        format!("{lead} DIFF"),
        "±".to_owned(),
        "FALSE".to_owned(),
        format!("{other} DIFF"),
        "±".to_owned(),
        "IS".to_owned(),
        "FUNCTION".to_owned(),
    ];
    let mut listing = Listing::new(&headers, headers.len() - 2);
    for row in &view.shown {
        listing.row(&cells(row, view), is_faint(row.lead(view.order)));
    }
    if !view.rest.is_empty() {
        let mut cells = vec![dash(); headers.len()];
        cells[headers.len() - 1] = format!(
            "({} more, --limit 0 for all)",
            thousands(view.rest.len() as i128)
        );
        listing.row(&cells, false);
    }
    listing.write(out)?;
    writeln!(
        out,
        "\n{}; ±: the true difference is that near in 95 of 100 cases; FALSE: of the rows that have as little or less, so many are there by chance; below {} it is taken for a difference",
        match view.per {
            Per::Request => "per request",
            Per::Second => "per second",
            Per::Share => "shares of the whole of each side",
        },
        percent(Some(CHANCE))
    )?;
    Ok(())
}

fn is_faint(compare: &Compare) -> bool {
    let samples: i128 = compare.costs.iter().map(|cost| cost.samples).sum();
    compare.verdict == Verdict::Noise || (samples > 0 && samples < FEW)
}

fn cells(row: &Row, view: &View<'_>) -> Vec<String> {
    let lead = row.lead(view.order);
    let other = match view.order {
        DiffOrder::Total => &row.own,
        DiffOrder::SelfValue => &row.total,
    };
    vec![
        amount(lead.rates[0], view),
        amount(lead.rates[1], view),
        signed(lead.difference.value, view),
        half_width(&lead.difference, view),
        lead.false_rate.map_or_else(dash, chance),
        signed(other.difference.value, view),
        half_width(&other.difference, view),
        lead.verdict.text().to_owned(),
        row.name.clone(),
    ]
}

fn difference(difference: &Difference, view: &View<'_>) -> String {
    let mut text = signed(difference.value, view);
    if difference.half_width.is_some() {
        text += &format!(" ± {}", half_width(difference, view));
    }
    if difference.chance.is_none_or(|chance| chance >= CHANCE) {
        text += ", which may be chance";
    }
    text
}

fn half_width(difference: &Difference, view: &View<'_>) -> String {
    difference
        .half_width
        .map_or_else(dash, |half| amount(half, view))
}

fn signed(value: f64, view: &View<'_>) -> String {
    let text = amount(value, view);
    if value > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}

fn amount(value: f64, view: &View<'_>) -> String {
    match view.per {
        Per::Share => percent(Some(value)),
        Per::Request | Per::Second => figures::fraction(value, &view.measure.unit),
    }
}

fn chance(rate: f64) -> String {
    if rate < 0.001 {
        "<0.1 %".to_owned()
    } else {
        percent(Some(rate))
    }
}

fn per(per: Per) -> &'static str {
    match per {
        Per::Request => "per request",
        Per::Second => "per second",
        Per::Share => "in shares",
    }
}

/// What those samples are of, if the user has not asked for that.
fn left_out(why: Left, per: Per) -> Option<&'static str> {
    match why {
        _ if per != Per::Request => None,
        Left::Failed => Some("of requests that ended in an error"),
        Left::Open => Some("of requests whose end is in no file"),
        Left::Other => None,
    }
}
