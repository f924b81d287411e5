//! What is asked of a vtprof that is in the JVM already: `control=stop`, alone in the option string of an
//! attach.

use super::{OptionError, layers, value};

/// A request to the running session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Sample again.
    Start,
    /// Sample no more, and write what there is.
    Stop,
    /// Say how things stand.
    Status,
}

const KEY: &str = "control";

/// The request in an option string, where it is one.
///
/// # Errors
/// No such request, or other options beside it: they were fixed when the agent was loaded.
pub fn read(string: &str) -> Result<Option<Control>, OptionError> {
    // What is no list of options at all is told to be so where they are read.
    let pairs = layers::split(string, layers::STRING).unwrap_or_default();
    let Some((_, text)) = pairs.iter().find(|(key, _)| key == KEY) else {
        return Ok(None);
    };
    let words = [
        ("start", Control::Start),
        ("stop", Control::Stop),
        ("status", Control::Status),
    ];
    let control = value::word(text, &words).and_then(|control| match pairs.len() {
        1 => Ok(control),
        _ => Err("it stands alone, options are fixed once the agent is loaded".to_owned()),
    });
    control
        .map(Some)
        .map_err(|reason| refused(text, layers::STRING, reason))
}

/// `control` where it asks nobody.
pub fn misplaced(text: &str, origin: &str) -> OptionError {
    let reason = "only for an attach to a JVM that vtprof is in already, in the option string";
    refused(text, origin, reason.to_owned())
}

fn refused(text: &str, origin: &str, reason: String) -> OptionError {
    OptionError::BadValue {
        key: KEY.to_owned(),
        value: text.to_owned(),
        origin: origin.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_of_three_words_and_stands_alone() {
        assert_eq!(read("control=stop"), Ok(Some(Control::Stop)));
        assert_eq!(read(" control = start ,"), Ok(Some(Control::Start)));
        assert_eq!(read("control=status"), Ok(Some(Control::Status)));
        assert_eq!(read("cpu=100hz"), Ok(None));
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("control"), Ok(None), "no value: told with the options");
        for (bad, part) in [
            ("control=pause", "start, stop, status"),
            ("control=", "start, stop, status"),
            ("control=stop,out=x", "alone"),
        ] {
            let text = read(bad).unwrap_err().to_string();
            assert!(text.contains(part), "{bad}: {text}");
            assert_eq!(text.lines().count(), 1);
        }
    }

    #[test]
    fn a_request_in_the_environment_or_at_load_is_refused() {
        for (string, environment) in [("control=stop", ""), ("", "control=start")] {
            let text = layers::read(string, environment).unwrap_err().to_string();
            assert!(text.contains("attach"), "{text}");
        }
    }
}
