use std::cell::{Cell, RefCell};

use super::*;

/// A JVM whose classes come, go and change.
#[derive(Default)]
struct Classes {
    asked: Cell<u32>,
    gone: RefCell<Vec<u64>>,
    first_line: Cell<i32>,
    changing: Cell<u64>,
}

impl MethodSource for Classes {
    fn describe(&self, method: u64) -> Option<MethodDescription> {
        self.asked.set(self.asked.get() + 1);
        let (class, name) = match method {
            7 => ("Ljdk/internal/vm/Continuation;".to_owned(), "enter"),
            n => (format!("LShop{n};"), "sell"),
        };
        let line = self.first_line.get();
        (!self.gone.borrow().contains(&method)).then(|| MethodDescription {
            class_signature: class,
            name: name.into(),
            file: "Shop.java".into(),
            lines: vec![(10, line + 1), (0, line), (20, line - 1)],
        })
    }

    fn is_changing(&self, method: u64) -> bool {
        self.changing.get() == method
    }
}

fn begun(at_ns: u64, methods: &[u64]) -> Step {
    Step::Begun {
        at_ns,
        methods: methods.into(),
    }
}

fn ended(at_ns: u64, methods: &[u64]) -> Step {
    Step::Ended {
        at_ns,
        methods: methods.into(),
    }
}

#[test]
fn a_method_is_asked_for_once_and_lines_follow_its_table() {
    let source = Classes::default();
    source.first_line.set(100);
    let mut symbolizer = Symbolizer::new();
    let lines: Vec<_> = [-3, 0, 9, 10, 19, 20, 5000]
        .into_iter()
        .map(|bci| symbolizer.frame(7, bci, 1, &source).1)
        .collect();
    assert_eq!(lines, [0, 100, 100, 101, 101, 99, 99]);
    let (method, _) = symbolizer.frame(7, 0, 1, &source);
    assert_eq!(source.asked.get(), 1);
    assert_eq!(method.function.name, "jdk.internal.vm.Continuation.enter");
    assert_eq!(method.role, Role::ContinuationEnter);
}

#[test]
fn each_frame_whose_method_is_gone_is_counted_under_a_name_that_says_so() {
    let source = Classes::default();
    source.gone.borrow_mut().push(8);
    let mut symbolizer = Symbolizer::new();
    for _ in 0..3 {
        let (method, line) = symbolizer.frame(8, 0, 1, &source);
        assert_eq!((method.function.name.as_str(), line), (UNLOADED, 0));
        let (method, _) = symbolizer.frame(0, 0, 1, &source);
        assert_eq!(method.function.name, NO_METHOD);
    }
    assert_eq!(symbolizer.unresolved, 6);
    assert_eq!(source.asked.get(), 1, "no method is not asked for");
}

#[test]
fn a_method_met_before_its_class_went_keeps_its_name() {
    let source = Classes::default();
    let mut symbolizer = Symbolizer::new();
    symbolizer.frame(8, 0, 1, &source);
    source.gone.borrow_mut().push(8);
    symbolizer.next_window();
    let (method, _) = symbolizer.frame(8, 0, 2, &source);
    assert_eq!(method.function.name, "Shop8.sell");
    assert_eq!(symbolizer.unresolved, 0);
}

#[test]
fn what_is_remembered_is_bounded_within_a_window_and_falls_when_it_is_not_met() {
    let source = Classes::default();
    let mut symbolizer = Symbolizer::with_bound(1_000);
    for id in 1..=100_000 {
        symbolizer.frame(id, 0, 1, &source);
        symbolizer.frame(1, 0, 1, &source);
        assert!(symbolizer.remembered() <= 1_000);
    }
    assert_eq!(
        source.asked.get(),
        100_000,
        "what is met again and again is asked for once"
    );
    symbolizer.next_window();
    symbolizer.next_window();
    assert_eq!(symbolizer.remembered(), 0);
}

#[test]
fn lines_are_those_of_the_version_that_ran() {
    let source = Classes::default();
    source.first_line.set(100);
    let mut symbolizer = Symbolizer::new();
    assert_eq!(symbolizer.frame(8, 0, 10, &source).1, 100);
    symbolizer.redefine(begun(20, &[8, 9]), 0);
    // Which version the JVM tells of now is not known.
    assert_eq!(symbolizer.frame(8, 0, 25, &source).1, 0);
    assert_eq!(symbolizer.frame(9, 0, 25, &source).1, 0);
    assert_eq!(symbolizer.frame(10, 0, 25, &source).1, 100, "another class");
    source.first_line.set(200);
    symbolizer.redefine(ended(30, &[8, 9]), 0);
    let line = |symbolizer: &mut Symbolizer, id, at_ns| {
        let (method, line) = symbolizer.frame(id, 0, at_ns, &source);
        assert_eq!(method.function.name, format!("Shop{id}.sell"));
        line
    };
    assert_eq!(line(&mut symbolizer, 8, 19), 100, "before");
    assert_eq!(line(&mut symbolizer, 9, 19), 0, "first met too late");
    assert_eq!(line(&mut symbolizer, 8, 25), 0, "in between");
    assert_eq!(line(&mut symbolizer, 8, 31), 200, "after");
    assert_eq!(line(&mut symbolizer, 9, 31), 200, "after");
    symbolizer.expire(u64::MAX);
    assert_eq!(line(&mut symbolizer, 8, 40), 200);
    assert_eq!(symbolizer.unresolved, 0);
}

#[test]
fn lines_of_two_redefinitions_at_once_are_known_after_both() {
    let source = Classes::default();
    source.first_line.set(100);
    let mut symbolizer = Symbolizer::new();
    symbolizer.frame(8, 0, 10, &source);
    symbolizer.redefine(begun(20, &[8]), 0);
    symbolizer.redefine(begun(30, &[8]), 0);
    symbolizer.redefine(ended(40, &[8]), 0);
    symbolizer.expire(u64::MAX);
    assert_eq!(symbolizer.frame(8, 0, 45, &source).1, 0, "one goes on");
    symbolizer.redefine(ended(50, &[8]), 0);
    source.first_line.set(300);
    assert_eq!(symbolizer.frame(8, 0, 55, &source).1, 300);
    assert_eq!(symbolizer.frame(8, 0, 45, &source).1, 0);
    // A second one soon after: what was before the first is known no more, and no wrong line is given.
    symbolizer.redefine(begun(60, &[8]), 0);
    symbolizer.redefine(ended(70, &[8]), 0);
    source.first_line.set(400);
    assert_eq!(symbolizer.frame(8, 0, 58, &source).1, 300);
    assert_eq!(symbolizer.frame(8, 0, 45, &source).1, 0);
    assert_eq!(symbolizer.frame(8, 0, 15, &source).1, 0);
    assert_eq!(symbolizer.frame(8, 0, 75, &source).1, 400);
}

#[test]
fn after_steps_were_lost_no_line_from_before_is_given() {
    let source = Classes::default();
    source.first_line.set(100);
    let mut symbolizer = Symbolizer::new();
    symbolizer.frame(8, 0, 10, &source);
    source.first_line.set(200);
    symbolizer.redefine(Step::Lost, 50);
    assert_eq!(symbolizer.frame(8, 0, 49, &source).1, 0);
    assert_eq!(symbolizer.frame(8, 0, 50, &source).1, 200);
}

#[test]
fn what_is_described_while_a_redefinition_begins_is_not_taken_for_the_old_version() {
    let source = Classes::default();
    source.first_line.set(200);
    source.changing.set(8);
    let mut symbolizer = Symbolizer::new();
    let (method, line) = symbolizer.frame(8, 0, 10, &source);
    assert_eq!((method.function.name.as_str(), line), ("Shop8.sell", 0));
    symbolizer.redefine(begun(20, &[8]), 0);
    source.changing.set(0);
    symbolizer.redefine(ended(30, &[8]), 0);
    assert_eq!(symbolizer.frame(8, 0, 15, &source).1, 0, "nor remembered");
    assert_eq!(symbolizer.frame(8, 0, 35, &source).1, 200);
}
