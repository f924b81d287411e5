//! Windows that are sent: each arrives as its file has it, once; a server that is down or hangs keeps nobody, and what is
//! lost is told; a token is in nothing that is written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::report::say;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::workdir::WorkDir;
use vtprof_profile::gzip;
use vtprof_profile::model::{LabelValue, Profile};

const TOKEN: &str = "hunter2-of-a-file";
const LIMIT: Duration = Duration::from_secs(120);
/// Windows of a second.
const WINDOWS: usize = 4;

/// What a request was.
#[derive(Debug, Clone)]
struct Taken {
    head: String,
    body: Vec<u8>,
}

/// A server that answers the first `broken` requests with 503, then takes all.
struct Server {
    port: u16,
    taken: Arc<Mutex<Vec<Taken>>>,
}

impl Server {
    fn start(mut broken: usize) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
        let kept = Arc::clone(&taken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let status = if broken > 0 { 503 } else { 200 };
                if broken > 0 {
                    broken -= 1;
                } else {
                    kept.lock().expect("no panic").push(request);
                }
                let text = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                );
                // A JVM that has ended does not want it.
                let _gone = stream.write_all(text.as_bytes());
            }
        });
        Server { port, taken }
    }

    fn taken(&self) -> Vec<Taken> {
        self.taken.lock().expect("no panic").clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Taken> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 65_536];
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let lower = head.to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))?;
            if bytes.len() >= end + 4 + length.parse::<usize>().ok()? {
                let body = bytes.split_off(end + 4);
                return Some(Taken { head, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

/// All samples of a window: stack and labels, and what they sum to.
type Content = BTreeMap<String, Vec<i64>>;

fn content(profile: &Profile) -> Content {
    let mut content = Content::new();
    for sample in profile.samples.iter() {
        let frames = profile.frames(&sample).map(|frame| {
            let function = profile.functions.get(frame.function);
            format!("{}:{}", profile.strings.get(function.name), frame.line)
        });
        let mut labels: Vec<_> = sample
            .labels
            .iter()
            .map(|label| {
                let key = profile.strings.get(label.key);
                match label.value {
                    LabelValue::Text(text) => format!("{key}={}", profile.strings.get(text)),
                    LabelValue::Number { .. } => panic!("{key} is a number"),
                }
            })
            .collect();
        labels.sort();
        let key = format!(
            "{} {}",
            frames.collect::<Vec<_>>().join(";"),
            labels.join(" ")
        );
        let sums = content
            .entry(key)
            .or_insert_with(|| vec![0; sample.values.len()]);
        for (sum, value) in sums.iter_mut().zip(sample.values) {
            *sum += value;
        }
    }
    content
}

fn launch(test: &TruthRun, options: &str) -> Launch {
    let run = options.split(',').fold(test.clone(), TruthRun::option);
    run.launch().expect("the program")
}

fn mix() -> TruthRun {
    let jdk = jdk::newest_virtual("push").expect("a JDK");
    TruthRun::new(&jdk, "mix", Strategy::Auto)
        .seconds(600)
        .every("1s")
}

/// Runs until there are as many windows in files, and ends it.
fn run_windows(launch: &Launch, dir: &Path) -> (Finished, Duration) {
    let mut running = Running::start(launch, dir, LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    let out = dir.join("out");
    running
        .until("windows", || {
            files(&out, "-cpu-").is_ok_and(|files| files.len() >= WINDOWS)
        })
        .expect("windows");
    running.terminate().expect("a signal");
    let began = Instant::now();
    (running.wait().expect("an end"), began.elapsed())
}

/// Number behind that word in the agent's lines.
fn said(finished: &Finished, before: &str) -> Option<u64> {
    finished.agent_lines().iter().find_map(|line| {
        let (_, rest) = line.split_once(before)?;
        rest.split(' ').next()?.parse().ok()
    })
}

#[test]
fn all_that_is_in_files_arrives_once_though_the_server_was_down_for_a_while() {
    let _machine = Machine::turn();
    let dir = WorkDir::new("push").expect("a folder");
    let server = Server::start(2);
    let options = format!("push=pprof+http://127.0.0.1:{}/in", server.port);
    let launch = launch(&mix(), &options);
    let mut running = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    running
        .until("some had arrived", || server.taken().len() >= WINDOWS)
        .expect("requests");
    let written = files(&dir.path().join("out"), "-cpu-")
        .expect("files")
        .len();
    // So that what has arrived is told.
    running
        .until("two more windows", || {
            let files = files(&dir.path().join("out"), "-cpu-");
            files.is_ok_and(|files| files.len() >= written + 2)
        })
        .expect("windows");
    running.terminate().expect("a signal");
    let finished = running.wait().expect("an end");

    let mut sent: BTreeMap<i64, Content> = BTreeMap::new();
    for taken in server.taken() {
        let first = taken.head.lines().next().expect("a request");
        assert!(
            first.starts_with("POST /in?service=truth&profile_type=cpu "),
            "{first}"
        );
        let bytes = gzip::read_bytes(&taken.body[..], gzip::DEFAULT_LIMIT).expect("gzip");
        let profile = Profile::from_bytes(&bytes).expect("a profile");
        let twice = sent.insert(profile.time_nanos, content(&profile));
        assert!(twice.is_none(), "{} arrived twice", profile.time_nanos);
    }
    let out = dir.path().join("out");
    let written: BTreeMap<i64, Content> = files(&out, "-cpu-")
        .expect("files")
        .iter()
        .map(|path| {
            let file = File::open(path).expect("a file");
            let bytes = gzip::read_bytes(file, gzip::DEFAULT_LIMIT).expect("gzip");
            let profile = Profile::from_bytes(&bytes).expect("a profile");
            (profile.time_nanos, content(&profile))
        })
        .collect();
    assert!(written.len() > WINDOWS, "the last one at the end");
    let samples: i64 = written
        .values()
        .flat_map(Content::values)
        .map(|it| it[0])
        .sum();
    assert!(samples > 100, "{samples}");
    assert_eq!(
        sent.keys().collect::<Vec<_>>(),
        written.keys().collect::<Vec<_>>(),
        "{:#?}",
        finished.agent_lines()
    );
    assert!(sent == written, "a window is not as its file has it");

    let recording = Recording::read(&out).expect("profiles");
    let counter = |key| recording.counter(key).expect("windows");
    assert_eq!(counter("push.retries"), 2);
    // What the last windows became is not in them any more.
    assert!(counter("push.windows_handed") >= WINDOWS as u64);
    assert!(counter("push.requests_delivered") >= WINDOWS as u64);
    assert!(counter("push.samples_delivered") <= counter("push.samples_handed"));
    let lines = finished.agent_lines();
    let of = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(
        (of("answers 503"), of("takes profiles again")),
        (1, 1),
        "{lines:#?}"
    );
}

#[test]
fn a_server_that_is_down_or_hangs_delays_no_end_by_more_than_its_time_and_losses_are_told() {
    let _machine = Machine::turn();
    let free = {
        let dir = WorkDir::new("push-none").expect("a folder");
        run_windows(&launch(&mix(), "lock=off"), dir.path()).1
    };
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (deaf_port, gone_port) = [&deaf, &gone]
        .map(|it| it.local_addr().expect("an address").port())
        .into();
    drop(gone);
    for (what, port) in [("hangs", deaf_port), ("is down", gone_port)] {
        let dir = WorkDir::new("push-dead").expect("a folder");
        let options = format!("push=pyroscope+http://127.0.0.1:{port}");
        let (finished, took) = run_windows(&launch(&mix(), &options), dir.path());
        say(&format!(
            "a server that {what}: the end took {took:?}, without a server {free:?}"
        ));
        let windows = files(&dir.path().join("out"), "-cpu-")
            .expect("files")
            .len();
        let lost = said(&finished, "did not take ").unwrap_or_else(|| {
            panic!("{:#?}", finished.agent_lines());
        });
        assert_eq!(lost, windows as u64, "each window is one request here");
        let recording = Recording::read(&dir.path().join("out")).expect("profiles");
        let waiting = recording.fact("push.requests_waiting").expect("a figure");
        let waiting: u64 = waiting.parse().expect("a number");
        assert!(
            waiting > 0 && waiting < windows as u64,
            "{waiting} of {windows}"
        );
        assert_eq!(recording.counter("push.requests_delivered"), Some(0));
    }
}

#[test]
fn a_token_is_in_no_line_no_file_and_no_command() {
    let _machine = Machine::turn();
    for (broken, query) in [(0, "key=hunter3"), (1_000, "key=hunter3")] {
        let dir = WorkDir::new("push-secret").expect("a folder");
        let token = dir.path().join("token");
        fs::write(&token, TOKEN).expect("a file");
        let server = Server::start(broken);
        let options = format!(
            "push=pprof+http://127.0.0.1:{}/in?{query},push_auth=Collector,push_token_file={},push_spool={}",
            server.port,
            token.display(),
            dir.path().join("spool").display()
        );
        let launch = launch(&mix(), &options);
        let mut running = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
        running.line("truth: mix").expect("the load");
        let out = dir.path().join("out");
        running
            .until("windows", || {
                files(&out, "-cpu-").is_ok_and(|files| files.len() >= 2)
            })
            .expect("windows");
        let command = fs::read(format!("/proc/{}/cmdline", running.pid())).expect("a command");
        running.terminate().expect("a signal");
        let finished = running.wait().expect("an end");
        for taken in server.taken() {
            let header = format!("authorization: Collector {TOKEN}");
            let head = taken.head.to_ascii_lowercase();
            assert!(head.contains(&header.to_ascii_lowercase()), "{head}");
        }
        assert_eq!(server.taken().is_empty(), broken > 0);
        assert!(!contains(&command, TOKEN));
        for text in [&finished.stderr, &finished.stdout] {
            assert!(!text.contains("hunter"), "{text}");
        }
        fs::remove_file(&token).expect("a file");
        let mut seen = 0;
        walk(dir.path(), &mut |path| {
            let file = File::open(path).expect("a file");
            let bytes = gzip::read_bytes(file, gzip::DEFAULT_LIMIT).expect("bytes");
            assert!(!contains(&bytes, "hunter"), "{}", path.display());
            seen += 1;
        });
        // Windows, both outputs, the truth; and what could not be sent.
        assert!(seen >= 5, "{seen}");
        let mut kept = 0;
        walk(&dir.path().join("spool"), &mut |path| {
            kept += usize::from(path.extension().is_some_and(|it| it == "req"));
        });
        assert_eq!(kept > 0, broken > 0, "{kept} requests in files");
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|it| it == text.as_bytes())
}

fn walk(dir: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, each);
        } else {
            each(&path);
        }
    }
}
