//! What the agent says: `ok` and lines of `key=value`, or `error` and why.

use std::path::Path;

use anyhow::{Result, bail};

use crate::attach::options::OFF;

/// An answer that is no refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// In the agent's order; a key may come more than once.
    pub pairs: Vec<(String, String)>,
}

impl Answer {
    /// Reads one.
    ///
    /// # Errors
    /// The agent refuses, in its words; or what came is none.
    pub fn parse(text: &str) -> Result<Self> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        if let Some(reason) = first.strip_prefix("error ") {
            bail!("the agent refuses: {reason}");
        }
        if first != "ok" || !(rest.is_empty() || rest.ends_with('\n')) {
            bail!(
                "the agent's answer is cut or none at all: ask again, or use the vtprof of its version"
            );
        }
        let pairs = rest.lines().filter_map(|line| line.split_once('='));
        Ok(Answer {
            pairs: pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    /// The first value of that key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values(key).next()
    }

    /// All values of that key.
    pub fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        let pairs = self.pairs.iter().filter(move |(known, _)| known == key);
        pairs.map(|(_, value)| value.as_str())
    }

    /// Where the agent writes its files; `None` where it says that it writes none, or does not say.
    pub fn out(&self) -> Option<&Path> {
        self.value("out").filter(|out| *out != OFF).map(Path::new)
    }

    /// Whether it says that it writes none.
    pub fn has_no_files(&self) -> bool {
        self.value("out") == Some(OFF)
    }

    /// What stands behind a prefix such as `period.`, and its value.
    pub fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.pairs.iter();
        pairs.filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_is_no_folder_of_that_name() {
        let of = |text: &str| Answer::parse(text).expect("an answer");
        let off = of("ok\nout=off\n");
        assert!(off.has_no_files() && off.out().is_none());
        let folder = of("ok\nout=/srv/off\n");
        assert!(!folder.has_no_files());
        assert_eq!(folder.out(), Some(Path::new("/srv/off")));
        let silent = of("ok\n");
        assert!(!silent.has_no_files() && silent.out().is_none());
    }

    #[test]
    fn an_answer_is_values_by_key_or_a_reason() {
        let answer = Answer::parse("ok\nstate=running\nperiod.cpu=1\nperiod.wall=0\nx=a=b\n");
        let answer = answer.expect("an answer");
        assert_eq!(answer.value("state"), Some("running"));
        assert_eq!(answer.value("x"), Some("a=b"));
        let periods: Vec<_> = answer.below("period.").collect();
        assert_eq!(periods, [("cpu", "1"), ("wall", "0")]);
        for (bad, part) in [
            ("error no such thing\n", "refuses: no such thing"),
            ("", "cut"),
            ("ok\nstate=runn", "cut"),
            ("HTTP/1.1 400\n", "cut"),
        ] {
            let text = Answer::parse(bad).expect_err(bad).to_string();
            assert!(text.contains(part), "{text}");
        }
    }
}
