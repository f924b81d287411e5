//! What the user asked for: the option string of `-agentpath`, over `VTPROF_OPTS`, over a TOML file.
//!
//! | module | noun |
//! |---|---|
//! | [`control`] | what is asked of a vtprof that is there already |
//! | [`layers`] | where keys come from, and which wins |
//! | [`push`] | where windows are sent |
//! | [`remote`] | who may switch profiling from afar |
//! | [`value`] | how a value of each kind is read |
//!
//! One table ([`Options::apply`]) knows all keys. An unknown key or a bad value stops the agent with one
//! line, not the application.

pub mod control;
pub mod layers;
pub mod push;
pub mod remote;
pub mod value;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use vtprof_profile::kind::Kind;

use crate::log::Level;
use push::Push;
use remote::Remote;

/// How the agent learns which thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextStrategy {
    /// `sample` once it has proved right on this JVM, else `mount`.
    Auto,
    /// By mount and unmount events.
    Mount,
    /// By the thread id the JVM keeps in the carrier's `JavaThread` (JDK 24+).
    Sample,
}

/// What signals threads as they use CPU time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// `perf` where the period is finer than the kernel's tick and the kernel permits it whole, else `timer`.
    Auto,
    /// POSIX timers.
    Timer,
    /// Perf events; `timer` where they are refused.
    Perf,
}

/// Which threads are sampled by the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WallScope {
    /// Those in a span.
    Context,
    /// All that run Java.
    All,
}

/// When there is an MXBean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jmx {
    /// Once the platform's MBean server is there.
    Auto,
    /// In any case: the server is made where it is not there.
    On,
    /// Never.
    Off,
}

/// What stays in the output directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keep {
    /// Bytes of vtprof's files.
    pub bytes: u64,
    /// Age of a file.
    pub age: Duration,
}

/// A key or value that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionError {
    #[error("unknown option {key:?} in {origin}; known are {known}")]
    UnknownKey {
        key: String,
        origin: String,
        known: String,
    },
    #[error("bad value {value:?} for option {key} in {origin}: {reason}")]
    BadValue {
        key: String,
        value: String,
        origin: String,
        reason: String,
    },
    #[error("option {text:?} in {origin} has no value: write key=value")]
    NoValue { text: String, origin: String },
    #[error("config file {path}: {reason}")]
    File { path: String, reason: String },
}

/// All options, with their defaults.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// CPU sampling period, or `None` for off.
    pub cpu: Option<Duration>,
    /// What signals threads as they use CPU time.
    pub engine: Engine,
    /// Waits from that length on are sampled for sure, shorter ones in proportion; `None` for off.
    pub blocked: Option<Duration>,
    /// Waits for a lock from that length on are sampled for sure, shorter ones in proportion; `None` for off.
    pub lock: Option<Duration>,
    /// Bytes between two samples of allocations, on average, or `None` for off.
    pub alloc: Option<u32>,
    /// Objects of sampled allocations that are followed at a time, at the most, or `None` for off.
    pub live: Option<u32>,
    /// Period of sampling by the wall clock, or `None` for off.
    pub wall: Option<Duration>,
    /// Whom that is about.
    pub wall_scope: WallScope,
    /// Directory of the profiles; `None` for no files.
    pub out: Option<PathBuf>,
    /// Where else windows go.
    pub push: Push,
    /// Who may switch profiling from afar.
    pub remote: Remote,
    /// Length of a window.
    pub every: Duration,
    /// How long a stop, of sampling or of the JVM, waits for the last profile to be written.
    pub flush: Duration,
    /// Service name, where given.
    pub service: Option<String>,
    /// Strategy.
    pub context: ContextStrategy,
    /// Records in the context table; rounded up to a power of two.
    pub contexts: usize,
    /// What stays in `out`.
    pub keep: Keep,
    /// Where the agent's figures are served, or `None` for off.
    pub metrics: Option<SocketAddr>,
    /// Log level.
    pub log: Level,
    /// Signal number, where given.
    pub signal: Option<i32>,
    /// Signals by the wall clock instead, for tests of the agent itself: period, or `None`.
    pub stress: Option<Duration>,
    /// Whether stacks of virtual threads are completed from their frozen frames, where that proves right.
    pub whole_stacks: bool,
    /// Whether `vtprof-otel.jar` is handed to the OTel javaagent.
    pub shim: bool,
    /// Whether profilers outside of the process may read which span a thread is in.
    pub publish_context: bool,
    /// Whether `vtprof ctl` finds a socket.
    pub ctl: bool,
    /// When there is an MXBean.
    pub jmx: Jmx,
    /// The agent's own CPU time at the most, as a share of the process' (0.01 is 1 %), or `None` for as much as it takes.
    pub max_overhead: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cpu: Some(Duration::from_millis(10)),
            engine: Engine::Auto,
            blocked: None,
            lock: None,
            alloc: None,
            live: None,
            wall: None,
            wall_scope: WallScope::Context,
            out: Some(PathBuf::from("vtprof")),
            push: Push::default(),
            remote: Remote::default(),
            every: Duration::from_secs(60),
            flush: Duration::from_secs(5),
            service: None,
            context: ContextStrategy::Auto,
            contexts: 65_536,
            keep: Keep {
                bytes: 512 << 20,
                age: Duration::from_secs(24 * 3600),
            },
            metrics: None,
            log: Level::Info,
            signal: None,
            stress: None,
            whole_stacks: true,
            shim: true,
            publish_context: false,
            ctl: true,
            jmx: Jmx::Auto,
            max_overhead: Some(0.01),
        }
    }
}

/// All keys, as a message names them. `config` is taken out before ([`layers`]).
const KEYS: &[&str] = &[
    "alloc",
    "blocked",
    "config",
    "context",
    "contexts",
    "control",
    "cpu",
    "ctl",
    "engine",
    "every",
    "flush",
    "jmx",
    "keep",
    "live",
    "lock",
    "log",
    "max_overhead",
    "metrics",
    "out",
    "publish_context",
    "service",
    "shim",
    "signal",
    "stacks",
    "stress",
    "wall",
    "wall_scope",
];

/// Between two looks at the owners of locks that threads wait for, where it is a lock of `java.util.concurrent`.
pub const LOCK_OWNERS: Duration = Duration::from_millis(20);

impl Options {
    /// Period of a kind, in the unit of what it counts (ns, bytes); `None` where it is off.
    #[must_use]
    pub fn period(&self, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Cpu => self.cpu.map(nanos),
            Kind::Alloc => self.alloc.map(u64::from),
            // Of the same samples.
            Kind::Live => self.live.and(self.alloc).map(u64::from),
            Kind::Blocked => self.blocked.map(nanos),
            Kind::Wall => self.wall.map(nanos),
            Kind::Lock => self.lock.map(nanos),
            Kind::LockOwner => self.lock.map(|_| nanos(LOCK_OWNERS)),
        }
    }

    /// Objects that are followed at a time, at the most, where any are.
    #[must_use]
    pub fn followed(&self) -> Option<usize> {
        self.live.and_then(|count| {
            self.alloc?;
            usize::try_from(count).ok()
        })
    }

    /// Whether samples are taken by signals: of CPU time, and in visits of the wall engine, which blocked time needs for
    /// threads that keep their OS thread. Those of events are taken by the threads they are of, and
    /// need neither signals nor a look at who runs where.
    #[must_use]
    pub fn uses_signals(&self) -> bool {
        self.cpu.is_some() || self.wall.is_some() || self.blocked.is_some()
    }

    /// Applies one key. `origin` is for messages.
    ///
    /// # Errors
    /// An unknown key, or a value that does not fit it.
    pub fn apply(&mut self, key: &str, text: &str, origin: &str) -> Result<(), OptionError> {
        let result = match key {
            "cpu" => value::period(text).map(|v| self.cpu = v),
            "engine" => value::word(
                text,
                &[
                    ("auto", Engine::Auto),
                    ("timer", Engine::Timer),
                    ("perf", Engine::Perf),
                ],
            )
            .map(|v| self.engine = v),
            "blocked" => value::wait(text).map(|v| self.blocked = v),
            "lock" => value::wait(text).map(|v| self.lock = v),
            "alloc" => value::interval(text).map(|v| self.alloc = v),
            "live" => value::objects(text).map(|v| self.live = v),
            "wall" => value::wait(text).map(|v| self.wall = v),
            "wall_scope" => value::word(
                text,
                &[("context", WallScope::Context), ("all", WallScope::All)],
            )
            .map(|v| self.wall_scope = v),
            "out" => value::directory(text).map(|v| self.out = v),
            "every" => value::between(text, Duration::from_secs(1), Duration::from_secs(24 * 3600))
                .map(|v| self.every = v),
            "flush" => value::between(text, Duration::from_secs(1), Duration::from_secs(5 * 60))
                .map(|v| self.flush = v),
            "service" => value::name(text).map(|v| self.service = Some(v)),
            "context" => value::word(
                text,
                &[
                    ("auto", ContextStrategy::Auto),
                    ("mount", ContextStrategy::Mount),
                    ("sample", ContextStrategy::Sample),
                ],
            )
            .map(|v| self.context = v),
            "contexts" => value::count(text, 1, 1 << 22).map(|v| self.contexts = v),
            "keep" => value::keep(text, self.keep).map(|v| self.keep = v),
            "log" => value::word(
                text,
                &[
                    ("error", Level::Error),
                    ("warn", Level::Warn),
                    ("info", Level::Info),
                    ("debug", Level::Debug),
                ],
            )
            .map(|v| self.log = v),
            "metrics" => value::listener(text).map(|v| self.metrics = v),
            "signal" => value::signal(text).map(|v| self.signal = Some(v)),
            "stacks" => value::word(text, &[("whole", true), ("visible", false)])
                .map(|v| self.whole_stacks = v),
            "stress" => value::stress(text).map(|v| self.stress = v),
            "shim" => value::word(text, &[("on", true), ("off", false)]).map(|v| self.shim = v),
            _ if push::knows(key) || remote::KEYS.contains(&key) => {
                let applied = if push::knows(key) {
                    self.push.apply(key, text)
                } else {
                    self.remote.apply(key, text)
                };
                return applied.map_err(|reason| OptionError::BadValue {
                    key: key.to_owned(),
                    value: push::HIDDEN.to_owned(),
                    origin: origin.to_owned(),
                    reason,
                });
            }
            "publish_context" => {
                value::word(text, &[("on", true), ("off", false)]).map(|v| self.publish_context = v)
            }
            "ctl" => value::word(text, &[("on", true), ("off", false)]).map(|v| self.ctl = v),
            "jmx" => value::word(
                text,
                &[("auto", Jmx::Auto), ("on", Jmx::On), ("off", Jmx::Off)],
            )
            .map(|v| self.jmx = v),
            "max_overhead" => value::share(text).map(|v| self.max_overhead = v),
            "control" => return Err(control::misplaced(text, origin)),
            _ => {
                return Err(OptionError::UnknownKey {
                    key: key.to_owned(),
                    origin: origin.to_owned(),
                    known: [KEYS, &push::KEYS, &remote::KEYS].concat().join(", "),
                });
            }
        };
        result.map_err(|reason| OptionError::BadValue {
            key: key.to_owned(),
            value: text.to_owned(),
            origin: origin.to_owned(),
            reason,
        })
    }
}

/// As many ns as fit.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
