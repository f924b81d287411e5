//! The command as a process: `vtprof`, what it prints, and how it fails.

use std::process::{Command, Output};

use crate::artifacts;

/// Somebody who owns nothing here.
pub const NOBODY: u32 = 65_534;

/// The command, without arguments.
///
/// # Panics
/// It is not built.
pub fn tool() -> Command {
    Command::new(artifacts::tool().expect("the tool"))
}

/// What a command that succeeded has printed.
///
/// # Panics
/// It failed.
pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The one line of a failed command.
///
/// # Panics
/// It did not fail, or said more.
pub fn failure(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}
