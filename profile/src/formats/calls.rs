//! Calls that begin and end, as a tree: what is on the stack between two events is a place in it, and no copy of the stack.

use std::collections::HashMap;

use crate::bounds::check_frames;
use crate::model::Flaw;

/// A place in the tree.
type CallId = usize;

#[derive(Debug)]
struct Call {
    /// `None` at the root.
    caller: Option<CallId>,
    frame: usize,
    /// Sum of what it has for itself, once it has some.
    weight: Option<i64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// By caller and frame.
    known: HashMap<(Option<CallId>, usize), CallId>,
    /// Those with a weight, in the order of their first.
    weighed: Vec<CallId>,
    open: Option<CallId>,
    depth: usize,
}

impl Calls {
    /// The frame is called.
    ///
    /// # Errors
    /// The stack is too deep.
    pub fn open(&mut self, frame: usize) -> Result<(), Flaw> {
        self.depth += 1;
        check_frames(self.depth)?;
        let next = self.calls.len();
        let call = *self.known.entry((self.open, frame)).or_insert(next);
        if call == next {
            self.calls.push(Call {
                caller: self.open,
                frame,
                weight: None,
            });
        }
        self.open = Some(call);
        Ok(())
    }

    /// The frame ends; whether it was the last that was called.
    pub fn close(&mut self, frame: usize) -> bool {
        let open = self.open.and_then(|open| self.calls.get(open));
        let Some(call) = open.filter(|call| call.frame == frame) else {
            return false;
        };
        self.open = call.caller;
        self.depth -= 1;
        true
    }

    /// The frame that was called last and is open.
    pub fn innermost(&self) -> Option<usize> {
        let open = self.open.and_then(|open| self.calls.get(open));
        open.map(|call| call.frame)
    }

    /// Adds to the call that is open, if one is.
    ///
    /// # Errors
    /// The sum is beyond what 64 bits hold.
    pub fn add(&mut self, weight: i64) -> Result<(), Flaw> {
        let Some(open) = self.open else {
            return Ok(());
        };
        if let Some(call) = self.calls.get_mut(open) {
            if call.weight.is_none() {
                self.weighed.push(open);
            }
            let sum = call.weight.unwrap_or(0).checked_add(weight);
            call.weight = Some(sum.ok_or(Flaw::Sum)?);
        }
        Ok(())
    }

    /// Calls with their sums, in the order in which they got some.
    pub fn weights(&self) -> impl Iterator<Item = (CallId, i64)> {
        let of = |call: &CallId| Some((*call, self.calls.get(*call)?.weight?));
        self.weighed.iter().filter_map(of)
    }

    /// The frames of a call, its own first.
    pub fn stack(&self, call: CallId) -> impl Iterator<Item = usize> {
        let first = self.calls.get(call);
        let caller = |call: &&Call| self.calls.get(call.caller?);
        std::iter::successors(first, caller).map(|call| call.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::MOST_FRAMES;

    #[test]
    fn what_is_called_again_from_the_same_place_is_added_up() {
        let mut calls = Calls::default();
        for (frame, weight) in [(1, 5), (2, 7)] {
            calls.open(frame).expect("not deep");
            calls.add(weight).expect("small");
        }
        assert!(!calls.close(1), "2 is open");
        assert!(calls.close(2));
        calls.open(2).expect("not deep");
        calls.add(i64::MAX - 7).expect("64 bits");
        assert_eq!(calls.add(1), Err(Flaw::Sum));
        assert!(calls.close(2) && calls.close(1) && !calls.close(1));
        calls.add(9).expect("nothing is open");
        let told: Vec<_> = calls
            .weights()
            .map(|(call, weight)| (calls.stack(call).collect::<Vec<_>>(), weight))
            .collect();
        assert_eq!(told, [(vec![1], 5), (vec![2, 1], i64::MAX)]);
    }

    #[test]
    fn a_stack_is_as_deep_as_one_may_be() {
        let mut calls = Calls::default();
        for _ in 0..MOST_FRAMES {
            calls.open(0).expect("not too deep");
        }
        assert!(calls.open(0).is_err());
    }
}
