//! Thread names as a label: few values, whatever the pools are called.

/// What a thread without a name is called: unnamed virtual threads, where each is an OS thread.
const UNNAMED: &str = "<unnamed>";

/// Folds each run of digits into `N`, so that `pool-3-thread-17` and `pool-4-thread-2` are one label value.
/// A word of a capital and a digit stays: `C1` and `C2`, `G1` are not numbers of threads.
#[must_use]
pub fn fold_digits(name: &str) -> String {
    if name.is_empty() {
        return UNNAMED.to_owned();
    }
    let mut folded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let length = from
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(from.len());
        let (digits, after) = from.split_at(length);
        folded.push_str(before);
        let word = folded
            .rsplit(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or("");
        let is_word = digits.len() == 1
            && word.len() == 1
            && word.bytes().all(|b| b.is_ascii_uppercase())
            && !after.starts_with(char::is_alphanumeric);
        folded.push_str(if is_word { digits } else { "N" });
        rest = after;
    }
    folded + rest
}

/// What all threads of a folded name that differ in their last number are called together: `GC Thread` for
/// `GC Thread#N`.
#[must_use]
pub fn family(folded: &str) -> &str {
    let kept = folded
        .strip_suffix('N')
        .filter(|kept| kept.ends_with(|c: char| c.is_lowercase() || !c.is_alphabetic()))
        .unwrap_or(folded)
        .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '>');
    if kept.is_empty() { folded } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_digits_becomes_one_letter() {
        assert_eq!(
            fold_digits("ForkJoinPool-1-worker-13"),
            "ForkJoinPool-N-worker-N"
        );
        assert_eq!(fold_digits("C2 CompilerThread0"), "C2 CompilerThreadN");
        assert_eq!(fold_digits("GC Thread#12"), "GC Thread#N");
        assert_eq!(fold_digits("G1 Conc#0"), "G1 Conc#N");
        assert_eq!(fold_digits("C12 x"), "CN x");
        assert_eq!(fold_digits("AC2"), "ACN");
        assert_eq!(fold_digits("main"), "main");
        assert_eq!(fold_digits(""), UNNAMED);
        assert_eq!(fold_digits("héé7é"), "hééNé");
    }

    #[test]
    fn a_family_has_no_number_at_its_end() {
        for (name, expected) in [
            ("GC Thread#12", "GC Thread"),
            ("G1 Conc#0", "G1 Conc"),
            ("C2 CompilerThread0", "C2 CompilerThread"),
            ("VM Thread", "VM Thread"),
            ("ZWorkerYoung#1", "ZWorkerYoung"),
            ("pool-3-thread-17", "pool-N-thread"),
            ("7", "N"),
            ("#3", "#N"),
            ("JOHN", "JOHN"),
            ("main", "main"),
            ("", UNNAMED),
        ] {
            assert_eq!(family(&fold_digits(name)), expected, "{name}");
        }
    }
}
