//! What is sent to a server and shown to nobody.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A token, a password, the value of a header. It is printed as `<secret>`, in whatever it stands.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Longest token in a file, bytes.
const LONGEST: u64 = 64 << 10;

impl Secret {
    /// Takes a text that can stand in a header: visible ASCII and blanks, without those around it.
    ///
    /// # Errors
    /// It is empty or cannot stand there; the reason does not quote it.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("it is empty");
        }
        if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err("it has characters that cannot stand in a header");
        }
        Ok(Self(text.to_owned()))
    }

    /// The content of a file, as [`Secret::new`] takes it.
    ///
    /// # Errors
    /// The reason, without the content.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        // A pipe would keep whoever asks, and the start of the JVM is one.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|error| error.to_string())?;
        let found = file.metadata().map_err(|error| error.to_string())?;
        if !found.is_file() {
            return Err("it is no regular file".to_owned());
        }
        file.take(LONGEST)
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        Self::new(&text).map_err(str::to_owned)
    }

    /// The text itself, for the wire alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_nobody_writes_keeps_nobody_and_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let why = Secret::read(&pipe).unwrap_err();
        assert!(why.contains("regular"), "{why}");
        let file = folder.path().join("file");
        std::fs::write(&file, "hunter2\n").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(Secret::read(&link).unwrap().expose(), "hunter2");
    }

    #[test]
    fn a_secret_is_printed_as_that_word_and_what_cannot_be_sent_is_refused_without_a_quote() {
        let secret = Secret::new(" hunter2\n").unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "<secret> <secret>");
        for bad in ["", " \n", "a\r\nX: y", "schlüssel"] {
            let reason = Secret::new(bad).unwrap_err();
            assert!(bad.trim().is_empty() || !reason.contains(bad.trim()));
        }
    }
}
