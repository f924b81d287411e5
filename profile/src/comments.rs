//! The lines of figures that an agent writes into the comments of a profile: how they begin, for who writes and who reads
//! them, and the `key=number` pairs in them.

/// Begins the line of a window's figures.
pub const WINDOW: &str = "window: ";
/// In it, when the agent's session began, ns since the Unix epoch: the same in all files of a process.
pub const SESSION_START: &str = "session.start_unix_ns";
/// Begins the line of its counters.
pub const COUNTERS: &str = "counters (those not named are 0): ";
/// Begins the line of what was sent.
pub const PUSH: &str = "push (those not named are 0): ";
/// Begins the line of the time that a sum is of, where its head cannot tell it.
pub const COVERED: &str = "covered: ";

/// The pairs behind the beginning of a line.
pub fn figures(pairs: &str) -> impl Iterator<Item = (&str, i128)> {
    pairs.split_whitespace().filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key, value.parse().ok()?))
    })
}

/// The pairs of the first of `comments` that begins so; `None` where none does.
pub fn of<'a>(
    comments: &'a [String],
    begin: &str,
) -> Option<impl Iterator<Item = (&'a str, i128)> + use<'a>> {
    let line = comments.iter().find_map(|line| line.strip_prefix(begin))?;
    Some(figures(line))
}

/// One figure of that line.
pub fn figure(comments: &[String], begin: &str, key: &str) -> Option<i128> {
    let mut all = of(comments, begin)?;
    all.find_map(|(known, value)| (known == key).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_its_line_and_key_and_what_is_no_number_is_none() {
        let comments = [
            "agent=vtprof a.b=1".to_owned(),
            format!("{WINDOW}a.b=2 text=x -=3"),
            format!("{COUNTERS}a.b=-4"),
        ];
        assert_eq!(figure(&comments, WINDOW, "a.b"), Some(2));
        assert_eq!(figure(&comments, COUNTERS, "a.b"), Some(-4));
        assert_eq!(figure(&comments, WINDOW, "text"), None);
        assert_eq!(figure(&comments[..1], WINDOW, "a.b"), None);
    }
}
