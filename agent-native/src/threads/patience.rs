//! Waiting, in tests, for what comes soon, but nobody knows how soon on a busy machine.

use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// Waits until `condition` holds; `false` if it does not within a minute.
pub fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + MINUTE;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}
