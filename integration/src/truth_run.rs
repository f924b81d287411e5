//! One run of the truth program under the agent, from its flags to its verdict.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::confinement::Confinement;
use crate::jdk::{self, Jdk};
use crate::jvm::{Finished, Machine, Running};
use crate::launch::Launch;
use crate::recording::{Recording, Sample, Tag};
use crate::report::say;
use crate::sums::{at_least_half, ticks_of_untagged};
use crate::truth::TruthLog;
use crate::verdict::Verdict;
use crate::workdir::WorkDir;

/// How the agent learns which thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The agent's choice.
    Auto,
    /// Mount events.
    Mount,
    /// The handler looks.
    Sample,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Auto => "auto",
            Strategy::Mount => "mount",
            Strategy::Sample => "sample",
        })
    }
}

impl Strategy {
    /// Most samples inside a span that may lose their tag by this strategy, 0 to 1.
    pub fn untagged_limit(self) -> f64 {
        match self {
            Strategy::Sample => 0.001,
            Strategy::Mount | Strategy::Auto => 0.01,
        }
    }
}

/// Each JDK with virtual threads that is here, by each strategy it can do.
pub fn virtual_configurations(test: &str) -> Vec<(Jdk, Strategy)> {
    let mut configurations = Vec::new();
    for jdk in jdk::each_from(jdk::VIRTUAL_THREADS, test) {
        configurations.push((jdk.clone(), Strategy::Mount));
        if jdk.feature >= 24 {
            configurations.push((jdk, Strategy::Sample));
        }
    }
    configurations
}

/// Runs a scenario on each of [`virtual_configurations`] until that much CPU time is burnt, ms, and asserts that
/// its tags are right, few of them missing; `each` asserts what the scenario has of its own.
///
/// # Panics
/// What was asserted does not hold, or a run failed.
pub fn assert_tags_are_right(test: &str, scenario: &str, work: u32, each: impl Fn(&Outcome)) {
    for (jdk, strategy) in virtual_configurations(test) {
        let run = TruthRun::new(&jdk, scenario, strategy)
            .seconds(4)
            .argument(format!("--work={work}"))
            .carriers(2)
            .run()
            .expect("a run");
        run.verdict.assert_no_wrong_tag();
        run.verdict.assert_all_named();
        run.verdict
            .assert_untagged_at_most(strategy.untagged_limit());
        each(&run);
        assert!(run.verdict.right > 100, "{}", run.verdict);
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct TruthRun {
    /// On which JDK.
    pub jdk: Jdk,
    /// The program's scenario.
    pub scenario: String,
    /// By which strategy.
    pub strategy: Strategy,
    /// How long its load lasts; the start comes on top.
    pub seconds: u32,
    /// Carriers of virtual threads; `None` leaves the JVM's choice.
    pub carriers: Option<u32>,
    /// Value of the agent's `cpu` key.
    pub rate: String,
    /// Value of the agent's `every` key.
    pub every: String,
    /// Further options of the agent, each behind a comma.
    pub options: String,
    /// Further arguments of the program.
    pub arguments: Vec<String>,
    /// Further flags of the JVM.
    pub flags: Vec<String>,
    /// Value of the agent's `log` key.
    pub log: String,
    /// What is taken from the process.
    pub confinement: Option<Confinement>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The program's own account.
    pub log: TruthLog,
    /// The agent's profiles.
    pub recording: Recording,
    /// Each sample judged.
    pub verdict: Verdict,
    /// The JVM's end and output.
    pub finished: Finished,
    /// The folder with all of it.
    pub dir: WorkDir,
}

impl Outcome {
    /// Holds that a tag is of a span of that class.
    ///
    /// # Panics
    /// It is not.
    pub fn assert_tag_is_of(&self, tag: &Tag, burner: &str, sample: &Sample) {
        let span = self.log.spans.get(&tag.span);
        let span = span.unwrap_or_else(|| panic!("{tag} is no span of the program"));
        assert_eq!(
            (span.burner.as_str(), span.trace, span.local_root),
            (burner, tag.trace, tag.local_root),
            "{tag}: {:?}",
            sample.frames
        );
    }

    /// Holds that what this class burnt without a span was seen, so that a wrong tag would have been: at least half
    /// of the ticks that it had by its own count, and of those so many.
    ///
    /// # Panics
    /// It burnt less, or was seen less.
    pub fn assert_untagged_work_was_seen(&self, burner: &str, least_ticks: f64) {
        let seen = self.verdict.samples_of(burner);
        let burnt = ticks_of_untagged(&self.log, burner, self.recording.grain()).expect("ticks");
        say(&format!(
            "{burner} on {}: {burnt:.0} ticks burnt, {seen} seen",
            self.recording.fact("jvm").unwrap_or("?")
        ));
        assert!(burnt >= least_ticks, "only {burnt} ticks: {}", self.verdict);
        assert!(
            at_least_half(seen, burnt),
            "{seen} of {burnt}: {}",
            self.verdict
        );
    }
}

impl TruthRun {
    /// Ten seconds at the highest rate.
    pub fn new(jdk: &Jdk, scenario: &str, strategy: Strategy) -> TruthRun {
        TruthRun {
            jdk: jdk.clone(),
            scenario: scenario.to_owned(),
            strategy,
            seconds: 10,
            carriers: None,
            rate: "1000hz".to_owned(),
            every: "10s".to_owned(),
            options: String::new(),
            arguments: Vec::new(),
            flags: Vec::new(),
            log: "debug".to_owned(),
            confinement: None,
        }
    }

    /// Sets the length of the load.
    #[must_use]
    pub fn seconds(mut self, seconds: u32) -> TruthRun {
        self.seconds = seconds;
        self
    }

    /// Sets the number of carriers.
    #[must_use]
    pub fn carriers(mut self, carriers: u32) -> TruthRun {
        self.carriers = Some(carriers);
        self
    }

    /// Adds an argument of the program.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> TruthRun {
        self.arguments.push(argument.into());
        self
    }

    /// Adds a flag of the JVM.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> TruthRun {
        self.flags.push(flag.into());
        self
    }

    /// Adds flags of the JVM.
    #[must_use]
    pub fn flags<S: Into<String>>(self, flags: impl IntoIterator<Item = S>) -> TruthRun {
        flags.into_iter().fold(self, TruthRun::flag)
    }

    /// Lets the agent say only what is wrong.
    #[must_use]
    pub fn quiet(mut self) -> TruthRun {
        "warn".clone_into(&mut self.log);
        self
    }

    /// Adds an option of the agent.
    #[must_use]
    pub fn option(mut self, option: &str) -> TruthRun {
        self.options.push(',');
        self.options.push_str(option);
        self
    }

    /// Sets the length of a window.
    #[must_use]
    pub fn every(mut self, every: &str) -> TruthRun {
        every.clone_into(&mut self.every);
        self
    }

    /// Takes something from the process before it becomes a JVM.
    #[must_use]
    pub fn confined(mut self, confinement: Confinement) -> TruthRun {
        self.confinement = Some(confinement);
        self
    }

    /// Sets the sampling rate.
    #[must_use]
    pub fn rate(mut self, rate: &str) -> TruthRun {
        rate.clone_into(&mut self.rate);
        self
    }

    /// Runs it, reads all it left, and prints the verdict in one line.
    ///
    /// # Errors
    /// The run fails, hangs, leaves no profile or an unreadable one, or another strategy than the
    /// wanted one was in force.
    pub fn run(&self) -> Result<Outcome> {
        let _machine = Machine::turn();
        let dir = WorkDir::new(&self.scenario)?;
        let launch = self.launch()?;
        // Counting scenarios know no time; the rest may take long to wind down on one carrier.
        let limit = Duration::from_secs(u64::from(self.seconds) + 180);
        let finished = Running::start(&launch, dir.path(), limit)?
            .wait()
            .and_then(Finished::success)
            .with_context(|| self.to_string())?;
        let log = TruthLog::read(&dir.path().join("truth.log"))?;
        let recording = Recording::read(&dir.path().join("out"))
            .with_context(|| format!("{self}; the agent said {:#?}", finished.agent_lines()))?;
        let verdict = Verdict::of(&recording, &log);
        say(&format!(
            "{self}, seed {}: {verdict}",
            log.fact::<String>("seed")?
        ));
        if self.strategy != Strategy::Auto {
            let in_force = recording.fact("context.strategy").unwrap_or("none");
            ensure!(
                in_force.starts_with(&self.strategy.to_string()),
                "{self}: in force was {in_force}"
            );
        }
        Ok(Outcome {
            log,
            recording,
            verdict,
            finished,
            dir,
        })
    }

    /// The JVM of this run.
    ///
    /// # Errors
    /// Something to run is missing.
    pub fn launch(&self) -> Result<Launch> {
        let options = format!(
            "cpu={},out=out,every={},service=truth,context={},log={}{}",
            self.rate, self.every, self.strategy, self.log, self.options
        );
        let mut words = vec![
            self.scenario.clone(),
            format!("--seconds={}", self.seconds),
            "--log=truth.log".to_owned(),
        ];
        words.extend(self.arguments.iter().cloned());
        let mut launch = Launch::new(&self.jdk).agent(&options)?.flags(&self.flags);
        if let Some(carriers) = self.carriers {
            launch = launch.carriers(carriers);
        }
        if let Some(confinement) = self.confinement {
            launch = launch.confined(confinement);
        }
        launch.truth_program(words)
    }
}

impl fmt::Display for TruthRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} on {} by {}",
            self.scenario, self.jdk.version, self.strategy
        )?;
        if let Some(carriers) = self.carriers {
            write!(f, ", {carriers} carrier(s)")?;
        }
        Ok(())
    }
}
