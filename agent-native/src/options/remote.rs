//! Who may switch profiling from afar: the keys that begin with `config_`.

use std::path::PathBuf;
use std::time::Duration;

use vtprof_deliver::remote::signature::Key;
use vtprof_deliver::target::Address;

use super::value;

/// See the module.
#[derive(Clone, PartialEq, Debug)]
pub struct Remote {
    /// Where the document is.
    pub url: Option<Address>,
    /// Time between two looks at it.
    pub every: Duration,
    /// Whose documents are obeyed.
    pub key: Option<Key>,
    /// A token for the door.
    pub token_file: Option<PathBuf>,
}

impl Default for Remote {
    fn default() -> Self {
        Self {
            url: None,
            every: Duration::from_secs(60),
            key: None,
            token_file: None,
        }
    }
}

/// Keys of this module.
pub const KEYS: [&str; 4] = [
    "config_every",
    "config_key",
    "config_token_file",
    "config_url",
];

impl Remote {
    /// Applies one key.
    ///
    /// # Errors
    /// What the value should be.
    pub fn apply(&mut self, key: &str, text: &str) -> Result<(), String> {
        match key {
            "config_url" => {
                let address = Address::parse(text).map_err(|error| error.to_string())?;
                self.url = Some(address.whole());
            }
            "config_key" => self.key = Some(Key::parse(text)?),
            "config_token_file" => {
                self.token_file = Some(value::path(text).map_err(|_| "a file")?);
            }
            _ => {
                let (least, most) = (Duration::from_secs(1), Duration::from_secs(3600));
                self.every = value::between(text, least, most)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_takes_what_its_documentation_shows_and_quotes_nothing() {
        let mut remote = Remote::default();
        for (key, text) in [
            ("config_url", "https://h/agents/shop?token=hunter2"),
            ("config_every", "30s"),
            ("config_key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
            ("config_token_file", "/t"),
        ] {
            remote.apply(key, text).unwrap();
        }
        let url = remote.url.as_ref().unwrap();
        assert_eq!(url.url(""), "https://h/agents/shop?token=hunter2");
        assert_eq!(remote.every, Duration::from_secs(30));
        assert!(remote.key.is_some());
        assert_eq!(remote.token_file, Some("/t".into()));
        for (key, text) in [
            ("config_url", "hunter2"),
            ("config_url", "http://me:hunter2@h"),
            ("config_every", "0s"),
            ("config_key", "hunter2"),
        ] {
            let error = remote.apply(key, text).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
