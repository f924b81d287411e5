//! `vtprof ctl`: a request to the vtprof in a JVM, over its socket.
//!
//! | module | noun |
//! |---|---|
//! | [`socket`] | where it is, and whether it is that process' |
//! | [`answer`] | what it says |
//! | [`status`] | how things stand, for people and as JSON |

mod answer;
mod socket;
mod status;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};

use crate::args::{CtlArgs, CtlRequest};
use crate::attach::options::NO_FILES;
use crate::attach::process::Process;
use crate::text::printable;

use answer::Answer;

/// Runs the command.
pub fn run(args: &CtlArgs, out: &mut impl Write) -> Result<()> {
    let line = args.request.line();
    if line.contains(char::is_control) {
        bail!("a control character in {line:?}: leave it out");
    }
    let process = Process::find(args.pid)?;
    let answer = Answer::parse(&socket::ask(&process, &line)?)?;
    match &args.request {
        CtlRequest::Status { json: true } => return status::json(&answer, &process, out),
        CtlRequest::Status { json: false } => return status::print(&answer, &process, out),
        CtlRequest::Dump if answer.has_no_files() => writeln!(out, "{NO_FILES}")?,
        CtlRequest::Dump => {
            let files = answer.value("files").unwrap_or_default();
            let files = process.seen_if_other(Path::new(files));
            writeln!(out, "{}", printable(&files.display().to_string()))?;
        }
        CtlRequest::Set { .. } => {
            let changes = answer.values("changed").map(printable);
            let changes: Vec<_> = changes.collect();
            let state = printable(answer.value("state").unwrap_or_default());
            if changes.is_empty() {
                writeln!(out, "nothing is otherwise than it was; {state}")?;
            } else {
                writeln!(out, "{}; {state}", changes.join(", "))?;
            }
        }
        CtlRequest::Start | CtlRequest::Stop => {
            let state = printable(answer.value("state").unwrap_or_default());
            let name = printable(&process.named());
            match answer.out() {
                Some(out_dir) => {
                    let out_dir = process.seen_if_other(out_dir);
                    let out_dir = printable(&out_dir.display().to_string());
                    writeln!(out, "{name}: {state}, the files are in {out_dir}")?;
                }
                None if answer.has_no_files() => writeln!(out, "{name}: {state}, {NO_FILES}")?,
                None => writeln!(out, "{name}: {state}")?,
            }
        }
    }
    Ok(())
}
