//! A sample that was taken in a JVMTI event, on the thread it is of.

use std::sync::Arc;

use vtprof_profile::kind::Kind;
use vtprof_signal::cookie::Cookie;
use vtprof_signal::tag::Tag;
use vtprof_signal::walk::CallFrame;

use super::object::ObjectRef;
use crate::aggregate::weight::Weight;

/// All of a sample but its frames.
#[derive(Clone, Debug, PartialEq)]
pub struct EventHead {
    /// Any but [`Kind::Cpu`], whose samples come through the ring.
    pub kind: Kind,
    /// When the stack was taken, ns of CLOCK_MONOTONIC; of a sample with a duration, its end. The span of `tag`
    /// must have been open then, or the sample is untagged: what lasts longer than its span is not charged to it.
    pub time_ns: u64,
    /// What the record table says of the thread, or [`Tag::EMPTY`].
    pub tag: Tag,
    /// Block of the OS thread, by which its label is found; `None` where it has none.
    pub place: Option<Cookie>,
    /// Signature of a class, as JVMTI gives it, that stands as a frame of its own above the youngest: of the
    /// object that was allocated.
    pub leaf_class: Option<Arc<str>>,
    /// What the sample stands for.
    pub weight: Weight,
    /// Text of the label that the kind has ([`Kind::label`]), where whoever took the sample knows it; else it is told
    /// from the frames, once they have names.
    pub state: Option<&'static str>,
    /// Of a wait: the share of it, 0 to 1, in which the thread could have run, and had no carrier.
    pub delayed: f64,
    /// The stack had more frames than were taken.
    pub is_cut: bool,
}

/// A sample.
#[derive(Debug, PartialEq)]
pub struct EventSample {
    pub head: EventHead,
    /// The object that was allocated, where it is to be followed.
    pub object: Option<ObjectRef>,
    /// Youngest first: method id and bytecode index, negative where there is none. The ids are JVMTI's own (of
    /// `GetStackTrace`), but by the time they are read their class may be gone: they are named as those of
    /// AsyncGetCallTrace are.
    pub frames: Box<[CallFrame]>,
}
