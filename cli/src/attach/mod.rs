//! `vtprof attach`: the agent loaded into a JVM that runs, or asked something there.
//!
//! What `jcmd PID JVMTI.agent_load` does, without a JDK at hand, into containers, and with a word on what is wrong.

pub mod library;
pub mod options;
pub mod peer;
pub mod process;
mod recording;
mod requests;
pub mod root;
mod words;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};

use crate::args::{AttachArgs, Control, Length};
use crate::figures::plural;
use crate::text::{note, printable};

use options::{NO_FILES, OFF, Out};
use process::Process;
use recording::{End, Files, Interrupt};
use requests::Listener;
use words::Words;

/// The JVM's property that says which vtprof is in it.
const PROPERTY: &str = "vtprof.agent";

/// A JVM, and the library by which its vtprof is asked.
struct Target {
    process: Process,
    listener: Listener,
    library: String,
}

/// Runs the command.
pub fn run(args: &AttachArgs, out: &mut impl Write) -> Result<()> {
    if args.length.is_some() && matches!(args.control, Some(Control::Stop | Control::Status)) {
        bail!("--for goes with a start: leave --control out, or take --control start");
    }
    let options = options::string(&args.agent)?;
    let process = Process::find(args.pid)?;
    process.check_jvm()?;
    // Before anything is sent: a library that the JVM does not see is no reason to disturb it.
    let library = match args.control {
        None => library::seen_by(&process, &args.agent)?,
        Some(_) => library::loaded_by(&process)?,
    };
    let interrupt = Interrupt::watch()?;
    let target = Target {
        listener: Listener::of(&process)?,
        library,
        process,
    };
    if args.control.is_none()
        && let Some(version) = target.version()?
    {
        bail!(
            "vtprof {version} is in {} already, with the options it came with: --control start, stop or status asks it, and --control start --for 60s records",
            target.process.named()
        );
    }
    // `None` where that cannot be told.
    let place = match args.control {
        None => Some(place(&target.process, &options)?),
        Some(Control::Status) => return target.say_status(out),
        Some(_) => target.place_of_loaded()?,
    };
    let files = match &place {
        Some(Out::In(directory)) => Some(Files::of(&target.process, directory)?),
        Some(Out::Off) | None => None,
    };
    match args.control {
        None => target.load(&options)?,
        Some(control) => target.control(control)?,
    }
    match args.length {
        Some(length) => target.record(length, &interrupt)?,
        None if args.control == Some(Control::Stop) => {}
        None => {
            let of_them = match (&files, place) {
                (Some(files), _) => format!("files appear in {}", files.folder().display()),
                (None, Some(_)) => NO_FILES.to_owned(),
                (None, None) => {
                    "files appear in the directory that the agent was loaded with".to_owned()
                }
            };
            writeln!(
                out,
                "{} is profiled, {}; vtprof attach {} --control stop ends that",
                printable(&target.process.named()),
                printable(&of_them),
                args.pid
            )?;
            return Ok(());
        }
    }
    match (files, place) {
        (Some(files), _) => say_files(&files, target.process.is_alive(), out),
        (None, Some(_)) => {
            note(NO_FILES);
            Ok(())
        }
        (None, None) => {
            note(
                "the files are in the directory that the agent was loaded with: a line on the JVM's standard error names it",
            );
            Ok(())
        }
    }
}

/// Where the agent writes.
fn place(process: &Process, options: &str) -> Result<Out> {
    let environment = process.variable(options::ENVIRONMENT).unwrap_or_default();
    options::out(
        options,
        &environment,
        &process.working_directory()?,
        |path| {
            let text = process.root()?.text(path);
            text.with_context(|| {
                format!("config={}, as {} sees it", path.display(), process.named())
            })
        },
    )
}

impl Target {
    /// Of the vtprof that is in the JVM, if one is.
    fn version(&self) -> Result<Option<String>> {
        let answer = self.listener.ask("properties", &[])?;
        if answer.code != 0 {
            bail!(
                "{} does not tell its properties: {}",
                self.process.named(),
                answer.text
            );
        }
        let found = answer.text.lines().find_map(|line| {
            let version = line.strip_prefix(PROPERTY)?.strip_prefix('=')?;
            Some(version.trim().to_owned())
        });
        Ok(found)
    }

    fn load(&self, options: &str) -> Result<()> {
        let words = Words::of(&self.process);
        let answer = self
            .listener
            .ask("load", &[&self.library, "true", options])?;
        let name = self.process.named();
        if answer.code != 0 {
            // E.g. that agents may not be loaded there.
            bail!("{name} refuses the agent: {}", one_line(&answer.text));
        }
        let code = answer.text.trim_start_matches("return code:").trim();
        match code.parse::<i32>() {
            Ok(0) => Ok(()),
            Ok(_) => Err(anyhow!("the agent refuses: {}", words.reason())),
            Err(_) => Err(anyhow!(
                "{name} cannot load the agent: {}",
                one_line(&answer.text)
            )),
        }
    }

    fn control(&self, control: Control) -> Result<()> {
        self.load(&format!("control={}", control.word()))
    }

    /// The agent's line about itself; `None` where it cannot be read.
    fn status(&self) -> Result<Option<String>> {
        let words = Words::of(&self.process);
        self.control(Control::Status)?;
        let lines = words.said().unwrap_or_default();
        Ok(lines
            .into_iter()
            .rev()
            .find(|line| line.contains(" status=")))
    }

    fn say_status(&self, out: &mut impl Write) -> Result<()> {
        let status = self.status()?;
        let status = status.as_deref();
        let status = status.unwrap_or("the status is a line on the JVM's standard error");
        writeln!(out, "{}", printable(status))?;
        Ok(())
    }

    /// Where the vtprof writes that is in the JVM already; `None` where that cannot be told.
    fn place_of_loaded(&self) -> Result<Option<Out>> {
        // It stands last, as it may contain anything.
        if let Some((_, out)) = self
            .status()?
            .as_deref()
            .and_then(|line| line.split_once(" out="))
        {
            return Ok(Some(match out {
                OFF => Out::Off,
                out => Out::In(PathBuf::from(out)),
            }));
        }
        let options = self.process.agent_options(library::LIBRARY);
        options
            .map(|options| place(&self.process, &options))
            .transpose()
    }

    fn record(&self, length: Length, interrupt: &Interrupt) -> Result<()> {
        match recording::wait(&self.process, length.0, interrupt) {
            End::Gone => note(&format!("{} ended meanwhile", self.process.named())),
            end => {
                if end == End::Interrupted {
                    note("interrupted: what was recorded so far is written");
                }
                self.control(Control::Stop)?;
            }
        }
        Ok(())
    }
}

fn say_files(files: &Files, is_alive: bool, out: &mut impl Write) -> Result<()> {
    let folder = files.folder().display();
    let new = match files.new_ones(is_alive) {
        Ok(new) => new,
        Err(reason) => {
            note(&format!(
                "the files are in {folder}, which cannot be listed: {reason}"
            ));
            return Ok(());
        }
    };
    if new.is_empty() {
        note(&format!(
            "no new file in {folder}: a window of less than a second without samples leaves none"
        ));
        return Ok(());
    }
    for file in &new {
        writeln!(out, "{}", printable(&file.display().to_string()))?;
    }
    note(&format!(
        "{}; next: vtprof spans {folder}",
        plural(new.len() as i128, "new file")
    ));
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
