//! A picture, by inferno.

use std::io::Write;

use anyhow::{Context, Result, bail};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};

/// Draws the lines; with two values a line, red is what grew since the first and blue what shrank.
///
/// # Errors
/// There is nothing to draw, or `out` fails.
pub fn write(
    lines: &[String],
    title: &str,
    unit: &str,
    compares: bool,
    out: &mut impl Write,
) -> Result<()> {
    if lines.is_empty() {
        bail!("no stack to draw: no sample matches");
    }
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = unit.to_owned();
    options.direction = Direction::Inverted;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.colors = flamegraph::Palette::Multi(flamegraph::color::MultiPalette::Java);
    options.hash = !compares;
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut *out)
        .context("svg")?;
    Ok(())
}
