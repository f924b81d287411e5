use super::*;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server on a port of the kernel's choice, and how often it has read the figures.
fn serve(body: &str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let read = Arc::new(AtomicUsize::new(0));
    let (body, counted) = (body.to_owned(), Arc::clone(&read));
    std::thread::spawn(move || {
        let mut server = Server::new(listener, || {
            counted.fetch_add(1, Ordering::SeqCst);
            body.clone()
        });
        server.run().map(drop)
    });
    (address, read)
}

/// What comes back to those bytes.
fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";

#[test]
fn a_scrape_gets_the_figures_and_their_length() {
    let (address, _) = serve("vtprof_a_total 1\n");
    let answer = ask(address, SCRAPE);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Length: 17\r\n"), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert_eq!(body, "vtprof_a_total 1\n");
    let with_parameters = ask(address, b"GET /metrics?a=b HTTP/1.0\r\n\r\n");
    assert!(with_parameters.ends_with("vtprof_a_total 1\n"));
}

#[test]
fn an_answer_larger_than_any_buffer_comes_whole() {
    let body = "x".repeat(8 << 20);
    let (address, _) = serve(&body);
    let answer = ask(address, SCRAPE);
    assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.len(), body.len());
}

#[test]
fn whatever_else_is_asked_is_refused_by_its_own_status() {
    let many = |count: usize| "A: b\r\n".repeat(count);
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("GET /metrics/x HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("GET /../metrics HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n".to_owned(), "405"),
        ("\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
        ("GET /metrics SPDY/9\r\n\r\n".to_owned(), "400"),
        (
            format!("GET /metrics HTTP/1.1\r\n{}\r\n", many(HEADERS + 1)),
            "431",
        ),
        (
            format!("GET /metrics HTTP/1.1\r\nA: {}", "b".repeat(2 * REQUEST)),
            "431",
        ),
    ];
    for (request, status) in cases {
        let (address, read) = serve("secret\n");
        let answer = ask(address, request.as_bytes());
        let begin = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&begin), "{request:?}: {answer}");
        assert!(!answer.contains("secret"), "{answer}");
        assert_eq!(read.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn those_who_say_nothing_or_rubbish_do_not_keep_others_waiting() {
    let (address, _) = serve("vtprof_a_total 1\n");
    let mut held = Vec::new();
    for turn in 0..200 {
        let mut stream = TcpStream::connect(address).unwrap();
        match turn % 4 {
            // Nothing, half a request, rubbish, and gone at once.
            0 => held.push(stream),
            1 => {
                stream.write_all(b"GET /metr").unwrap();
                held.push(stream);
            }
            2 => {
                // It may be refused before it is all written.
                let _refused = stream.write_all(&[0xff; 4 << 10]);
                held.push(stream);
            }
            _ => drop(stream),
        }
        if turn % 20 == 0 {
            let answer = ask(address, SCRAPE);
            assert!(answer.ends_with("vtprof_a_total 1\n"), "{turn}: {answer}");
        }
    }
    assert!(ask(address, SCRAPE).ends_with("vtprof_a_total 1\n"));
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered_and_one_that_never_ends_is_let_go() {
    let (address, _) = serve("vtprof_a_total 1\n");
    let mut stream = TcpStream::connect(address).unwrap();
    for byte in SCRAPE {
        stream.write_all(&[*byte]).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("vtprof_a_total 1\n"), "{answer}");
    // Closed from the other side, without an answer.
    assert_eq!(ask(address, b"GET /metrics HTTP/1.1\r\n"), "");
}

#[test]
fn who_asks_again_and_again_does_not_have_the_figures_read_each_time() {
    let (address, read) = serve("vtprof_a_total 1\n");
    let began = Instant::now();
    for _ in 0..50 {
        assert!(ask(address, SCRAPE).ends_with("vtprof_a_total 1\n"));
    }
    let most = 1 + (began.elapsed().as_nanos() / FRESH.as_nanos()) as usize;
    let read = read.load(Ordering::SeqCst);
    assert!((1..=most).contains(&read), "{read} of {most}");
}

#[test]
fn a_flood_of_connections_that_are_gone_at_once_leaves_the_thread_asleep() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (to_test, thread) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        to_test.send(OsThreadId::current()).unwrap();
        let mut server = Server::new(listener, || "vtprof_a_total 1\n".to_owned());
        server.run().map(drop)
    });
    let thread = thread.recv().unwrap();
    let used = || crate::threads::timer::cpu_time_ns(thread).unwrap();
    let (began, before) = (Instant::now(), used());
    let mut knocks = 0_u32;
    while began.elapsed() < Duration::from_secs(2) {
        // The kernel's queue of those that wait is full most of the time.
        if TcpStream::connect_timeout(&address, POLL).is_ok() {
            knocks += 1;
        }
    }
    let share = (used() - before) as f64 / began.elapsed().as_nanos() as f64;
    assert!(knocks > 100, "no flood: {knocks}");
    assert!(share < 0.05, "{share:.3} of a core for {knocks} knocks");
}
