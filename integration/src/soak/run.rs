//! One soak, from its start to its verdict.

use std::fmt;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use vtprof_profile::kind::Kind;

use crate::deep::Tally;
use crate::jvm::{Finished, Running};
use crate::recording::{self, Recording};
use crate::report::say;
use crate::soak::ledger::Ledger;
use crate::soak::memory::Growth;
use crate::soak::plan::Plan;
use crate::soak::watch::Watch;
use crate::truth::TruthLog;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(500);
const REPORT: Duration = Duration::from_secs(60);
/// For the start, which compiles 131 classes at the highest rate, and for the end.
const MARGIN: Duration = Duration::from_secs(600);
/// Lines of a crash report that an error quotes.
const QUOTED: usize = 80;

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Each sample's tag judged.
    pub verdict: Verdict,
    /// The same of the other kinds that are on, by samples and not by what they count.
    pub others: Vec<(Kind, Verdict)>,
    /// Each deep stack judged.
    pub tally: Tally,
    /// Every signal accounted for.
    pub ledger: Ledger,
    /// Memory; `None` where the run was too short to tell.
    pub growth: Option<Growth>,
    /// The JVM's end.
    pub finished: Finished,
}

impl Outcome {
    /// Rounds of each antagonist, as the program says at its end.
    fn rounds(&self) -> impl Iterator<Item = (&str, u64)> {
        self.finished
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("rounds ")?.split_once('='))
            .filter_map(|(name, count)| Some((name, count.parse().ok()?)))
    }

    fn verdicts(&self) -> impl Iterator<Item = (Kind, &Verdict)> {
        let others = self.others.iter();
        std::iter::once((Kind::Cpu, &self.verdict))
            .chain(others.map(|(kind, verdict)| (*kind, verdict)))
    }

    /// All that is wrong with it; empty for a pass.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.ledger.faults();
        for (kind, verdict) in self.verdicts() {
            let name = kind.name();
            if wrong(verdict) > 0 {
                faults.push(format!("{name}: wrong tags: {verdict}"));
            }
            if verdict.unknown_span > 0 {
                faults.push(format!(
                    "{name}: {} samples with tags of spans nobody made",
                    verdict.unknown_span
                ));
            }
            let judged = match kind {
                Kind::Cpu => verdict.right,
                _ => verdict.right + verdict.around + verdict.without_span + verdict.elsewhere,
            };
            if judged == 0 {
                faults.push(format!("{name}: nothing was sampled that could be judged"));
            }
        }
        if self.tally.wrong > 0 {
            faults.push(format!(
                "wrong chains: {}\n{}",
                self.tally,
                self.tally.quoted.join("\n")
            ));
        }
        if self.tally.all() == 0 {
            faults.push("no stack was sampled that could be judged".to_owned());
        }
        if let Some(growth) = self.growth.filter(|growth| growth.is_leak()) {
            faults.push(format!("memory grew: {growth}"));
        }
        faults
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = &self.verdict;
        write!(
            f,
            "{} rounds of {} antagonists, idle {:?} | tags: {} right, {} wrong, {} untagged of {}, {} around, {} without a span | deep: {} | {} | ",
            self.rounds().map(|(_, count)| count).sum::<u64>(),
            self.rounds().count(),
            self.rounds()
                .filter(|(_, count)| *count == 0)
                .map(|(name, _)| name)
                .collect::<Vec<_>>(),
            verdict.right,
            wrong(verdict),
            verdict.untagged,
            verdict.total,
            verdict.around,
            verdict.without_span,
            self.tally,
            self.ledger
        )?;
        for (kind, verdict) in &self.others {
            write!(
                f,
                "{}: {} right, {} wrong, {} untagged, {} around, {} elsewhere | ",
                kind.name(),
                verdict.right,
                wrong(verdict),
                verdict.untagged,
                verdict.around,
                verdict.elsewhere
            )?;
        }
        match self.growth {
            Some(growth) => growth.fmt(f),
            None => f.write_str("too short to judge memory"),
        }
    }
}

/// Samples with a tag that they should not have.
fn wrong(verdict: &Verdict) -> u64 {
    verdict.wrong + verdict.around_wrong + verdict.tagged_without_span
}

/// Runs it in `dir` and judges what it left there.
///
/// # Errors
/// It crashed, hung, failed, or left something unreadable.
pub fn soak(plan: &Plan, dir: &Path) -> Result<Outcome> {
    say(&format!("{plan}, in {}", dir.display()));
    let limit = Duration::from_secs(u64::from(plan.minutes) * 60) + MARGIN;
    let running = Running::start(&plan.launch(dir)?, dir, limit)?;
    let (finished, watch) = attend(running)?;
    let finished = crash(dir).and_then(|()| finished.success())?;
    let log = TruthLog::read(&dir.join("truth.log"))?;
    let mut outcome = Outcome {
        verdict: Verdict::default(),
        others: Vec::new(),
        tally: Tally::default(),
        ledger: Ledger::default(),
        growth: Growth::of(&watch.memory),
        finished,
    };
    for file in recording::files(&dir.join("out"), "-cpu-")? {
        let window = Recording::read_file(&file)?;
        outcome.verdict.add(&Verdict::of(&window, &log));
        outcome.tally.add(Tally::of_climbers(&window));
        outcome.ledger.add(&window);
    }
    let others = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Cpu);
    for kind in others.filter(|_| plan.all_kinds) {
        let mut verdict = Verdict::default();
        for file in recording::files(&dir.join("out"), &format!("-{}-", kind.name()))? {
            let mut window = Recording::read_one(&file, kind)?;
            for sample in &mut window.samples {
                // A sample may stand for less than one.
                sample.count = 1;
            }
            verdict.add(&Verdict::of(&window, &log));
            if kind == Kind::Wall {
                outcome.tally.add(Tally::of_climbers(&window));
            }
        }
        outcome.others.push((kind, verdict));
    }
    Ok(outcome)
}

/// Waits for its end, says each minute how it gets on, and does not wait for one that hangs.
fn attend(mut running: Running) -> Result<(Finished, Watch)> {
    let mut watch = Watch::new();
    let start = Instant::now();
    let mut next_report = start + REPORT;
    while !running.has_ended()? {
        let (now, cpu) = (Instant::now(), running.cpu()?);
        watch.read(&running.stdout()?, now, cpu);
        if let Some(part) = watch.hung(now, cpu) {
            let why = format!(
                "hung: no progress of {part}, last was {}",
                watch.last_beat()
            );
            running.kill_with_dump(&why)?;
        }
        if now >= next_report {
            next_report += REPORT;
            say(&format!(
                "soak, {} min: {}, {}",
                now.duration_since(start).as_secs() / 60,
                watch.last_beat(),
                watch
                    .memory
                    .last()
                    .map_or(String::new(), |last| format!("{} MiB", last.resident >> 10))
            ));
        }
        running.check_limit()?;
        sleep(LOOK);
    }
    watch.read(&running.stdout()?, Instant::now(), Duration::ZERO);
    Ok((running.wait()?, watch))
}

/// The JVM's crash report, as an error.
fn crash(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("hs_err_pid") {
            let text = fs::read(&path).with_context(|| path.display().to_string())?;
            let text = String::from_utf8_lossy(&text);
            let head: Vec<&str> = text.lines().take(QUOTED).collect();
            bail!("the JVM crashed, {}:\n{}", path.display(), head.join("\n"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_report_is_an_error_that_quotes_it() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("stderr-1.txt"), "fine").expect("a file");
        assert!(crash(dir.path()).is_ok());
        fs::write(dir.path().join("hs_err_pid7.log"), "#  SIGSEGV (0xb)\n").expect("a file");
        let error = crash(dir.path()).expect_err("a crash");
        assert!(format!("{error:#}").contains("SIGSEGV"), "{error:#}");
    }
}
