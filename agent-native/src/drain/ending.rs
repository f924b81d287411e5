//! How the drain is told to pause, to go on and to finish, and tells that it has.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// What may be asked of the drain while it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Close the window, begin none.
    Pause,
    /// Begin a window.
    Resume,
    /// Close the window and begin the next. Of a session that runs: where an order to resume was not taken up yet, this
    /// does it.
    Dump,
}

/// Which order it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Ticket(u64);

/// What the drain does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Its usual look.
    Look,
    /// A look, then that; [`Ending::obeyed`] afterwards.
    Obey(Order, Ticket),
    /// A last look.
    Finish,
}

#[derive(Default)]
struct State {
    order: Option<Order>,
    asked: Ticket,
    obeyed: Ticket,
    wanted: bool,
    done: bool,
}

/// See the module.
#[derive(Default)]
pub struct Ending {
    state: Mutex<State>,
    changed: Condvar,
}

impl Ending {
    /// The drain waits here between two looks.
    pub fn wait(&self, poll: Duration) -> Next {
        let mut state = self.state.lock();
        if !state.wanted && state.order.is_none() {
            self.changed.wait_for(&mut state, poll);
        }
        if state.wanted {
            return Next::Finish;
        }
        match state.order.take() {
            Some(order) => Next::Obey(order, state.asked),
            None => Next::Look,
        }
    }

    /// The drain has done what was asked.
    pub fn obeyed(&self, ticket: Ticket) {
        self.state.lock().obeyed = ticket;
        self.changed.notify_all();
    }

    /// The drain has written its last profile.
    pub fn finished(&self) {
        self.state.lock().done = true;
        self.changed.notify_all();
    }

    /// Asks the drain and waits for it; `false` when it has not within `patience`, or is no more. It may do so
    /// later; an order that is not yet taken up is replaced by the next.
    pub fn ask(&self, order: Order, patience: Duration) -> bool {
        let mut state = self.state.lock();
        let ticket = Ticket(state.asked.0 + 1);
        state.asked = ticket;
        state.order = Some(order);
        self.changed.notify_all();
        self.await_that(&mut state, patience, |state| {
            state.obeyed >= ticket || state.done
        });
        state.obeyed >= ticket
    }

    /// Tells the drain, in place of an order that it has not taken up yet, and does not wait.
    pub fn tell(&self, order: Order) {
        let mut state = self.state.lock();
        state.asked = Ticket(state.asked.0 + 1);
        state.order = Some(order);
        self.changed.notify_all();
    }

    /// Tells the drain to finish, and does not wait.
    pub fn end(&self) {
        self.state.lock().wanted = true;
        self.changed.notify_all();
    }

    /// Tells the drain to finish and waits for it; `false` when it has not within `patience`.
    pub fn finish(&self, patience: Duration) -> bool {
        self.end();
        let mut state = self.state.lock();
        self.await_that(&mut state, patience, |state| state.done);
        state.done
    }

    fn await_that(
        &self,
        state: &mut MutexGuard<'_, State>,
        patience: Duration,
        holds: impl Fn(&State) -> bool,
    ) {
        let until = Instant::now() + patience;
        while !holds(state) {
            if self.changed.wait_until(state, until).timed_out() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_drain_that_is_told_to_finish_looks_once_more_and_is_waited_for() {
        let ending = Arc::new(Ending::default());
        let drain = {
            let ending = Arc::clone(&ending);
            std::thread::spawn(move || {
                while ending.wait(LONG) != Next::Finish {}
                ending.finished();
            })
        };
        assert!(ending.finish(LONG));
        drain.join().unwrap();
    }

    #[test]
    fn a_drain_that_is_told_of_the_end_finishes_and_nobody_waits() {
        let ending = Ending::default();
        ending.end();
        assert_eq!(ending.wait(LONG), Next::Finish);
    }

    #[test]
    fn a_drain_that_does_not_finish_is_not_waited_for_for_ever() {
        assert!(!Ending::default().finish(SHORT));
    }

    #[test]
    fn orders_are_obeyed_one_by_one_and_none_is_lost_to_the_end() {
        let ending = Arc::new(Ending::default());
        let drain = {
            let ending = Arc::clone(&ending);
            std::thread::spawn(move || {
                let mut obeyed = Vec::new();
                loop {
                    match ending.wait(LONG) {
                        Next::Look => {}
                        Next::Obey(order, ticket) => {
                            obeyed.push(order);
                            ending.obeyed(ticket);
                        }
                        Next::Finish => break,
                    }
                }
                ending.finished();
                obeyed
            })
        };
        for _ in 0..100 {
            assert!(ending.ask(Order::Pause, LONG));
            assert!(ending.ask(Order::Resume, LONG));
        }
        assert!(ending.finish(LONG));
        assert_eq!(
            drain.join().unwrap(),
            [Order::Pause, Order::Resume].repeat(100)
        );
        assert!(!ending.ask(Order::Pause, LONG), "nobody is there to obey");
    }

    #[test]
    fn an_order_that_was_not_obeyed_in_time_is_taken_back() {
        let ending = Ending::default();
        assert!(!ending.ask(Order::Resume, SHORT));
        ending.tell(Order::Pause);
        let Next::Obey(order, _) = ending.wait(LONG) else {
            panic!("an order");
        };
        assert_eq!(order, Order::Pause);
        assert_eq!(ending.wait(Duration::ZERO), Next::Look);
    }

    #[test]
    fn an_order_that_came_too_late_is_replaced_by_the_next() {
        let ending = Ending::default();
        assert!(!ending.ask(Order::Pause, SHORT));
        assert!(!ending.ask(Order::Resume, SHORT));
        let Next::Obey(order, ticket) = ending.wait(LONG) else {
            panic!("an order");
        };
        assert_eq!(order, Order::Resume);
        ending.obeyed(ticket);
        assert_eq!(ending.wait(Duration::ZERO), Next::Look);
    }
}
