//! A table on the terminal.
//!
//! Names come last and are not cut to the terminal's width: the end of a method's name is what
//! tells it from others.
//! Without a terminal, or with `NO_COLOR`, there is no escape sequence in the output.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::text::{printable, shortened};

/// Ends a style.
const RESET: &str = "\x1b[0m";

/// Rows under headers; numbers to the right, the last `texts` columns to the left.
pub struct Listing {
    table: Table,
    first_text: usize,
    styled: bool,
}

impl Listing {
    /// An empty table; columns from `first_text` on hold text.
    pub fn new(headers: &[impl AsRef<str>], first_text: usize) -> Self {
        let mut listing = Listing {
            table: Table::new(),
            first_text,
            styled: is_styled(),
        };
        listing
            .table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        if listing.styled {
            listing.table.enforce_styling();
        } else {
            listing.table.force_no_tty();
        }
        let header: Vec<_> = listing
            .cells(headers.iter().map(AsRef::as_ref))
            .map(|cell| cell.add_attribute(Attribute::Bold))
            .collect();
        listing.table.set_header(header);
        listing
    }

    /// Adds a row; a `faint` one stands on too little to be read as a figure.
    pub fn row(&mut self, cells: &[String], faint: bool) {
        let cells: Vec<_> = self
            .cells(cells.iter().map(String::as_str))
            .map(|cell| {
                if faint {
                    cell.add_attribute(Attribute::Dim)
                } else {
                    cell
                }
            })
            .collect();
        self.table.add_row(cells);
    }

    fn cells<'a>(&self, texts: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Cell> {
        let first_text = self.first_text;
        texts.enumerate().map(move |(i, text)| {
            let alignment = if i < first_text {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            };
            Cell::new(printable(&shortened(text))).set_alignment(alignment)
        })
    }

    /// Writes the table without blanks at line ends.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for line in self.table.to_string().lines() {
            // The last column is padded to its longest name, which would wrap short ones.
            match line.strip_suffix(RESET) {
                Some(styled) => writeln!(out, "{}{RESET}", styled.trim_end())?,
                None => writeln!(out, "{}", line.trim_end())?,
            }
        }
        Ok(())
    }
}

/// Whether standard output shows styles and the user wants them (<https://no-color.org>).
fn is_styled() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
