use std::collections::VecDeque;
use std::io::{Read as _, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::super::wanted::Choice;
use super::*;
use crate::target::{Address, Backend};

/// Answers in a row.
struct Script(VecDeque<Poll>, Vec<Option<String>>);

impl Fetch for Script {
    fn fetch(&mut self, etag: Option<&str>) -> Poll {
        self.1.push(etag.map(str::to_owned));
        self.0.pop_front().unwrap()
    }
}

/// Remembers what was applied; fails as often as it is told.
#[derive(Default)]
struct Applied(Mutex<Vec<Wanted>>, AtomicU64);

impl Apply for Applied {
    fn apply(&self, wanted: &Wanted, _before: &Wanted) -> Result<(), String> {
        if self.1.load(Ordering::SeqCst) > 0 {
            self.1.fetch_sub(1, Ordering::SeqCst);
            return Err("not now".to_owned());
        }
        self.0.lock().push(wanted.clone());
        Ok(())
    }
}

fn poller() -> (Poller, Arc<Mutex<Vec<String>>>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let say = {
        let lines = Arc::clone(&lines);
        Say::new(move |_, line| lines.lock().push(line.to_owned()))
    };
    let policy = Policy::new("shop", None);
    (Poller::new(policy, Duration::from_secs(60), 1, say), lines)
}

/// All polls of a script, so far apart.
fn run(poller: &mut Poller, script: &mut Script, applied: &Applied, apart: Duration) {
    let mut now = Instant::now();
    while !script.0.is_empty() {
        poller.poll(now, script, applied);
        now += apart;
    }
}

fn document(text: &str) -> Poll {
    Poll::Document {
        body: text.as_bytes().to_vec(),
        signature: None,
        etag: Some("\"7\"".to_owned()),
    }
}

#[test]
fn each_change_is_applied_once_and_said_with_both_values() {
    let (mut poller, lines) = poller();
    let gone = || Poll::Unreadable("answers 500".to_owned());
    let polls = [
        document(r#"{"enabled": true, "cpu_hz": 50}"#),
        Poll::Unchanged,
        document(r#"{"enabled": true, "cpu_hz": 9000}"#),
        gone(),
        gone(),
        gone(),
        gone(),
    ];
    let mut script = Script(polls.into(), Vec::new());
    let applied = Applied::default();
    run(&mut poller, &mut script, &applied, Duration::from_secs(60));
    assert_eq!(applied.0.lock().len(), 3);
    assert!(!applied.0.lock()[2].on);
    let etag = || Some("\"7\"".to_owned());
    let asked = [None, etag(), etag(), etag(), etag(), etag(), None];
    assert_eq!(script.1, asked);
    let expected = [
        "config_url: profiling from off to on",
        "config_url: cpu from the option's to 50hz",
        "config_url: cpu from 50hz to 200hz",
        "config_url: it answers 500",
        "config_url: profiling from on to off",
        "config_url: cpu from 200hz to the option's",
    ];
    assert_eq!(*lines.lock(), expected);
}

#[test]
fn what_could_not_be_done_is_tried_again() {
    let (mut poller, lines) = poller();
    let polls = [
        document(r#"{"enabled": true}"#),
        Poll::Unchanged,
        Poll::Unchanged,
    ];
    let mut script = Script(polls.into(), Vec::new());
    let applied = Applied::default();
    applied.1.store(1, Ordering::SeqCst);
    run(&mut poller, &mut script, &applied, Duration::from_secs(60));
    assert_eq!(applied.0.lock().len(), 1);
    assert_eq!(lines.lock().len(), 2, "{:?}", lines.lock());
}

/// Does half of what is wanted, and says that it was not done.
struct Half(Mutex<Vec<bool>>);

impl Apply for Half {
    fn apply(&self, wanted: &Wanted, _before: &Wanted) -> Result<(), String> {
        self.0.lock().push(wanted.on);
        Err("not all of it".to_owned())
    }
}

#[test]
fn what_was_half_done_is_undone_where_the_next_poll_wants_what_there_was_before() {
    let unreadable = || Poll::Unreadable("answers 500".to_owned());
    let off = || document(r#"{"enabled": false}"#);
    let on = || document(r#"{"enabled": true}"#);
    for (polls, last) in [
        (vec![on(), off()], false),
        (vec![on(), document("{")], false),
        (vec![on(), unreadable(), unreadable(), unreadable()], false),
        (vec![off(), on()], true),
    ] {
        let (mut poller, _) = poller();
        if last {
            let applied = Applied::default();
            let mut script = Script([on()].into(), Vec::new());
            poller.poll(Instant::now(), &mut script, &applied);
        }
        let half = Half(Mutex::default());
        let mut now = Instant::now() + Duration::from_secs(60);
        let mut script = Script(polls.into(), Vec::new());
        while !script.0.is_empty() {
            poller.poll(now, &mut script, &half);
            now += Duration::from_secs(60);
        }
        let asked = half.0.lock().clone();
        assert_eq!(asked.first(), Some(&!last), "{asked:?}");
        assert_eq!(asked.last(), Some(&last), "{asked:?}");
    }
}

#[test]
fn one_change_in_ten_seconds_is_done_and_the_last_that_was_said_is_not_lost_and_off_waits_for_nothing()
 {
    let (mut poller, _) = poller();
    let rate = |hertz: u32| document(&format!(r#"{{"enabled": true, "cpu_hz": {hertz}}}"#));
    // One a second: for 100 s another rate each time, then the last again, then off.
    let mut polls: VecDeque<_> = (0..100).map(|n| rate(50 + n)).collect();
    polls.extend((0..10).map(|_| rate(149)));
    let mut script = Script(polls, Vec::new());
    let applied = Applied::default();
    run(&mut poller, &mut script, &applied, Duration::from_secs(1));
    let changes = applied.0.lock().clone();
    assert_eq!(changes.len(), 11, "{changes:?}");
    assert_eq!(changes.last().map(|last| last.cpu), Some(Choice::At(149)));

    let (mut poller, _) = super::tests::poller();
    let off = document(r#"{"enabled": false}"#);
    let mut script = Script([rate(50), off].into(), Vec::new());
    let applied = Applied::default();
    run(&mut poller, &mut script, &applied, Duration::from_secs(1));
    let on: Vec<_> = applied.0.lock().iter().map(|wanted| wanted.on).collect();
    assert_eq!(on, [true, false]);
}

#[test]
fn what_somebody_else_has_switched_off_is_said_anew_by_the_next_poll_either_way() {
    for (text, is_on) in [
        (r#"{"enabled": true}"#, true),
        (r#"{"enabled": false}"#, false),
    ] {
        let (mut poller, _) = poller();
        let polls = [
            document(r#"{"enabled": true}"#),
            document(text),
            document(text),
        ];
        let mut script = Script(polls.into(), Vec::new());
        let applied = Applied::default();
        let began = Instant::now();
        poller.poll(began, &mut script, &applied);
        poller.forget();
        poller.poll(began + Duration::from_secs(60), &mut script, &applied);
        poller.poll(began + Duration::from_secs(120), &mut script, &applied);
        let on: Vec<_> = applied.0.lock().iter().map(|wanted| wanted.on).collect();
        assert_eq!(on, [true, is_on]);
    }
}

#[test]
fn the_last_poll_that_ended_may_be_as_old_as_three_that_cannot_be_read() {
    assert_eq!(latest(Duration::from_secs(60)), Duration::from_secs(276));
    let (mut poller, _) = poller();
    let three: Duration = (0..3).map(|_| poller.wait()).sum();
    assert!(three < latest(Duration::from_secs(60)));
}

#[test]
fn polls_are_spread_around_their_interval() {
    let (mut poller, _) = poller();
    let waits: Vec<_> = (0..100).map(|_| poller.wait().as_secs_f64()).collect();
    assert!(waits.iter().all(|wait| (48.0..=72.0).contains(wait)));
    let mean = waits.iter().sum::<f64>() / 100.0;
    assert!((57.0..63.0).contains(&mean), "{mean}");
}

/// A server that answers each request with that, and what it was asked.
fn serve(answer: impl Fn(&mut dyn Write) + Send + 'static) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap();
            kept.lock()
                .push(String::from_utf8_lossy(&head[..length]).into_owned());
            answer(&mut stream);
        }
    });
    (port, asked)
}

fn fetch(port: u16, etag: Option<&str>) -> Poll {
    let address = Address::parse(&format!("http://localhost:{port}/c?k=v")).unwrap();
    let mut target = Target::new(Backend::Pprof, address.whole());
    target.timeout = Duration::from_secs(30);
    Http::new(target).fetch(etag)
}

#[test]
fn a_document_is_asked_for_by_its_name_and_read_with_its_signature() {
    let (port, asked) = serve(|stream| {
        let text = "HTTP/1.1 200 OK\r\nETag: \"8\"\r\nX-Vtprof-Signature: abc\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(text.as_bytes()).unwrap();
    });
    let expected = Poll::Document {
        body: b"{}".to_vec(),
        signature: Some("abc".to_owned()),
        etag: Some("\"8\"".to_owned()),
    };
    assert_eq!(fetch(port, Some("\"7\"")), expected);
    let asked = asked.lock()[0].to_ascii_lowercase();
    assert!(asked.starts_with("get /c?k=v http/1.1\r\n"), "{asked}");
    assert!(asked.contains("if-none-match: \"7\"\r\n"), "{asked}");
}

#[test]
fn a_body_of_a_gigabyte_is_not_read_and_switches_off() {
    let written = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&written);
    let (port, _) = serve(move |stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
        let mut is_there = stream.write_all(head.as_bytes()).is_ok();
        let chunk = [b' '; 65_536];
        while is_there && counted.load(Ordering::SeqCst) < 1_000_000_000 {
            is_there = stream.write_all(&chunk).is_ok();
            counted.fetch_add(65_536, Ordering::SeqCst);
        }
    });
    let mut policy = Policy::new("shop", None);
    policy.after(document(r#"{"enabled": true}"#));
    let began = Instant::now();
    let poll = fetch(port, None);
    assert!(!policy.after(poll).wanted.on);
    assert!(began.elapsed() < Duration::from_secs(30));
    // What fits into both sides' buffers, and no more.
    assert!(written.load(Ordering::SeqCst) < 50_000_000);
}

#[test]
fn a_redirect_to_another_host_is_not_followed_and_is_no_document() {
    let (elsewhere, came) = serve(|stream| {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"enabled\": true}";
        stream.write_all(text.as_bytes()).unwrap();
    });
    for status in [301, 302, 307, 308] {
        let (port, _) = serve(move |stream| {
            let text = format!(
                "HTTP/1.1 {status} X\r\nLocation: http://127.0.0.1:{elsewhere}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(text.as_bytes()).unwrap();
        });
        let Poll::Unreadable(why) = fetch(port, None) else {
            panic!("{status} is a document");
        };
        assert!(why.contains("redirects"), "{why}");
    }
    assert_eq!(*came.lock(), [""; 0]);
}

#[test]
fn a_document_that_is_cut_is_unreadable() {
    let (port, _) = serve(|stream| {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"enabled\": true}";
        stream.write_all(text.as_bytes()).unwrap();
    });
    assert!(matches!(fetch(port, None), Poll::Unreadable(_)));
}
