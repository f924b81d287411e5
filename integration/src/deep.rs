//! Whether the stacks of the program of deep stacks are whole: its methods' names say where they belong.
//!
//! Each frame allows only certain callers, the ladder's steps exactly one, and the levels of recursion are
//! known from where it began and where it rests. So a frame that is missing, doubled or another thread's
//! shows, and a stack is whole, truncated with its reason, or wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::artifacts;
use crate::injecting;
use crate::jdk::Jdk;
use crate::jvm::{Finished, Machine, Running};
use crate::launch::Launch;
use crate::recording::Recording;
use crate::report::say;
use crate::workdir::WorkDir;

const ROOT: &str = "jdk.internal.vm.Continuation.enter";
const PACKAGE: &str = "io.vtprof.truth.";
/// Wrong stacks that are quoted.
const QUOTED: usize = 5;

/// A frame of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Burn,
    Leaf,
    /// With the levels of recursion below, modulo 4.
    Rest(u32),
    Recurse,
    ClimbUp,
    ClimbBottom,
    JobUp,
    JobBottom,
    Step(u32),
    Work,
    /// The program's, but not one that chains are judged by: the lambda of the thread.
    Other,
}

impl Frame {
    fn of(name: &str) -> Option<Frame> {
        let name = name.strip_prefix(PACKAGE)?;
        if name.starts_with("Antagonists") {
            // Threads of the platform, which are not judged.
            return None;
        }
        let numbered = |prefix: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        Some(match name {
            "DeepStacks.burn" => Frame::Burn,
            "DeepStacks.leaf" => Frame::Leaf,
            "DeepStacks.recurse" => Frame::Recurse,
            "DeepStacks$Climb.up" => Frame::ClimbUp,
            "DeepStacks$Climb.bottom" => Frame::ClimbBottom,
            "Ladder$Job.up" => Frame::JobUp,
            "Ladder$Job.bottom" => Frame::JobBottom,
            "DeepStacks.work" => Frame::Work,
            _ => {
                if let Some(step) = numbered("Ladder.d") {
                    Frame::Step(step)
                } else if let Some(levels) = numbered("DeepStacks.rest") {
                    Frame::Rest(levels)
                } else {
                    Frame::Other
                }
            }
        })
    }

    /// Whether `caller` may call this.
    fn may_be_called_by(self, caller: Frame) -> bool {
        match self {
            Frame::Burn => matches!(caller, Frame::Leaf | Frame::Rest(_) | Frame::ClimbUp),
            Frame::Leaf | Frame::Recurse => {
                matches!(caller, Frame::Recurse | Frame::ClimbBottom)
            }
            Frame::Rest(_) => caller == Frame::Recurse,
            Frame::ClimbUp => caller == Frame::JobUp,
            Frame::ClimbBottom => caller == Frame::JobBottom,
            Frame::JobUp | Frame::JobBottom => matches!(caller, Frame::Step(_)),
            Frame::Step(0) => caller == Frame::Work,
            Frame::Step(n) => caller == Frame::Step(n - 1),
            Frame::Work | Frame::Other => true,
        }
    }
}

/// As in `DeepStacks.java`.
fn recursions(depth: u32) -> u32 {
    if depth % 2 == 1 {
        0
    } else {
        10 + depth % 7 * 5
    }
}

/// What one stack is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Not of the program's virtual threads.
    Foreign,
    Whole,
    Truncated(String),
    Wrong(String),
}

fn judge(names: &[&str]) -> Kind {
    let Some(last) = names.last() else {
        return Kind::Wrong("no frame".to_owned());
    };
    let chain: Vec<Frame> = names.iter().filter_map(|name| Frame::of(name)).collect();
    if chain.is_empty() {
        return Kind::Foreign;
    }
    if let Some(reason) = last.strip_prefix("[truncated: ") {
        return match fault(&chain) {
            Some(fault) => Kind::Wrong(fault),
            None => Kind::Truncated(reason.trim_end_matches(']').to_owned()),
        };
    }
    if *last != ROOT {
        return if chain == [Frame::Other] || last.starts_with(PACKAGE) {
            // The main thread, and threads that the program does not judge.
            Kind::Foreign
        } else {
            Kind::Wrong(format!("ends in {last}"))
        };
    }
    if let Some(fault) = fault(&chain) {
        return Kind::Wrong(fault);
    }
    if !chain.contains(&Frame::Work) && chain.iter().any(|frame| *frame != Frame::Other) {
        return Kind::Wrong("reaches the root without the thread's own method".to_owned());
    }
    Kind::Whole
}

/// What is impossible about a chain, youngest frame first; its older end may be missing.
fn fault(chain: &[Frame]) -> Option<String> {
    for pair in chain.windows(2) {
        let [callee, caller] = *pair else { continue };
        if !callee.may_be_called_by(caller) {
            return Some(format!("{callee:?} called by {caller:?}"));
        }
    }
    if chain.first() == Some(&Frame::Recurse) {
        // AsyncGetCallTrace names the leaf by the nearest place that has a name, here one of several levels
        // that were inlined together.
        return None;
    }
    let levels = chain
        .iter()
        .filter(|frame| **frame == Frame::Recurse)
        .count();
    let levels = u32::try_from(levels).unwrap_or(u32::MAX);
    let bottom = chain.iter().position(|frame| *frame == Frame::JobBottom)?;
    let Some(Frame::Step(depth)) = chain.get(bottom + 1) else {
        return None;
    };
    let most = recursions(*depth);
    let is_right = if chain.contains(&Frame::Leaf) {
        levels == most
    } else if let Some(Frame::Rest(rest)) = chain.iter().find(|f| matches!(f, Frame::Rest(_))) {
        levels <= most && levels % 4 == *rest
    } else {
        levels <= most
    };
    (!is_right).then(|| format!("{levels} levels of recursion of {most} at step {depth}"))
}

/// How many of the samples were what.
#[derive(Debug, Default)]
pub struct Tally {
    /// Samples of whole stacks.
    pub whole: u64,
    /// Samples of truncated stacks, by reason.
    pub truncated: BTreeMap<String, u64>,
    /// Samples of wrong stacks.
    pub wrong: u64,
    /// Samples without a stack, of all threads.
    pub failed: u64,
    /// Some wrong ones, as text.
    pub quoted: Vec<String>,
}

impl Tally {
    /// Judges a recording.
    pub fn of(recording: &Recording) -> Tally {
        Tally::of_those(recording, |_| true)
    }

    /// Judges the stacks that climb the ladder, in a recording of a program that does other things, too.
    pub fn of_climbers(recording: &Recording) -> Tally {
        Tally::of_those(recording, |names| {
            names
                .iter()
                .any(|name| !matches!(Frame::of(name), None | Some(Frame::Other)))
        })
    }

    fn of_those(recording: &Recording, counts: impl Fn(&[&str]) -> bool) -> Tally {
        let mut tally = Tally::default();
        for sample in &recording.samples {
            let names: Vec<&str> = sample.frames.iter().map(|name| &**name).collect();
            if names
                .first()
                .is_some_and(|name| name.starts_with("[failed"))
            {
                tally.failed += sample.count;
            }
            if !counts(&names) {
                continue;
            }
            match judge(&names) {
                Kind::Foreign => {}
                Kind::Whole => tally.whole += sample.count,
                Kind::Truncated(reason) => {
                    *tally.truncated.entry(reason).or_default() += sample.count;
                }
                Kind::Wrong(why) => {
                    tally.wrong += sample.count;
                    if tally.quoted.len() < QUOTED {
                        tally.quoted.push(format!("{why}: {}", names.join(" < ")));
                    }
                }
            }
        }
        tally
    }

    /// Adds another run's.
    pub fn add(&mut self, other: Tally) {
        self.whole += other.whole;
        self.wrong += other.wrong;
        self.failed += other.failed;
        for (reason, count) in other.truncated {
            *self.truncated.entry(reason).or_default() += count;
        }
        self.quoted.extend(other.quoted);
        self.quoted.truncate(QUOTED);
    }

    /// Samples of the time before the self-test had passed, when nothing is completed yet.
    pub fn pending(&self) -> u64 {
        let pending = self.truncated.get("self test pending");
        pending.copied().unwrap_or(0)
    }

    /// Share of whole stacks, 0 to 1, once the self-test has passed.
    pub fn proven_share(&self) -> f64 {
        self.whole as f64 / self.all().saturating_sub(self.pending()).max(1) as f64
    }

    /// Samples that were judged.
    pub fn all(&self) -> u64 {
        self.whole + self.wrong + self.truncated.values().sum::<u64>()
    }

    /// Share of whole stacks, 0 to 1.
    pub fn whole_share(&self) -> f64 {
        self.whole as f64 / self.all().max(1) as f64
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} stacks, {:.2} % whole, {} wrong, truncated {:?}, {} failed walks",
            self.all(),
            self.whole_share() * 100.0,
            self.wrong,
            self.truncated,
            self.failed
        )
    }
}

/// How the program of deep stacks is run.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// How long.
    pub seconds: u32,
    /// Virtual threads.
    pub threads: u32,
    /// Flags of the JVM.
    pub flags: &'a [&'a str],
    /// What makes the agent's clock tick.
    pub clock: &'a str,
    /// What `Antagonists.java` and `DeepStacks.java` know by that name.
    pub antagonists: &'a [&'a str],
    /// What the agent breaks on purpose ([`injecting::load`]).
    pub broken: Option<&'a str>,
}

impl Load<'_> {
    /// On CPU timers, with nothing special.
    pub const fn plain(seconds: u32, threads: u32) -> Load<'static> {
        Load {
            seconds,
            threads,
            flags: &[],
            clock: "cpu=1000hz",
            antagonists: &[],
            broken: None,
        }
    }

    fn launch(&self, jdk: &Jdk) -> Result<Launch> {
        let program = artifacts::truth_program()?;
        let options = format!("{},out=out,every=60s,service=deep,log=debug", self.clock);
        let launch = match self.broken {
            None => Launch::new(jdk).agent(&options)?,
            Some(what) => injecting::load(Launch::new(jdk), &options, what)?,
        };
        let mut launch = launch
            .flags(self.flags)
            // Inlined look-alikes may be named for each other (AsyncGetCallTrace, at the leaf).
            .flag("-XX:CompileCommand=quiet")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.DeepStacks::rest*")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.DeepStacks::leaf");
        if self.antagonists.contains(&"retransform") {
            launch = launch.flag(format!("-javaagent:{}", program.display()));
        }
        let mut words = vec![
            "io.vtprof.truth.DeepStacks".to_owned(),
            self.seconds.to_string(),
            self.threads.to_string(),
        ];
        words.extend(self.antagonists.iter().map(|name| (*name).to_owned()));
        Ok(launch.jar(program).program(words))
    }
}

/// One run of the program of deep stacks.
#[derive(Debug)]
pub struct DeepRun {
    /// What the profiles say.
    pub tally: Tally,
    /// The profiles.
    pub recording: Recording,
    /// The JVM's end.
    pub finished: Finished,
}

impl DeepRun {
    /// Runs it for so long under these flags, on CPU timers, and prints the tally in one line.
    ///
    /// # Errors
    /// The run fails, hangs, or leaves no profile.
    pub fn run(jdk: &Jdk, seconds: u32, threads: u32, flags: &[&str]) -> Result<DeepRun> {
        let load = Load {
            flags,
            ..Load::plain(seconds, threads)
        };
        Self::under(jdk, &load)
    }

    /// Runs it under that load, and prints the tally in one line.
    ///
    /// # Errors
    /// The run fails, hangs, or leaves no profile.
    pub fn under(jdk: &Jdk, load: &Load<'_>) -> Result<DeepRun> {
        let _machine = Machine::turn();
        let dir = WorkDir::new("deep")?;
        let finished = Running::start(&load.launch(jdk)?, dir.path(), limit(load.seconds))?
            .wait()
            .and_then(Finished::success)?;
        let recording = read(dir.path(), &finished)?;
        let tally = Tally::of(&recording);
        let counted = |key| recording.counter(key).unwrap_or(0);
        let completed = counted("stacks.completed").max(1);
        say(&format!(
            "deep stacks on {} {:?} {:?} {}: {tally}; a completion takes {} ns on average, {} healings {} ns; without a frame, so not judged: {} in freeze or thaw, {} misread",
            jdk.version,
            load.flags,
            load.antagonists,
            load.broken.unwrap_or_default(),
            counted("agent.completion_ns") / completed,
            counted("agent.mounts_healed"),
            counted("agent.healing_ns") / counted("agent.mounts_healed").max(1),
            counted("truncated.freeze_or_thaw"),
            counted("truncated.misread_stack"),
        ));
        if tally.all() == 0 {
            bail!(
                "no stack of the program was sampled: {:#?}",
                finished.agent_lines()
            );
        }
        Ok(DeepRun {
            tally,
            recording,
            finished,
        })
    }
}

fn limit(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds) + 120)
}

fn read(dir: &Path, finished: &Finished) -> Result<Recording> {
    Recording::read(&dir.join("out"))
        .with_context(|| format!("the agent said {:#?}", finished.agent_lines()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(own: &[&str], end: &str) -> Kind {
        let own: Vec<String> = own.iter().map(|name| format!("{PACKAGE}{name}")).collect();
        let mut names: Vec<&str> = own.iter().map(String::as_str).collect();
        names.push(end);
        judge(&names)
    }

    const UP: [&str; 3] = ["DeepStacks.burn", "DeepStacks$Climb.up", "Ladder$Job.up"];

    #[test]
    fn a_whole_ladder_is_whole_and_one_without_a_step_is_wrong() {
        let whole = [
            &UP[..],
            &["Ladder.d2", "Ladder.d1", "Ladder.d0", "DeepStacks.work"],
        ]
        .concat();
        assert_eq!(stack(&whole, ROOT), Kind::Whole);
        let gap = [&UP[..], &["Ladder.d2", "Ladder.d0", "DeepStacks.work"]].concat();
        assert!(matches!(stack(&gap, ROOT), Kind::Wrong(_)));
        assert!(matches!(stack(&gap, "[truncated: x]"), Kind::Wrong(_)));
        let spliced = [&UP[..], &["Ladder.d2"]].concat();
        assert!(matches!(stack(&spliced, ROOT), Kind::Wrong(_)));
        assert_eq!(
            stack(&spliced, "[truncated: x]"),
            Kind::Truncated("x".into())
        );
        assert!(matches!(
            stack(&whole, "java.lang.Thread.run"),
            Kind::Wrong(_)
        ));
    }

    #[test]
    fn a_level_of_recursion_too_few_is_wrong() {
        let deep = |levels: usize, leaf: &[&'static str]| {
            let mut own: Vec<&str> = leaf.to_vec();
            own.extend(vec!["DeepStacks.recurse"; levels]);
            own.extend(["DeepStacks$Climb.bottom", "Ladder$Job.bottom"]);
            let steps: Vec<String> = (0..=28).rev().map(|n| format!("Ladder.d{n}")).collect();
            own.extend(steps.iter().map(String::as_str));
            own.push("DeepStacks.work");
            stack(&own, ROOT)
        };
        assert_eq!(recursions(28), 10);
        let leaf = ["DeepStacks.burn", "DeepStacks.leaf"];
        assert_eq!(deep(10, &leaf), Kind::Whole);
        assert!(matches!(deep(9, &leaf), Kind::Wrong(_)));
        let rest = ["DeepStacks.burn", "DeepStacks.rest3"];
        assert_eq!(deep(7, &rest), Kind::Whole);
        assert!(matches!(deep(6, &rest), Kind::Wrong(_)));
        assert!(matches!(deep(11, &rest), Kind::Wrong(_)));
        // How many levels there are is told by what they call; without that, only their callers are judged.
        assert_eq!(deep(11, &[]), Kind::Whole);
    }
}
