//! A request of one line, and its answer: `ok` and lines of `key=value`, or `error` and why.
//!
//! Words, and no format with a parser: `vtprof ctl` of another version, and `nc -U`, are to be understood.

use crate::session::{Change, Session};

/// Longest request, bytes.
pub const LONGEST: usize = 1024;

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// How things stand.
    Status,
    /// Sample again.
    Start,
    /// Sample no more, and write what there is.
    Stop,
    /// Write what there is, and go on.
    Dump,
    /// Other rates.
    Set(Change),
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// In one line: what is no request.
    pub fn parse(line: &str) -> Result<Self, String> {
        if line.len() > LONGEST {
            // Not what its beginning says: a word may be cut.
            return Err(format!("a request has {LONGEST} bytes at the most"));
        }
        let mut words = line.split_ascii_whitespace();
        let command = words.next().unwrap_or_default();
        let request = match command {
            "status" => Self::Status,
            "start" => Self::Start,
            "stop" => Self::Stop,
            "dump" => Self::Dump,
            "set" => {
                let change = Change::parse(words.by_ref())?;
                if change == Change::default() {
                    return Err("set what? write such as set cpu=50hz".to_owned());
                }
                Self::Set(change)
            }
            other => {
                return Err(format!(
                    "no request {other:?}: it is status, start, stop, dump or set"
                ));
            }
        };
        match words.next() {
            None => Ok(request),
            Some(word) => Err(format!("{command} stands alone, without {word:?}")),
        }
    }
}

/// Does what a line asks for, as `who`, and says how that went. On a thread that is attached to the VM, and is not the
/// drain: it may wait for that one as long as `flush=` says.
pub fn answer(session: &Session, line: &str, who: &str) -> String {
    match Request::parse(line).and_then(|request| obey(session, request, who)) {
        Ok(lines) => {
            let mut text = "ok\n".to_owned();
            lines.iter().for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
            text
        }
        Err(error) => failure(&error),
    }
}

/// Whether a line, if it is obeyed, makes the drain close or begin a window.
pub fn makes_write(line: &str) -> bool {
    Request::parse(line).is_ok_and(|request| request != Request::Status)
}

/// An answer that says why not.
pub fn failure(error: &str) -> String {
    format!("error {}\n", error.replace(char::is_control, " "))
}

fn obey(session: &Session, request: Request, who: &str) -> Result<Vec<String>, String> {
    let state = |session: &Session| format!("state={}", session.state().name());
    match request {
        Request::Status => Ok(session.status_lines()),
        Request::Start => {
            session.resume().map_err(|error| error.to_string())?;
            Ok(vec![state(session)])
        }
        Request::Stop => {
            session.pause().map_err(|error| error.to_string())?;
            let out = session.directory.word();
            Ok(vec![state(session), format!("out={out}")])
        }
        Request::Dump => {
            let files = session.dump().map_err(|error| error.to_string())?;
            Ok(vec![files.map_or_else(
                || format!("out={}", session.directory.word()),
                |files| format!("files={}", files.display()),
            )])
        }
        Request::Set(change) => {
            let applied = session
                .set(&change, who)
                .map_err(|error| error.to_string())?;
            let differences = applied.differences();
            Ok(differences
                .into_iter()
                .map(|difference| format!("changed={difference}"))
                .chain([state(session)])
                .collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_of_five_and_what_follows_it_is_of_use() {
        assert_eq!(Request::parse(" stop \n"), Ok(Request::Stop));
        assert_eq!(Request::parse("dump"), Ok(Request::Dump));
        let Ok(Request::Set(change)) = Request::parse("set cpu=off every=10s\n") else {
            panic!("a change");
        };
        assert_eq!(change.periods.len(), 1);
        for (bad, part) in [
            ("", "status, start, stop, dump or set"),
            ("halt", "\"halt\""),
            ("stop now", "\"now\""),
            ("set", "cpu=50hz"),
            ("set cpu=5000hz", "1000hz"),
            ("set out=/tmp/x", "\"out\""),
            ("\u{0}\u{7f}\n", "no request"),
        ] {
            let text = failure(&Request::parse(bad).unwrap_err());
            assert!(text.contains(part), "{bad}: {text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn a_request_that_is_too_long_is_refused_and_not_obeyed_as_far_as_it_goes() {
        let most = format!("stop{}", " ".repeat(LONGEST - 4));
        assert_eq!(Request::parse(&most), Ok(Request::Stop));
        let error = Request::parse(&format!("{most} ")).unwrap_err();
        assert!(error.contains("1024"), "{error}");
    }

    #[test]
    fn whatever_bytes_come_are_a_request_or_a_reason() {
        let mut chance = crate::events::chance::Chance::new(7);
        let words = [
            "set",
            "cpu=",
            "wall=10ms",
            "off",
            "=",
            "every=1s",
            "stop",
            "\u{e9}",
        ];
        for _ in 0..20_000 {
            let mut line = String::new();
            while chance.draw() > 0.2 {
                line.push_str(words[(chance.draw() * words.len() as f64) as usize]);
                if chance.draw() > 0.4 {
                    line.push(' ');
                }
                if chance.draw() > 0.8 {
                    line.push(char::from((chance.draw() * 255.0) as u8));
                }
            }
            if let Err(reason) = Request::parse(&line) {
                assert_eq!(failure(&reason).lines().count(), 1, "{line:?}");
            }
        }
    }
}
