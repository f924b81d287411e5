use std::time::Duration;

use super::*;
use crate::backoff::Bounds as Waits;

/// A server of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mood {
    Well,
    /// Nothing listens.
    Down,
    /// It answers when nobody waits any more.
    Hanging,
    /// It answers late, but does.
    Slow,
    /// 500.
    Broken,
    /// 429, and says for how long.
    Busy,
    /// It takes the request, and the answer is lost.
    Mute,
}

const MOODS: [Mood; 6] = [
    Mood::Down,
    Mood::Hanging,
    Mood::Slow,
    Mood::Broken,
    Mood::Busy,
    Mood::Mute,
];

/// What an upload gets, how long that takes, and whether the server has it.
fn upload(mood: Mood, within: Duration) -> (Answer, Duration, bool) {
    let later = |why: &str, asked| Answer::Later {
        why: why.to_owned(),
        asked,
        is_suspect: true,
    };
    let ms = Duration::from_millis;
    match mood {
        Mood::Well => (Answer::Taken { rejected: 0 }, ms(20), true),
        Mood::Slow if within > ms(9_900) => (Answer::Taken { rejected: 0 }, ms(9_900), true),
        Mood::Slow => (later("timeout", None), within, false),
        Mood::Down => (later("refused", None), ms(1), false),
        Mood::Hanging => (later("timeout", None), within, false),
        Mood::Broken => (Answer::of(500, None), ms(20), false),
        Mood::Busy => (Answer::of(429, Some(ms(30_000))), ms(20), false),
        Mood::Mute => (later("cut", None), ms(20), true),
    }
}

/// One courier, one server, and a clock that jumps.
struct Bench {
    courier: Courier,
    books: Arc<Books>,
    now: Moment,
    arrived: Vec<u64>,
    attempts: u64,
    lines: Arc<Mutex<Vec<String>>>,
}

const EVERY: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(10);

impl Bench {
    fn of(memory: u64) -> Self {
        let books = Arc::new(Books::default());
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let say = {
            let lines = Arc::clone(&lines);
            Say::new(move |_, line| lines.lock().push(line.to_owned()))
        };
        let setup = Setup {
            name: "pprof+http://h".to_owned(),
            bounds: Bounds {
                memory,
                disk: 1 << 30,
            },
            backoff: Waits::DEFAULT,
            timeout: TIMEOUT,
            seed: 1,
        };
        Self {
            courier: Courier::new(setup, Arc::clone(&books), say),
            books,
            now: Moment::START,
            arrived: Vec::new(),
            attempts: 0,
            lines,
        }
    }

    fn put(&self, name: u64) {
        self.courier.put(request(name), self.now);
        assert!(self.books.are_even());
    }

    /// Does what is to be done, until there is nothing to do before `until`.
    fn run(&mut self, until: Moment, mood: impl Fn(u64) -> Mood) {
        loop {
            match self.courier.next(self.now) {
                Step::Over => return self.courier.settle(),
                Step::Wait(Some(then)) if then < until => self.now = then,
                Step::Wait(_) => {
                    self.now = until;
                    return;
                }
                Step::Send(attempt) => {
                    self.attempts += 1;
                    let request = match &attempt.place {
                        Place::Memory(request) => Arc::clone(request),
                        Place::Disk { path, .. } => Arc::new(disk::read(path).unwrap().0),
                    };
                    let (answer, took, has_it) = upload(mood(request.samples), attempt.within);
                    if has_it {
                        self.arrived.push(request.samples);
                    }
                    self.now = self.now.after(took);
                    self.courier.answered(attempt.number, answer, self.now);
                }
            }
            assert!(self.books.are_even());
            if until.since(self.now).is_zero() {
                return;
            }
        }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }
}

/// A request of 1,000 bytes that is told by its number of samples.
fn request(name: u64) -> Request {
    Request {
        path: "/p".to_owned(),
        content_type: "",
        gzip: false,
        body: vec![7; 998],
        samples: name,
    }
}

fn at(seconds: u64) -> Moment {
    Moment::at(Duration::from_secs(seconds))
}

/// An hour of windows while the server is so, then it is well again.
fn an_hour(mood: Mood, memory: u64) -> Bench {
    let mut bench = Bench::of(memory);
    for window in 1..=360 {
        bench.put(window);
        let next = at(window * EVERY.as_secs());
        bench.run(next, |_| mood);
        assert!(bench.books.waiting().bytes <= memory);
    }
    let later = at(3600 + 2 * 900);
    bench.run(later, |_| Mood::Well);
    bench
}

#[test]
fn after_an_hour_of_each_trouble_all_that_waited_arrives_once() {
    for mood in MOODS {
        let bench = an_hour(mood, 1 << 20);
        let mut arrived = bench.arrived.clone();
        arrived.sort_unstable();
        if mood == Mood::Mute {
            // What it took without a word came again: at least once.
            assert!(arrived.len() > 360);
            arrived.dedup();
        }
        assert_eq!(arrived, (1..=360).collect::<Vec<_>>(), "{mood:?}");
        assert_eq!(bench.books.delivered().requests, 360, "{mood:?}");
        assert_eq!(bench.books.waiting(), Size::default());
        assert!(
            bench.attempts < 3 * 360,
            "{mood:?}: {} uploads",
            bench.attempts
        );
    }
}

#[test]
fn an_hour_with_too_little_room_loses_the_oldest_and_the_books_say_how_many() {
    for mood in [Mood::Down, Mood::Hanging, Mood::Broken, Mood::Busy] {
        let bench = an_hour(mood, 100_000);
        let lost = bench.books.dropped(Lost::SpoolFull);
        assert!((260..=261).contains(&lost.requests), "{mood:?}: {lost:?}");
        let mut arrived = bench.arrived.clone();
        arrived.sort_unstable();
        let missing: Vec<_> = (1..=360).filter(|n| !arrived.contains(n)).collect();
        assert_eq!(missing.len() as u64, lost.requests);
        assert_eq!(missing.iter().sum::<u64>(), lost.samples, "{mood:?}");
        assert_eq!(lost.bytes, 998 * lost.requests);
        assert!(*missing.last().unwrap() < 300, "{mood:?}: the oldest");
    }
}

#[test]
fn an_outage_and_its_end_are_one_line_each_however_long() {
    for mood in [Mood::Down, Mood::Hanging, Mood::Broken, Mood::Busy] {
        let bench = an_hour(mood, 1 << 20);
        let lines = bench.lines();
        assert_eq!(lines.len(), 2, "{mood:?}: {lines:?}");
        assert!(lines[0].contains("pprof+http://h"));
        assert!(lines[1].contains("again"));
    }
}

#[test]
fn uploads_to_a_server_that_is_down_become_few() {
    let mut bench = Bench::of(1 << 20);
    bench.put(1);
    bench.run(at(3600), |_| Mood::Down);
    assert!((12..40).contains(&bench.attempts), "{}", bench.attempts);
    let asked = {
        let mut bench = Bench::of(1 << 20);
        bench.put(1);
        bench.run(at(29), |_| Mood::Busy);
        bench.attempts
    };
    assert_eq!(asked, 1, "it asked for 30 s");
}

#[test]
fn a_request_that_is_refused_is_lost_alone_and_said_once_until_one_is_taken() {
    let mut bench = Bench::of(1 << 20);
    let refuse = |bench: &mut Bench, name| {
        bench.put(name);
        let Step::Send(attempt) = bench.courier.next(bench.now) else {
            panic!("nothing to send");
        };
        let answer = Answer::of(403, None);
        bench.courier.answered(attempt.number, answer, bench.now);
    };
    for name in 1..=3 {
        refuse(&mut bench, name);
    }
    assert_eq!(bench.lines().len(), 1);
    bench.put(4);
    bench.run(at(1), |_| Mood::Well);
    refuse(&mut bench, 5);
    assert_eq!(bench.lines().len(), 3, "{:?}", bench.lines());
    assert_eq!(bench.books.dropped(Lost::Refused).samples, 1 + 2 + 3 + 5);
    assert_eq!(bench.arrived, [4]);
    assert!(bench.books.are_even());
}

#[test]
fn a_request_that_never_works_keeps_no_other_back_and_is_given_up() {
    let mut bench = Bench::of(1 << 20);
    for window in 0..60 {
        bench.put(window);
        bench.run(at((window + 1) * 10), |name| match name {
            3 => Mood::Broken,
            _ => Mood::Well,
        });
    }
    let lost = bench.books.dropped(Lost::Failed);
    assert_eq!((lost.requests, lost.samples), (1, 3));
    let lines = bench.lines();
    let told = lines.iter().filter(|it| it.contains("is lost after"));
    assert_eq!(told.count(), 1, "{lines:?}");
    assert_eq!(bench.arrived.len(), 59);
    assert_eq!(bench.books.waiting(), Size::default());
}

#[test]
fn a_request_is_not_given_up_for_a_server_that_is_busy_however_often() {
    for status in [429, 408, 503] {
        let mut bench = Bench::of(1 << 20);
        bench.put(1);
        bench.put(2);
        for round in 1..=20 {
            // Each is told so once, then the other is taken.
            let now = at(1_000 * round);
            let Step::Send(attempt) = bench.courier.next(now) else {
                panic!("nothing to send");
            };
            bench
                .courier
                .answered(attempt.number, Answer::of(status, None), now);
            bench.courier.state.lock().taken += 1;
        }
        bench.run(at(30_000), |_| Mood::Well);
        assert_eq!(bench.books.dropped(Lost::Failed), Size::default());
        assert_eq!(bench.books.delivered().requests, 2, "{status}");
    }
}

#[test]
fn an_outage_makes_no_request_suspicious() {
    let mut bench = Bench::of(1 << 20);
    bench.put(1);
    bench.put(2);
    bench.run(at(86_400), |_| Mood::Down);
    bench.run(at(90_000), |_| Mood::Well);
    assert_eq!(bench.arrived, [1, 2]);
}

#[test]
fn nothing_is_sent_before_its_time_but_at_the_end_all_is() {
    let mut bench = Bench::of(1 << 20);
    bench.courier.put(request(1), at(50));
    bench.courier.put(request(2), at(60));
    bench.run(at(49), |_| Mood::Well);
    assert_eq!(bench.arrived, [0; 0]);
    bench.run(at(51), |_| Mood::Well);
    assert_eq!(bench.arrived, [1]);
    bench.courier.close(bench.now.after(Duration::from_secs(2)));
    bench.run(at(3600), |_| Mood::Well);
    assert_eq!(bench.arrived, [1, 2]);
    assert!(matches!(bench.courier.next(bench.now), Step::Over));
}

#[test]
fn at_the_end_no_trouble_takes_longer_than_the_time_there_is() {
    for mood in MOODS {
        let mut bench = Bench::of(1 << 20);
        for name in 1..=50 {
            bench.put(name);
        }
        let until = bench.now.after(Duration::from_secs(2));
        bench.courier.close(until);
        bench.run(at(3600), |_| mood);
        assert!(bench.now <= until, "{mood:?}");
        bench.courier.finish(bench.now, Clock::start());
        assert!(bench.books.are_even());
        assert_eq!(bench.books.waiting(), Size::default(), "{mood:?}");
        let (arrived, lost) = (bench.books.delivered(), bench.books.dropped(Lost::End));
        assert_eq!(arrived.requests + lost.requests, 50, "{mood:?}");
        let lines = bench.lines();
        let told = format!("{} requests with {} samples", lost.requests, lost.samples);
        assert!(lines.last().unwrap().contains(&told), "{lines:?}");
        bench.courier.put(request(51), bench.now);
        assert!(bench.books.are_even(), "one that comes too late");
        assert_eq!(bench.books.dropped(Lost::End).requests, lost.requests + 1);
    }
}

#[test]
fn what_is_left_in_files_at_the_end_is_sent_by_the_next_run_and_once() {
    let root = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for run in 0..3 {
        let mut bench = Bench::of(1 << 20);
        let (disk, left) = Disk::open(root.path(), 1, &run.to_string()).unwrap();
        assert_eq!(left.damaged, 0);
        bench.courier.use_disk(disk, left, bench.now);
        for name in 0..10 {
            bench.put(run * 10 + name);
        }
        let mood = if run == 2 { Mood::Well } else { Mood::Down };
        bench.run(at(60), |_| mood);
        if run == 1 {
            // Killed: nobody says good-bye.
            drop(bench);
            continue;
        }
        bench.courier.close(bench.now.after(Duration::from_secs(2)));
        bench.run(at(3600), |_| mood);
        bench.courier.finish(bench.now, Clock::start());
        assert!(bench.books.are_even());
        assert_eq!(bench.books.dropped(Lost::End), Size::default());
        all.extend(bench.arrived);
        if run == 2 {
            assert_eq!(bench.books.recovered().requests, 20);
            assert_eq!(bench.books.waiting(), Size::default());
        }
    }
    all.sort_unstable();
    assert_eq!(all, (0..30).collect::<Vec<_>>());
}

#[test]
fn a_full_disk_is_said_once_and_what_comes_waits_in_memory() {
    let root = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(3_000);
    let (disk, left) = Disk::open(root.path(), 1, "1").unwrap();
    bench.courier.use_disk(disk, left, bench.now);
    // A folder that is gone fails as a disk without room does, and needs no rights of root's.
    std::fs::remove_dir_all(root.path()).unwrap();
    for name in 1..=5 {
        bench.put(name);
    }
    assert_eq!(bench.books.counted(Event::DiskFailed), 5);
    assert_eq!(bench.books.dropped(Lost::SpoolFull).samples, 1 + 2);
    assert_eq!(bench.lines().len(), 1, "{:?}", bench.lines());
    bench.run(at(1), |_| Mood::Well);
    assert_eq!(bench.arrived, [3, 4, 5]);
}

#[test]
fn a_file_that_is_damaged_while_it_waits_is_lost_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let bench = Bench::of(1 << 20);
    let (disk, left) = Disk::open(root.path(), 1, "1").unwrap();
    bench.courier.use_disk(disk, left, bench.now);
    bench.put(1);
    let Step::Send(attempt) = bench.courier.next(bench.now) else {
        panic!("nothing to send");
    };
    let path = attempt.place.into_file().unwrap();
    std::fs::write(&path, b"short").unwrap();
    bench.courier.close(at(5));
    struct Nobody;
    impl Carrier for Nobody {
        fn carry(&mut self, _: &Request, _: Duration) -> Answer {
            panic!("half a request is not sent")
        }
    }
    bench.courier.run(&mut Nobody, Clock::start());
    assert_eq!(bench.books.dropped(Lost::Damaged).samples, 1);
    assert!(bench.books.are_even());
    assert!(!path.exists());
}

#[test]
fn a_disk_that_hangs_keeps_nobody_who_ends_the_process_and_what_was_to_go_there_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let bench = Bench::of(1 << 20);
    for name in 1..=3 {
        bench.put(name);
    }
    let (disk, left) = Disk::open(root.path(), 1, "1").unwrap();
    bench.courier.use_disk(disk, left, bench.now);
    // As in the middle of a file of which the disk lets nothing go.
    bench.courier.state.lock().phase = Phase::Over;
    let (_, size) = bench.courier.next_left().unwrap();
    assert_eq!(size.samples, 1);
    let clock = Clock::start();
    bench
        .courier
        .finish(clock.now().after(Duration::from_millis(20)), clock);
    assert_eq!(bench.books.dropped(Lost::End).samples, 1 + 2 + 3);
    assert_eq!(bench.books.waiting(), Size::default());
    assert!(bench.books.are_even());
    // And then it comes to.
    bench.courier.settle();
    assert_eq!(bench.books.dropped(Lost::End).samples, 1 + 2 + 3);
    assert!(bench.books.are_even());
}

#[test]
fn a_file_that_cannot_be_removed_is_counted_and_said_once() {
    let root = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(1 << 20);
    let (disk, left) = Disk::open(root.path(), 1, "1").unwrap();
    bench.courier.use_disk(disk, left, bench.now);
    for name in 1..=2 {
        bench.put(name);
        let Step::Send(attempt) = bench.courier.next(bench.now) else {
            panic!("nothing to send");
        };
        // Not even root removes a folder as a file.
        let path = attempt.place.into_file().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let taken = Answer::Taken { rejected: 0 };
        bench.courier.answered(attempt.number, taken, bench.now);
        bench.now = bench.now.after(EVERY);
    }
    assert_eq!(bench.books.counted(Event::FileStays), 2);
    let lines = bench.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("cannot be removed"), "{lines:?}");
}

#[test]
fn what_could_not_be_written_when_it_came_is_put_into_a_file_at_the_end() {
    let root = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(1 << 20);
    for name in 1..=3 {
        bench.put(name);
    }
    let (disk, left) = Disk::open(root.path(), 1, "1").unwrap();
    bench.courier.use_disk(disk, left, bench.now);
    bench.courier.close(bench.now.after(Duration::from_secs(2)));
    bench.run(at(3600), |_| Mood::Down);
    bench.courier.finish(bench.now, Clock::start());
    assert_eq!(bench.books.dropped(Lost::End), Size::default());
    assert_eq!(bench.books.waiting().samples, 1 + 2 + 3);
    bench.courier.let_disk_go();
    let (_disk, left) = Disk::open(root.path(), 1, "2").unwrap();
    let samples: u64 = left.whole.iter().map(|found| found.size.samples).sum();
    assert_eq!(samples, 1 + 2 + 3);
}

#[test]
fn no_line_is_written_while_others_wait_for_the_state() {
    let courier: Arc<Mutex<Option<Arc<Courier>>>> = Arc::default();
    let free = Arc::new(Mutex::new(Vec::new()));
    let say = {
        let (courier, free) = (Arc::clone(&courier), Arc::clone(&free));
        Say::new(move |_, _| {
            let courier = courier.lock().clone().unwrap();
            free.lock().push(courier.state.try_lock().is_some());
        })
    };
    let setup = Bench::of(1 << 20).courier.setup;
    let it = Arc::new(Courier::new(setup, Arc::default(), say));
    *courier.lock() = Some(Arc::clone(&it));
    let answers = [
        Answer::of(500, None),
        Answer::of(403, None),
        Answer::Taken { rejected: 0 },
    ];
    for (second, answer) in (0..).zip(answers) {
        it.put(request(1), at(0));
        let Step::Send(attempt) = it.next(at(100 * second)) else {
            panic!("nothing to send");
        };
        it.answered(attempt.number, answer, at(100 * second));
    }
    it.finish(at(0), Clock::start());
    assert_eq!(*free.lock(), [true; 4]);
}
