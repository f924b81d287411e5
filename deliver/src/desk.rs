//! One target in the office: its form, and its courier.
//!
//! An old server may not know the form. Then windows that went out in it before anything was taken are put into the older
//! one, and so are all that come. So until a first request is taken, a few windows are kept.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::books::Books;
use crate::clock::Moment;
use crate::courier::Courier;
use crate::courier::answer::{Answer, Carrier};
use crate::form::Form;
use crate::office::{Destination, Office};
use crate::origin::Origin;
use crate::request::Request;
use crate::say::{Level, Say};
use crate::spool::disk::{Disk, Left};
use crate::target::Target;
use crate::window::Window;

/// Windows that are kept until a first request is taken; more are not, and no more then.
const KEPT: usize = 2;

/// See the module.
pub(crate) struct Desk {
    pub courier: Courier,
    pub target: Target,
    /// As it began.
    pub form: Form,
    say: Say,
    /// Held while a window is put into a form.
    state: Mutex<State>,
}

struct State {
    /// What went out before anything was taken; `None`: it is known that the server knows the form, or too late to tell.
    kept: Option<Vec<Arc<Window>>>,
    /// The older form that is used, and the path of requests of the newer.
    older: Option<(Form, String)>,
    /// Samples had no place in the form; it was said.
    said: bool,
}

impl Desk {
    pub fn new(destination: Destination, courier: Courier, say: Say) -> Self {
        let can_be_older = destination.form.fallback().is_some();
        Self {
            courier,
            target: destination.target,
            form: destination.form,
            say,
            state: Mutex::new(State {
                kept: can_be_older.then(Vec::new),
                older: None,
                said: false,
            }),
        }
    }

    /// From now on requests are in files; those that earlier processes left come first.
    pub fn use_disk(&self, disk: Disk, left: Left, ready: Moment) {
        if !left.whole.is_empty() {
            // Their windows are not there any more.
            self.state.lock().kept = None;
        }
        self.courier.use_disk(disk, left, ready);
    }

    /// Takes a window, to be sent from `ready` on.
    pub fn take(&self, origin: &Origin, window: &Arc<Window>, ready: Moment, books: &Books) {
        let mut state = self.state.lock();
        if let Some(kept) = &mut state.kept {
            if kept.len() < KEPT {
                kept.push(Arc::clone(window));
            } else {
                state.kept = None;
            }
        }
        let form = state.older.as_ref().map_or(self.form, |(form, _)| *form);
        self.put(&mut state, form, origin, window, ready, books);
    }

    fn put(
        &self,
        state: &mut State,
        form: Form,
        origin: &Origin,
        window: &Window,
        ready: Moment,
        books: &Books,
    ) {
        let formed = form.requests(origin, window);
        books.leave_out(&formed.left_out);
        if let Some(why) = formed.left_out.why
            && !std::mem::replace(&mut state.said, true)
        {
            let line = format!(
                "push: {} does not get samples, which are lost: {why}",
                self.target
            );
            self.say.line(Level::Warn, &line);
        }
        for request in formed.requests {
            self.courier.put(request, ready);
        }
    }

    /// The server has said that.
    fn hear(&self, request: &Request, answer: Answer, office: &Office) -> Answer {
        let unknown = match answer {
            Answer::Taken { .. } => {
                self.state.lock().kept = None;
                return answer;
            }
            Answer::Refused { unknown, .. } => unknown,
            Answer::Later { .. } | Answer::Replaced => false,
        };
        let Some(older) = self.form.fallback().filter(|_| unknown) else {
            return answer;
        };
        let mut state = self.state.lock();
        if let Some((_, path)) = &state.older {
            // Another of those windows.
            let is_replaced = *path == request.path;
            return if is_replaced {
                Answer::Replaced
            } else {
                answer
            };
        }
        let Some(kept) = state.kept.take() else {
            return answer;
        };
        state.older = Some((older, request.path.clone()));
        let line = format!(
            "push: {} does not know Push, and gets profiles by /ingest",
            self.target
        );
        self.say.line(Level::Info, &line);
        let origin = office.origin();
        for window in &kept {
            self.put(
                &mut state,
                older,
                &origin,
                window,
                Moment::START,
                office.books(),
            );
        }
        Answer::Replaced
    }
}

/// A client that tells the desk what it hears.
pub(crate) struct Door<'a, C> {
    desk: &'a Desk,
    client: C,
    office: &'a Office,
}

impl<'a, C: Carrier> Door<'a, C> {
    pub fn new(desk: &'a Desk, client: C, office: &'a Office) -> Self {
        Self {
            desk,
            client,
            office,
        }
    }
}

impl<C: Carrier> Carrier for Door<'_, C> {
    fn carry(&mut self, request: &Request, within: Duration) -> Answer {
        let answer = self.client.carry(request, within);
        self.desk.hear(request, answer, self.office)
    }
}
