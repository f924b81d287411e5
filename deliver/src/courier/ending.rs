//! What becomes of the rest when the process ends.

use super::{Courier, Phase};
use crate::books::{Lost, Size};
use crate::clock::{Clock, Moment};
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
        while state.phase != Phase::Over {
            let left = until.since(clock.now());
            if left.is_zero() || self.changed.wait_for(&mut state, left).timed_out() {
                break;
            }
        }
        state.phase = Phase::Over;
        let entries = state.spool.take_all();
        drop(state);
        let (mut kept, mut lost) = (Size::default(), Size::default());
        for entry in entries {
            if self.leave(entry.place, entry.size) {
                kept = kept + entry.size;
            } else {
                lost = lost + entry.size;
            }
        }
        if lost.requests > 0 {
            let Size {
                requests, samples, ..
            } = lost;
            let line = format!(
                "did not take {requests} requests with {samples} samples before the end, which are lost: name a folder with push_spool=DIR to keep such for the next run"
            );
            self.tell(Level::Warn, &line);
        }
        if kept.requests > 0 {
            let line = format!("has {} requests to come in the next run", kept.requests);
            self.tell(Level::Info, &line);
        }
    }

    /// What is left at the end: whether it is kept for the next run. It is in the books as waiting then.
    pub(super) fn leave(&self, place: Place, size: Size) -> bool {
        match place {
            Place::Disk { .. } => true,
            Place::Memory(request) => {
                // Files could not be written when it came; now may be another time. Nobody is waited for.
                let written = self
                    .disk
                    .try_lock()
                    .and_then(|mut disk| Some(disk.as_mut()?.write(&request).is_ok()));
                if written == Some(true) {
                    return true;
                }
                self.books.drop_waiting(size, Lost::End);
                false
            }
        }
    }

    /// Gives up at once: nothing is sent any more.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        self.over(&mut state);
    }
}
