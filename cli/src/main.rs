//! `vtprof`: reads span-tagged profiles in the terminal.
//!
//! One module a question (`top`, `spans`, …), on shared ones for reading files, choosing a kind and
//! a sample type, and printing. Nothing here knows how a profile is encoded: that is `vtprof-profile`.
#![forbid(unsafe_code)]

mod args;
mod attach;
mod bundle;
mod by_kind;
mod check;
mod convert;
mod cost;
mod csv;
mod ctl;
mod diff;
mod figures;
mod flame;
mod focus;
mod gz;
mod input;
mod json;
mod lineage;
mod listing;
mod manual;
mod measure;
mod merge;
mod output;
mod package;
mod pending;
mod requests;
mod run;
mod selection;
mod spans;
mod stats;

mod tags;
mod text;
mod top;
mod view;
mod why;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut judged = None;
    let done = match &cli.command {
        Command::Convert(args) => convert::run(args, &mut out),
        Command::Merge(args) => merge::run(args, &mut out),
        Command::Top(args) => top::run(args, &mut out),
        Command::Spans(args) => spans::run(args, &mut out),
        Command::Diff(args) => diff::run(args, &mut out),
        Command::Why(args) => why::run(args, &mut out),
        Command::Flame(args) => flame::run(args, &mut out),
        Command::View(args) => view::run(args, &mut out),
        Command::Check(args) => check::run(args, &mut out, &mut judged),
        Command::Attach(args) => attach::run(args, &mut out),
        Command::Ctl(args) => ctl::run(args, &mut out),
        Command::Run(args) => run::run(args),
        Command::Completions { shell } => manual::completions(*shell, &mut out),
        Command::Man => manual::man(&mut out),
    };
    let done = done.and_then(|()| Ok(out.flush()?));
    let status = match judged {
        Some(check::Verdict::Wrong) => ExitCode::FAILURE,
        Some(check::Verdict::Unchecked) => ExitCode::from(2),
        _ => ExitCode::SUCCESS,
    };
    match done {
        Ok(()) => status,
        // The reader of a pipe has seen enough, e.g. `vtprof top … | head`.
        Err(error) if is_broken_pipe(&error) => status,
        Err(error) => {
            text::note(&format!("error: {error:#}"));
            match cli.command {
                // 1 is an answer there.
                Command::Check(_) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
