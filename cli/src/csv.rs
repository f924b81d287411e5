//! Listings as CSV (RFC 4180): one table, raw numbers in the unit that the header names, nothing where nothing is known.

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::Result;

use crate::text::printable;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Text of a file or of this program.
    Text(Cow<'a, str>),
    /// A whole number.
    Whole(i128),
    /// A fraction, as many digits as tell it from its neighbours.
    Fraction(f64),
    /// Not known.
    Nothing,
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl From<i128> for Cell<'_> {
    fn from(number: i128) -> Self {
        Cell::Whole(number)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Whole(number.into())
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Cell::Whole(number as i128)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Fraction(number)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(known: Option<T>) -> Self {
        known.map_or(Cell::Nothing, Into::into)
    }
}

impl Cell<'_> {
    fn written(&self) -> Cow<'_, str> {
        match self {
            Cell::Text(text) => Cow::Owned(harmless(text)),
            Cell::Whole(number) => Cow::Owned(number.to_string()),
            Cell::Fraction(number) => Cow::Owned(number.to_string()),
            Cell::Nothing => Cow::Borrowed(""),
        }
    }
}

/// The text as text: a spreadsheet takes what begins like a formula for one, and runs it. The names of spans are whatever a
/// client has sent.
fn harmless(text: &str) -> String {
    let text = printable(text);
    if text.starts_with(['=', '+', '-', '@']) {
        format!("'{text}")
    } else {
        text
    }
}

/// Writes a header line and the rows.
///
/// # Errors
/// Those of the writer; a row that is not as long as the header.
pub fn write<'a>(
    headers: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = Vec<Cell<'a>>>,
    out: &mut impl Write,
) -> Result<()> {
    let mut writer = ::csv::Writer::from_writer(out);
    let write = || -> Result<(), ::csv::Error> {
        writer.write_record(headers.iter().map(|header| harmless(header.as_ref())))?;
        for row in rows {
            writer.write_record(row.iter().map(|cell| cell.written().into_owned()))?;
        }
        Ok(writer.flush()?)
    };
    // As an I/O error: that a pipe is closed is looked for among those.
    write().map_err(|error| io::Error::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: Vec<Vec<Cell<'_>>>) -> String {
        let mut out = Vec::new();
        write(&["name", "value"], rows, &mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn numbers_are_raw_and_what_is_not_known_is_empty() {
        let rows = vec![
            vec!["a".into(), 1_234_567_i128.into()],
            vec!["b".into(), 0.125.into()],
            vec!["c".into(), None::<u64>.into()],
        ];
        assert_eq!(written(rows), "name,value\na,1234567\nb,0.125\nc,\n");
    }

    #[test]
    fn text_stays_text_whatever_is_in_it() {
        let rows = vec![
            vec!["a,\"b\"".into(), "GET /\x1b[2J\n".into()],
            vec!["=HYPERLINK(\"x\")".into(), (-5_i128).into()],
        ];
        assert_eq!(
            written(rows),
            "name,value\n\"a,\"\"b\"\"\",GET /\\u{1b}[2J\\u{a}\n\"'=HYPERLINK(\"\"x\"\")\",-5\n"
        );
    }

    #[test]
    fn a_row_of_another_length_is_an_error() {
        let rows = vec![vec!["a".into()]];
        assert!(write(&["name", "value"], rows, &mut Vec::new()).is_err());
    }
}
