//! Switched from afar: off until a document says otherwise, at the rate it says and no finer than may be, off again when
//! it is gone.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Machine, Running};
use vtprof_integration::recording::{Recording, files};
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::workdir::WorkDir;

const LIMIT: Duration = Duration::from_secs(180);

/// A server whose answer can be changed.
fn serve() -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answer = Arc::new(Mutex::new(String::new()));
    let current = Arc::clone(&answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = [0; 4096];
            // One that has gone says nothing and hears nothing.
            let _gone = stream.read(&mut head);
            let text = current.lock().expect("no panic").clone();
            let _gone = stream.write_all(text.as_bytes());
        }
    });
    (port, answer)
}

fn document(text: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
}

const GONE: &str = "HTTP/1.1 404 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

#[test]
fn nothing_is_sampled_but_while_a_document_says_so_and_no_finer_than_may_be() {
    let _machine = Machine::turn();
    let jdk = jdk::newest_virtual("remote").expect("a JDK");
    let dir = WorkDir::new("remote").expect("a folder");
    let (port, answer) = serve();
    let say = |text: String| *answer.lock().expect("no panic") = text;
    say(document(r#"{"enabled": false}"#));
    let launch = TruthRun::new(&jdk, "mix", Strategy::Auto)
        .seconds(600)
        .every("1s")
        .option(&format!("config_url=http://127.0.0.1:{port}/c"))
        .option("config_every=1s")
        .launch()
        .expect("the program");
    let mut running = Running::start(&launch, dir.path(), LIMIT).expect("a JVM");
    running.line("truth: mix").expect("the load");
    let out = dir.path().join("out");
    let count = || files(&out, "-cpu-").map_or(0, |files| files.len());
    running.burn(Duration::from_secs(2)).expect("work");
    assert_eq!(count(), 0, "off until it says otherwise");

    say(document(
        r#"{"enabled": true, "cpu_hz": 100000, "every_seconds": 1}"#,
    ));
    let stderr = dir.path().to_owned();
    let said = |text: &str| {
        let entries = std::fs::read_dir(&stderr).expect("a folder").flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("stderr"))
            .any(|entry| std::fs::read_to_string(entry.path()).is_ok_and(|all| all.contains(text)))
    };
    running
        .until("it was on", || said("profiling from off to on"))
        .expect("on");
    running.burn(Duration::from_secs(3)).expect("work");
    say(GONE.to_owned());
    running
        .until("it was off", || said("profiling from on to off"))
        .expect("off");
    let written = count();
    assert!(written > 0, "a window at the stop");
    running.burn(Duration::from_secs(2)).expect("work");
    assert_eq!(count(), written, "off");
    running.terminate().expect("a signal");
    let finished = running.wait().expect("an end");

    let recording = Recording::read(&out).expect("profiles");
    for window in &recording.windows {
        assert_eq!(
            window.period, 5_000_000,
            "200 Hz, though the option says 1000"
        );
    }
    assert!(recording.count() > 100, "{}", recording.count());
    let lines = finished.agent_lines();
    for (text, times) in [
        ("cpu from the option's to 200hz", 1),
        ("every from the option's to 10s", 1),
        ("it answers 404", 1),
    ] {
        let found = lines.iter().filter(|line| line.contains(text)).count();
        assert_eq!(found, times, "{text}: {lines:#?}");
    }
}
