//! The Helidon service under load, from its start to its polite end.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::artifacts;
use crate::attach::jcmd;
use crate::jdk::Jdk;
use crate::jvm::{Finished, Running};
use crate::launch::Launch;

const START_LIMIT: Duration = Duration::from_secs(120);
/// The most that a number of answers may take.
pub const MOST_SECONDS: u32 = 300;

/// A service that answers.
#[derive(Debug)]
pub struct Service {
    running: Running,
    url: String,
}

impl Service {
    /// Starts the demo service in `dir` with the flags of `launch`, and waits until it listens.
    /// Its truth goes to `truth.log` there.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start(launch: Launch, dir: &Path, limit: Duration) -> Result<Service> {
        let launch = launch.jar(artifacts::helidon_demo()?).program([
            "io.vtprof.demo.Service",
            "--port=0",
            "--truth=truth.log",
        ]);
        let mut running = Running::start(&launch, dir, START_LIMIT + limit)?;
        let url = running.line("listening on ")?;
        Ok(Service { running, url })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Drives it for that long and returns what the driver printed.
    ///
    /// # Errors
    /// An answer was not 200.
    pub fn load(&self, jdk: &Jdk, dir: &Path, seconds: u32) -> Result<String> {
        self.drive(jdk, dir, &[format!("--seconds={seconds}")], seconds)
    }

    /// Drives it until there are so many answers in all, each endpoint's in its share, and returns what the driver
    /// printed.
    ///
    /// # Errors
    /// An answer was not 200, or there are not that many in five minutes.
    pub fn answers(&self, jdk: &Jdk, dir: &Path, answers: u32) -> Result<String> {
        let words = [
            format!("--answers={answers}"),
            format!("--seconds={MOST_SECONDS}"),
        ];
        self.drive(jdk, dir, &words, MOST_SECONDS)
    }

    fn drive(&self, jdk: &Jdk, dir: &Path, words: &[String], seconds: u32) -> Result<String> {
        let url = format!("--url={}", self.url);
        let mut program = vec!["io.vtprof.demo.Load".to_owned(), url];
        program.extend(words.iter().cloned());
        let driver = Launch::new(jdk)
            .jar(artifacts::helidon_demo()?)
            .program(program);
        let limit = Duration::from_secs(u64::from(seconds)) + START_LIMIT;
        let finished = Running::start(&driver, dir, limit)?
            .wait()
            .and_then(Finished::success)
            .context("the load driver")?;
        Ok(finished.stdout)
    }

    /// Resident memory that is no file's, bytes, once `malloc` has given back what nobody holds, where the JVM can
    /// have it do so.
    ///
    /// # Errors
    /// `/proc` does not say, or `jcmd` cannot be run.
    pub fn anonymous_bytes(&self, jdk: &Jdk) -> Result<u64> {
        if let Some(mut jcmd) = jcmd(jdk, self.pid()) {
            jcmd.arg("System.trim_native_heap").output()?;
        }
        self.bytes("RssAnon:")
    }

    fn bytes(&self, key: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let Some(line) = status.lines().find_map(|line| line.strip_prefix(key)) else {
            bail!("no {key} of {}", self.pid());
        };
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }

    /// SIGTERM, then its end. 143 is how a JVM ends that was asked to.
    ///
    /// # Errors
    /// It ends in another way, or not at all.
    pub fn stop(self) -> Result<Finished> {
        const ON_SIGTERM: i32 = 128 + libc::SIGTERM;
        self.running.terminate()?;
        let finished = self.running.wait()?;
        if finished.status.code() == Some(ON_SIGTERM) {
            return Ok(finished);
        }
        bail!("ended with {}: {}", finished.status, finished.stderr)
    }
}
