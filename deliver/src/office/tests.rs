//! The whole of it, with threads and sockets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;

use super::*;
use crate::books::{Lost, Size};
use crate::target::{Address, Backend};

const LONG: Duration = Duration::from_secs(60);

/// A server whose mood can be changed.
struct Server {
    port: u16,
    /// What its path must have in it; else 404.
    known: Arc<Mutex<&'static str>>,
    /// Paths that were asked.
    paths: Arc<Mutex<Vec<String>>>,
    is_broken: Arc<AtomicBool>,
    /// Bodies that it took.
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    asked: Arc<AtomicU64>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            known: Arc::default(),
            paths: Arc::default(),
            is_broken: Arc::default(),
            bodies: Arc::default(),
            asked: Arc::default(),
        };
        let (known, paths) = (Arc::clone(&server.known), Arc::clone(&server.paths));
        let (is_broken, bodies, asked) = (
            Arc::clone(&server.is_broken),
            Arc::clone(&server.bodies),
            Arc::clone(&server.asked),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some((path, body)) = read_body(&mut stream) else {
                    continue;
                };
                let is_known = path.contains(*known.lock());
                paths.lock().push(path);
                asked.fetch_add(1, Ordering::SeqCst);
                let is_broken = is_broken.load(Ordering::SeqCst);
                if !is_broken && is_known {
                    bodies.lock().push(body);
                }
                let status = match (is_broken, is_known) {
                    (true, _) => 503,
                    (false, true) => 200,
                    (false, false) => 404,
                };
                let text = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                );
                // Who has gone does not want it.
                let _gone = stream.write_all(text.as_bytes());
            }
        });
        server
    }
}

/// Path and body.
fn read_body(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))?;
            let length: usize = length.parse().ok()?;
            if bytes.len() >= end + 4 + length {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, bytes.split_off(end + 4)));
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

fn window(start_unix_ns: u64) -> Window {
    let mut builder = ProfileBuilder::new(
        &[Kind::Cpu.count(), Kind::Cpu.amount()],
        Kind::Cpu.period(),
        1,
    );
    let function = builder.function("a", "a", "", 0);
    let location = builder.location(function, 1);
    for thread in ["x", "y", "z"] {
        builder
            .sample(&[location], &[1, 1], &[("thread", thread)])
            .unwrap();
    }
    builder.set_time(i64::try_from(start_unix_ns).unwrap(), 1);
    Window {
        start_unix_ns,
        duration_ns: 1,
        profiles: vec![(Kind::Cpu, builder.finish())],
    }
}

fn manner() -> Manner {
    Manner {
        memory: 1 << 20,
        disk: None,
        backoff: backoff::Bounds {
            first: Duration::from_millis(20),
            most: Duration::from_millis(100),
            most_asked: Duration::from_millis(100),
        },
        every: Duration::from_millis(1),
    }
}

fn office(ports: &[u16], manner: Manner) -> (&'static Office, Arc<Mutex<Vec<String>>>) {
    office_in(Form::Pprof, ports, manner)
}

fn office_in(
    form: Form,
    ports: &[u16],
    manner: Manner,
) -> (&'static Office, Arc<Mutex<Vec<String>>>) {
    let destinations = ports
        .iter()
        .map(|port| {
            let address = Address::parse(&format!("http://127.0.0.1:{port}")).unwrap();
            Destination {
                target: Target::new(Backend::Pprof, address),
                form,
            }
        })
        .collect();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let say = {
        let lines = Arc::clone(&lines);
        Say::new(move |_, line| lines.lock().push(line.to_owned()))
    };
    let origin = Origin {
        service: "shop".to_owned(),
        ..Origin::default()
    };
    let office = Box::leak(Box::new(Office::new(destinations, origin, manner, say)));
    let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(body).map(drop)
    };
    office.open(&spawn).unwrap();
    (office, lines)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn windows_arrive_once_at_each_target_though_one_is_broken_for_a_while() {
    let (well, broken) = (Server::start(), Server::start());
    broken.is_broken.store(true, Ordering::SeqCst);
    let (office, lines) = office(&[well.port, broken.port], manner());
    for n in 1..=10 {
        let before = well.bodies.lock().len();
        office.hand_over(window(n));
        until("the one that is well", || well.bodies.lock().len() > before);
    }
    until("some attempts", || broken.asked.load(Ordering::SeqCst) > 5);
    assert_eq!(broken.bodies.lock().len(), 0);
    assert_eq!(office.books().waiting().requests, 10);
    broken.is_broken.store(false, Ordering::SeqCst);
    until("the other", || office.books().waiting().requests == 0);
    office.finish(LONG);
    let sorted = |server: &Server| {
        let mut bodies = server.bodies.lock().clone();
        bodies.sort();
        bodies
    };
    assert_eq!(sorted(&broken), sorted(&well));
    let mut distinct = sorted(&well);
    distinct.dedup();
    assert_eq!(distinct.len(), 10);
    let delivered = office.books().delivered();
    assert_eq!((delivered.requests, delivered.samples), (20, 60));
    assert!(office.books().are_even());
    assert_eq!(lines.lock().len(), 2, "{:?}", lines.lock());
}

#[test]
fn at_the_end_a_server_that_hangs_costs_no_more_than_the_time_given_and_losses_are_counted() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let well = Server::start();
    let port = deaf.local_addr().unwrap().port();
    let (office, lines) = office(&[port, well.port], manner());
    office.hand_over(window(1));
    until("the one that is well", || well.bodies.lock().len() == 1);
    office.hand_over(window(2));
    let given = Duration::from_millis(500);
    let began = Instant::now();
    office.finish(given);
    let took = began.elapsed();
    assert!(
        took < given * 20,
        "a busy machine may take longer: {took:?}"
    );
    let books = office.books();
    assert!(books.are_even());
    assert_eq!(books.waiting(), Size::default());
    assert_eq!(books.dropped(Lost::End).samples, 6, "both, of one target");
    assert_eq!(books.delivered().samples, 6, "both, of the other");
    assert!(lines.lock().iter().any(|line| line.contains("6 samples")));
    office.hand_over(window(3));
    assert_eq!(books.counted(Event::WindowDropped), 1, "after the end");
}

#[test]
fn what_a_run_could_not_send_the_next_run_of_the_service_does() {
    let server = Server::start();
    server.is_broken.store(true, Ordering::SeqCst);
    let root = tempfile::tempdir().unwrap();
    let on_disk = || Manner {
        disk: Some(DiskSpool {
            folder: root.path().to_owned(),
            bytes: 1 << 20,
        }),
        ..manner()
    };
    let (first, _) = office(&[server.port], on_disk());
    first.hand_over(window(1));
    until("an attempt", || server.asked.load(Ordering::SeqCst) > 0);
    first.finish(Duration::from_millis(200));
    assert_eq!(first.books().waiting().samples, 3, "kept");
    assert!(first.books().are_even());
    // A process that has ended has no lock any more; this one lives on.
    for desk in &first.desks {
        desk.courier.let_disk_go();
    }
    server.is_broken.store(false, Ordering::SeqCst);
    let (second, _) = office(&[server.port], on_disk());
    until("the old one", || server.bodies.lock().len() == 1);
    second.finish(LONG);
    let books = second.books();
    assert_eq!(books.recovered().samples, 3);
    assert_eq!(books.delivered().samples, 3);
    assert!(books.are_even());
}

#[test]
fn a_server_that_does_not_know_the_form_gets_the_older_one_and_no_window_is_lost() {
    let server = Server::start();
    *server.known.lock() = "/ingest";
    let form = Form::Pyroscope(crate::pyroscope::Pyroscope::default());
    let (office, lines) = office_in(form, &[server.port], manner());
    for n in 1..=3 {
        office.hand_over(window(n));
        until("a window", || server.bodies.lock().len() as u64 == n);
    }
    office.finish(LONG);
    let paths = server.paths.lock();
    assert_eq!(paths.len(), 4, "{paths:?}");
    assert!(paths[0].starts_with("/push.v1"), "{paths:?}");
    let books = office.books();
    assert_eq!(books.dropped(Lost::Replaced).requests, 1);
    assert_eq!(books.delivered().requests, 3);
    assert!(books.are_even());
    assert_eq!(lines.lock().len(), 1, "{:?}", lines.lock());
}

fn pyroscope() -> Form {
    Form::Pyroscope(crate::pyroscope::Pyroscope::default())
}

#[test]
fn a_server_that_was_down_for_the_first_windows_gets_the_older_form_all_the_same() {
    let server = Server::start();
    *server.known.lock() = "/ingest";
    server.is_broken.store(true, Ordering::SeqCst);
    let (office, _) = office_in(pyroscope(), &[server.port], manner());
    for n in 1..=3 {
        office.hand_over(window(n));
        until("a window", || office.books().handed().requests == n);
    }
    server.is_broken.store(false, Ordering::SeqCst);
    until("what waited", || office.books().waiting().requests == 0);
    for n in 4..=6 {
        office.hand_over(window(n));
        until("a window", || office.books().delivered().requests == n - 1);
    }
    office.finish(LONG);
    let books = office.books();
    assert_eq!(books.dropped(Lost::Replaced).requests, 2, "those kept");
    assert_eq!(books.dropped(Lost::Refused).requests, 1, "one was not");
    assert_eq!(books.delivered().requests, 5);
    assert!(books.are_even());
}

/// An office over files that an earlier one left in that form.
fn after_one_in(form: Form, server: &Server) -> &'static Office {
    let root = Box::leak(Box::new(tempfile::tempdir().unwrap()));
    let on_disk = || Manner {
        disk: Some(DiskSpool {
            folder: root.path().to_owned(),
            bytes: 1 << 20,
        }),
        ..manner()
    };
    server.is_broken.store(true, Ordering::SeqCst);
    let (first, _) = office_in(form, &[server.port], on_disk());
    first.hand_over(window(1));
    until("an attempt", || server.asked.load(Ordering::SeqCst) > 0);
    first.finish(Duration::from_millis(200));
    for desk in &first.desks {
        desk.courier.let_disk_go();
    }
    server.is_broken.store(false, Ordering::SeqCst);
    office_in(pyroscope(), &[server.port], on_disk()).0
}

#[test]
fn what_an_earlier_process_left_does_not_keep_a_server_from_its_older_form() {
    let server = Server::start();
    *server.known.lock() = "/ingest";
    let office = after_one_in(pyroscope(), &server);
    until("the old one", || {
        office.books().dropped(Lost::Refused).requests == 1
    });
    for n in 1..=2 {
        office.hand_over(window(n + 1));
        until("a window", || office.books().delivered().requests == n);
    }
    office.finish(LONG);
    assert!(office.books().are_even());
}

#[test]
fn a_request_of_the_older_form_that_is_taken_is_no_word_of_the_newer() {
    let server = Server::start();
    *server.known.lock() = "/ingest";
    let older = pyroscope().fallback().unwrap();
    let office = after_one_in(older, &server);
    until("the old one", || office.books().delivered().requests == 1);
    office.hand_over(window(2));
    until("the new one", || office.books().delivered().requests == 2);
    office.finish(LONG);
    let books = office.books();
    assert_eq!(books.dropped(Lost::Replaced).requests, 1);
    assert_eq!(books.dropped(Lost::Refused).requests, 0);
    assert!(books.are_even());
}

#[test]
fn each_process_has_a_time_of_its_own_in_the_interval() {
    let ready = |pid| {
        let origin = Origin {
            host: "h".to_owned(),
            pid,
            ..Origin::default()
        };
        seed(&origin.host, origin.pid) % 60_000
    };
    let mut tenths = [0; 10];
    for pid in 0..1_000 {
        tenths[usize::try_from(ready(pid) / 6_000).unwrap()] += 1;
    }
    assert!(
        tenths.iter().all(|count| (50..200).contains(count)),
        "{tenths:?}"
    );
}

#[test]
fn windows_that_do_not_become_requests_in_time_are_lost_counted_and_said_and_keep_no_other_from_its_time()
 {
    let server = Server::start();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let say = {
        let lines = Arc::clone(&lines);
        Say::new(move |_, line| lines.lock().push(line.to_owned()))
    };
    let destination = Destination {
        target: Target::new(
            Backend::Pprof,
            Address::parse(&format!("http://127.0.0.1:{}", server.port)).unwrap(),
        ),
        form: Form::Pprof,
    };
    // Nobody puts windows into requests, as where a disk hangs.
    let office: &'static Office = Box::leak(Box::new(Office::new(
        vec![destination],
        Origin::default(),
        manner(),
        say,
    )));
    for n in 1..=4 {
        office.hand_over(window(n));
    }
    let said = |what: &str| lines.lock().iter().filter(|it| it.contains(what)).count();
    assert_eq!(said("sooner than"), 1, "{:?}", lines.lock());
    assert_eq!(office.books().counted(Event::WindowDropped), 2);
    office.finish(Duration::from_millis(200));
    assert_eq!(office.books().counted(Event::WindowDropped), 4);
    assert_eq!(said("2 windows did not become"), 1, "{:?}", lines.lock());
    assert!(office.books().are_even());
}

#[test]
fn a_window_has_the_labels_that_there_were_when_it_ended() {
    let (first, second) = (
        ("zone".to_owned(), "a".to_owned()),
        ("zone".to_owned(), "b".to_owned()),
    );
    let office = Office::new(Vec::new(), Origin::default(), manner(), Say::new(|_, _| {}));
    office.set_labels(vec![first.clone()]);
    office.hand_over(window(1));
    office.set_labels(vec![second.clone()]);
    office.hand_over(window(2));
    let labels = || office.next_window().unwrap().0.labels.clone();
    assert_eq!([labels(), labels()], [vec![first], vec![second]]);
}

#[test]
fn a_server_that_knows_neither_form_for_a_while_gets_the_newer_one_once_it_does() {
    let server = Server::start();
    *server.known.lock() = "/nothing";
    let (office, lines) = office_in(pyroscope(), &[server.port], manner());
    for n in 1..=2 {
        office.hand_over(window(n));
        until("both forms", || server.paths.lock().len() as u64 == 2 * n);
        until("its end", || office.books().waiting().requests == 0);
    }
    *server.known.lock() = "/push.v1";
    office.hand_over(window(3));
    until("the third", || server.bodies.lock().len() == 1);
    office.finish(LONG);
    assert!(server.paths.lock()[4].starts_with("/push.v1"));
    let books = office.books();
    assert_eq!(books.dropped(Lost::Refused).requests, 2);
    assert_eq!(books.dropped(Lost::Replaced).requests, 2);
    assert_eq!(books.delivered().requests, 1);
    assert!(books.are_even());
    assert_eq!(
        lines
            .lock()
            .iter()
            .filter(|it| it.contains("/ingest"))
            .count(),
        1,
        "{:?}",
        lines.lock()
    );
}
