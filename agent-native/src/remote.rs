//! What switches the agent from afar: a thread that asks at `config_url=` and does what follows (`vtprof-deliver`, `remote`).
//!
//! Until it has been told to, nothing is sampled. What is said there has bounds of its own, narrower than those of options; a
//! kind can be on only where an option had it on, as the session is prepared for those.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vtprof_deliver::origin;
use vtprof_deliver::remote::policy::Policy;
use vtprof_deliver::remote::poller::{Apply, Http, Poller, latest};
use vtprof_deliver::remote::wanted::{Choice, Wanted};
use vtprof_deliver::target::{Address, Backend, Credential, Scheme, Target, Token};
use vtprof_profile::kind::Kind;

use crate::delivery::{host, say};
use crate::jvm::worker;
use crate::log;
use crate::options::Options;
use crate::session::{Change, DumpError, Phase, Session};

/// Its thread's name.
pub const THREAD: &str = "vtprof-config";
/// The name of the one that looks whether that one comes back.
pub const WATCH: &str = "vtprof-config-w";
/// Who asks, in lines of the session.
const WHO: &str = "config_url";
/// Between two looks at when the last poll ended.
const LOOK: Duration = Duration::from_secs(5);

/// When the last poll ended, and what followed where the next did not.
struct Watch {
    /// How old the last may be.
    latest: Duration,
    last: Instant,
    /// It was switched off since.
    is_off: bool,
    /// Somebody was switched off whom the poller takes to be on.
    is_news: bool,
}

impl Watch {
    fn new(latest: Duration, now: Instant) -> Self {
        Self {
            latest,
            last: now,
            is_off: false,
            is_news: false,
        }
    }

    /// Whether it was switched off since this was last asked.
    fn news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    /// A poll has ended; whether it was switched off meanwhile.
    fn ended(&mut self, now: Instant) -> bool {
        (self.last, self.is_off) = (now, false);
        self.news()
    }

    /// When the last poll ended, if that is so long ago that it has to be off.
    fn late(&self, now: Instant) -> Option<Instant> {
        let is_late = !self.is_off && now.saturating_duration_since(self.last) > self.latest;
        is_late.then_some(self.last)
    }

    /// It was told to be off, as the last poll, that of then, was too old; `is_done` where nothing is to be written any more
    /// either. One that has ended meanwhile may have switched it on again.
    fn off(&mut self, last: Instant, is_done: bool) {
        self.is_off = is_done && last == self.last;
        self.is_news = true;
    }
}

/// Starts its thread; `None` when it could not be started.
pub fn begin(session: &'static Session, address: &Address) -> Option<()> {
    let remote = &session.options.remote;
    let mut target = Target::new(Backend::Pprof, address.clone());
    target.ca.clone_from(&session.options.push.ca);
    target.credential = remote.token_file.clone().map(|path| Credential {
        scheme: Scheme::Word("Bearer".to_owned()),
        token: Token::File(path),
    });
    for doubt in target.doubts() {
        log::warn(&format!("{WHO}: {doubt}"));
    }
    let policy = Policy::new(&session.service, remote.key.clone());
    let seed = origin::seed(&host(), std::process::id());
    let mut poller = Poller::new(policy, remote.every, seed, say());
    let mut http = Http::new(target);
    log::info(&format!("off until {address} says otherwise (config_url)"));
    let now = Instant::now();
    let watch = Arc::new(Mutex::new(Watch::new(latest(remote.every), now)));
    let watched = Arc::clone(&watch);
    let run = move |_| {
        while !session.is_over() {
            if watched.lock().news() {
                poller.forget();
            }
            poller.poll(Instant::now(), &mut http, &Switch(session));
            if watched.lock().ended(Instant::now()) {
                // Whatever this poll has come to may have been undone.
                poller.forget();
            }
            thread::sleep(poller.wait());
        }
    };
    let failed = || {
        log::error("config_url: its thread failed: nothing is switched from afar any more");
        if let Some(session) = crate::session::get() {
            session.give_up();
        }
    };
    worker::spawn(session, THREAD, run, failed)?;
    worker::spawn(session, WATCH, move |_| keep(session, &watch), failed)
}

/// Switches off where no poll ends any more: the one in progress does not return, or its thread has gone.
fn keep(session: &Session, watch: &Mutex<Watch>) {
    let mut is_told = false;
    while !session.is_over() {
        thread::sleep(LOOK);
        let late = watch.lock().late(Instant::now());
        let Some(last) = late else {
            continue;
        };
        let off = Change {
            on: Some(false),
            ..Change::default()
        };
        match session.set(&off, WHO) {
            Ok(applied) => {
                if !applied.differences().is_empty() {
                    log::warn(&format!(
                        "{WHO}: off, as its last poll does not come back: it is on again when one does and says so"
                    ));
                }
                watch.lock().off(last, true);
                is_told = false;
            }
            // It is tried again at the next look.
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    log::warn(&format!("{WHO}: its last poll does not come back: {error}"));
                }
                watch.lock().off(last, false);
            }
        }
    }
}

struct Switch(&'static Session);

impl Apply for Switch {
    fn apply(&self, wanted: &Wanted, before: &Wanted) -> Result<(), String> {
        let session = self.0;
        let plan = session.rates.plan();
        let (change, missing) = change(wanted, session.options, |kind| plan.is_prepared(kind));
        if !missing.is_empty() {
            let names: Vec<_> = missing.iter().map(|kind| kind.name()).collect();
            log::warn(&format!(
                "{WHO}: {} stays off: it was off when vtprof was loaded; give it as an option, too",
                names.join(" and ")
            ));
        }
        let applied = session
            .set(&change, WHO)
            .map_err(|error| error.to_string())?;
        // Where nothing was sampled there is nothing of so far.
        let has_open = applied.before.1 == Phase::Running && !applied.has_closed();
        if wanted.labels != before.labels && has_open {
            // What was sampled so far has the labels of so far.
            match session.dump() {
                Err(error @ DumpError::Slow(_)) => return Err(error.to_string()),
                // Closed, or there is none.
                Ok(_) | Err(DumpError::Lost(_) | DumpError::Stopped) => {}
            }
        }
        if let Some(delivery) = &session.delivery {
            delivery.set_labels(labels(&session.options.push.labels, &wanted.labels));
        }
        Ok(())
    }
}

/// What is to be changed, and kinds that are wanted and cannot be on.
fn change(
    wanted: &Wanted,
    options: &Options,
    is_prepared: impl Fn(Kind) -> bool,
) -> (Change, Vec<Kind>) {
    if !wanted.on {
        let off = Change {
            on: Some(false),
            ..Change::default()
        };
        return (off, Vec::new());
    }
    let mut missing = Vec::new();
    let mut periods = Vec::new();
    for (kind, choice) in [
        (Kind::Cpu, wanted.cpu),
        (Kind::Wall, wanted.wall),
        (Kind::Blocked, wanted.blocked),
        (Kind::Lock, wanted.lock),
        (Kind::Alloc, wanted.alloc),
    ] {
        if is_prepared(kind) {
            let period = match choice {
                Choice::Local => options.period(kind),
                Choice::Off => None,
                Choice::At(bytes) if kind == Kind::Alloc => Some(u64::from(bytes)),
                Choice::At(hertz) => 1_000_000_000_u64.checked_div(u64::from(hertz)),
            };
            periods.push((kind, period));
        } else if matches!(choice, Choice::At(_)) {
            missing.push(kind);
        }
    }
    let is_any_on = periods.iter().any(|(_, period)| period.is_some());
    let change = Change {
        on: Some(is_any_on),
        // Nothing on is a stop: the session has no plan without a kind.
        periods: if is_any_on { periods } else { Vec::new() },
        every: Some(wanted.every.unwrap_or(options.every)),
        halvings: None,
    };
    (change, missing)
}

/// Labels of the options, and those that are wanted, which win.
fn labels(own: &[(String, String)], wanted: &[(String, String)]) -> Vec<(String, String)> {
    let is_free = |(name, _): &&(String, String)| !wanted.iter().any(|(other, _)| other == name);
    own.iter().filter(is_free).chain(wanted).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        let mut options = Options::default();
        for (key, value) in [("cpu", "1000hz"), ("wall", "1ms"), ("every", "5s")] {
            options.apply(key, value, "the test").unwrap();
        }
        options
    }

    fn of(wanted: &Wanted) -> (Change, Vec<Kind>) {
        let prepared = [Kind::Cpu, Kind::Wall, Kind::Alloc];
        change(wanted, &options(), |kind| prepared.contains(&kind))
    }

    #[test]
    fn what_is_said_wins_over_options_and_what_is_not_said_is_theirs() {
        let wanted = Wanted {
            on: true,
            cpu: Choice::At(200),
            alloc: Choice::At(1 << 20),
            lock: Choice::At(10),
            blocked: Choice::Off,
            ..Wanted::off()
        };
        let (change, missing) = of(&wanted);
        let periods = [
            (Kind::Cpu, Some(5_000_000)),
            (Kind::Wall, Some(1_000_000)),
            (Kind::Alloc, Some(1 << 20)),
        ];
        assert_eq!(change.periods, periods);
        assert_eq!(
            (change.on, change.every),
            (Some(true), Some(Duration::from_secs(5)))
        );
        assert_eq!(missing, [Kind::Lock]);
    }

    #[test]
    fn off_and_nothing_on_are_a_stop() {
        assert_eq!(of(&Wanted::off()).0.on, Some(false));
        let nothing = Wanted {
            on: true,
            cpu: Choice::Off,
            wall: Choice::Off,
            ..Wanted::off()
        };
        let (change, _) = of(&nothing);
        assert_eq!((change.on, change.periods), (Some(false), Vec::new()));
    }

    #[test]
    fn labels_from_afar_win_over_those_of_options() {
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let own = [pair("zone", "a"), pair("tier", "1")];
        let all = labels(&own, &[pair("zone", "b")]);
        assert_eq!(all, [pair("tier", "1"), pair("zone", "b")]);
    }

    #[test]
    fn it_is_off_once_no_poll_ends_any_more_and_the_next_that_does_is_told_of_it() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut watch = Watch::new(latest(Duration::from_secs(60)), begun);
        assert!(!watch.ended(at(60)));
        assert_eq!(watch.late(at(60 + 276)), None);
        assert_eq!(watch.late(at(60 + 277)), Some(at(60)));
        watch.off(at(60), false);
        assert_eq!(watch.late(at(60 + 282)), Some(at(60)), "until it is");
        watch.off(at(60), true);
        assert_eq!(watch.late(at(10_000)), None, "once is enough");
        assert!(watch.ended(at(10_000)));
        assert!(!watch.ended(at(10_060)));
        assert_eq!(watch.late(at(20_000)), Some(at(10_060)), "and again");
        // A poll comes back while it is being switched off, and has it on again.
        assert!(!watch.ended(at(20_001)));
        watch.off(at(10_060), true);
        assert_eq!(
            watch.late(at(30_000)),
            Some(at(20_001)),
            "that one hung, too"
        );
        assert!(watch.ended(at(30_001)));
    }
}
