//! Against sockets: servers that are well, and those that are not.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::target::{Address, Backend, Credential};

/// Longer than any of these uploads should take on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

/// What was sent: head and body.
struct Sent {
    head: String,
    body: Vec<u8>,
}

impl Sent {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Reads one request.
fn read(stream: &mut impl Read) -> Option<Sent> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let sent = Sent {
                head,
                body: bytes[end + 4..].to_vec(),
            };
            let length = sent.header("content-length").unwrap().parse().unwrap();
            if sent.body.len() >= length {
                return Some(sent);
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}

/// A server that does that with one connection.
fn serve(
    one: impl FnOnce(TcpStream) -> Option<Sent> + Send + 'static,
) -> (u16, Receiver<Option<Sent>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        // The test may have seen enough.
        let _ended = sender.send(one(stream));
    });
    (port, receiver)
}

/// A server that reads a request and answers that.
fn answer(text: &'static str) -> (u16, Receiver<Option<Sent>>) {
    serve(move |mut stream| {
        let sent = read(&mut stream);
        stream.write_all(text.as_bytes()).unwrap();
        sent
    })
}

fn target(scheme: &str, port: u16) -> Target {
    let address = Address::parse(&format!("{scheme}://localhost:{port}/in?k=v")).unwrap();
    Target::new(Backend::Pprof, address)
}

fn request() -> Request {
    Request {
        path: "/p?a=b".to_owned(),
        content_type: "application/x-protobuf",
        gzip: true,
        body: vec![1, 2, 3],
        samples: 1,
    }
}

fn carry(target: Target, within: Duration) -> Answer {
    Client::new(target, Form::Pprof).carry(&request(), within)
}

/// Why it is to come again.
fn later(answer: Answer) -> String {
    match answer {
        Answer::Later { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_arrives_with_its_path_headers_and_body() {
    let (port, received) = answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let mut target = target("http", port);
    target.credential = Some(Credential {
        scheme: Scheme::Word("Collector".to_owned()),
        token: Token::Known(Secret::new("hunter2").unwrap()),
    });
    target.headers = vec![("X-Scope-OrgID".to_owned(), Secret::new("team").unwrap())];
    assert_eq!(carry(target, LONG), Answer::Taken { rejected: 0 });
    let sent = received.recv().unwrap().unwrap();
    assert!(
        sent.head.starts_with("POST /in/p?a=b&k=v HTTP/1.1\r\n"),
        "{}",
        sent.head
    );
    for (name, value) in [
        ("authorization", "Collector hunter2"),
        ("x-scope-orgid", "team"),
        ("content-type", "application/x-protobuf"),
        ("content-encoding", "gzip"),
        ("user-agent", concat!("vtprof/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(sent.header(name), Some(value), "{}", sent.head);
    }
    assert_eq!(sent.body, [1, 2, 3]);
}

#[test]
fn a_token_s_file_is_read_before_each_upload_and_where_it_is_missing_nothing_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let basic = |port| {
        let mut target = target("http", port);
        target.credential = Some(Credential {
            scheme: Scheme::Basic("me".to_owned()),
            token: Token::File(path.clone()),
        });
        target
    };
    for (token, header) in [("a\n", "Basic bWU6YQ=="), ("bc", "Basic bWU6YmM=")] {
        std::fs::write(&path, token).unwrap();
        let (port, received) = answer("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(carry(basic(port), LONG), Answer::Taken { rejected: 0 });
        let sent = received.recv().unwrap().unwrap();
        assert_eq!(sent.header("authorization"), Some(header));
    }
    std::fs::remove_file(&path).unwrap();
    let (port, received) = answer("HTTP/1.1 200 OK\r\n\r\n");
    assert!(later(carry(basic(port), LONG)).contains("token"));
    assert!(received.try_recv().is_err(), "nobody connected");
}

#[test]
fn a_server_that_is_down_hangs_or_cuts_is_asked_again_later_and_in_time() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    later(carry(target("http", port), LONG));

    let hang = |port: u16, held: Receiver<Option<Sent>>| {
        let began = Instant::now();
        let why = later(carry(target("http", port), SHORT));
        assert!(why.contains("300 ms"), "{why}");
        assert!(began.elapsed() >= SHORT);
        drop(held);
    };
    // It accepts and says nothing.
    let (port, held) = serve(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).ok()?;
        None
    });
    hang(port, held);
    // It says a byte now and then: each read is in time, and all of them are not.
    let (port, held) = serve(|mut stream| {
        read(&mut stream);
        for byte in "HTTP/1.1 200 OK\r\nX: ".bytes().chain([b'y'; 200]) {
            stream.write_all(&[byte]).ok()?;
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    });
    hang(port, held);
    // It is gone in the middle of the request, and of the answer's head.
    let (port, _held) = serve(|mut stream| {
        stream.read_exact(&mut [0; 20]).ok()?;
        stream.shutdown(Shutdown::Both).ok()?;
        None
    });
    later(carry(target("http", port), LONG));
    let (port, _held) = answer("HTTP/1.1 200 O");
    later(carry(target("http", port), LONG));
    let (port, _held) = answer("SSH-2.0-OpenSSH\r\n\r\n");
    later(carry(target("http", port), LONG));
}

#[test]
fn a_status_decides_whatever_becomes_of_the_body() {
    let (port, _held) = answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut");
    assert_eq!(
        carry(target("http", port), LONG),
        Answer::Taken { rejected: 0 }
    );
    // A body without end is not read to it.
    let (port, _held) = serve(|mut stream| {
        read(&mut stream);
        let head = "HTTP/1.1 500 Oops\r\nContent-Length: 1000000000\r\n\r\n";
        stream.write_all(head.as_bytes()).ok()?;
        while stream.write_all(&[b'x'; 65_536]).is_ok() {}
        None
    });
    let began = Instant::now();
    assert_eq!(later(carry(target("http", port), LONG)), "answers 500");
    assert!(began.elapsed() < LONG);
}

#[test]
fn a_server_says_when_to_come_again_by_its_own_clock() {
    let (port, _held) = answer(
        "HTTP/1.1 429 Slow\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\nRetry-After: Tue, 01 Dec 2026 00:00:42 GMT\r\nContent-Length: 0\r\n\r\n",
    );
    let Answer::Later { asked, .. } = carry(target("http", port), LONG) else {
        panic!("taken or refused");
    };
    assert_eq!(asked, Some(Duration::from_secs(42)));
}

#[test]
fn a_redirect_takes_neither_profile_nor_token_anywhere() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let port = elsewhere.local_addr().unwrap().port();
    for status in [301, 302, 303, 307, 308] {
        let text = format!(
            "HTTP/1.1 {status} Moved\r\nLocation: http://localhost:{port}/\r\nContent-Length: 0\r\n\r\n"
        );
        let (origin, _held) = answer(text.leak());
        let Answer::Refused { why, .. } = carry(target("http", origin), LONG) else {
            panic!("{status}");
        };
        assert!(why.contains(&status.to_string()));
    }
    assert!(elsewhere.accept().is_err(), "somebody came");
}

/// A certificate of an authority, and the authority.
struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: String,
}

fn identity(name: &str, is_expired: bool) -> Identity {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if is_expired {
        leaf.not_before = rcgen::date_time_ymd(2001, 1, 1);
        leaf.not_after = rcgen::date_time_ymd(2002, 1, 1);
    }
    let issuer = Issuer::new(authority, authority_key);
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    Identity {
        certificate: leaf.der().to_vec(),
        key: key.serialize_der(),
        authority: authority_pem,
    }
}

/// A server under TLS that answers 200.
fn serve_tls(identity: &Identity) -> (u16, Receiver<Option<Sent>>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.clone()));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone().into()], key)
        .unwrap();
    serve(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let sent = read(&mut stream)?;
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(text).ok()?;
        stream.flush().ok()?;
        Some(sent)
    })
}

#[test]
fn under_tls_a_server_is_believed_only_if_a_trusted_authority_says_its_name_today() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let try_it = |identity: &Identity, trusted: &Identity| {
        std::fs::write(&ca, &trusted.authority).unwrap();
        let (port, received) = serve_tls(identity);
        let mut target = target("https", port);
        target.ca = Some(ca.clone());
        (carry(target, LONG), received)
    };
    let (good, other) = (identity("localhost", false), identity("localhost", false));
    let (answer, received) = try_it(&good, &good);
    assert_eq!(answer, Answer::Taken { rejected: 0 });
    assert_eq!(received.recv().unwrap().unwrap().body, [1, 2, 3]);
    let (elsewhere, expired) = (identity("example.org", false), identity("localhost", true));
    for (identity, trusted) in [
        (&good, &other),
        (&elsewhere, &elsewhere),
        (&expired, &expired),
    ] {
        let (answer, received) = try_it(identity, trusted);
        let why = later(answer);
        assert!(why.contains("certificate"), "{why}");
        assert!(received.recv().unwrap().is_none(), "nothing was sent");
    }
}

#[test]
fn a_file_of_authorities_that_has_none_is_said_and_nobody_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let ask = || {
        let mut target = target("https", 1);
        target.ca = Some(ca.clone());
        later(carry(target, LONG))
    };
    assert!(ask().contains("push_ca="), "absent");
    std::fs::write(&ca, "no PEM").unwrap();
    assert!(ask().contains("no certificate"));
}
