//! Lines on stderr, one a message, all beginning with `vtprof: `. Never stdout: a JDK tool started with
//! `JAVA_TOOL_OPTIONS` prints its result there.

use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// What went wrong for good.
    Error = 0,
    /// What is less than asked for.
    Warn = 1,
    /// What was started and where it writes.
    Info = 2,
    /// What happens meanwhile.
    Debug = 3,
}

/// Relaxed: a level, nothing is published through it.
static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Sets the level.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub fn error(message: &str) {
    write(Level::Error, message);
}

pub fn warn(message: &str) {
    write(Level::Warn, message);
}

pub fn info(message: &str) {
    write(Level::Info, message);
}

pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// What was asked for: said at each level.
pub fn answer(message: &str) {
    write_line("", message);
}

fn write(level: Level, message: &str) {
    if level as u8 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    let word = match level {
        Level::Error => "error: ",
        Level::Warn => "warning: ",
        Level::Info | Level::Debug => "",
    };
    write_line(word, message);
}

fn write_line(word: &str, message: &str) {
    let line = format!("vtprof: {word}{}\n", printable(message));
    // Nowhere to say that stderr is closed.
    let _written = std::io::stderr().write_all(line.as_bytes());
}

/// One line that does nothing to a terminal, whatever of it has come from outside: ESC, line ends, the C1 controls.
fn printable(message: &str) -> String {
    message.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_ends_a_line_or_commands_a_terminal() {
        let hostile = "it \u{1b}]0;x\u{7}\r\n\u{9b}2J\u{7f}\u{0} \u{e9}";
        let line = printable(hostile);
        assert_eq!(
            line.chars().filter(|c| c.is_control()).count(),
            0,
            "{line:?}"
        );
        assert_eq!(line, "it  ]0;x    2J   \u{e9}");
    }
}
