//! The command line of one JVM: flags, program, environment.
//!
//! A type and not a `Command` at hand in each test: every run must be free of what the caller's
//! environment would slip in (`JAVA_TOOL_OPTIONS`, `OTEL_*`, `VTPROF_*`).

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::artifacts;
use crate::confinement::Confinement;
use crate::jdk::Jdk;

/// What all JVMs have in their environment: on a loaded machine the last profile takes longer than an end should, and the
/// rates of a test are to stay what the test asks for.
pub const PATIENCE: (&str, &str) = ("VTPROF_OPTS", "flush=2m,max_overhead=off");

/// Variables with these prefixes are not handed down.
const FOREIGN: [&str; 6] = [
    "VTPROF_",
    "OTEL_",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
];

/// A JVM to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    jdk: Jdk,
    flags: Vec<OsString>,
    class_path: Vec<PathBuf>,
    program: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    confinement: Option<Confinement>,
}

impl Launch {
    /// A JVM of that JDK, without flags and program yet.
    pub fn new(jdk: &Jdk) -> Launch {
        Launch {
            jdk: jdk.clone(),
            flags: Vec::new(),
            class_path: Vec::new(),
            program: Vec::new(),
            environment: Vec::new(),
            confinement: None,
        }
    }

    /// The JDK it runs on.
    pub fn jdk(&self) -> &Jdk {
        &self.jdk
    }

    /// Adds a JVM flag, in the order of the calls.
    #[must_use]
    pub fn flag(mut self, flag: impl AsRef<OsStr>) -> Launch {
        self.flags.push(flag.as_ref().to_owned());
        self
    }

    /// Adds JVM flags.
    #[must_use]
    pub fn flags<S: AsRef<OsStr>>(self, flags: impl IntoIterator<Item = S>) -> Launch {
        flags.into_iter().fold(self, Launch::flag)
    }

    /// Loads the agent with these options; none at all where the text is empty.
    ///
    /// # Errors
    /// There is no agent to load.
    pub fn agent(self, options: &str) -> Result<Launch> {
        Ok(self.agent_at(&artifacts::agent()?, options))
    }

    /// Loads the agent from that path.
    #[must_use]
    pub fn agent_at(self, library: &Path, options: &str) -> Launch {
        let mut flag = OsString::from("-agentpath:");
        flag.push(library);
        if !options.is_empty() {
            flag.push("=");
            flag.push(options);
        }
        self.flag(flag)
    }

    /// Loads the OpenTelemetry javaagent, which exports nothing.
    ///
    /// # Errors
    /// There is no javaagent.
    pub fn javaagent(self) -> Result<Launch> {
        let mut flag = OsString::from("-javaagent:");
        flag.push(artifacts::javaagent()?);
        Ok(self
            .flag(flag)
            .env("OTEL_TRACES_EXPORTER", "none")
            .env("OTEL_METRICS_EXPORTER", "none")
            .env("OTEL_LOGS_EXPORTER", "none"))
    }

    /// Limits the scheduler of virtual threads to that many carriers.
    #[must_use]
    pub fn carriers(self, count: u32) -> Launch {
        self.flag(format!("-Djdk.virtualThreadScheduler.parallelism={count}"))
            .flag(format!("-Djdk.virtualThreadScheduler.maxPoolSize={count}"))
    }

    /// Puts a jar on the class path, in the order of the calls.
    #[must_use]
    pub fn jar(mut self, jar: impl Into<PathBuf>) -> Launch {
        self.class_path.push(jar.into());
        self
    }

    /// The main class and what follows it.
    #[must_use]
    pub fn program<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Launch {
        self.program = words
            .into_iter()
            .map(|word| word.as_ref().to_owned())
            .collect();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Launch {
        self.environment
            .push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Takes something from the process before it becomes a JVM.
    #[must_use]
    pub fn confined(mut self, confinement: Confinement) -> Launch {
        self.confinement = Some(confinement);
        self
    }

    /// A program beside the one that knows the truth: its simple class name and its arguments.
    ///
    /// # Errors
    /// The jar is missing.
    pub fn plain_program<S: AsRef<str>>(
        self,
        class: &str,
        words: impl IntoIterator<Item = S>,
    ) -> Result<Launch> {
        let mut program = vec![format!("io.vtprof.truth.{class}")];
        program.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        Ok(self.jar(artifacts::truth_program()?).program(program))
    }

    /// The program that knows the truth, with the shim on its class path.
    ///
    /// # Errors
    /// One of the jars is missing.
    pub fn truth_program<S: AsRef<OsStr>>(
        self,
        words: impl IntoIterator<Item = S>,
    ) -> Result<Launch> {
        let launch = self
            .jar(artifacts::truth_program()?)
            .jar(artifacts::shim()?);
        Ok(launch.bare_truth_program(words))
    }

    /// The same, where the class path is set already: under the javaagent the shim comes by
    /// another way.
    #[must_use]
    pub fn bare_truth_program<S: AsRef<OsStr>>(self, words: impl IntoIterator<Item = S>) -> Launch {
        // A request's frames must not be inlined into one method with another's: then a frame, not
        // a tag, could be wrong.
        let launch = self
            .flag("-XX:CompileCommand=quiet")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.burn.*::work");
        let mut program: Vec<OsString> = vec!["io.vtprof.truth.Truth".into()];
        program.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        launch.program(program)
    }

    /// The command, to run in `dir`.
    pub(crate) fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(self.jdk.home.join("bin/java"));
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            if FOREIGN.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(&key);
            }
        }
        command
            .current_dir(dir)
            .args(&self.flags)
            .env(PATIENCE.0, PATIENCE.1)
            .envs(self.environment.iter().map(|(key, value)| (key, value)));
        if let Ok(class_path) = std::env::join_paths(&self.class_path)
            && !class_path.is_empty()
        {
            command.arg("-cp").arg(class_path);
        }
        command.args(&self.program);
        if let Some(confinement) = self.confinement {
            // SAFETY: a confinement makes system calls and nothing else.
            unsafe { command.pre_exec(confinement) };
        }
        command
    }
}
