//! The end of a session: nothing is sampled any more, the books are closed, the last profile is written.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use crate::control;
use crate::log;
use crate::options::value::spelled;
use crate::publish;

/// How long handlers that are inside are waited for. It costs nothing where none is; where one is, its thread has
/// most likely lost its CPU in the middle, which on a loaded machine is normal and may last for many turns of others.
/// Blocks are taken away and the last sums are read afterwards, so a wait that is too short is a sample too few.
const LAST_HANDLER: Duration = Duration::from_secs(2);
/// Between two looks at whether they have left.
const NAP: Duration = Duration::from_millis(1);

impl Session {
    /// Nothing is sampled from now on, and the books are closed: what the drain reads of the handlers' counters and
    /// of the ring afterwards is all that there will be.
    fn silence(&self) {
        self.end_events();
        if let Some(wall) = &self.wall {
            wall.finish();
        }
        self.shared.gate.disarm();
        // Before their blocks go.
        self.await_handlers();
        self.registry.stop();
        // There are no timers any more, but there may be signals on their way.
        self.shared.gate.end();
        self.await_handlers();
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Whether no handler takes a sample any more, so that nobody asks who runs where.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::SeqCst)
    }

    /// Waits until no handler is inside, or [`LAST_HANDLER`] is over. The gate's mode was changed before.
    pub(super) fn await_handlers(&self) {
        // Counted in naps and not by a clock, which goes on where the whole machine is stopped for a while: nobody
        // can have left in that time. Naps leave the CPU to those who are inside.
        for _ in 0..LAST_HANDLER.as_nanos() / NAP.as_nanos() {
            if self.shared.gate.is_empty() {
                return;
            }
            std::thread::sleep(NAP);
        }
    }

    /// The session could not be run, or its thread has failed: nothing is sampled, nobody is waited for.
    pub fn abandon(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.publish_no_more();
        control::end();
        self.ending.end();
        self.silence();
        self.publish_no_more();
    }

    /// Stops sampling, then waits for the last profile; once. Not to be called by the drain.
    pub fn stop(&self) {
        if self.over.swap(true, Ordering::SeqCst) {
            return;
        }
        self.publish_no_more();
        control::end();
        self.silence();
        let flush = self.options.flush;
        if !self.ending.finish(flush) {
            log::warn(&format!(
                "the last profile was not written within flush={}: give a longer flush, or a faster disk than that of {}",
                spelled(flush),
                self.directory.path().display()
            ));
        }
        // Who was in the middle of an attach when the session ended has come out of it by now.
        self.publish_no_more();
    }

    fn publish_no_more(&self) {
        if self.publishes {
            publish::threads::withdraw_all(self);
        }
    }
}
