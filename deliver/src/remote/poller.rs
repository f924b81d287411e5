//! Who asks, and when: each minute or so, each process at a time of its own.

use std::io::Read;
use std::time::{Duration, Instant};

use ureq::Agent;

use super::LARGEST;
use super::policy::{Outcome, Policy, Poll, UNREADABLE};
use super::signature::HEADER;
use super::wanted::Wanted;
use crate::http;
use crate::say::{Level, Say};
use crate::target::Target;

/// Between two changes, but for one to off: each may end a window, and some of their work is the application's.
const CHANGES: Duration = Duration::from_secs(10);
/// How far from its interval a poll may be, either way.
const SPREAD: f64 = 0.2;
/// Beside three intervals, how old the last poll that ended may be: as many polls that cannot be read switch off.
const LATE: Duration = Duration::from_secs(60);

/// How old the last poll that ended may be with that interval. Beyond it whoever asks does not come back, and what is in
/// force is in force no more.
#[must_use]
pub fn latest(every: Duration) -> Duration {
    every.mul_f64(f64::from(UNREADABLE) * (1.0 + SPREAD)) + LATE
}

/// Who asks.
pub trait Fetch {
    /// Asks whether there is another document than that.
    fn fetch(&mut self, etag: Option<&str>) -> Poll;
}

/// Who does what is wanted.
pub trait Apply {
    /// Does it; `before` is what was done before.
    ///
    /// # Errors
    /// Why not; it is tried again at the next poll.
    fn apply(&self, wanted: &Wanted, before: &Wanted) -> Result<(), String>;
}

/// See the module.
#[derive(Debug)]
pub struct Poller {
    policy: Policy,
    /// As it was applied last.
    applied: Wanted,
    /// Whether that is how things are: somebody else may have switched off.
    is_sure: bool,
    /// When something was to be changed last.
    changed: Option<Instant>,
    every: Duration,
    chance: fastrand::Rng,
    say: Say,
    /// What was wrong the last time; it is said when it changes.
    said: Option<String>,
}

impl Poller {
    /// One that has not asked yet: profiling is off.
    #[must_use]
    pub fn new(policy: Policy, every: Duration, seed: u64, say: Say) -> Self {
        Self {
            policy,
            applied: Wanted::off(),
            is_sure: true,
            changed: None,
            every,
            chance: fastrand::Rng::with_seed(seed),
            say,
            said: None,
        }
    }

    /// It may be off by now, whatever was applied: the next poll says how it is to be.
    pub fn forget(&mut self) {
        self.is_sure = false;
    }

    /// Asks once and does what follows. `now` tells how long ago the last change was; one that comes too soon is left to a
    /// later poll.
    pub fn poll(&mut self, now: Instant, fetch: &mut dyn Fetch, apply: &dyn Apply) {
        let poll = fetch.fetch(self.policy.etag());
        let Outcome { wanted, why } = self.policy.after(poll);
        self.tell(why);
        if wanted == self.applied && self.is_sure {
            return;
        }
        let is_soon = |last: Instant| now.saturating_duration_since(last) < CHANGES;
        if wanted.on && self.changed.is_some_and(is_soon) {
            return;
        }
        self.changed = Some(now);
        match apply.apply(&wanted, &self.applied) {
            Ok(()) => {
                for change in wanted.changes(&self.applied) {
                    self.say.line(Level::Info, &format!("config_url: {change}"));
                }
                self.applied = wanted;
                self.is_sure = true;
            }
            Err(why) => {
                // Part of it may be done.
                self.is_sure = false;
                let line = format!("config_url: not done: {why}");
                self.say.line(Level::Warn, &line);
            }
        }
    }

    fn tell(&mut self, why: Option<String>) {
        if why != self.said {
            match &why {
                Some(why) => self.say.line(Level::Warn, &format!("config_url: it {why}")),
                None => self.say.line(Level::Info, "config_url: it is read"),
            }
            self.said = why;
        }
    }

    /// How long to wait until the next: up to a fifth more or less, so that a fleet does not keep step.
    pub fn wait(&mut self) -> Duration {
        self.every
            .mul_f64(1.0 - SPREAD + 2.0 * SPREAD * self.chance.f64())
    }
}

/// Asks by HTTP.
#[derive(Debug)]
pub struct Http {
    target: Target,
    agent: Option<Agent>,
}

impl Http {
    /// Asks there; the target's address is used as it is.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            agent: None,
        }
    }

    fn get(&mut self, etag: Option<&str>) -> Result<Poll, String> {
        let authorization = http::authorization(&self.target)?;
        let agent = match &self.agent {
            Some(agent) => agent,
            None => self.agent.insert(http::agent(&self.target)?),
        };
        let within = self.target.timeout;
        let mut get = agent
            .get(self.target.address.url(""))
            .config()
            .timeout_global(Some(within))
            .build();
        if let Some(etag) = etag {
            get = get.header("If-None-Match", etag);
        }
        if let Some(value) = &authorization {
            get = get.header("Authorization", value.expose());
        }
        let mut response = get.call().map_err(|error| http::reason(&error, within))?;
        let text = |name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        match response.status().as_u16() {
            200 => {}
            304 => return Ok(Poll::Unchanged),
            status @ 300..=399 => {
                return Err(format!("answers {status}, and redirects are not followed"));
            }
            status => return Err(format!("answers {status}")),
        }
        let (signature, etag) = (text(HEADER), text("etag"));
        let mut body = Vec::new();
        response
            .body_mut()
            .as_reader()
            .take(LARGEST as u64 + 1)
            .read_to_end(&mut body)
            .map_err(|_| "is cut in the middle".to_owned())?;
        if body.len() > LARGEST {
            // The rest is not read, and neither is anything else of this connection. The policy sees that it is too long.
            self.agent = None;
        }
        Ok(Poll::Document {
            body,
            signature,
            etag,
        })
    }
}

impl Fetch for Http {
    fn fetch(&mut self, etag: Option<&str>) -> Poll {
        self.get(etag).unwrap_or_else(Poll::Unreadable)
    }
}

#[cfg(test)]
mod tests;
