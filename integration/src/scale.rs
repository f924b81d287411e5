//! How much the tests do: seconds in the everyday suite, minutes for the published figures.

/// In-request samples that each configuration of the headline test must see:
/// `VTPROF_TRUTH_SAMPLES`, else enough for the everyday suite.
///
/// # Panics
/// The variable holds no number.
pub fn headline_samples() -> u64 {
    number("VTPROF_TRUTH_SAMPLES", 3_000)
}

/// Looks from outside at threads that say where they are, a run: `VTPROF_LOOKS`.
///
/// # Panics
/// The variable holds no number.
pub fn looks() -> u64 {
    number("VTPROF_LOOKS", 600)
}

/// How often the agent is stopped and started: `VTPROF_CYCLES`.
///
/// # Panics
/// The variable holds no number.
pub fn cycles() -> u64 {
    number("VTPROF_CYCLES", 400)
}

/// How often work is done with and without sampling, to tell what a signal costs: `VTPROF_HANDLER_CYCLES`. Some 20 s; the 60
/// of `docs/measurements.md` take 75.
///
/// # Panics
/// The variable holds no number.
pub fn handler_cycles() -> u64 {
    number("VTPROF_HANDLER_CYCLES", 15)
}

/// How many JVMs are ended in the middle of their work: `VTPROF_EXITS`.
///
/// # Panics
/// The variable holds no number.
pub fn exits() -> u64 {
    number("VTPROF_EXITS", 30)
}

/// Requests whose time is told apart: `VTPROF_REQUESTS`.
///
/// # Panics
/// The variable holds no number.
pub fn requests() -> u64 {
    number("VTPROF_REQUESTS", 64)
}

fn number(variable: &str, everyday: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is a number")),
        Err(_) => everyday,
    }
}

/// Samples that the stacks of all configurations together are judged by: `VTPROF_STACK_SAMPLES`, else none,
/// and the everyday suite runs a few of them once.
///
/// # Panics
/// The variable holds no number.
pub fn stack_samples() -> Option<u64> {
    std::env::var_os("VTPROF_STACK_SAMPLES").map(|_| number("VTPROF_STACK_SAMPLES", 0))
}

/// Throw-away classes that the test of class unloading makes: `VTPROF_CLASSES`, else enough for the everyday
/// suite.
///
/// # Panics
/// The variable holds no number.
pub fn throw_away_classes() -> u32 {
    u32::try_from(number("VTPROF_CLASSES", 6_000)).expect("VTPROF_CLASSES is below 2^32")
}
