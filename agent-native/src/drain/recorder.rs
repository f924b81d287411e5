//! From records of the ring, and samples of events, to sums of a window, with each tag checked against the book
//! of open spans.

use std::sync::Arc;

use vtprof_profile::kind::Kind;
use vtprof_signal::clock::now_ns;
use vtprof_signal::cookie::{BlockIndex, Generation};
use vtprof_signal::counters::{Counter, Counters};
use vtprof_signal::sample::{self, Flags, Head};
use vtprof_signal::shared::Shared;
use vtprof_signal::tag::Tag;
use vtprof_signal::walk::CallFrame;

use crate::aggregate::by_kind::ByKind;
use crate::aggregate::frames;
use crate::aggregate::tally::Tally;
use crate::aggregate::weight::Weight;
use crate::aggregate::window::{Bounds, Kept, Window};
use crate::drain::followed::{Followed, Origin};
use crate::events::object::Objects;
use crate::events::queue::EventSamples;
use crate::events::sample::{EventHead, EventSample};
use crate::events::state::State;
use crate::jvm::redefinitions::Redefinitions;
use crate::spans::book::{SpanBook, Verdict};
use crate::spans::ended::{self, EndedSpans};
use crate::spans::event::{CAPACITY, SpanEvent, SpanEvents};
use crate::spans::names::{RootNames, UNKNOWN};
use crate::symbolize::symbolizer::{MethodSource, Symbolizer};
use crate::threads::registry::Registry;

/// Records read from the ring, and samples of each kind of event, before span reports are looked at again.
const BATCH: usize = 2_048;

/// Label of a thread that has none.
const NO_LABEL: &str = "?";
/// The one frame of a wait that goes on at the end of its window.
pub const STILL_BLOCKED: &str = "[still blocked]";

/// See the module. Used by the drain thread alone.
pub struct Recorder {
    shared: &'static Shared,
    counters: &'static Counters,
    registry: &'static Registry,
    events: &'static SpanEvents,
    event_samples: &'static EventSamples,
    redefinitions: &'static Redefinitions,
    /// Names and lines.
    pub symbolizer: Symbolizer,
    /// Open spans.
    book: SpanBook,
    /// Names of roots.
    pub names: RootNames,
    /// Ended spans of this window.
    pub ended: EndedSpans,
    /// Objects of allocations, where they are followed.
    pub followed: Option<Followed>,
    /// What visits of the wall engine are booked with, where it runs.
    visits: Option<visits::Books>,
    /// The sums.
    windows: ByKind<Window>,
    /// When the oldest sample in them was taken, ns of CLOCK_MONOTONIC; `u64::MAX` without one.
    oldest_ns: u64,
    words: Vec<u64>,
    /// Where each record of the batch ends in `words`.
    ends: Vec<usize>,
    /// Samples of events of the batch.
    batch: Vec<EventSample>,
    locations: Vec<frames::Location>,
}

impl Recorder {
    /// `followed`: how many objects are followed, where any are.
    pub fn new(
        shared: &'static Shared,
        registry: &'static Registry,
        events: &'static SpanEvents,
        event_samples: &'static EventSamples,
        redefinitions: &'static Redefinitions,
        followed: Option<usize>,
    ) -> Self {
        Self {
            shared,
            counters: shared.counters,
            registry,
            events,
            event_samples,
            redefinitions,
            symbolizer: Symbolizer::new(),
            book: SpanBook::default(),
            names: RootNames::default(),
            ended: EndedSpans::new(ended::BOUND),
            followed: followed.map(|bound| Followed::new(bound, shared.counters)),
            visits: None,
            windows: new_windows(),
            oldest_ns: u64::MAX,
            words: Vec::new(),
            ends: Vec::new(),
            batch: Vec::new(),
            locations: Vec::new(),
        }
    }

    /// With the wall engine.
    pub fn with_visits(mut self, books: visits::Books) -> Self {
        self.visits = Some(books);
        self
    }

    /// The kinds of visits that are on from now on. Between two windows.
    pub fn visited(&mut self, is_on: impl Fn(Kind) -> bool) {
        if let Some(visits) = &mut self.visits {
            visits.set_kinds(is_on);
        }
    }

    /// Empties the ring, and the queues of samples of events.
    pub fn drain(&mut self, source: &(impl MethodSource + Objects)) {
        let resting = self.registry.begin_drain();
        // Before the samples that they are of.
        self.read_entered();
        // Of each kind as many as can have been there when this began, so that events that keep coming do not
        // hold the window up.
        let mut left = self.event_samples.capacity();
        loop {
            self.read_repeats();
            self.symbolizer.native.before_batch();
            let more_records = self.read_batch();
            self.symbolizer.native.after_batch();
            let more_events = self.read_events(&mut left);
            let more = more_records || more_events;
            // Samples first, reports second: each span a sample names was reported before the sample was
            // taken, so its start is in the queue by now.
            self.read_reports();
            // Those that had begun when a sample was taken are told by now.
            for step in self.redefinitions.take() {
                self.symbolizer.redefine(step, now_ns());
            }
            self.read_pauses();
            self.book_batch(source);
            self.book_events(source);
            if !more {
                break;
            }
        }
        self.book_repeats(u64::MAX);
        self.book_entered(source);
        self.registry.end_drain(resting);
        self.book.expire(now_ns());
        self.symbolizer.expire(now_ns());
        let asked = std::mem::take(&mut self.symbolizer.asked);
        self.counters.add(Counter::NamesAsked, asked);
        let unresolved = std::mem::take(&mut self.symbolizer.unresolved);
        self.counters.add(Counter::NamesUnresolved, unresolved);
    }

    fn read_batch(&mut self) -> bool {
        self.words.clear();
        self.ends.clear();
        while self.ends.len() < BATCH {
            let words = &mut self.words;
            if !self.shared.ring.pop(|word| words.push(word)) {
                return false;
            }
            self.ends.push(self.words.len());
        }
        true
    }

    /// Whether there may be more that is to be read in this drain; `left` of each kind, at the most.
    fn read_events(&mut self, left: &mut usize) -> bool {
        let most = BATCH.min(*left);
        *left -= most;
        let mut more = false;
        for kind in Kind::ALL {
            let before = self.batch.len();
            let samples = std::iter::from_fn(|| self.event_samples.pop(kind));
            self.batch.extend(samples.take(most));
            more |= self.batch.len() - before == most;
        }
        more && *left > 0
    }

    /// Reads the reports that are there. Samples that were taken before and are read later lose nothing by it: the
    /// book remembers when a span ended.
    pub fn read_reports(&mut self) {
        // Bounded by the queue's size, so that reports that keep coming do not hold the samples up.
        self.read_at_most(CAPACITY);
        self.forget_where_ends_were_dropped();
    }

    fn read_at_most(&mut self, reports: usize) {
        for _ in 0..reports {
            match self.events.pop() {
                Some(event) => self.report(event),
                None => break,
            }
        }
    }

    /// A span whose end was dropped is to be open no more. Its start was reported before, so it may wait in the queue still:
    /// all that waits is read first.
    fn forget_where_ends_were_dropped(&mut self) {
        if self.events.take_ends_dropped() {
            self.read_at_most(CAPACITY);
            self.book.forget_open();
            self.names.lose_open();
        }
    }

    fn report(&mut self, event: SpanEvent) {
        match event {
            SpanEvent::Started {
                span,
                root,
                root_name,
            } => {
                if !self.book.start(span) {
                    self.counters.add(Counter::SpanStartsDropped, 1);
                }
                if let Some(name) = root_name {
                    self.names.provisional(root, &name);
                }
            }
            SpanEvent::Ended { at_ns, record } => {
                self.book.end(record.span.0, at_ns);
                if record.is_local_root() {
                    self.names.finalize(record.span.0, &record.name);
                }
                if !self.ended.add(*record) {
                    self.counters.add(Counter::SpansLeftOut, 1);
                }
            }
            SpanEvent::Lost { span } => {
                self.book.lose(span);
                self.names.lose(span);
            }
        }
    }

    fn book_batch(&mut self, source: &impl MethodSource) {
        let (words, ends) = (
            std::mem::take(&mut self.words),
            std::mem::take(&mut self.ends),
        );
        let mut start = 0;
        for end in &ends {
            let record = &words[start..*end];
            start = *end;
            let Some((head, frames)) = sample::read(record) else {
                continue;
            };
            if head.flags.has(Flags::WALL) {
                self.book_visit(&head, frames, source);
            } else {
                self.book_cpu(&head, frames, source);
            }
        }
        (self.words, self.ends) = (words, ends);
    }

    fn book_cpu(
        &mut self,
        head: &Head,
        frames: impl Iterator<Item = CallFrame>,
        source: &impl MethodSource,
    ) {
        let tally = Tally::of(Kind::Cpu);
        let tag = checked_tag(&self.book, self.counters, tally, head.tag, head.time_ns);
        let thread = label(self.registry, head.block, head.generation);
        let truncation = frames::locations(
            head,
            frames,
            &thread,
            &mut self.symbolizer,
            source,
            &mut self.locations,
        );
        if let Some(reason) = truncation {
            self.counters.add(reason.counter(), 1);
        }
        self.oldest_ns = self.oldest_ns.min(head.time_ns);
        let weight = Weight::of_periods(head.periods);
        let window = &mut self.windows[Kind::Cpu];
        if window.add(&self.locations, &thread, tag, None, weight) == Kept::Folded {
            self.counters.add(tally.store_full, u64::from(head.periods));
        }
    }

    fn book_events(&mut self, source: &(impl MethodSource + Objects)) {
        for mut sample in self.batch.drain(..) {
            let object = sample.object.take();
            let head = &sample.head;
            let tally = Tally::of(head.kind);
            let tag = checked_tag(&self.book, self.counters, tally, head.tag, head.time_ns);
            let thread = head.place.map_or_else(
                || Arc::from(NO_LABEL),
                |place| label(self.registry, place.block, place.generation),
            );
            let truncation =
                frames::of_event(&sample, &mut self.symbolizer, source, &mut self.locations);
            if let Some(reason) = truncation {
                self.counters.add(reason.counter(), 1);
            }
            if head.is_cut {
                self.counters.add(tally.cut, 1);
            }
            self.oldest_ns = self.oldest_ns.min(head.time_ns);
            let state = head.state.or_else(|| state_of(head.kind, &self.locations));
            let window = &mut self.windows[head.kind];
            let mut folded = false;
            for (state, weight) in shares(state, head) {
                folded |= window.add(&self.locations, &thread, tag, state, weight) == Kept::Folded;
            }
            self.counters.add(tally.store_full, u64::from(folded));
            let Some(object) = object else { continue };
            let Some(followed) = &mut self.followed else {
                source.let_go(object);
                continue;
            };
            let live = Tally::of(Kind::Live);
            checked_tag(&self.book, self.counters, live, head.tag, head.time_ns);
            self.counters.add(live.cut, u64::from(head.is_cut));
            let origin = Origin {
                stack: &self.locations,
                thread: &thread,
                tag,
                weight: head.weight,
            };
            followed.follow(object, origin, source);
        }
    }

    /// The windows are about to close: adds what is in use to that of [`Kind::Live`].
    pub fn settle(&mut self, jvm: &impl Objects) {
        if let Some(followed) = &mut self.followed {
            followed.settle(&mut self.windows[Kind::Live], jvm);
        }
    }

    /// Gives back what the JVM lent, from the queue and of what is followed: nobody will read it any more.
    pub fn let_all_go(&mut self, jvm: &impl Objects) {
        let queued = std::iter::from_fn(|| self.event_samples.pop(Kind::Alloc));
        let batch = self.batch.drain(..).chain(queued);
        batch
            .filter_map(|sample| sample.object)
            .for_each(|object| jvm.let_go(object));
        if let Some(followed) = &mut self.followed {
            followed.let_all_go(jvm);
        }
    }

    /// The name of a local root, as far as it is known: `now` knows those of open ones.
    pub fn root_name(&self, root: u64, now: impl Fn(u64) -> Option<Arc<str>>) -> Arc<str> {
        let remembered = || self.followed.as_ref()?.name(root).map(Arc::clone);
        now(root)
            .or_else(|| self.names.find(root))
            .or_else(remembered)
            .unwrap_or_else(|| Arc::from(UNKNOWN))
    }

    /// Adds waits that go on at `until_ns`, when their window ends, each with its tag.
    pub fn add_open_waits(&mut self, waits: Vec<(Tag, Weight)>, until_ns: u64) {
        if waits.is_empty() {
            return;
        }
        // Spans that another thread has ended by then.
        self.read_reports();
        let stack = [frames::Location {
            function: self.symbolizer.named(STILL_BLOCKED),
            line: 0,
        }];
        let tally = Tally::of(Kind::Blocked);
        let thread = Arc::from(NO_LABEL);
        let state = Some(State::Other.name());
        for (tag, weight) in waits {
            let tag = checked_tag(&self.book, self.counters, tally, tag, until_ns);
            self.counters.add(tally.taken, 1);
            let window = &mut self.windows[Kind::Blocked];
            if window.add(&stack, &thread, tag, state, weight) == Kept::Folded {
                self.counters.add(tally.store_full, 1);
            }
        }
    }

    /// Whether a span is known to be open now, as far as the reports have been read.
    pub fn is_open(&self, span: u64, now_ns: u64) -> bool {
        self.book.verdict(span, now_ns) == Verdict::Open
    }

    /// Whether no window has a sample.
    pub fn is_empty(&self) -> bool {
        self.windows.iter().all(|(_, window)| window.samples() == 0)
    }

    /// How long before `start_ns`, when the windows began, their oldest sample was taken, ns: samples that this
    /// thread was kept from reading in their own window are in the next.
    pub fn late_ns(&self, start_ns: u64) -> u64 {
        start_ns.saturating_sub(self.oldest_ns)
    }

    /// Begins the next window of each kind and returns those that closed.
    pub fn next_windows(&mut self) -> ByKind<Window> {
        self.oldest_ns = u64::MAX;
        self.end_visits();
        std::mem::replace(&mut self.windows, new_windows())
    }
}

fn new_windows() -> ByKind<Window> {
    ByKind::new(|kind| Window::new(Bounds::of(kind)))
}

/// `tag`, if its span was open at `time_ns`.
fn checked_tag(book: &SpanBook, counters: &Counters, tally: Tally, tag: Tag, time_ns: u64) -> Tag {
    if tag.is_empty() {
        return Tag::EMPTY;
    }
    let counter = match book.verdict(tag.span, time_ns) {
        Verdict::Open => return tag,
        Verdict::Ended => tally.span_ended,
        Verdict::Unknown => tally.span_unknown,
    };
    counters.add(counter, 1);
    Tag::EMPTY
}

/// A wait as what was waited for, and as what the wait for a carrier was of it. It is one wait, of the former.
fn shares(
    state: Option<&'static str>,
    head: &EventHead,
) -> impl Iterator<Item = (Option<&'static str>, Weight)> + use<> {
    let amount = head.weight.amount;
    let delay = (head.delayed > 0.0).then(|| {
        let weight = Weight {
            count: 0.0,
            amount: amount * head.delayed,
        };
        (Some(State::Runnable.name()), weight)
    });
    let rest = Weight {
        amount: amount * (1.0 - head.delayed),
        ..head.weight
    };
    std::iter::once((state, rest)).chain(delay)
}

/// Text of the kind's label, told from the frames.
fn state_of(kind: Kind, locations: &[frames::Location]) -> Option<&'static str> {
    match kind {
        Kind::Blocked => Some(State::of(locations).name()),
        Kind::Cpu | Kind::Alloc | Kind::Live | Kind::Wall | Kind::Lock | Kind::LockOwner => None,
    }
}

fn label(registry: &Registry, block: BlockIndex, generation: Generation) -> Arc<str> {
    registry
        .label(block, generation)
        .unwrap_or_else(|| Arc::from(NO_LABEL))
}

pub mod visits;

#[cfg(test)]
pub(super) mod tests;
