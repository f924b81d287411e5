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
mod tests {
    use super::*;

    fn applied(key: &str, value: &str) -> Result<Options, OptionError> {
        let mut options = Options::default();
        options.apply(key, value, "the test")?;
        Ok(options)
    }

    #[test]
    fn every_key_takes_what_its_documentation_shows() {
        assert_eq!(
            applied("cpu", "100hz").unwrap().cpu,
            Some(Duration::from_millis(10))
        );
        assert_eq!(applied("cpu", "off").unwrap().cpu, None);
        assert_eq!(
            applied("cpu", "100hz").unwrap().period(Kind::Cpu),
            Some(10_000_000)
        );
        assert_eq!(applied("cpu", "off").unwrap().period(Kind::Cpu), None);
        assert!(!applied("cpu", "off").unwrap().uses_signals());
        assert!(Options::default().uses_signals());
        let blocked = |text| applied("blocked", text).unwrap().period(Kind::Blocked);
        assert_eq!(blocked("1ms"), Some(1_000_000));
        assert_eq!(blocked("off"), None);
        assert_eq!(Options::default().period(Kind::Blocked), None);
        let lock = applied("lock", "2ms").unwrap();
        assert_eq!(lock.period(Kind::Lock), Some(2_000_000));
        assert_eq!(lock.period(Kind::LockOwner), Some(20_000_000));
        for options in [Options::default(), applied("lock", "off").unwrap()] {
            assert_eq!(options.period(Kind::Lock), None);
            assert_eq!(options.period(Kind::LockOwner), None);
        }
        assert_eq!(Options::default().period(Kind::Alloc), None);
        assert_eq!(Options::default().period(Kind::Wall), None);
        let wall = applied("wall", "10ms").unwrap();
        assert_eq!(wall.period(Kind::Wall), Some(10_000_000));
        assert_eq!(applied("wall", "off").unwrap().period(Kind::Wall), None);
        assert_eq!(wall.wall_scope, WallScope::Context);
        let scope = applied("wall_scope", "all").unwrap().wall_scope;
        assert_eq!(scope, WallScope::All);
        assert_eq!(applied("alloc", "off").unwrap().period(Kind::Alloc), None);
        assert_eq!(
            applied("alloc", "512k").unwrap().period(Kind::Alloc),
            Some(524_288)
        );
        let mut live = applied("live", "16k").unwrap();
        assert_eq!(live.live, Some(16_384));
        assert_eq!(live.period(Kind::Live), None, "nothing to follow");
        live.alloc = Some(65_536);
        assert_eq!(live.period(Kind::Live), Some(65_536));
        assert_eq!(applied("live", "off").unwrap().live, None);
        let out = |text| applied("out", text).unwrap().out;
        assert_eq!(out("/x/y"), Some(PathBuf::from("/x/y")));
        assert_eq!(out("off"), None);
        assert_eq!(
            applied("every", "5m").unwrap().every,
            Duration::from_secs(300)
        );
        assert_eq!(Options::default().flush, Duration::from_secs(5));
        assert_eq!(
            applied("flush", "30s").unwrap().flush,
            Duration::from_secs(30)
        );
        assert_eq!(
            applied("service", "shop").unwrap().service.as_deref(),
            Some("shop")
        );
        assert_eq!(
            applied("context", "mount").unwrap().context,
            ContextStrategy::Mount
        );
        assert_eq!(applied("contexts", "1024").unwrap().contexts, 1024);
        assert_eq!(
            applied("keep", "1GiB,2h").unwrap().keep,
            Keep {
                bytes: 1 << 30,
                age: Duration::from_secs(7200)
            }
        );
        let metrics = |text| applied("metrics", text).unwrap().metrics;
        let address = |text: &str| Some(text.parse().unwrap());
        assert_eq!(metrics("0.0.0.0:9464"), address("0.0.0.0:9464"));
        assert_eq!(metrics("9464"), address("127.0.0.1:9464"));
        assert_eq!(metrics("[::1]:0"), address("[::1]:0"));
        assert_eq!(metrics("off"), None);
        assert_eq!(Options::default().metrics, None);
        for bad in ["localhost:9464", "127.0.0.1", "99999", ":9464", ""] {
            assert!(applied("metrics", bad).is_err(), "{bad}");
        }
        assert_eq!(applied("log", "debug").unwrap().log, Level::Debug);
        assert_eq!(
            applied("signal", "prof").unwrap().signal,
            Some(libc::SIGPROF)
        );
        assert!(!applied("stacks", "visible").unwrap().whole_stacks);
        assert_eq!(
            applied("stress", "4000hz").unwrap().stress,
            Some(Duration::from_micros(250))
        );
        assert!(!applied("shim", "off").unwrap().shim);
        assert!(!Options::default().publish_context);
        assert!(applied("publish_context", "on").unwrap().publish_context);
    }

    #[test]
    fn what_may_lead_to_a_secret_is_not_quoted_in_an_error() {
        for (key, value) in [
            ("push", "pprof+https://me:hunter2@h"),
            ("push_auth", "bearer hunter2"),
        ] {
            let text = applied(key, value).unwrap_err().to_string();
            assert!(text.contains(key) && !text.contains("hunter2"), "{text}");
        }
        assert_eq!(applied("label.zone", "b").unwrap().push.labels.len(), 1);
    }

    #[test]
    fn what_may_be_switched_while_it_runs_has_options() {
        assert!(Options::default().ctl && !applied("ctl", "off").unwrap().ctl);
        assert_eq!(applied("jmx", "on").unwrap().jmx, Jmx::On);
        let overhead = |text| applied("max_overhead", text).unwrap().max_overhead;
        assert_eq!((overhead("0.5%"), overhead("off")), (Some(0.005), None));
    }

    #[test]
    fn an_error_names_the_key_the_value_and_where_it_stood() {
        let text = applied("cpu", "fast").unwrap_err().to_string();
        for part in ["cpu", "\"fast\"", "the test"] {
            assert!(text.contains(part), "{text}");
        }
        let text = applied("cup", "100hz").unwrap_err().to_string();
        for part in ["\"cup\"", "the test", "cpu"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(text.lines().count(), 1);
        let text = applied("alloc", "1k").unwrap_err().to_string();
        for part in ["alloc", "\"1k\"", "16k"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(text.lines().count(), 1);
        let text = applied("flush", "6m").unwrap_err().to_string();
        for part in ["flush", "\"6m\"", "1s to 5m"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn every_known_key_is_applied_by_the_table() {
        for key in KEYS.iter().filter(|key| **key != "config") {
            let error = applied(key, "\u{1}").unwrap_err();
            assert!(
                matches!(error, OptionError::BadValue { .. }),
                "{key}: {error}"
            );
        }
    }
}
