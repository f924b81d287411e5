//! A running JVM, its output and its end, under a time limit.
//!
//! Output goes to files: a pipe that nobody empties would block the program that is tested. A JVM
//! past its limit is asked for its threads (SIGQUIT), then killed, and both are in the error.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::launch::Launch;

const POLL: Duration = Duration::from_millis(20);
/// What a loaded machine may take longer. A limit finds what hangs, not what is slow.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time for the thread dump before the kill.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// What a look at CPU time can have grown by since the last at the most, for [`Running::burn`]: some clocks of CPU time
/// go on while a hypervisor has stopped the machine, and nothing was burnt then.
const MOST_BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// How much of an output an error quotes, bytes.
const QUOTE: usize = 6_000;

/// The right to load the machine. Two JVMs at once would take each other's CPU, and tests of one
/// file run in parallel.
#[derive(Debug)]
pub struct Machine {
    _turn: MutexGuard<'static, ()>,
}

impl Machine {
    /// Waits for one's turn. A failed test before is no reason not to run.
    pub fn turn() -> Machine {
        static TURN: Mutex<()> = Mutex::new(());
        Machine {
            _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// A JVM that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its process id while it ran.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

impl Finished {
    /// The lines the agent wrote.
    pub fn agent_lines(&self) -> Vec<&str> {
        self.stderr
            .lines()
            .filter(|line| line.starts_with("vtprof: "))
            .collect()
    }

    /// A `key=value` line of its standard output.
    ///
    /// # Panics
    /// There is none, or it is no number.
    pub fn figure(&self, key: &str) -> u64 {
        let value = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no {key}: {self:#?}"))
    }

    /// # Errors
    /// Any exit status but 0.
    pub fn success(self) -> Result<Finished> {
        if self.status.success() {
            return Ok(self);
        }
        let signal = self.status.signal();
        bail!(
            "the JVM ended with {} (signal {signal:?})\n--- stdout\n{}\n--- stderr\n{}",
            self.status,
            tail(&self.stdout),
            tail(&self.stderr)
        )
    }
}

/// A JVM that runs. Killed on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    deadline: Instant,
    limit: Duration,
}

impl Running {
    /// Starts it in `dir`, with a limit on its whole run: what it takes on an idle machine.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(launch: &Launch, dir: &Path, limit: Duration) -> Result<Running> {
        // A number a run: several in one folder keep their outputs.
        let number = fs::read_dir(dir)?.count();
        let stdout = dir.join(format!("stdout-{number}.txt"));
        let stderr = dir.join(format!("stderr-{number}.txt"));
        let mut command = launch.command(dir);
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Running {
            child,
            stdout,
            stderr,
            deadline: Instant::now() + limit + PATIENCE,
            limit: limit + PATIENCE,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its threads of that name, as folders of `/proc`; of none that ends meanwhile.
    ///
    /// # Errors
    /// It has ended.
    pub fn threads_named(&self, name: &str) -> Result<Vec<PathBuf>> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid()))?;
        let of_that_name = tasks.filter_map(|task| {
            let task = task.ok()?.path();
            let comm = fs::read_to_string(task.join("comm")).ok()?;
            (comm.trim_end() == name).then_some(task)
        });
        Ok(of_that_name.collect())
    }

    /// What it has written to standard output so far.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn stdout(&self) -> Result<String> {
        read_text(&self.stdout)
    }

    /// What it has written to standard error so far.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn stderr(&self) -> Result<String> {
        read_text(&self.stderr)
    }

    /// Looks again and again until there is something to see; `what` is waited for.
    ///
    /// # Errors
    /// It ends first, its time is up, or `look` fails.
    pub(crate) fn poll<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&Running) -> Result<Option<T>>,
    ) -> Result<T> {
        loop {
            // Asked before the look: what it said last is then there.
            let ended = self.child.try_wait()?;
            if let Some(seen) = look(self)? {
                return Ok(seen);
            }
            if let Some(status) = ended {
                bail!("ended with {status} before {what}: {}", self.outputs());
            }
            self.check_limit().with_context(|| what.to_owned())?;
            std::thread::sleep(POLL);
        }
    }

    /// Waits for a line of its standard output that starts so, and returns the rest of the line.
    ///
    /// # Errors
    /// It ends first, or its time is up.
    pub fn line(&mut self, start: &str) -> Result<String> {
        self.poll(&format!("it said {start:?}"), |running| {
            let stdout = running.stdout()?;
            let rest = stdout.lines().find_map(|line| line.strip_prefix(start));
            Ok(rest.map(str::to_owned))
        })
    }

    /// Waits until that is so; `what` is waited for.
    ///
    /// # Errors
    /// It ends first, or its time is up.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
        self.poll(what, |_| Ok(is_so().then_some(())))
    }

    /// CPU time that its threads have used so far, in ticks of the kernel's accounting (10 ms).
    ///
    /// # Errors
    /// It has ended, and is reaped.
    pub fn cpu(&self) -> Result<Duration> {
        cpu_of(self.pid())
    }

    /// Waits until it has used so much more CPU time: as much to judge on a busy machine as on an idle one.
    ///
    /// # Errors
    /// It ends first, or its time is up.
    pub fn burn(&mut self, cpu: Duration) -> Result<()> {
        let pid = self.pid();
        let (mut last, mut burnt) = (self.cpu()?, Duration::ZERO);
        self.until(&format!("it had used {cpu:?} of CPU"), || {
            // Unreadable once it has ended, which the caller sees.
            let now = cpu_of(pid).unwrap_or(last);
            burnt += now.saturating_sub(last).min(MOST_BETWEEN_LOOKS);
            last = now;
            burnt >= cpu
        })
    }

    /// Waits until its standard output is such as `is_so` says; `what` is waited for.
    ///
    /// # Errors
    /// It ends first, or its time is up.
    pub fn until_said(&mut self, what: &str, mut is_so: impl FnMut(&str) -> bool) -> Result<()> {
        self.poll(what, |running| Ok(is_so(&running.stdout()?).then_some(())))
    }

    /// Sends SIGTERM, the polite end.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn terminate(&self) -> Result<()> {
        self.signal(libc::SIGTERM)
    }

    /// Sends SIGINT, as a terminal does.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn interrupt(&self) -> Result<()> {
        self.signal(libc::SIGINT)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Its time is up: it is killed, and the message holds its thread dump.
    pub fn wait(mut self) -> Result<Finished> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Finished {
                    pid: self.pid(),
                    status,
                    stdout: self.stdout()?,
                    stderr: self.stderr()?,
                });
            }
            self.check_limit()?;
            std::thread::sleep(POLL);
        }
    }

    /// Whether it has ended by now.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// For those who wait for something of their own.
    ///
    /// # Errors
    /// Its time is up: it is killed, and the message holds its thread dump.
    pub fn check_limit(&mut self) -> Result<()> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        let why = format!("not done after {:?}", self.limit);
        self.kill_with_dump(&why)
    }

    /// Asks for a thread dump, kills it, and fails with `why` and the dump.
    ///
    /// # Errors
    /// Always.
    pub fn kill_with_dump(&mut self, why: &str) -> Result<()> {
        self.signal(libc::SIGQUIT)?;
        std::thread::sleep(LAST_WORDS);
        let threads = native_threads(self.pid());
        self.child.kill()?;
        self.child.wait()?;
        bail!("{why}: {}\n--- threads\n{threads}", self.outputs())
    }

    fn outputs(&self) -> String {
        let quote = |text: Result<String>| match text {
            Ok(text) => tail(&text).to_owned(),
            Err(error) => format!("unreadable: {error}"),
        };
        format!(
            "\n--- stdout\n{}\n--- stderr\n{}",
            quote(self.stdout()),
            quote(self.stderr())
        )
    }

    fn signal(&self, number: libc::c_int) -> Result<()> {
        let pid = libc::pid_t::try_from(self.pid())?;
        // SAFETY: plain system call. The child is not reaped yet, so the id is still its own.
        match unsafe { libc::kill(pid, number) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()).context("cannot signal the JVM"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only an unfinished one is still to be killed; `kill` on a reaped child is an error that
        // tells nothing.
        if matches!(self.child.try_wait(), Ok(None)) && self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// User and system time of a process.
fn cpu_of(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may hold anything; the third field follows it.
    let (_, fields) = stat.rsplit_once(") ").context("no name in stat")?;
    let ticks = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    // SAFETY: plain library call without memory.
    let hertz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(Duration::from_millis(
        ticks * 1_000 / u64::try_from(hertz)?.max(1),
    ))
}

/// Name and state of each thread, for a JVM too stuck to dump itself.
fn native_threads(pid: u32) -> String {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return "none".to_owned();
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok())
        .map(|stat| stat.split(' ').take(4).collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a text, on a character's border.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(QUOTE);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
