//! Another process, as `/proc` tells of it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open, pidfd_send_signal,
};

use super::root::Root;

/// Of HotSpot; every JVM has it in its memory.
const VM_LIBRARY: &str = "/libjvm.so";
/// The flag with which a JVM takes no requests.
const DEAF: &[u8] = b"-XX:+DisableAttachMechanism";

/// A process that is there, or was when it was looked at.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// Another process that gets the same number later is not this one; `None` on kernels before 5.3.
    handle: Option<OwnedFd>,
    status: Status,
    /// When it began, ticks since the machine's start: tells it from a later one of its number.
    started: u64,
}

/// What `/proc/PID/status` says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Status {
    name: String,
    state: char,
    /// The process, where the number is that of one of its threads.
    process: u32,
    /// Its number in its own namespace.
    inner_pid: u32,
    /// Effective.
    user: u32,
    /// Whether a handler takes SIGQUIT. It ends the process else.
    catches_quit: bool,
}

impl Status {
    fn of(text: &str) -> Option<Self> {
        let field = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.strip_prefix(':')?.trim())
        };
        let caught = u64::from_str_radix(field("SigCgt")?, 16).ok()?;
        let process = field("Tgid")?.parse().ok()?;
        // Kernels before 4.1 have no line of namespaces.
        let inner =
            field("NSpid").and_then(|pids| pids.split_whitespace().next_back()?.parse().ok());
        Some(Status {
            name: field("Name")?.to_owned(),
            state: field("State")?.chars().next()?,
            process,
            inner_pid: inner.unwrap_or(process),
            user: field("Uid")?.split_whitespace().nth(1)?.parse().ok()?,
            catches_quit: caught & (1 << (Signal::QUIT.as_raw() - 1)) != 0,
        })
    }
}

impl Process {
    /// The process of that number.
    ///
    /// # Errors
    /// There is none, it has ended, or the number is that of a thread.
    pub fn find(number: u32) -> Result<Self> {
        let none = || anyhow!("there is no process {number}");
        let pid = i32::try_from(number)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(none)?;
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Some(handle),
            Err(Errno::SRCH) => return Err(none()),
            // A thread is told below; a kernel without it is none of the user's business.
            Err(_) => None,
        };
        let status = read_status(number)?.ok_or_else(none)?;
        if status.process != number {
            bail!(
                "{number} is a thread of process {}: name that one",
                status.process
            );
        }
        if matches!(status.state, 'Z' | 'X') {
            bail!("process {number} ({}) has ended", status.name);
        }
        let started = start_time(number).ok_or_else(none)?;
        Ok(Process {
            pid,
            handle,
            status,
            started,
        })
    }

    /// What it is called in messages.
    pub fn named(&self) -> String {
        format!("process {} ({})", self.number(), self.status.name)
    }

    pub fn number(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Its number in its own namespace: what it calls itself.
    pub fn inner_number(&self) -> u32 {
        self.status.inner_pid
    }

    pub fn user(&self) -> u32 {
        self.status.user
    }

    /// The files that it sees.
    ///
    /// # Errors
    /// This user may not look at them, or it has ended.
    pub fn root(&self) -> Result<Root> {
        Root::of(&self.folder()).map_err(|error| anyhow!("the files of {}: {error}", self.named()))
    }

    /// A path of the process's, as a person finds it: the same, where both see the same files. Not one to open.
    pub fn seen_if_other(&self, path: &Path) -> PathBuf {
        if self.has_another_root() {
            let inner = path.strip_prefix("/").unwrap_or(path);
            self.folder().join("root").join(inner)
        } else {
            path.to_owned()
        }
    }

    /// Its working directory, as the process sees it.
    pub fn working_directory(&self) -> Result<PathBuf> {
        fs::read_link(self.folder().join("cwd"))
            .with_context(|| format!("the working directory of {}", self.named()))
    }

    /// Its folder in `/proc`.
    pub fn folder(&self) -> PathBuf {
        Path::new("/proc").join(self.number().to_string())
    }

    /// A variable of the environment it was started with.
    pub fn variable(&self, name: &str) -> Option<String> {
        let environment = fs::read(self.folder().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).find_map(|pair| {
            let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
    }

    /// Whether it may see other files than this program does, as in a container or under systemd's `PrivateTmp=`.
    pub fn has_another_root(&self) -> bool {
        let own = Path::new("/proc/self");
        let root = |folder: &Path| {
            fs::metadata(folder.join("root/."))
                .ok()
                .map(|root| identity(&root))
        };
        let mounts = |folder: &Path| fs::read_link(folder.join("ns/mnt")).ok();
        let its = self.folder();
        root(own).zip(mounts(own)) != root(&its).zip(mounts(&its))
    }

    /// The options of an agent of that name that it was started with.
    pub fn agent_options(&self, library: &str) -> Option<String> {
        let command = fs::read(self.folder().join("cmdline")).ok()?;
        let in_environment = self.variable("JAVA_TOOL_OPTIONS").unwrap_or_default();
        let words = command.split(|byte| *byte == 0);
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
        let more = in_environment.split_whitespace();
        let more = more.map(|word| word.trim_matches(['\'', '"']).to_owned());
        words.chain(more).find_map(|word| {
            let agent = word.strip_prefix("-agentpath:")?;
            let (path, options) = agent.split_once('=').unwrap_or((agent, ""));
            path.ends_with(library).then(|| options.to_owned())
        })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        let status = read_status(self.number());
        let runs = matches!(status, Ok(Some(status)) if !matches!(status.state, 'Z' | 'X'));
        runs && start_time(self.number()) == Some(self.started)
    }

    /// That this user may ask it: who it belongs to, or root.
    ///
    /// # Errors
    /// Another user's, and who may.
    pub fn check_user(&self) -> Result<()> {
        let own = geteuid();
        if !own.is_root() && own.as_raw() != self.user() {
            bail!(
                "{} belongs to user {}, this is user {}: run as that user, or as root",
                self.named(),
                self.user(),
                own.as_raw()
            );
        }
        Ok(())
    }

    /// The files it has in its memory, as it sees them.
    ///
    /// # Errors
    /// This user may not know.
    pub fn mapped(&self) -> Result<Vec<String>> {
        self.check_user()?;
        let maps = fs::read_to_string(self.folder().join("maps")).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => anyhow!(
                "what {} has in its memory may not be read: run as root, in a container with CAP_SYS_PTRACE",
                self.named()
            ),
            _ => anyhow!("{}: {error}", self.named()),
        })?;
        let paths = maps
            .lines()
            .filter_map(|line| line.find('/').map(|at| &line[at..]));
        let mut paths: Vec<_> = paths.map(str::to_owned).collect();
        paths.dedup();
        Ok(paths)
    }

    /// That it is a JVM that takes requests.
    ///
    /// # Errors
    /// It is not. Nothing may be sent to it then: the signal ends any other process.
    pub fn check_jvm(&self) -> Result<()> {
        let mapped = self.mapped()?;
        let is_vm = |path: &String| path.trim_end_matches(" (deleted)").ends_with(VM_LIBRARY);
        if !mapped.iter().any(is_vm) {
            bail!(
                "{} is no HotSpot JVM: there is no libjvm.so in it",
                self.named()
            );
        }
        if mapped.iter().any(|path| path.contains("/ld-musl-")) {
            bail!(
                "{} runs on musl: the agent needs a JVM for glibc",
                self.named()
            );
        }
        let command = fs::read(self.folder().join("cmdline")).unwrap_or_default();
        if command.split(|byte| *byte == 0).any(|word| word == DEAF) {
            bail!(
                "{} takes no requests: it was started with -XX:+DisableAttachMechanism; start it with -agentpath or vtprof run",
                self.named()
            );
        }
        if self.status.state == 'T' {
            bail!("{} is stopped: let it go on with kill -CONT", self.named());
        }
        Ok(())
    }

    /// Asks the JVM to listen.
    ///
    /// # Errors
    /// It does not catch SIGQUIT, which would end it. (With `-Xrs` it never does, and listens from its start.)
    pub fn quit_signal(&self) -> Result<()> {
        let status = read_status(self.number())?;
        if !status.is_some_and(|status| status.catches_quit) {
            bail!(
                "{} does not catch SIGQUIT yet, which would end it: it is just starting; try again",
                self.named()
            );
        }
        let sent = match &self.handle {
            Some(handle) => pidfd_send_signal(handle, Signal::QUIT),
            None if self.is_alive() => kill_process(self.pid, Signal::QUIT),
            None => Err(Errno::SRCH),
        };
        sent.map_err(|error| anyhow!("{} cannot be asked to listen: {error}", self.named()))
    }
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// `None` of a process that is not there.
fn read_status(pid: u32) -> Result<Option<Status>> {
    let path = format!("/proc/{pid}/status");
    match fs::read_to_string(&path) {
        Ok(text) => Status::of(&text)
            .map(Some)
            .with_context(|| format!("{path} is none that this program can read")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // Of one that ends while it is read.
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(anyhow!("{path}: {error}")),
    }
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nPid:\t4711\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t4711\t7\nSigCgt:\t2000000181005ccf\n";

    #[test]
    fn a_status_tells_user_namespace_and_what_is_caught() {
        let status = Status::of(STATUS).expect("a status");
        assert_eq!(
            status,
            Status {
                name: "java".into(),
                state: 'S',
                process: 4711,
                inner_pid: 7,
                user: 1001,
                catches_quit: true,
            }
        );
        let deaf = STATUS.replace("2000000181005ccf", "2000000181005ccb");
        assert!(!Status::of(&deaf).expect("a status").catches_quit);
        let old = STATUS.replace("NSpid:\t4711\t7\n", "");
        assert_eq!(Status::of(&old).expect("a status").inner_pid, 4711);
        assert_eq!(Status::of("Name:\tjava\n"), None);
    }

    #[test]
    fn a_thread_is_no_process_and_this_program_is_no_jvm() {
        let own = Process::find(std::process::id()).expect("this one");
        assert!(own.is_alive() && !own.has_another_root());
        let refused = own.check_jvm().expect_err("no JVM").to_string();
        assert!(refused.contains("is no HotSpot JVM"), "{refused}");
        let refused = own.quit_signal().expect_err("fatal").to_string();
        assert!(refused.contains("would end it"), "{refused}");

        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || receive.recv());
        let tasks = fs::read_dir("/proc/self/task").expect("tasks");
        let other = tasks
            .filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok())
            .find(|task| *task != std::process::id())
            .expect("a second thread");
        let refused = Process::find(other).expect_err("a thread").to_string();
        assert!(refused.contains("is a thread of process"), "{refused}");
        drop(send);
        assert!(thread.join().expect("no panic").is_err());
    }
}
