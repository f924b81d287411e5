//! `vtprof view`: whom it answers, and what it holds of a folder that changes.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::Value;
use support::service::{write_service, write_wide};
use support::{CpuProfile, Folder, command, failure, int, local_root, run, tags};
use vtprof_profile::spans::spans_to_traces;

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn of(folder: &Path, args: &[&str]) -> Self {
        let mut child = command()
            .arg("view")
            .arg(folder)
            .args(["--port", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("vtprof starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out)
            .read_line(&mut line)
            .expect("its address");
        let url = line.split_whitespace().next().expect("its address");
        let port = url
            .strip_prefix("http://127.0.0.1:")
            .and_then(|rest| rest.strip_suffix('/'));
        let port = port
            .and_then(|port| port.parse().ok())
            .unwrap_or_else(|| panic!("{line}"));
        Server { child, port }
    }

    /// The status, the headers and the body.
    fn ask(&self, request: &str, headers: &[(&str, &str)]) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        let mut text = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all((text + "\r\n").as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8(answer[..end].to_vec())
            .expect("text")
            .to_lowercase();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.expect("a status"), head, answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        self.ask(
            &format!("GET {path}"),
            &[("Host", &format!("localhost:{}", self.port))],
        )
    }

    fn document(&self, query: &str) -> Value {
        let (status, head, body) = self.get(&format!("/document{query}"));
        assert_eq!(status, 200, "{head}");
        let mut text = String::new();
        GzDecoder::new(body.as_slice())
            .read_to_string(&mut text)
            .expect("gzip");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The document once it is as wanted.
    fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let document = self.document("");
            if wanted(&document) {
                return document;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{}",
                document["about"]
            );
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, which its test will have noticed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn samples(document: &Value) -> i64 {
    let profiles = document["profiles"].as_array().expect("profiles");
    let columns = profiles
        .iter()
        .filter_map(|profile| profile["sides"][0]["values"].as_array()?.last());
    columns
        .flat_map(|column| column.as_array().expect("a column"))
        .map(int)
        .sum()
}

fn note(document: &Value) -> &str {
    document["about"]["notes"][0].as_str().expect("a note")
}

const ID: &str = "00000000000000aa";

#[test]
fn clients_that_read_nothing_do_not_keep_others_out_for_ever() {
    /// As many as it has connections.
    const ALL: usize = 64;
    let folder = Folder::new();
    let server = Server::of(folder.path(), &[]);
    let (_, _, page) = server.get("/");
    // More than the kernel takes for one that does not read.
    let count = (8 << 20) / page.len() + 1;
    let request = format!("GET / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port);
    let idle: Vec<_> = (0..ALL)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
            stream
                .write_all(request.repeat(count).as_bytes())
                .expect("sent");
            stream
        })
        .collect();
    assert_eq!(server.get("/version").0, 200);
    drop(idle);
}

#[test]
fn only_requests_of_its_own_page_are_answered() {
    let folder = Folder::new();
    let server = Server::of(folder.path(), &[]);
    let own = format!("127.0.0.1:{}", server.port);
    let origin = format!("http://{own}");
    let own = own.as_str();
    for path in ["/", "/document", "/version", "/none"] {
        for (headers, refused) in [
            (vec![("Host", own)], false),
            (vec![("Host", own), ("Origin", &origin)], false),
            (vec![("Host", "evil.example")], true),
            (vec![("Host", "127.0.0.1")], true),
            (vec![("Host", own), ("Origin", "http://evil.example")], true),
            (vec![("Host", own), ("Origin", "null")], true),
            (vec![("Host", own), ("Sec-Fetch-Site", "cross-site")], true),
            (vec![], true),
        ] {
            let (status, head, body) = server.ask(&format!("GET {path}"), &headers);
            let expected = match (refused, path) {
                (true, _) => 403,
                (false, "/none") => 404,
                (false, _) => 200,
            };
            assert_eq!(status, expected, "{path} {headers:?}");
            assert!(!refused || body == b"Forbidden\n", "{body:?}");
            assert!(!head.contains("access-control"), "{head}");
            for header in [
                "content-security-policy: default-src 'none'",
                "x-content-type-options: nosniff",
                "x-frame-options: deny",
                "cross-origin-resource-policy: same-origin",
            ] {
                assert!(head.contains(header), "{header} in {head}");
            }
        }
    }
    let absolute = server.ask("GET http://evil.example/document", &[("Host", own)]);
    assert_eq!(absolute.0, 403);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let (status, head, _) = server.ask(&format!("{method} /document"), &[("Host", own)]);
        assert_eq!(status, 405);
        assert!(head.contains("allow: get"), "{head}");
    }
    let (_, head, _) = server.get("/");
    assert!(
        head.contains("frame-ancestors 'none'") && !head.contains("unsafe"),
        "{head}"
    );
}

#[test]
fn windows_that_come_are_shown_and_those_that_go_are_not() {
    let folder = Folder::new();
    let server = Server::of(folder.path(), &[]);
    assert_eq!(samples(&server.document("")), 0);
    let window = |number: i64| folder.file(&format!("shop-1-cpu-2023111{number}T221320Z.pb.gz"));
    let write = |number: i64, samples: i64| {
        // In the making under another name, as the agent does.
        let making = folder.file(".making");
        CpuProfile::window(number)
            .burn(samples, &["a"], &tags(ID, "GET /a"))
            .write(&making);
        fs::rename(making, window(number)).expect("renamed");
    };
    write(0, 3);
    server.until(|document| samples(document) == 3);
    write(1, 40);
    let both = server.until(|document| samples(document) == 43);
    assert!(note(&both).starts_with("2 files held, "), "{}", note(&both));
    fs::remove_file(window(0)).expect("removed");
    server.until(|document| samples(document) == 40);
    // Another file under a name that was read.
    write(1, 500);
    server.until(|document| samples(document) == 500);
}

#[test]
fn the_newest_files_are_held_up_to_the_bound_and_the_page_says_so() {
    const FILES: usize = 8;
    let folder = Folder::new();
    let server = Server::of(folder.path(), &["--hold", "1"]);
    let mut sizes = Vec::new();
    for number in 0..FILES {
        let making = folder.file(".making");
        write_wide(&making, 6_000);
        let mut bytes = Vec::new();
        let file = fs::File::open(&making).expect("written");
        GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
        sizes.push(bytes.len());
        fs::rename(making, folder.file(&format!("shop-1-cpu-{number}.pb.gz"))).expect("renamed");
        // Their times tell which is newer.
        thread::sleep(Duration::from_millis(20));
    }
    let fit = (1 << 20) / sizes[0];
    assert!((1..FILES - 1).contains(&fit), "{sizes:?}");
    let held = format!("{fit} file{} held, ", if fit == 1 { "" } else { "s" });
    let document = server.until(|document| {
        note(document).starts_with(&held)
            && note(document).contains(&format!("; {} older file", FILES - fit))
    });
    assert!(
        note(&document).ends_with("left out, --hold raises the bound"),
        "{}",
        note(&document)
    );
    assert_eq!(
        int(&document["profiles"][0]["sides"][0]["files"]),
        fit as i64
    );
    // The newest goes, and there is room for another.
    fs::remove_file(folder.file(&format!("shop-1-cpu-{}.pb.gz", FILES - 1))).expect("removed");
    server.until(|document| {
        note(document).starts_with(&held)
            && note(document).contains(&format!("; {} older file", FILES - 1 - fit))
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_shown() {
    let folder = Folder::new();
    fs::write(folder.file("broken.pb.gz"), b"\x1f\x8bno gzip").expect("written");
    fs::write(folder.file("tsconfig.json"), "{ // as the editor has it\n}").expect("written");
    CpuProfile::window(0)
        .burn(7, &["a"], &[])
        .write(&folder.file("good.pb.gz"));
    let server = Server::of(folder.path(), &[]);
    let document = server.document("");
    assert_eq!(samples(&document), 7);
    let others = document["about"]["notes"][2].as_str().expect("a note");
    let line = "1 file of JSON that is neither OTLP nor speedscope not read, e.g. ";
    assert!(others.starts_with(line), "{others}");
    let note = document["about"]["notes"][1].as_str().expect("a note");
    assert!(
        note.starts_with("1 file that cannot be read, e.g. ") && note.contains("broken.pb.gz"),
        "{note}"
    );
}

#[test]
fn any_span_can_be_asked_for_and_what_is_no_id_is_refused() {
    let folder = Folder::new();
    write_service(folder.path(), 1, false);
    let server = Server::of(folder.path(), &[]);
    let document = server.document("?root=0001000100000001");
    let ids = document["groups"]["id"].as_array().expect("ids");
    assert!(ids.iter().any(|id| id == "0001000100000001"));
    let (status, _, body) = server.get("/document?root=12");
    assert_eq!(status, 400);
    let body = String::from_utf8(body).expect("text");
    assert!(body.starts_with("'12' has 2 characters"), "{body}");
}

#[test]
fn only_local_roots_count_as_requests() {
    let folder = Folder::new();
    let child = vtprof_profile::spans::SpanRecord {
        local_root: ID.parse().expect("an id"),
        ..local_root("00000000000000bb", "query", 5)
    };
    let spans = [local_root(ID, "GET /a", 700), child];
    support::write_spans(
        &spans_to_traces("shop", spans),
        &folder.file("shop-1-spans-x.pb.gz"),
    );
    let server = Server::of(folder.path(), &[]);
    let document = server.document("");
    assert_eq!(document["groups"]["id"], serde_json::json!([ID]));
    assert_eq!(document["groups"]["duration"][0], 700_000_000);
}

#[test]
fn samples_of_a_child_are_its_requests_whichever_file_has_its_parent() {
    let folder = Folder::new();
    let child = vtprof_profile::spans::SpanRecord {
        parent: ID.parse().ok(),
        ..local_root("00000000000000bb", "query", 5)
    };
    let spans = [child, local_root(ID, "GET /a", 700)];
    for (name, span) in ["1.pb", "2.pb"].into_iter().zip(spans) {
        let mut traces = spans_to_traces("shop", [span]);
        let scope = &mut traces.resource_spans[0].scope_spans[0];
        scope.spans[0].attributes.clear();
        support::write_spans(&traces, &folder.file(name));
    }
    let current = [
        ("trace_id", support::TRACE),
        ("span_id", "00000000000000bb"),
    ];
    let cpu = CpuProfile::window(0).burn(9, &["f"], &current);
    cpu.write(&folder.file("p.pb.gz"));
    let server = Server::of(folder.path(), &[]);
    let document = server.document("");
    assert_eq!(document["groups"]["id"], serde_json::json!([ID]));
    let rows = &document["profiles"][0]["sides"][0];
    assert_eq!(rows["group"], serde_json::json!([0]));
    assert_eq!(rows["values"][0], serde_json::json!([9]));
}

#[test]
fn a_port_in_use_and_a_folder_that_is_none_are_one_line_each() {
    let folder = Folder::new();
    let server = Server::of(folder.path(), &[]);
    let port = server.port.to_string();
    let taken = run([
        "view".as_ref(),
        folder.path().as_os_str(),
        "--port".as_ref(),
        port.as_ref(),
    ]);
    assert_eq!(
        failure(&taken),
        format!(
            "vtprof: error: port {port} of 127.0.0.1 is in use: --port names another, 0 takes a free one"
        )
    );
    let none = failure(&run(["view", "/no/such/folder", "--port", "0"]));
    assert!(
        none.starts_with("vtprof: error: /no/such/folder: cannot list: "),
        "{none}"
    );
}
