//! What the frames of a walk become.
//!
//! Below `Continuation.enterSpecial` lie the frames of the carrier: scheduler noise to a request, so the
//! handler leaves them out. A whole stack of a virtual thread ends in `Continuation.enter`; one that could not
//! be completed from the heap ends in a frame that says why.
//!
//! A thread that is not Java's has one frame, named after it and those like it (`GC Thread`, `C2 CompilerThread`), so
//! that in a flame graph its share of the process stands beside that of Java code.

use std::sync::Arc;

use vtprof_signal::sample::{Flags, Head};
use vtprof_signal::truncation::Truncation;
use vtprof_signal::walk::CallFrame;

use crate::events::sample::EventSample;
use crate::symbolize::class_name;
use crate::symbolize::symbolizer::{Function, MethodSource, Role, Symbolizer};
use crate::threads::name::family;

/// Root of a stack cut at the greatest depth.
pub const DEEP: &str = "[truncated: depth]";

/// A function and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub function: Arc<Function>,
    pub line: i32,
}

fn root(symbolizer: &mut Symbolizer, reason: Truncation) -> Location {
    let name = reason.counter().name();
    let name = name.replacen('.', ": ", 1).replace('_', " ");
    Location {
        function: symbolizer.named(&format!("[{name}]")),
        line: 0,
    }
}

/// Turns the frames of a sample into locations, leaf first, never empty. `thread` is the label of its thread.
/// Returns the truncation that was found here only, and is not counted yet: the handler of a JVM whose
/// `Continuation` has other methods does not see it.
pub fn locations(
    head: &Head,
    frames: impl Iterator<Item = CallFrame>,
    thread: &str,
    symbolizer: &mut Symbolizer,
    source: &impl MethodSource,
    into: &mut Vec<Location>,
) -> Option<Truncation> {
    into.clear();
    if head.flags.has(Flags::NATIVE) {
        into.push(plain(symbolizer.named(family(thread))));
        return None;
    }
    if head.flags.has(Flags::FAILED) {
        let name = head.failure.counter().name().replacen('.', ": ", 1);
        into.push(plain(symbolizer.named(&format!("[{name}]"))));
        return None;
    }
    let end = append(frames, head.time_ns, symbolizer, source, into);
    let is_cut = head.flags.has(Flags::CUT);
    finish(end, head.truncation, is_cut, symbolizer, into)
}

/// As [`locations`], of a sample taken in an event. JVMTI gives whole stacks, of virtual threads down to
/// `Continuation.enter`.
pub fn of_event(
    sample: &EventSample,
    symbolizer: &mut Symbolizer,
    source: &impl MethodSource,
    into: &mut Vec<Location>,
) -> Option<Truncation> {
    into.clear();
    if let Some(signature) = &sample.head.leaf_class {
        into.push(plain(
            symbolizer.named(&class_name::from_signature(signature)),
        ));
    }
    let frames = sample.frames.iter().copied();
    let end = append(frames, sample.head.time_ns, symbolizer, source, into);
    finish(end, None, sample.head.is_cut, symbolizer, into)
}

/// As [`of_event`], of a stack alone.
pub fn of_stack(
    frames: impl Iterator<Item = CallFrame>,
    time_ns: u64,
    is_cut: bool,
    symbolizer: &mut Symbolizer,
    source: &impl MethodSource,
    into: &mut Vec<Location>,
) {
    into.clear();
    let end = append(frames, time_ns, symbolizer, source, into);
    let _counted_elsewhere = finish(end, None, is_cut, symbolizer, into);
}

fn plain(function: Arc<Function>) -> Location {
    Location { function, line: 0 }
}

/// How the frames end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the last of them.
    Last,
    /// With the root of a virtual thread; a carrier's come below.
    Root,
    /// A carrier's come below the youngest of a virtual thread: its others are missing.
    Missing,
}

/// Appends the frames, without those of a carrier.
fn append(
    frames: impl Iterator<Item = CallFrame>,
    time_ns: u64,
    symbolizer: &mut Symbolizer,
    source: &impl MethodSource,
    into: &mut Vec<Location>,
) -> End {
    let mut last_role = None;
    for frame in frames {
        if let Some(start) = frame.as_stub() {
            let name = match source.stub(start) {
                Some(name) => format!("[stub: {name}]"),
                None => "[stub]".to_owned(),
            };
            into.push(plain(symbolizer.named(&name)));
            continue;
        }
        if let Some(pc) = frame.as_native() {
            into.push(plain(symbolizer.native.at(pc)));
            continue;
        }
        let (method, line) = symbolizer.frame(frame.method, frame.bci, time_ns, source);
        if method.role == Role::EnterSpecial {
            return if last_role == Some(Role::ContinuationEnter) {
                End::Root
            } else {
                End::Missing
            };
        }
        last_role = Some(method.role);
        into.push(Location {
            line,
            function: Arc::clone(&method.function),
        });
    }
    End::Last
}

/// Says what is missing, so that no stack is empty. Returns what nobody has counted.
fn finish(
    end: End,
    truncation: Option<Truncation>,
    is_cut: bool,
    symbolizer: &mut Symbolizer,
    into: &mut Vec<Location>,
) -> Option<Truncation> {
    match end {
        End::Root => return None,
        End::Missing => {
            into.push(root(symbolizer, Truncation::Unsupported));
            return Some(Truncation::Unsupported);
        }
        End::Last => {}
    }
    if let Some(reason) = truncation {
        into.push(root(symbolizer, reason));
    } else if is_cut {
        into.push(plain(symbolizer.named(DEEP)));
    }
    if into.is_empty() {
        into.push(plain(symbolizer.named("[no frames]")));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::weight::Weight;
    use crate::events::sample::EventHead;
    use crate::symbolize::loaded::LOADING;
    use crate::symbolize::symbolizer::MethodDescription;
    use vtprof_profile::kind::Kind;
    use vtprof_signal::cookie::{BlockIndex, Cookie, Generation};
    use vtprof_signal::tag::Tag;
    use vtprof_signal::walk::Failure;

    struct Names;

    impl MethodSource for Names {
        fn stub(&self, start: u64) -> Option<&str> {
            (start == 640).then_some("sha256_implCompress")
        }

        fn describe(&self, method: u64) -> Option<MethodDescription> {
            let (class, name) = match method {
                1 => ("LShop;", "leaf"),
                2 => ("LShop;", "handle"),
                3 => ("Ljdk/internal/vm/Continuation;", "enter"),
                4 => ("Ljdk/internal/vm/Continuation;", "enterSpecial"),
                _ => ("Ljava/util/concurrent/ForkJoinPool;", "runWorker"),
            };
            Some(MethodDescription {
                class_signature: class.into(),
                name: name.into(),
                file: String::new(),
                lines: Vec::new(),
            })
        }

        fn is_changing(&self, _: u64) -> bool {
            false
        }
    }

    const FROZEN: &str = "[truncated: frozen frames]";

    fn names(
        flags: Flags,
        failure: Failure,
        truncation: Option<Truncation>,
        methods: &[u64],
    ) -> (Vec<String>, Option<Truncation>) {
        let head = Head {
            time_ns: 0,
            block: BlockIndex(0),
            generation: Generation(0),
            periods: 1,
            flags,
            failure,
            truncation,
            tag: Tag::EMPTY,
        };
        let mut into = Vec::new();
        let frames = methods.iter().map(|m| CallFrame { bci: 0, method: *m });
        let found = locations(
            &head,
            frames,
            "GC Thread#N",
            &mut Symbolizer::new(),
            &Names,
            &mut into,
        );
        (
            into.iter().map(|l| l.function.name.clone()).collect(),
            found,
        )
    }

    fn walked(methods: &[u64]) -> (Vec<String>, Option<Truncation>) {
        names(Flags::NONE, Failure(0), None, methods)
    }

    #[test]
    fn a_whole_virtual_stack_ends_in_enter_and_shows_no_carrier_frame() {
        let whole = [
            "Shop.leaf",
            "Shop.handle",
            "jdk.internal.vm.Continuation.enter",
        ];
        for methods in [&[1, 2, 3, 4, 9, 9][..], &[1, 2, 3]] {
            let (stack, found) = walked(methods);
            assert_eq!(stack, whole);
            assert_eq!(found, None);
        }
    }

    #[test]
    fn a_stack_that_was_not_completed_names_the_reason() {
        let (stack, found) = names(
            Flags::NONE,
            Failure(0),
            Some(Truncation::InTransit),
            &[1, 2],
        );
        assert_eq!(
            stack,
            ["Shop.leaf", "Shop.handle", "[truncated: freeze or thaw]"]
        );
        assert_eq!(found, None, "the handler has counted it");
    }

    #[test]
    fn a_stack_with_frozen_frames_says_so_and_is_never_spliced_to_the_carrier() {
        let (stack, found) = walked(&[1, 4, 9, 9]);
        assert_eq!(stack, ["Shop.leaf", FROZEN]);
        assert_eq!(found, Some(Truncation::Unsupported));
        assert_eq!(walked(&[4, 9]).0, [FROZEN]);
    }

    #[test]
    fn a_platform_thread_keeps_all_its_frames() {
        assert_eq!(walked(&[1, 2, 9]).0.len(), 3);
    }

    #[test]
    fn a_stub_stands_above_its_caller_under_its_name() {
        let head = Head {
            time_ns: 0,
            block: BlockIndex(0),
            generation: Generation(0),
            periods: 1,
            flags: Flags::NONE,
            failure: Failure(0),
            truncation: None,
            tag: Tag::EMPTY,
        };
        let mut into = Vec::new();
        for (start, expected) in [(640, "[stub: sha256_implCompress]"), (641, "[stub]")] {
            let frames = [CallFrame::stub(start), CallFrame { bci: 0, method: 1 }];
            let mut symbolizer = Symbolizer::new();
            let frames = frames.into_iter();
            locations(&head, frames, "", &mut symbolizer, &Names, &mut into);
            let names: Vec<_> = into.iter().map(|l| l.function.name.as_str()).collect();
            assert_eq!(names, [expected, "Shop.leaf"]);
        }
    }

    #[test]
    fn native_code_stands_above_the_method_that_called_it() {
        let _alone = LOADING.lock();
        let mut into = Vec::new();
        let pc = libc::strtol as *const () as u64;
        let frames = [CallFrame::native(pc), CallFrame { bci: -3, method: 1 }].into_iter();
        let cookie = Cookie {
            block: BlockIndex(0),
            generation: Generation(0),
        };
        let head = Head::new(0, cookie, 1);
        locations(&head, frames, "", &mut Symbolizer::new(), &Names, &mut into);
        let [leaf, caller] = &into[..] else {
            panic!("{into:?}")
        };
        assert!(leaf.function.name.contains("strtol"), "{leaf:?}");
        assert!(leaf.function.file.starts_with("libc"), "{leaf:?}");
        assert_eq!(caller.function.name, "Shop.leaf");
    }

    #[test]
    fn no_stack_is_ever_empty() {
        let plain = |flags, failure, methods: &[u64]| names(flags, failure, None, methods).0;
        assert_eq!(walked(&[]).0, ["[no frames]"]);
        assert_eq!(plain(Flags::NATIVE, Failure(0), &[]), ["GC Thread"]);
        assert_eq!(
            plain(Flags::FAILED, Failure(-5), &[]),
            ["[failed: unknown_java]"]
        );
        assert_eq!(plain(Flags::CUT, Failure(0), &[1]), ["Shop.leaf", DEEP]);
    }

    fn of(leaf_class: Option<&str>, is_cut: bool, methods: &[u64]) -> Vec<String> {
        let sample = EventSample {
            head: EventHead {
                kind: Kind::Alloc,
                time_ns: 1,
                tag: Tag::EMPTY,
                place: None,
                leaf_class: leaf_class.map(Arc::from),
                weight: Weight::default(),
                state: None,
                delayed: 0.0,
                is_cut,
            },
            object: None,
            frames: methods
                .iter()
                .map(|method| CallFrame {
                    bci: -1,
                    method: *method,
                })
                .collect(),
        };
        let mut into = Vec::new();
        let found = of_event(&sample, &mut Symbolizer::new(), &Names, &mut into);
        assert_eq!(found.is_some(), methods.contains(&9));
        into.iter().map(|l| l.function.name.clone()).collect()
    }

    #[test]
    fn a_sample_of_an_event_has_its_class_as_leaf_and_says_where_it_was_cut() {
        let enter = "jdk.internal.vm.Continuation.enter";
        assert_eq!(
            of(Some("[Ljava/lang/String;"), false, &[1, 2, 3]),
            ["java.lang.String[]", "Shop.leaf", "Shop.handle", enter]
        );
        assert_eq!(of(None, true, &[1, 2]), ["Shop.leaf", "Shop.handle", DEEP]);
        assert_eq!(of(Some("[J"), false, &[]), ["long[]"]);
        assert_eq!(of(None, false, &[]), ["[no frames]"]);
        assert_eq!(of(None, false, &[1, 4, 9]), ["Shop.leaf", FROZEN]);
    }
}
