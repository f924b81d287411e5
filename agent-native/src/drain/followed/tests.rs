//! Objects of a made-up heap.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::*;

/// References that are held, and those of them whose object is gone.
#[derive(Default)]
struct Heap {
    held: RefCell<BTreeSet<usize>>,
    gone: RefCell<BTreeSet<usize>>,
}

impl Heap {
    fn object(&self, address: usize) -> ObjectRef {
        assert!(self.held.borrow_mut().insert(address), "{address} twice");
        ObjectRef::new(address)
    }

    fn collect(&self, address: usize) {
        self.gone.borrow_mut().insert(address);
    }

    fn held(&self) -> usize {
        self.held.borrow().len()
    }
}

impl Objects for Heap {
    fn is_gone(&self, object: &ObjectRef) -> bool {
        assert!(self.held.borrow().contains(&object.address()), "used after");
        self.gone.borrow().contains(&object.address())
    }

    fn let_go(&self, object: ObjectRef) {
        let was_held = self.held.borrow_mut().remove(&object.address());
        assert!(was_held, "{} given back twice", object.address());
    }
}

fn location(name: &str) -> Location {
    Location {
        function: Arc::new(Function {
            name: name.to_owned(),
            file: String::new(),
        }),
        line: 1,
    }
}

fn tag(root: u64) -> Tag {
    Tag {
        trace_hi: 1,
        trace_lo: 2,
        span: root,
        root,
    }
}

fn weight(count: f64, amount: f64) -> Weight {
    Weight { count, amount }
}

fn followed(bound: usize) -> (Followed, &'static Counters) {
    let counters: &'static Counters = Box::leak(Box::new(Counters::new()));
    (Followed::new(bound, counters), counters)
}

fn follow(followed: &mut Followed, heap: &Heap, address: usize, origin: (&str, u64, Weight)) {
    let (stack, root, weight) = origin;
    let stack = [location(stack), location("main")];
    let tag = if root == 0 { Tag::EMPTY } else { tag(root) };
    let origin = Origin {
        stack: &stack,
        thread: &Arc::from("worker"),
        tag,
        weight,
    };
    followed.follow(heap.object(address), origin, heap);
}

fn settled(followed: &mut Followed, heap: &Heap) -> Window {
    let mut window = Window::new(Bounds::of(Kind::Live));
    followed.settle(&mut window, heap);
    window
}

fn rows(window: &Window) -> Vec<(String, u64, Weight)> {
    let full = location("[full]").function;
    let mut rows = Vec::new();
    window.for_each(&full, |entry| {
        rows.push((
            entry.stack[0].function.name.clone(),
            entry.tag.root,
            entry.sum,
        ));
    });
    rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    rows
}

#[test]
fn what_is_in_use_is_in_each_window_until_it_is_gone_with_the_stack_and_tag_of_its_allocation() {
    let heap = Heap::default();
    let (mut followed, counters) = followed(100);
    follow(&mut followed, &heap, 8, ("keep", 5, weight(2.5, 100.0)));
    follow(&mut followed, &heap, 16, ("keep", 5, weight(1.0, 50.0)));
    follow(&mut followed, &heap, 24, ("waste", 0, weight(1.0, 7.0)));
    for _ in 0..2 {
        assert_eq!(
            rows(&settled(&mut followed, &heap)),
            [
                ("keep".to_owned(), 5, weight(3.5, 150.0)),
                ("waste".to_owned(), 0, weight(1.0, 7.0)),
            ]
        );
    }
    heap.collect(16);
    heap.collect(24);
    assert_eq!(
        rows(&settled(&mut followed, &heap)),
        [("keep".to_owned(), 5, weight(2.5, 100.0))]
    );
    assert_eq!(heap.held(), 1, "what is gone is given back");
    assert_eq!(followed.stacks.len(), 1, "and its stack forgotten");
    heap.collect(8);
    assert_eq!(settled(&mut followed, &heap).samples(), 0);
    assert_eq!((heap.held(), followed.words), (0, 0));
    assert_eq!(counters.get(Counter::LiveTaken), 3);
    assert_eq!(counters.get(Counter::LiveCollected), 3);
    assert_eq!(counters.get(Counter::LiveThinned), 0);
}

#[test]
fn names_of_roots_are_remembered_as_long_as_an_object_of_theirs_is_in_use() {
    let heap = Heap::default();
    let (mut followed, _) = followed(100);
    follow(&mut followed, &heap, 8, ("a", 5, weight(1.0, 1.0)));
    follow(&mut followed, &heap, 16, ("a", 6, weight(1.0, 1.0)));
    follow(&mut followed, &heap, 24, ("a", 0, weight(1.0, 1.0)));
    followed.remember(|root| Some(Arc::from(format!("GET /{root}"))));
    // By now nobody else knows.
    followed.remember(|_| None);
    let name = |followed: &Followed, root| followed.name(root).map(|name| name.to_string());
    assert_eq!(name(&followed, 5).as_deref(), Some("GET /5"));
    assert_eq!(name(&followed, 0), None);
    heap.collect(8);
    settled(&mut followed, &heap);
    assert_eq!(name(&followed, 5), None);
    assert_eq!(name(&followed, 6).as_deref(), Some("GET /6"));
}

#[test]
fn there_are_never_more_than_the_bound_and_each_reference_is_given_back() {
    for bound in [1, 2, 3, 64] {
        let heap = Heap::default();
        let (mut followed, counters) = followed(bound);
        let objects = 5_000;
        for n in 1..=objects {
            follow(&mut followed, &heap, 8 * n, ("a", 5, weight(1.0, 100.0)));
            assert!(followed.objects.len() <= bound);
            assert_eq!(heap.held(), followed.objects.len());
            if n % 3 == 0 {
                heap.collect(8 * n);
            }
        }
        let left = followed.objects.len() as u64;
        let [taken, thinned, gone] = [
            Counter::LiveTaken,
            Counter::LiveThinned,
            Counter::LiveCollected,
        ]
        .map(|counter| counters.get(counter));
        assert_eq!(taken, objects as u64);
        assert_eq!(thinned + gone + left, taken, "each is accounted for");
    }
}

#[test]
fn sums_are_right_on_average_though_most_objects_are_thrown_away_and_large_ones_are_kept() {
    const RUNS: usize = 150;
    const LARGE: f64 = 1e7;
    let (mut sums, mut squares, mut counts) = (0.0, 0.0, 0.0);
    let (mut truth, mut objects) = (0.0, 0.0);
    for run in 0..RUNS {
        let heap = Heap::default();
        let (mut followed, _) = followed(64);
        followed.chance = Chance::new(run as u64);
        (truth, objects) = (0.0, 0.0);
        for n in 1..=3_000 {
            // One in three stays, whatever it stands for; each 500th is large.
            let weight = if n % 500 == 0 {
                weight(1.0, LARGE)
            } else {
                weight(3.0, f64::from(n % 7 + 1) * 1_000.0)
            };
            let address = 8 * n as usize;
            follow(&mut followed, &heap, address, ("a", 5, weight));
            if n % 3 == 0 || n % 500 == 0 {
                truth += weight.amount;
                objects += weight.count;
            } else {
                heap.collect(address);
            }
        }
        let window = settled(&mut followed, &heap);
        let large = followed.objects.iter().filter(|o| o.weight.amount == LARGE);
        assert_eq!(large.count(), 6);
        let whole = window.whole();
        sums += whole.amount;
        squares += whole.amount * whole.amount;
        counts += whole.count;
    }
    let runs = RUNS as f64;
    let mean = sums / runs;
    let error = (squares / runs - mean * mean).sqrt() / runs.sqrt();
    assert!(error > 0.0, "chance had no part in it");
    assert!(
        (mean - truth).abs() < 4.0 * error,
        "{mean} ± {error} of {truth}"
    );
    let ratio = counts / runs / objects;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio} of the objects");
}

#[test]
fn the_threshold_sinks_where_there_is_room_again() {
    let heap = Heap::default();
    let (mut followed, _) = followed(16);
    for n in 1..=100 {
        follow(&mut followed, &heap, 8 * n, ("a", 5, weight(1.0, 100.0)));
    }
    assert!(followed.threshold >= 200.0, "{}", followed.threshold);
    (1..=100).for_each(|n| heap.collect(8 * n));
    for _ in 0..64 {
        settled(&mut followed, &heap);
    }
    assert_eq!(followed.threshold, 0.0);
    follow(&mut followed, &heap, 8_000, ("a", 5, weight(1.0, 1.0)));
    assert_eq!(settled(&mut followed, &heap).whole(), weight(1.0, 1.0));
}

#[test]
fn stacks_beyond_the_bound_are_one_named_frame_without_a_tag_and_lose_nothing() {
    let heap = Heap::default();
    let (mut followed, counters) = followed(100);
    followed.most_words = 4;
    for (n, name) in ["a", "b", "c", "a"].into_iter().enumerate() {
        follow(
            &mut followed,
            &heap,
            8 * n + 8,
            (name, 5, weight(1.0, 10.0)),
        );
    }
    assert_eq!(
        rows(&settled(&mut followed, &heap)),
        [
            (STORE_FULL.to_owned(), 0, weight(1.0, 10.0)),
            ("a".to_owned(), 5, weight(2.0, 20.0)),
            ("b".to_owned(), 5, weight(1.0, 10.0)),
        ]
    );
    assert_eq!(counters.get(Counter::LiveStoreFull), 1);
}
