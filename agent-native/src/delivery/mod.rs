//! What sends windows: the office of `vtprof-deliver` and its threads, for this JVM.
//!
//! | module | noun |
//! |---|---|
//! | [`destinations`] | from options and the environment to where windows go |
//!
//! Where no target is given there is no office, no thread and no TLS. Its threads are not attached to the JVM: no stop of
//! the world waits for them.

mod destinations;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use vtprof_deliver::backoff;
use vtprof_deliver::environment;
use vtprof_deliver::office::{self, Manner, Office};
use vtprof_deliver::origin::Origin;
use vtprof_deliver::say::{Level, Say};
use vtprof_deliver::window::Window;
use vtprof_profile::comments::PUSH;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use crate::figures::{self, Figure, Nature};
use crate::jvm::jni::Jni;
use crate::jvm::properties;
use crate::log;
use crate::options::Options;
use crate::session::Session;
use crate::threads::timer::OsThreadId;

/// See the module.
pub struct Delivery {
    office: Office,
    /// Figures as the last window told them.
    told: Mutex<Vec<u64>>,
}

impl Delivery {
    /// What sends windows of that service; `None` where nothing is to be sent.
    ///
    /// # Errors
    /// What of the options or the environment cannot be used, without a secret in it.
    pub fn new(options: &Options, service: &str, jni: Jni) -> Result<Option<Self>, String> {
        let push = &options.push;
        let variable = |name: &str| variable(name, jni);
        if push.to.is_empty() {
            if push.is_given() {
                log::warn("push_… and label.… do nothing without push=: say where to");
            }
            return Ok(None);
        }
        let destinations = destinations::of(push, variable)?;
        let origin = Origin {
            service: service.to_owned(),
            labels: push.labels.clone(),
            resource: variable("OTEL_RESOURCE_ATTRIBUTES")
                .map(|text| environment::resource(&text))
                .unwrap_or_default(),
            host: host(),
            pid: std::process::id(),
        };
        let manner = Manner {
            memory: office::MEMORY,
            disk: push.spool.clone(),
            backoff: backoff::Bounds::DEFAULT,
            every: options.every,
        };
        let say = say();
        let names: Vec<_> = destinations
            .iter()
            .map(|it| it.target.to_string())
            .collect();
        log::info(&format!("windows are sent to {}", names.join(" and ")));
        Ok(Some(Self {
            office: Office::new(destinations, origin, manner, say),
            told: Mutex::new(Vec::new()),
        }))
    }

    /// Starts its threads; `None` when one could not be started.
    pub fn open(&'static self, session: &'static Session) -> Option<()> {
        let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let run = move || {
                session.registry.exclude(OsThreadId::current());
                if catch_unwind(AssertUnwindSafe(body)).is_err() {
                    log::error(
                        "push: a thread of it failed, and what it was to send is lost; files are written as before",
                    );
                }
                session.registry.end_excluded();
            };
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(run)
                .map(drop)
        };
        figures::also(|| self.listed());
        self.office.open(&spawn).ok()
    }

    /// Hands a window in; nobody is waited for.
    pub fn hand_over(&self, start_unix_ns: u64, duration_ns: u64, profiles: Vec<(Kind, Profile)>) {
        self.office.hand_over(Window {
            start_unix_ns,
            duration_ns,
            profiles,
        });
    }

    /// What is sent from now on has these labels.
    pub fn set_labels(&self, labels: Vec<(String, String)>) {
        self.office.set_labels(labels);
    }

    /// The JVM ends: what is here has [`office::FLUSH`] to arrive.
    pub fn finish(&self) {
        self.office.finish(office::FLUSH);
    }

    /// All figures: name, whether it only grows, value.
    pub fn figures(&self) -> Vec<(&'static str, bool, u64)> {
        self.office.books().figures()
    }

    /// The same, as the agent lists what it says of itself.
    fn listed(&self) -> Vec<Figure> {
        let help = "Of what push= sends.";
        let figures = self.figures().into_iter();
        let listed = figures.map(|(name, grows, value)| Figure {
            nature: if grows {
                Nature::Counter
            } else {
                Nature::Gauge
            },
            ..Figure::counter(name, help, value)
        });
        listed.collect()
    }

    /// The line of a profile: what was added since the line before, and what waits now.
    pub fn comment(&self) -> String {
        let mut told = self.told.lock();
        let figures = self.figures();
        let mut pairs = Vec::new();
        for (index, (name, grows, value)) in figures.iter().enumerate() {
            let before = told.get(index).filter(|_| *grows).copied().unwrap_or(0);
            let added = value.saturating_sub(before);
            if added > 0 {
                pairs.push(format!("{name}={added}"));
            }
        }
        *told = figures.iter().map(|(_, _, value)| *value).collect();
        format!("{PUSH}{}", pairs.join(" "))
    }
}

/// Lines of `vtprof-deliver` as lines of the agent.
pub fn say() -> Say {
    Say::new(|level, line| match level {
        Level::Warn => log::warn(line),
        Level::Info => log::info(line),
        Level::Debug => log::debug(line),
    })
}

/// A variable; one of OpenTelemetry's as its own autoconfiguration finds it: the system property first. No other, since
/// properties stand in the listing of processes.
fn variable(name: &str, jni: Jni) -> Option<String> {
    if name.starts_with("OTEL_") {
        properties::otel(jni, name)
    } else {
        std::env::var(name).ok()
    }
}

pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}
