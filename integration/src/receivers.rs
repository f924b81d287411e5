//! Servers that profiles are sent to, of their makers' own code: `scripts/receivers.sh` builds them. A test that wants one
//! which is not there says so and is skipped, unless `VTPROF_REQUIRE_RECEIVERS=pyroscope,otlp,collector` names it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use vtprof_deliver::request::Request;

use crate::artifacts::repository;
use crate::report::say;

/// How long a server may take for anything, on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Receiver {
    child: Child,
    address: String,
    lines: mpsc::Receiver<String>,
}

fn program(name: &str, test: &str) -> Result<Option<PathBuf>> {
    let program = repository().join(".toolchain/receivers").join(name);
    if program.is_file() {
        return Ok(Some(program));
    }
    let required = std::env::var("VTPROF_REQUIRE_RECEIVERS").unwrap_or_default();
    ensure!(
        !required.split(',').any(|required| required.trim() == name),
        "{test}: no {name} receiver, and VTPROF_REQUIRE_RECEIVERS={required} wants it: scripts/receivers.sh {name} builds it"
    );
    say(&format!(
        "SKIPPED {test}: no {name} receiver here, scripts/receivers.sh {name} builds it where there are Go and its modules"
    ));
    Ok(None)
}

impl Receiver {
    /// The receiver on Pyroscope's types, with these flags; `None` where it was not built.
    ///
    /// # Errors
    /// It does not start.
    pub fn pyroscope(test: &str, flags: &[&str]) -> Result<Option<Self>> {
        Self::own("pyroscope", test, flags)
    }

    /// The receiver on the Collector's types; `None` where it was not built.
    ///
    /// # Errors
    /// It does not start.
    pub fn otlp(test: &str) -> Result<Option<Self>> {
        Self::own("otlp", test, &[])
    }

    fn own(name: &str, test: &str, flags: &[&str]) -> Result<Option<Self>> {
        let Some(program) = program(name, test)? else {
            return Ok(None);
        };
        let mut started = Self::start(Command::new(program).args(flags))?;
        started.address = started.line().context("the address")?;
        Ok(Some(started))
    }

    /// The OpenTelemetry Collector, which prints what it takes and sends it on to `next`; `None` where it was not built.
    ///
    /// # Errors
    /// It does not start.
    pub fn collector(test: &str, next: &Receiver) -> Result<Option<Self>> {
        let Some(program) = program("collector", test)? else {
            return Ok(None);
        };
        let config = repository().join("integration/receivers/collector/config.yaml");
        // Free now; whoever takes it before the Collector does makes the test fail, and not pass.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(config)
            .arg("--feature-gates=service.profilesSupport")
            .env("PORT", port.to_string())
            .env("FORWARD", &next.address);
        let mut started = Self::start(&mut command)?;
        started.address = format!("127.0.0.1:{port}");
        let begin = Instant::now();
        while TcpStream::connect(&started.address).is_err() {
            ensure!(begin.elapsed() < LIMIT, "the Collector does not listen");
            if let Some(status) = started.child.try_wait()? {
                bail!("the Collector has ended: {status}");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(started))
    }

    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        let out = child.stdout.take().context("its output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(|line| line.ok()) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Receiver {
            child,
            address: String::new(),
            lines,
        })
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The next line it prints.
    ///
    /// # Errors
    /// None in a minute, or it has ended.
    pub fn line(&self) -> Result<String> {
        Ok(self.lines.recv_timeout(LIMIT)?)
    }

    /// All that it prints until it has printed nothing for that long.
    #[must_use]
    pub fn lines_until_quiet(&self, quiet: Duration) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match self.lines.recv_timeout(quiet) {
                Ok(line) => all.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return all,
            }
        }
    }

    /// Sends a request as it is, and returns status and body of the answer.
    ///
    /// # Errors
    /// There is no answer.
    pub fn post(&self, request: &Request) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let path = match request.path.as_str() {
            path if path.starts_with('/') => path.to_owned(),
            query => format!("/{query}"),
        };
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.address,
            request.body.len()
        );
        if !request.content_type.is_empty() {
            head += &format!("Content-Type: {}\r\n", request.content_type);
        }
        if request.gzip {
            head += "Content-Encoding: gzip\r\n";
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        stream.write_all(&request.body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
        let status = head.split(' ').nth(1).context("a status")?;
        Ok((status.parse()?, body.to_owned()))
    }

    /// As [`post`](Self::post), and the server has taken it.
    ///
    /// # Errors
    /// There is no answer, or one that is not 200.
    pub fn take(&self, request: &Request) -> Result<()> {
        let (status, body) = self.post(request)?;
        ensure!(status == 200, "{status} for {}: {body}", request.path);
        Ok(())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
