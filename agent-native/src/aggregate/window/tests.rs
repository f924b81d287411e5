use super::*;

fn location(name: &str) -> Location {
    Location {
        function: Arc::new(Function {
            name: name.into(),
            file: String::new(),
        }),
        line: 1,
    }
}

const TAG: Tag = Tag {
    trace_hi: 1,
    trace_lo: 2,
    span: 3,
    root: 4,
};

fn periods(periods: u32) -> Weight {
    Weight::of_periods(periods)
}

fn sum(count: f64, amount: f64) -> Weight {
    Weight { count, amount }
}

fn rows(window: &Window) -> Vec<(String, String, u64, Weight)> {
    let full = Arc::new(Function {
        name: STORE_FULL.into(),
        file: String::new(),
    });
    let mut rows = Vec::new();
    window.for_each(&full, |entry| {
        let names: Vec<_> = entry
            .stack
            .iter()
            .map(|l| l.function.name.as_str())
            .collect();
        rows.push((
            names.join("<"),
            entry.thread.to_owned(),
            entry.tag.span,
            entry.sum,
        ));
    });
    rows
}

#[test]
fn equal_samples_are_summed_and_different_tags_stay_apart() {
    let mut window = Window::new(Bounds::DEFAULT);
    let (main, stack) = (Arc::from("main"), [location("a"), location("b")]);
    window.add(&stack, &main, TAG, None, periods(1));
    window.add(&stack, &main, TAG, None, periods(3));
    window.add(&stack, &main, Tag::EMPTY, None, periods(1));
    let mut rows = rows(&window);
    rows.sort_by_key(|r| r.2);
    assert_eq!(
        rows,
        [
            ("a<b".into(), "main".into(), 0, sum(1.0, 1.0)),
            ("a<b".into(), "main".into(), 3, sum(2.0, 4.0)),
        ]
    );
    assert_eq!(window.whole().amount, 5.0);
    assert_eq!(window.roots().collect::<Vec<_>>(), [4]);
}

#[test]
fn a_full_store_keeps_summing_what_it_knows_and_folds_the_rest_without_a_tag() {
    let mut window = Window::new(Bounds {
        stack_words: 2,
        locations: 10,
        entries: 10,
        threads: 10,
    });
    let main = Arc::from("main");
    let known = [location("a"), location("b")];
    assert_eq!(
        window.add(&known, &main, TAG, None, periods(1)),
        Kept::Whole
    );
    assert_eq!(
        window.add(&[location("c")], &main, TAG, None, periods(5)),
        Kept::Folded
    );
    assert_eq!(
        window.add(&known, &main, TAG, None, periods(1)),
        Kept::Whole
    );
    assert_eq!(window.whole().amount, 7.0, "no time is lost");
    assert_eq!(
        rows(&window)[1],
        (STORE_FULL.into(), "main".into(), 0, sum(1.0, 5.0))
    );
}

#[test]
fn the_number_of_entries_is_bounded_too() {
    let mut window = Window::new(Bounds {
        stack_words: 1000,
        locations: 4,
        entries: 2,
        threads: 2,
    });
    let main = Arc::from("main");
    for span in 1..=5 {
        window.add(
            &[location("a")],
            &main,
            Tag { span, ..TAG },
            None,
            periods(1),
        );
    }
    assert_eq!(rows(&window).len(), 3);
    assert_eq!(window.whole().amount, 5.0);
    for thread in ["a", "b", "c"] {
        window.add(
            &[location("a")],
            &Arc::from(thread),
            Tag::EMPTY,
            None,
            periods(1),
        );
    }
    assert_eq!(window.threads.len(), 3, "main, a, and one for all others");
    assert_eq!(window.whole().amount, 8.0);
    for name in 0..100 {
        window.add(
            &[location(&name.to_string())],
            &main,
            Tag::EMPTY,
            None,
            periods(1),
        );
    }
    assert_eq!(window.locations.len(), 4);
    assert_eq!(window.whole().amount, 108.0);
}

#[test]
fn states_of_one_stack_stay_apart_and_fractions_are_summed_unrounded() {
    let mut window = Window::new(Bounds {
        stack_words: 1,
        ..Bounds::of(Kind::Blocked)
    });
    let main = Arc::from("main");
    assert_eq!(window.samples(), 0);
    for (state, name) in [
        (Some("lock"), "a"),
        (Some("sleep"), "a"),
        (Some("lock"), "a"),
        (Some("sleep"), "no room"),
    ] {
        window.add(&[location(name)], &main, TAG, state, sum(1.25, 0.5));
    }
    assert_eq!(window.samples(), 4);
    let full = Arc::new(Function {
        name: STORE_FULL.into(),
        file: String::new(),
    });
    let mut rows = Vec::new();
    window.for_each(&full, |entry| {
        rows.push((entry.state, entry.tag.is_empty(), entry.sum));
    });
    assert_eq!(
        rows,
        [
            (Some("lock"), false, sum(2.5, 1.0)),
            (Some("sleep"), false, sum(1.25, 0.5)),
            (Some("sleep"), true, sum(1.25, 0.5)),
        ]
    );
    assert_eq!(window.whole(), sum(5.0, 2.0));
}
