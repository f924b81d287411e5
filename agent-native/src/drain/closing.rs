//! From a window to its files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vtprof_profile::gzip::write_gz;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;
use vtprof_profile::spans::{SpanRecord, set_left_out, spans_to_traces};
use vtprof_signal::clock::now_ns;
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::perf::thread_cpu_ns;

use super::recorder::Recorder;
use crate::aggregate::by_kind::ByKind;
use crate::aggregate::tally::Tally;
use crate::aggregate::window::{STORE_FULL, Window};
use crate::delivery::Delivery;
use crate::export::comments::{self, Snapshot, WindowFacts};
use crate::export::profile::Span;
use crate::export::window_files::WindowFiles;
use crate::export::{file_name, keep};
use crate::heap;
use crate::jvm::jni::Jni;
use crate::jvm::shim;
use crate::log;
use crate::session::Session;
use crate::threads::timer::process_cpu_ns;
use crate::wall::Wall;

/// Open roots whose name is asked of the shim, a window.
const ASKED: usize = 1_000;
/// A window that is stopped before that, and has no sample, leaves no file.
const TRIVIAL: Duration = Duration::from_secs(1);
/// Resolution of the time in a file's name, ns.
const NAME_NS: u64 = 1_000_000;

/// What a window began with.
pub struct Closing {
    counters: &'static Counters,
    snapshot: Snapshot,
    start_unix_ns: u64,
    /// The time in the name of the last file.
    named_unix_ns: u64,
    start_ns: u64,
    process_cpu_ns: u64,
    agent_cpu_ns: u64,
    failing: bool,
}

impl Closing {
    /// Begins the first window. Signals come before the drain does: their samples are in the ring already, so
    /// what was counted until now belongs to this window, too.
    pub fn first(session: &Session) -> Self {
        Self {
            snapshot: Snapshot::ZERO,
            ..Self::begin(session)
        }
    }

    fn begin(session: &Session) -> Self {
        let counters = session.shared.counters;
        Self {
            counters,
            snapshot: Snapshot::of(counters),
            start_unix_ns: unix_ns(),
            named_unix_ns: 0,
            start_ns: now_ns(),
            process_cpu_ns: process_cpu_ns(),
            agent_cpu_ns: thread_cpu_ns()
                + session.wall.as_ref().map_or(0, Wall::cpu_ns)
                + session.delivery.as_ref().map_or(0, Delivery::cpu_ns),
            failing: false,
        }
    }

    /// Whether the window has lasted as long as it should.
    pub fn is_due(&self, every: Duration) -> bool {
        u128::from(now_ns().saturating_sub(self.start_ns)) >= every.as_nanos()
    }

    /// Writes the window's files and begins the next.
    pub fn close(&mut self, session: &Session, recorder: &mut Recorder, jni: Jni) {
        end_waits(session, recorder);
        self.write(session, recorder, jni);
    }

    fn write(&mut self, session: &Session, recorder: &mut Recorder, jni: Jni) {
        let late_ns = recorder.late_ns(self.start_ns);
        recorder.settle(&jni);
        let windows = recorder.next_windows();
        let next = Self::begin(session);
        let when = Span {
            start_unix_ns: self.start_unix_ns,
            duration_ns: next.start_ns.saturating_sub(self.start_ns),
        };
        // Ends that are read while names are asked for go into the next window's file.
        let ended = recorder.ended.take();
        let ask = |root| shim::current_name(jni, session.shims, root);
        let names = root_names(recorder, &windows, ask);
        let comments = self.comments(session, recorder, &windows[Kind::Cpu], &next, late_ns);
        // No two windows have a name in common, however short the first was.
        self.named_unix_ns = self.start_unix_ns.max(self.named_unix_ns + NAME_NS);
        let files = WindowFiles {
            directory: session.directory,
            service: &session.service,
            named_unix_ns: self.named_unix_ns,
            when,
            comments: &comments,
        };
        let mut sent = session.delivery.as_ref().map(|_| Vec::new());
        let written = write_profiles(session, recorder, &windows, &names, files, sent.as_mut());
        let written = if session.directory.is_off() {
            self.count_left_out(ended);
            written
        } else {
            written.and(write_spans(ended, files))
        };
        session.set_last_window(self.named_unix_ns, &written);
        self.tell(session, written);
        if let (Some(delivery), Some(profiles)) = (&session.delivery, sent) {
            delivery.hand_over(self.named_unix_ns, when.duration_ns, profiles);
        }
        if !session.directory.is_off() {
            self.prune(session);
        }
        recorder.names.next_window();
        recorder.symbolizer.next_window();
        *self = Self {
            named_unix_ns: self.named_unix_ns,
            failing: self.failing,
            ..next
        };
    }

    /// Sampling was stopped: closes the window and begins none.
    pub fn pause(&mut self, session: &Session, recorder: &mut Recorder, jni: Jni) {
        end_waits(session, recorder);
        // Where the window before ended in the middle of a handler, what became of its signal belongs here.
        let owes = !Snapshot::of(self.counters).is_even_since(&self.snapshot);
        if !recorder.is_empty() || owes || self.is_due(TRIVIAL) {
            self.write(session, recorder, jni);
            return;
        }
        self.leave_out_spans(recorder);
    }

    fn leave_out_spans(&self, recorder: &mut Recorder) {
        self.count_left_out(recorder.ended.take());
    }

    fn count_left_out(&self, (spans, left_out): (Vec<SpanRecord>, u64)) {
        self.counters
            .add(Counter::SpansLeftOut, spans.len() as u64 + left_out);
    }

    /// Sampling is about to go on: begins a window. Counters go on from the last file, so that none is lost.
    pub fn resume(&mut self, session: &Session, recorder: &mut Recorder) {
        self.let_go(recorder);
        let next = Self::begin(session);
        let snapshot = std::mem::replace(&mut self.snapshot, Snapshot::of(self.counters));
        *self = Self {
            snapshot,
            named_unix_ns: self.named_unix_ns,
            failing: self.failing,
            ..next
        };
    }

    /// As long as a window has passed while sampling is stopped: what has come together is let go.
    pub fn pass(&mut self, recorder: &mut Recorder) {
        self.let_go(recorder);
        recorder.names.next_window();
        recorder.symbolizer.next_window();
        self.start_ns = now_ns();
    }

    fn let_go(&self, recorder: &mut Recorder) {
        // A handler that was inside for long when sampling stopped, or an event that was.
        let late = recorder.next_windows();
        for (kind, window) in late.iter() {
            let lost = match kind {
                Kind::Cpu => window.whole().amount as u64,
                Kind::Alloc
                | Kind::Live
                | Kind::Blocked
                | Kind::Wall
                | Kind::Lock
                | Kind::LockOwner => window.samples(),
            };
            self.counters.add(Tally::of(kind).stopped, lost);
        }
        self.leave_out_spans(recorder);
    }

    fn comments(
        &self,
        session: &Session,
        recorder: &Recorder,
        window: &Window,
        next: &Self,
        late_ns: u64,
    ) -> Vec<String> {
        let period_ns = session.period_of(Kind::Cpu);
        let facts = WindowFacts {
            strategy: session.strategy().to_string(),
            period_ns,
            process_cpu_ns: next.process_cpu_ns.saturating_sub(self.process_cpu_ns),
            // A whole number: see `Weight`.
            sampled_cpu_ns: (window.whole().amount as u64).saturating_mul(period_ns),
            agent_cpu_ns: next.agent_cpu_ns.saturating_sub(self.agent_cpu_ns),
            start_monotonic_ns: self.start_ns,
            late_ns,
            heap_bytes: heap::held(),
            methods: recorder.symbolizer.remembered(),
            methods_noted: session.classes.methods(),
        };
        let mut lines = comments::lines(&session.facts, &facts, &next.snapshot, &self.snapshot);
        lines.extend(session.delivery.as_ref().map(Delivery::comment));
        lines
    }

    /// Says once that writing fails, and once that it works again.
    fn tell(&mut self, session: &Session, written: Result<(), String>) {
        match written {
            Err(error) => {
                self.counters.add(Counter::WindowsFailed, 1);
                if !std::mem::replace(&mut self.failing, true) {
                    log::error(&format!(
                        "a window is lost, {} is not written to: {error}",
                        session.directory.path().display()
                    ));
                }
            }
            Ok(()) => {
                if std::mem::replace(&mut self.failing, false) {
                    log::info(&format!(
                        "{} is written to again",
                        session.directory.path().display()
                    ));
                }
            }
        }
    }

    fn prune(&self, session: &Session) {
        match keep::prune(
            session.directory.path(),
            session.options.keep,
            SystemTime::now(),
            &file_name::window(&session.service, std::process::id(), self.named_unix_ns),
        ) {
            Ok(removed) => self.counters.add(Counter::WindowsPruned, removed as u64),
            Err(error) => log::debug(&format!("old windows stay: {error}")),
        }
    }
}

/// What is waited in the window that ends belongs to it, also of waits that go on.
fn end_waits(session: &Session, recorder: &mut Recorder) {
    if let Some(blocking) = &session.blocking {
        let until_ns = now_ns();
        recorder.add_open_waits(blocking.end_window(session, until_ns), until_ns);
    }
}

fn write_profiles(
    session: &Session,
    recorder: &mut Recorder,
    windows: &ByKind<Window>,
    names: &HashMap<u64, Arc<str>>,
    files: WindowFiles<'_>,
    sent: Option<&mut Vec<(Kind, Profile)>>,
) -> Result<(), String> {
    let full = recorder.symbolizer.named(STORE_FULL);
    let now = |root| names.get(&root).map(Arc::clone);
    if let Some(followed) = &mut recorder.followed {
        followed.remember(|root| now(root).or_else(|| recorder.names.find(root)));
    }
    let name_of = |root| recorder.root_name(root, now);
    files.write(
        windows,
        |kind| session.period_of(kind),
        &full,
        name_of,
        sent,
    )
}

fn write_spans(
    (spans, left_out): (Vec<SpanRecord>, u64),
    files: WindowFiles<'_>,
) -> Result<(), String> {
    if spans.is_empty() && left_out == 0 {
        return Ok(());
    }
    let mut traces = spans_to_traces(files.service, spans);
    set_left_out(&mut traces, left_out);
    let name = files.name(file_name::SPANS);
    files
        .directory
        .write(&name, |file| write_gz(&traces, file))
        .map_err(|error| format!("{name}: {error}"))?;
    Ok(())
}

/// Names of the roots that are still open and have samples, as they are now. One that ended since reports were
/// read is not known to `ask` any more; its last name is in its report, so those are read once more.
fn root_names(
    recorder: &mut Recorder,
    windows: &ByKind<Window>,
    ask: impl Fn(u64) -> Option<String>,
) -> HashMap<u64, Arc<str>> {
    let open: HashSet<u64> = windows
        .iter()
        .flat_map(|(_, window)| window.roots())
        .filter(|root| recorder.names.is_open(*root))
        .take(ASKED)
        .collect();
    let names = open
        .into_iter()
        .filter_map(|root| Some((root, Arc::from(ask(root)?.as_str()))))
        .collect();
    recorder.read_reports();
    names
}

fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
