//! `metrics=`: the figures over HTTP, as Prometheus reads them. A thread of the agent's own that knows no JVM and is asleep
//! while nobody asks.
//!
//! It answers `GET /metrics` and nothing else, to one request a connection. What comes from outside is bounded in all ways:
//! connections, bytes and time of a request, and how often the figures are read.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::text::prometheus;
use crate::log;
use crate::session::Session;
use crate::threads::timer::OsThreadId;

/// Connections at a time; the oldest gives way.
const CONNECTIONS: usize = 16;
/// Bytes of a request.
const REQUEST: usize = 8 << 10;
/// Header lines of a request.
const HEADERS: usize = 64;
/// From a connection's beginning to its end.
const LIFE: Duration = Duration::from_secs(5);
/// After each look at what has come; a connection is taken at each, so 100 a second at the most.
const POLL: Duration = Duration::from_millis(10);
/// Figures are read so often at the most; who asks sooner gets the last ones.
const FRESH: Duration = Duration::from_millis(100);
/// After the kernel has given no connection: it is out of descriptors, most likely.
const REFUSED: Duration = Duration::from_secs(1);

/// Listens, and starts the thread. What fails is said in one line, and the rest of the agent goes on.
pub fn spawn(session: &'static Session, address: SocketAddr) {
    let failed = |error: &dyn std::fmt::Display| {
        log::warn(&format!(
            "metrics={address} is not served: {error}; give another port, or metrics=off"
        ));
    };
    let listener = match TcpListener::bind(address) {
        Ok(listener) => listener,
        Err(error) => return failed(&error),
    };
    if let Ok(bound) = listener.local_addr() {
        log::info(&format!("metrics on http://{bound}/metrics"));
    }
    let run = move || {
        session.registry.exclude(OsThreadId::current());
        let mut server = Server::new(listener, || prometheus(&super::all(session)));
        let ended = catch_unwind(AssertUnwindSafe(|| server.run()));
        let reason = match ended {
            Ok(Ok(never)) => match never {},
            Ok(Err(error)) => error.to_string(),
            Err(_) => "an error of the agent's own".to_owned(),
        };
        log::warn(&format!(
            "metrics={address} is served no more: {reason}; the rest goes on"
        ));
        session.registry.end_excluded();
    };
    let thread = std::thread::Builder::new().name("vtprof-metrics".to_owned());
    if let Err(error) = thread.spawn(run) {
        failed(&error);
    }
}

/// What does not come.
enum Never {}

struct Server<F> {
    listener: TcpListener,
    read_figures: F,
    last: Option<(Instant, String)>,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    began: Instant,
    state: State,
}

enum State {
    /// What has come so far.
    Reading(Vec<u8>),
    /// What is to be written, and how much of it was.
    Writing(Vec<u8>, usize),
    /// All is written. Until the other side has closed: a close with bytes unread would be a reset, and may take the answer
    /// with it.
    Closing,
    Over,
}

/// What a request is, as far as it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    Partial,
    Metrics,
    Refused(&'static str),
}

impl<F: FnMut() -> String> Server<F> {
    fn new(listener: TcpListener, read_figures: F) -> Self {
        Self {
            listener,
            read_figures,
            last: None,
            connections: Vec::new(),
        }
    }

    fn run(&mut self) -> io::Result<Never> {
        loop {
            // With nobody there it sleeps in the kernel until somebody comes.
            self.listener
                .set_nonblocking(!self.connections.is_empty())?;
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if is_passing(&error) => {}
                Err(_) => std::thread::sleep(REFUSED),
            }
            self.step();
            // After one that is answered and gone already, too: so many are taken a second, whoever knocks how often.
            std::thread::sleep(POLL);
        }
    }

    fn take(&mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        if self.connections.len() >= CONNECTIONS {
            self.connections.remove(0);
        }
        self.connections.push(Connection {
            stream,
            began: Instant::now(),
            state: State::Reading(Vec::new()),
        });
        Ok(())
    }

    /// Goes on with each connection as far as it can without waiting.
    fn step(&mut self) {
        let mut connections = std::mem::take(&mut self.connections);
        for connection in &mut connections {
            if connection.began.elapsed() > LIFE {
                connection.state = State::Over;
            }
            connection.step(|| self.answer());
        }
        connections.retain(|connection| !matches!(connection.state, State::Over));
        self.connections = connections;
    }

    fn answer(&mut self) -> String {
        match &self.last {
            Some((when, text)) if when.elapsed() < FRESH => text.clone(),
            _ => {
                let text = (self.read_figures)();
                self.last = Some((Instant::now(), text.clone()));
                text
            }
        }
    }
}

/// Whether a connection was lost before it was there, or a signal came in between: the next may be had at once.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

impl Connection {
    fn step(&mut self, figures: impl FnOnce() -> String) {
        if let State::Reading(request) = &mut self.state {
            let open = read(&mut self.stream, |bytes| request.extend_from_slice(bytes));
            self.state = match request_of(request) {
                Request::Metrics => State::Writing(response("200 OK", &figures()), 0),
                Request::Refused(status) => {
                    State::Writing(response(status, &format!("{status}\n")), 0)
                }
                Request::Partial if open => return,
                Request::Partial => State::Over,
            };
        }
        if let State::Writing(answer, written) = &mut self.state {
            while let Some(rest) = answer.get(*written..).filter(|rest| !rest.is_empty()) {
                match self.stream.write(rest) {
                    Ok(count) if count > 0 => *written += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(_) | Err(_) => {
                        self.state = State::Over;
                        return;
                    }
                }
            }
            self.state = match self.stream.shutdown(std::net::Shutdown::Write) {
                Ok(()) => State::Closing,
                Err(_) => State::Over,
            };
        }
        if matches!(self.state, State::Closing) && !read(&mut self.stream, |_| {}) {
            self.state = State::Over;
        }
    }
}

/// Reads what is there, [`REQUEST`] bytes at the most; `false` once nothing more can come.
fn read(stream: &mut TcpStream, mut each: impl FnMut(&[u8])) -> bool {
    let mut buffer = [0; 1 << 10];
    for _ in 0..REQUEST / buffer.len() {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => each(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

fn request_of(bytes: &[u8]) -> Request {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() >= REQUEST => {
            Request::Refused("431 Request Header Fields Too Large")
        }
        Ok(httparse::Status::Partial) => Request::Partial,
        Ok(httparse::Status::Complete(_)) => {
            let path = request.path.unwrap_or_default();
            // Prometheus may be told to send parameters; there are none here.
            let path = path.split('?').next().unwrap_or_default();
            match (request.method, path) {
                (Some("GET"), "/metrics") => Request::Metrics,
                (_, "/metrics") => Request::Refused("405 Method Not Allowed"),
                _ => Request::Refused("404 Not Found"),
            }
        }
        Err(httparse::Error::TooManyHeaders) => {
            Request::Refused("431 Request Header Fields Too Large")
        }
        Err(_) => Request::Refused("400 Bad Request"),
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    let allow = if status.starts_with("405") {
        "Allow: GET\r\n"
    } else {
        ""
    };
    format!(
        "HTTP/1.1 {status}\r\n{allow}Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;
