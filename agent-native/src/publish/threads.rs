//! Which record others read of an OS thread: that of the Java thread that runs on it, as its block says, which the mount
//! events keep. So a carrier shows the context of the virtual thread that is mounted, from the mount event to the unmount
//! event, and otherwise its own, if it has one.
//!
//! The record is the virtual thread's and goes with it: a mount is one look-up and one pointer, and a context that changes
//! while the thread is mounted is rewritten where others look already. Whoever frees a record turns them away first.
//!
//! A span may end while a scope of it is open. Whoever ends it withdraws its own record and that of the thread that has
//! attached it last, where that is there yet; an attach that comes too late for it finds the end itself (`SpanInfo.ended`); what else there may be, the drain does, which looks at the table part by part. It goes by the rule of
//! the samples: records first, reports second. The start of a span that a record names was reported before, so what is not
//! known to be open by then is withdrawn, whether it has ended or nobody knows.

use std::sync::atomic::{Ordering, fence};

use jni_sys::JNIEnv;
use vtprof_signal::block::Block;
use vtprof_signal::context_table::{ContextTable, TableFull};
use vtprof_signal::counters::Counter;
use vtprof_signal::record::{Claim, Record, TraceFlags};
use vtprof_signal::tag::{JavaThreadId, Tag};

use super::variable;
use crate::jvm::identity;
use crate::session::Session;

/// Slots of the table that the drain looks at in one look at the least; there are twenty looks a second.
const LEAST: usize = 4_096;
/// In so many looks it has seen all: some 3 s.
const LOOKS: usize = 64;

/// Something was mounted or unmounted on the calling OS thread, and its block, if it has one, says so already.
pub fn follow(session: &Session, block: Option<&Block>) {
    let record = block.and_then(|block| session.shared.contexts.record(block.running()));
    variable::point_to(record);
}

/// Nothing is to be read of the calling OS thread.
pub fn hide() {
    variable::point_to(None);
}

/// Makes `tag` the tag of `thread`, the calling one, and shows it where that thread is known to run on this OS thread:
/// where nobody has told of its mount nobody will tell of its unmount.
pub fn set(
    session: &'static Session,
    env: *mut JNIEnv,
    thread: JavaThreadId,
    tag: &Tag,
    flags: TraceFlags,
) -> Result<(), TableFull> {
    if session.is_over() {
        // Mounts are told no more, so records stay withdrawn.
        hide();
        return Ok(());
    }
    if tag.is_empty() {
        hide();
        session.shared.contexts.remove(thread);
        return Ok(());
    }
    let record = session.shared.contexts.set_with(thread, tag, flags)?;
    let runs_here = identity::block(session, env).is_some_and(|block| block.running() == thread);
    if !runs_here {
        session.shared.counters.add(Counter::ContextUnpublished, 1);
    }
    variable::point_to(record.filter(|_| runs_here));
    // The shim asks next whether the span has ended meanwhile; pairs with the fence in `end`.
    fence(Ordering::SeqCst);
    if session.is_over() {
        // It has ended meanwhile, and may have withdrawn all before this one was written.
        hide();
        if let Some(record) = record
            && let Some(claim) = record.claim()
        {
            record.withdraw(&claim);
        }
    }
    Ok(())
}

/// The calling thread ends that span, or the shim knows it no longer; which `attached` was the last to attach, as the shim says. A thread that has another
/// span by now keeps it.
pub fn end(session: &Session, span: u64, attached: JavaThreadId) {
    // The shim has noted the end before: a record that is not seen here was written by a thread that sees the note.
    fence(Ordering::SeqCst);
    let theirs = session.shared.contexts.record(attached);
    let records = [variable::pointed_to(), theirs].into_iter().flatten();
    let withdrawn = records.filter(|record| {
        let claim = record.claim().filter(|claim| claim.span == span);
        claim.is_some_and(|claim| record.withdraw(&claim))
    });
    let counters = session.shared.counters;
    counters.add(Counter::ContextWithdrawn, withdrawn.count() as u64);
}

/// The session is over: nothing is believed any more, as nobody tells of mounts.
pub fn withdraw_all(session: &Session) {
    for (record, claim) in session.shared.contexts.claims(0, usize::MAX) {
        // It fails where its thread attaches something this very moment: the session asks twice.
        record.withdraw(&claim);
    }
}

/// The drain's looks for spans that are open no more.
#[derive(Default)]
pub struct Withdrawals<'a> {
    next: usize,
    /// What the records of the part looked at said: no more than there are slots in it.
    claims: Vec<(&'a Record, Claim)>,
}

impl<'a> Withdrawals<'a> {
    /// Looks at the next part. Before the reports are read.
    pub fn gather(&mut self, table: &ContextTable<'a>) {
        let count = LEAST.max(table.capacity().div_ceil(LOOKS));
        self.claims.clear();
        self.claims.extend(table.claims(self.next, count));
        self.next += count;
        if self.next >= table.capacity() {
            self.next = 0;
        }
    }

    /// Withdraws what was gathered of spans that are not open, as far as it was not rewritten since; how many records were.
    /// After the reports were read.
    pub fn judge(&mut self, mut is_open: impl FnMut(u64) -> bool) -> u64 {
        let claims = self.claims.drain(..);
        let ended = claims.filter(|(_, claim)| !is_open(claim.span));
        ended
            .filter(|(record, claim)| record.withdraw(claim))
            .count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_signal::context_table::Slot;

    fn tag(span: u64) -> Tag {
        Tag {
            trace_hi: 1,
            trace_lo: 1,
            span,
            root: span,
        }
    }

    #[test]
    fn all_records_of_an_ended_span_are_withdrawn_in_a_round_of_looks() {
        let slots: Vec<_> = (0..4 * LEAST).map(|_| Slot::new()).collect();
        let table = ContextTable::new(&slots).unwrap();
        for thread in 1..100 {
            let span = if thread % 2 == 0 { 7 } else { 9 };
            table.set(JavaThreadId(thread * 165), &tag(span)).unwrap();
        }
        let mut withdrawals = Withdrawals::default();
        let mut looks = || -> u64 {
            let look = |_| {
                withdrawals.gather(&table);
                withdrawals.judge(|span| span != 7)
            };
            (0..4).map(look).sum()
        };
        assert_eq!(looks(), 49);
        assert_eq!(looks(), 0);
    }
}
