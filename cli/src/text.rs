//! Text from files made safe for a terminal, and notes to the user.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use crate::figures::{plural, thousands};

// For the stack of a sample that has no frame, which files of others may have.
pub use vtprof_profile::formats::collapsed::NO_STACK;

/// The text with what could command or deceive a terminal written out as `\u{…}`: control
/// characters (escape sequences start with one), line separators and marks that hide or reorder
/// other characters. Span and function names are data of others.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        {
            // Writing to a String does not fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// The text with its middle left out when it is longer than any name a person reads: a table is as
/// wide as its longest cell.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2_000;
    let chars = text.chars().count();
    if chars <= LONGEST {
        return Cow::Borrowed(text);
    }
    let byte = |char_index| {
        text.char_indices()
            .nth(char_index)
            .map_or(text.len(), |(at, _)| at)
    };
    let (head, tail) = (byte(LONGEST / 2), byte(chars - LONGEST / 2));
    let more = thousands((chars - LONGEST) as i128);
    Cow::Owned(format!("{}…({more} more)…{}", &text[..head], &text[tail..]))
}

/// A path as one word of a shell.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// One line on standard error. That it is closed is no reason to fail.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "vtprof: {}", printable(text));
}

/// What is said of so many spans that do not count for want of times, if any.
pub fn without_times(count: u64, spans: &str) -> Option<String> {
    let spans = plural(count.into(), spans);
    let told = format!("{spans} that end before they start, or say 0 for one of both, left out");
    (count > 0).then_some(told)
}

/// Says it of local roots, which then are no requests.
pub fn note_roots_without_times(count: u64) {
    if let Some(told) = without_times(count, "local root span") {
        note(&told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_written_out() {
        assert_eq!(printable("GET /\x1b[2J\r\n"), "GET /\\u{1b}[2J\\u{d}\\u{a}");
        assert_eq!(printable("a\u{202e}b\u{9b}c"), "a\\u{202e}b\\u{9b}c");
        assert_eq!(printable("GET /größe/日本"), "GET /größe/日本");
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("/a b/$c")), "'/a b/$c'");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
