//! Lines for the user.

use std::fmt;
use std::sync::Arc;

/// How much a line matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Something is less than asked for.
    Warn,
    /// It is well again.
    Info,
    /// What happens meanwhile.
    Debug,
}

type Sink = dyn Fn(Level, &str) + Send + Sync;

/// Where lines go.
#[derive(Clone)]
pub struct Say(Arc<Sink>);

impl Say {
    /// To that function.
    pub fn new(to: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(to))
    }

    /// One line.
    pub fn line(&self, level: Level, text: &str) {
        (self.0)(level, text);
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Say")
    }
}
