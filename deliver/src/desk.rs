//! One target in the office: its form, and its courier.
//!
//! An old server may not know the form. Then windows that went out in it before anything was taken are put into the older
//! one, and so are all that come. So until a first request is taken, the last few windows are kept; requests of others, and
//! those that an earlier process left, are refused then.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::books::Books;
use crate::clock::Moment;
use crate::courier::Courier;
use crate::courier::answer::{Answer, Carrier};
use crate::form::Form;
use crate::office::Destination;
use crate::origin::Origin;
use crate::request::Request;
use crate::say::{Level, Say};
use crate::spool::disk::{Disk, Left};
use crate::target::{Target, fnv};
use crate::window::Window;

/// Windows that are kept until a first request is taken.
const KEPT: usize = 2;

/// Requests of them that wait to be let go, at the most; those that went for want of room are among them.
const REPLACED: usize = 1_024;

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

/// Tells a request from others: its windows differ in time, so their bodies do.
type Mark = u64;

fn mark(request: &Request) -> Mark {
    fnv(&request.body)
}

struct Kept {
    origin: Arc<Origin>,
    window: Arc<Window>,
    requests: Vec<Mark>,
}

struct State {
    /// It is known that the server knows the form, or there is no older one.
    knows: bool,
    /// The last that went out before anything was taken, and their requests.
    kept: VecDeque<Kept>,
    /// The older form that is used.
    older: Option<Form>,
    /// It was said, and something was taken in it.
    is_older_told: bool,
    is_older_taken: bool,
    /// Requests whose windows went out in the older form too.
    replaced: Vec<Mark>,
    /// Samples had no place in the form; it was said.
    said: bool,
}

impl State {
    fn is_replaced(&mut self, request: &Request) -> bool {
        if self.replaced.is_empty() {
            return false;
        }
        let mark = mark(request);
        let place = self.replaced.iter().position(|one| *one == mark);
        place.map(|place| self.replaced.remove(place)).is_some()
    }
}

impl Desk {
    pub fn new(destination: Destination, courier: Courier, say: Say) -> Self {
        let knows = destination.form.fallback().is_none();
        Self {
            courier,
            target: destination.target,
            form: destination.form,
            say,
            state: Mutex::new(State {
                knows,
                kept: VecDeque::new(),
                older: None,
                is_older_told: false,
                is_older_taken: false,
                replaced: Vec::new(),
                said: false,
            }),
        }
    }

    /// From now on requests are in files; those that earlier processes left come first.
    pub fn use_disk(&self, disk: Disk, left: Left, ready: Moment) {
        self.courier.use_disk(disk, left, ready);
    }

    /// Takes a window, to be sent from `ready` on.
    pub fn take(&self, origin: &Arc<Origin>, window: &Arc<Window>, ready: Moment, books: &Books) {
        let mut state = self.state.lock();
        let form = state.older.unwrap_or(self.form);
        let requests = self.formed(&mut state, form, origin, window, books);
        if !state.knows && state.older.is_none() {
            if state.kept.len() >= KEPT {
                state.kept.pop_front();
            }
            state.kept.push_back(Kept {
                origin: Arc::clone(origin),
                window: Arc::clone(window),
                requests: requests.iter().map(mark).collect(),
            });
        }
        // Without the lock: a disk that hangs keeps no other request.
        drop(state);
        for request in requests {
            self.courier.put(request, ready);
        }
    }

    /// The window in that form.
    fn formed(
        &self,
        state: &mut State,
        form: Form,
        origin: &Origin,
        window: &Window,
        books: &Books,
    ) -> Vec<Request> {
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
        formed.requests
    }

    /// Whether its window goes out in the older form; it is told once, as the request goes then.
    fn is_replaced(&self, request: &Request) -> bool {
        self.state.lock().is_replaced(request)
    }

    /// The server has said that.
    fn hear(&self, request: &Request, answer: Answer, books: &Books) -> Answer {
        let mut state = self.state.lock();
        let (is_taken, unknown) = match &answer {
            Answer::Taken { .. } => (true, false),
            Answer::Refused { unknown, .. } => (false, *unknown),
            Answer::Later { .. } | Answer::Replaced => (false, false),
        };
        if !self.form.has_path(&request.path) {
            // One that an earlier process left in the older form, or one of this that uses it by now.
            state.is_older_taken |= is_taken;
            if unknown && !state.is_older_taken {
                // It knows neither, as where something else answers for it for a while: the next windows begin anew.
                state.older = None;
            }
            return answer;
        }
        if is_taken {
            state.knows = true;
            state.kept.clear();
            return answer;
        }
        let Some(older) = self.form.fallback().filter(|_| unknown && !state.knows) else {
            return answer;
        };
        if state.older.is_none() {
            state.older = Some(older);
            if !std::mem::replace(&mut state.is_older_told, true) {
                let line = format!(
                    "push: {} does not know Push, and gets profiles by /ingest",
                    self.target
                );
                self.say.line(Level::Info, &line);
            }
            for kept in std::mem::take(&mut state.kept) {
                state.replaced.extend(kept.requests);
                let beyond = state.replaced.len().saturating_sub(REPLACED);
                state.replaced.drain(..beyond);
                for request in self.formed(&mut state, older, &kept.origin, &kept.window, books) {
                    self.courier.put(request, Moment::START);
                }
            }
        }
        if state.is_replaced(request) {
            Answer::Replaced
        } else {
            answer
        }
    }
}

/// A client that tells the desk what it hears.
pub(crate) struct Door<'a, C> {
    desk: &'a Desk,
    client: C,
    books: &'a Books,
}

impl<'a, C: Carrier> Door<'a, C> {
    pub fn new(desk: &'a Desk, client: C, books: &'a Books) -> Self {
        Self {
            desk,
            client,
            books,
        }
    }
}

impl<C: Carrier> Carrier for Door<'_, C> {
    fn carry(&mut self, request: &Request, within: Duration) -> Answer {
        // Not in both forms, should the server know the newer one by now.
        if self.desk.is_replaced(request) {
            return Answer::Replaced;
        }
        let answer = self.client.carry(request, within);
        self.desk.hear(request, answer, self.books)
    }
}
