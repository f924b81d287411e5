//! The answer for people.

use std::io::Write;

use anyhow::Result;

use super::evidence::{Thin, Verdict};
use super::frames::{Behind, FrameLoss};
use super::parts::Part;
use super::{View, WORTH, causes::Causes};
use crate::figures::{self, dash, percent, plural, thousands};
use crate::listing::Listing;
use crate::stats::Difference;
use crate::text::printable;

/// Writes the verdict, the parts, the frames behind them, and what must be said beside.
pub fn write(view: &View, limit: Option<usize>, out: &mut impl Write) -> Result<()> {
    let endpoint = &view.endpoint;
    writeln!(
        out,
        "{}: {} ({}) of {} on average, {} fast ones ({}) of {}: {} longer",
        printable(&endpoint.name),
        plural(endpoint.slow_spans as i128, "slow span"),
        view.slow_bound,
        nanos(view.slow_nanos),
        thousands(endpoint.fast_spans as i128),
        view.fast_bound,
        nanos(view.fast_nanos),
        nanos(view.longer.value)
    )?;
    if endpoint.is_chosen {
        writeln!(
            out,
            "(the endpoint whose slow spans lose most, {} together)",
            nanos(endpoint.lost_nanos)
        )?;
    }
    writeln!(out)?;
    match &view.verdict {
        Verdict::Told { lead, beside } => told(view, *lead, beside, out)?,
        Verdict::Thin(thin) => writeln!(out, "not enough evidence: {}", too_thin(thin))?,
    }
    writeln!(out)?;
    parts(view, out)?;
    for behind in &view.behind {
        frames(behind, limit, out)?;
    }
    for causes in &view.causes {
        others(causes, limit, out)?;
    }
    if !view.notes.is_empty() {
        writeln!(out)?;
        for note in &view.notes {
            writeln!(out, "{}", printable(note))?;
        }
    }
    Ok(())
}

fn told(view: &View, lead: Part, beside: &[Part], out: &mut impl Write) -> Result<()> {
    if let Some(evenly) = &view.evenly {
        let kinds: Vec<_> = evenly.parts.iter().map(|part| part.name()).collect();
        let cpus = view.cpus.map_or_else(String::new, |cpus| {
            format!("; the process used {cpus:.2} CPUs")
        });
        writeln!(
            out,
            "most likely threads that could run had no carrier or CPU: waits of every kind ({}) are longer by about the same, {} each, {} of a slow span{cpus}",
            kinds.join(", "),
            nanos(evenly.by_nanos),
            nanos(evenly.of_a_span_nanos)
        )?;
        writeln!(out, "that is inferred from what was waited for:")?;
    }
    if view.evenly.is_some() {
        cause(view, Part::Runnable, out)?;
    }
    let also = view.losses.iter().filter(|loss| {
        let part = &loss.part;
        *part != lead
            && loss.is_sure()
            && (beside.contains(part) || loss.difference.value >= WORTH * view.longer.value)
    });
    let of_lead = view.losses.iter().find(|loss| loss.part == lead);
    for (at, loss) in of_lead.into_iter().chain(also).enumerate() {
        let share = loss.difference.value / view.longer.value;
        writeln!(
            out,
            "{} {}: {} of it ({})",
            match at {
                0 => "it is",
                _ if beside.contains(&loss.part) => "and, not surely less",
                _ => "then",
            },
            loss.part.is(),
            with_width(&loss.difference),
            percent(Some(share))
        )?;
        let behind = view.behind.iter().find(|behind| behind.part == loss.part);
        if let Some(at) = behind.and_then(|behind| behind.at.as_ref()) {
            writeln!(
                out,
                "  in {}{}, {} ({} of the {} that is lost)",
                printable(&at.frame),
                leaf(at),
                with_width(&at.difference),
                percent(Some(at.share)),
                loss.part.name()
            )?;
        }
        cause(view, loss.part, out)?;
    }
    Ok(())
}

/// What others do that makes for it.
fn cause(view: &View, part: Part, out: &mut impl Write) -> Result<()> {
    if let Some((causes, most)) = view.cause(part) {
        writeln!(
            out,
            "  {}: {} in {} ({})",
            causes.title,
            printable(&most.frame),
            printable(&most.endpoint),
            percent(Some(most.share))
        )?;
    }
    Ok(())
}

fn leaf(at: &FrameLoss) -> String {
    if at.leaf == at.frame {
        String::new()
    } else {
        format!(" at {}", printable(&at.leaf))
    }
}

fn too_thin(thin: &Thin) -> String {
    let mut text = format!(
        "{} ({}, {} fast",
        thin.reason,
        plural(thin.slow_spans as i128, "slow span"),
        thousands(thin.fast_spans as i128)
    );
    if let Some(samples) = thin.samples {
        text += &format!(", {} of CPU in the slow ones", plural(samples, "sample"));
    }
    text += ")";
    if let Some(needed) = thin.slow_spans_needed {
        let more = needed.saturating_sub(thin.slow_spans as u64);
        if more > 0 {
            text += &format!(
                "; at their spread it takes about {}, {} more",
                plural(needed.into(), "slow span"),
                thousands(more.into())
            );
        }
    }
    text
}

fn parts(view: &View, out: &mut impl Write) -> Result<()> {
    let headers = ["FAST", "SLOW", "DIFF", "±", "OF IT", "PART"];
    let mut listing = Listing::new(&headers, headers.len() - 1);
    let share = |value: f64| percent((view.longer.value > 0.0).then(|| value / view.longer.value));
    for loss in &view.losses {
        let name = if loss.is_sure() || loss.difference.value <= 0.0 {
            loss.part.name().to_owned()
        } else {
            format!("{} (may be chance)", loss.part.name())
        };
        listing.row(
            &[
                nanos(loss.fast),
                nanos(loss.slow),
                nanos(loss.difference.value),
                width(&loss.difference),
                share(loss.difference.value),
                name,
            ],
            !loss.is_sure(),
        );
    }
    let accounted = |i: usize| percent(view.accounted[i]);
    listing.row(
        &[
            accounted(0),
            accounted(1),
            dash(),
            dash(),
            dash(),
            "(accounted for, of the duration)".to_owned(),
        ],
        false,
    );
    if let Some(joined) = view.joined {
        listing.row(
            &[
                dash(),
                nanos(joined),
                dash(),
                dash(),
                dash(),
                "(waits for threads of its own)".to_owned(),
            ],
            false,
        );
    }
    listing.write(out)?;
    Ok(())
}

fn frames(behind: &Behind, limit: Option<usize>, out: &mut impl Write) -> Result<()> {
    if behind.rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}:", behind.part.name())?;
    let headers = ["DIFF", "±", "OF PART", "FRAME", "LEAF"];
    let mut listing = Listing::new(&headers, headers.len() - 2);
    let shown = limit.unwrap_or(behind.rows.len());
    for row in behind.rows.iter().take(shown) {
        let is_told = row
            .difference
            .half_width
            .is_some_and(|half| half < row.difference.value);
        listing.row(
            &[
                nanos(row.difference.value),
                width(&row.difference),
                percent(Some(row.share)),
                row.frame.clone(),
                if row.leaf == row.frame {
                    dash()
                } else {
                    row.leaf.clone()
                },
            ],
            !is_told,
        );
    }
    listing.write(out)?;
    if let Some(left) = behind
        .rows
        .len()
        .checked_sub(shown)
        .filter(|left| *left > 0)
    {
        writeln!(out, "({} more, --limit 0 for all)", thousands(left as i128))?;
    }
    if behind.way.len() > 1 {
        let way: Vec<_> = behind.way.iter().map(|name| printable(name)).collect();
        writeln!(out, "called by: {}", way.join(" < "))?;
    }
    Ok(())
}

fn others(causes: &Causes, limit: Option<usize>, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n{}:", causes.title)?;
    let headers = [
        causes.kind.name().replace('_', " ").to_uppercase(),
        "%".to_owned(),
        "FRAME".to_owned(),
        "CLASS".to_owned(),
        "ENDPOINT".to_owned(),
    ];
    let mut listing = Listing::new(&headers, 2);
    for row in causes.rows.iter().take(limit.unwrap_or(causes.rows.len())) {
        listing.row(
            &[
                figures::value(row.sum.value, &causes.measure.unit),
                percent(Some(row.share)),
                row.frame.clone(),
                row.class.clone().unwrap_or_else(dash),
                row.endpoint.clone(),
            ],
            false,
        );
    }
    listing.write(out)?;
    Ok(())
}

fn nanos(value: f64) -> String {
    figures::nanos(value.round() as i128)
}

fn width(difference: &Difference) -> String {
    difference.half_width.map_or_else(dash, nanos)
}

fn with_width(difference: &Difference) -> String {
    let value = nanos(difference.value);
    match difference.half_width {
        Some(half) => format!("{value} ± {}", nanos(half)),
        None => value,
    }
}
