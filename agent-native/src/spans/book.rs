//! Which spans are open. A sample is tagged only with a span that was open when it was taken.
//!
//! Why a list of the open ones and not of the ended ones: a scope that is never closed names an ended span
//! for ever, and a bounded list of ended spans forgets. What is not in this book is untagged.

use std::collections::{HashMap, HashSet, VecDeque};

/// Open spans the book holds; more stay untagged.
pub const OPEN: usize = 131_072;
/// How long the end of a span is remembered, ns: longer than a sample can lie in the ring.
const REMEMBER_NS: u64 = 5_000_000_000;
/// Ends remembered at the most.
const ENDS: usize = 262_144;

/// What the book says of a span at the time of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was open.
    Open,
    /// It had ended.
    Ended,
    /// It never started here, or was forgotten.
    Unknown,
}

/// The book. Used by the drain thread alone.
#[derive(Default)]
pub struct SpanBook {
    open: HashSet<u64>,
    ends: HashMap<u64, u64>,
    order: VecDeque<(u64, u64)>,
}

impl SpanBook {
    /// Enters an open span; `false` at the bound.
    pub fn start(&mut self, span: u64) -> bool {
        if self.open.len() >= OPEN {
            return false;
        }
        self.open.insert(span);
        true
    }

    /// The span ended at `at_ns` (CLOCK_MONOTONIC).
    pub fn end(&mut self, span: u64, at_ns: u64) {
        if self.open.remove(&span) {
            self.ends.insert(span, at_ns);
            self.order.push_back((at_ns, span));
            if self.order.len() > ENDS {
                self.forget_oldest();
            }
        }
    }

    /// The span is known no longer.
    pub fn lose(&mut self, span: u64) {
        self.open.remove(&span);
    }

    /// An end was lost, of whichever span: none is known to be open any more.
    pub fn forget_open(&mut self) {
        self.open.clear();
    }

    /// Whether a sample taken at `time_ns` may carry that span.
    #[must_use]
    pub fn verdict(&self, span: u64, time_ns: u64) -> Verdict {
        if self.open.contains(&span) {
            return Verdict::Open;
        }
        match self.ends.get(&span) {
            Some(end) if time_ns <= *end => Verdict::Open,
            Some(_) => Verdict::Ended,
            None => Verdict::Unknown,
        }
    }

    /// Forgets ends that no sample in the ring can precede any more.
    pub fn expire(&mut self, now_ns: u64) {
        while self
            .order
            .front()
            .is_some_and(|(at, _)| at.saturating_add(REMEMBER_NS) < now_ns)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((at, span)) = self.order.pop_front()
            && self.ends.get(&span) == Some(&at)
        {
            self.ends.remove(&span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_carries_samples_from_its_start_to_its_end_and_not_one_after() {
        let mut book = SpanBook::default();
        assert_eq!(book.verdict(7, 100), Verdict::Unknown);
        assert!(book.start(7));
        assert_eq!(book.verdict(7, 100), Verdict::Open);
        book.end(7, 150);
        assert_eq!(
            book.verdict(7, 150),
            Verdict::Open,
            "taken before the end, read after it"
        );
        assert_eq!(book.verdict(7, 151), Verdict::Ended);
    }

    #[test]
    fn what_was_forgotten_is_unknown_and_never_open() {
        let mut book = SpanBook::default();
        book.start(7);
        book.end(7, 150);
        book.expire(150 + REMEMBER_NS);
        assert_eq!(book.verdict(7, 200), Verdict::Ended);
        book.expire(151 + REMEMBER_NS);
        assert_eq!(book.verdict(7, 200), Verdict::Unknown);
        assert_eq!(book.verdict(7, 100), Verdict::Unknown);
    }

    #[test]
    fn after_a_lost_end_no_span_is_open_and_none_holds_a_place() {
        let mut book = SpanBook::default();
        book.start(7);
        book.start(8);
        book.end(8, 150);
        book.forget_open();
        assert_eq!(book.verdict(7, 100), Verdict::Unknown);
        assert_eq!(book.verdict(8, 100), Verdict::Open, "this end was seen");
        assert!(book.open.is_empty());
    }

    #[test]
    fn the_book_is_bounded_on_both_sides() {
        let mut book = SpanBook::default();
        for span in 1..=OPEN as u64 {
            assert!(book.start(span));
        }
        assert!(!book.start(u64::MAX));
        book.lose(1);
        assert!(book.start(u64::MAX));
        for span in 0..(ENDS as u64 + 500) {
            book.lose(2);
            book.start(1 << 40 | span);
            book.end(1 << 40 | span, span);
            book.start(2);
        }
        assert_eq!(book.ends.len(), ENDS);
        assert_eq!(book.order.len(), ENDS);
    }
}
