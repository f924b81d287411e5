//! What becomes of the rest when the process ends.
//!
//! The courier's own thread puts it where it stays; whoever ends the process waits for that, but for no disk: what is not
//! in a file by then is lost, and counted.

use std::sync::Arc;

use super::{Courier, Phase};
use crate::books::{Lost, Size};
use crate::clock::{Clock, Moment};
use crate::request::Request;
use crate::say::Level;
use crate::spool::Place;

impl Courier {
    /// The process ends: all that waits is tried once more until then, and not after a failure.
    pub fn close(&self, until: Moment) {
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Closing(until);
        }
        self.changed.notify_all();
    }

    /// Waits until it is over, or until then. Afterwards nothing is sent any more: what is in files stays there for the
    /// next run, the rest is lost, and both are said.
    pub fn finish(&self, until: Moment, clock: Clock) {
        let mut state = self.state.lock();
        while state.phase != Phase::Settled {
            let left = until.since(clock.now());
            if left.is_zero() || self.changed.wait_for(&mut state, left).timed_out() {
                break;
            }
        }
        state.phase = Phase::Settled;
        let mut rest = std::mem::take(&mut state.rest);
        let mut late: Size = state.writing.take().into_iter().sum();
        for entry in state.spool.take_all() {
            match entry.place {
                Place::Disk { .. } => rest.kept = rest.kept + entry.size,
                Place::Memory(_) => late = late + entry.size,
            }
        }
        drop(state);
        self.books.drop_waiting(late, Lost::End);
        let Size {
            requests, samples, ..
        } = rest.lost + late;
        if requests > 0 {
            let line = format!(
                "did not take {requests} requests with {samples} samples before the end, which are lost: name a folder with push_spool=DIR to keep such for the next run"
            );
            self.tell(Level::Warn, &line);
        }
        if rest.kept.requests > 0 {
            let line = format!(
                "has {} requests to come in the next run",
                rest.kept.requests
            );
            self.tell(Level::Info, &line);
        }
    }

    /// Puts what is left in memory into files, where that works now. [`Courier::run`] ends with it.
    pub fn settle(&self) {
        while let Some((request, size)) = self.next_left() {
            // Files could not be written when it came; now may be another time. Nobody is waited for.
            let written = self
                .disk
                .try_lock()
                .and_then(|mut disk| disk.as_mut()?.write(&request).ok());
            let mut state = self.state.lock();
            // Who ends the process has not waited, and has counted it as lost.
            let is_late = state.writing.take().is_none();
            match &written {
                Some(_) if !is_late => state.rest.kept = state.rest.kept + size,
                None if !is_late => {
                    state.rest.lost = state.rest.lost + size;
                    self.books.drop_waiting(size, Lost::End);
                }
                _ => {}
            }
            drop(state);
            if let Some((path, _)) = written.filter(|_| is_late) {
                self.forget(&path);
            }
        }
    }

    /// The next that is in memory at the end; none any more: it is settled.
    pub(super) fn next_left(&self) -> Option<(Arc<Request>, Size)> {
        let mut state = self.state.lock();
        let left = match state.phase {
            Phase::Settled => None,
            _ => state.spool.pop_memory(),
        };
        match &left {
            Some((_, size)) => state.writing = Some(*size),
            None => {
                state.phase = Phase::Settled;
                self.changed.notify_all();
            }
        }
        left
    }

    /// Gives up at once: nothing is sent any more, nor put into files.
    pub fn abandon(&self) {
        self.state.lock().phase = Phase::Settled;
        self.changed.notify_all();
    }
}
