//! `vtprof view`: a folder of windows in the browser.

mod documents;
mod guard;
mod server;
mod windows;

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::args::ViewArgs;
use crate::text::{note, printable};

use documents::Documents;
use windows::Windows;

/// How often the folder is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs the command, until the process ends.
pub fn run(args: &ViewArgs, out: &mut impl Write) -> Result<()> {
    let folder = args.folder.display().to_string();
    let mut windows = Windows::new(&args.folder, args.hold << 20);
    // First the port: reading may take a while.
    let listener = server::listen(args.port).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "port {} of 127.0.0.1 is in use: --port names another, 0 takes a free one",
            args.port
        ),
        _ => anyhow!("cannot listen on port {} of 127.0.0.1: {error}", args.port),
    })?;
    let cannot_list = |error| anyhow!("{folder}: cannot list: {error}");
    let first = windows.refresh().map_err(cannot_list)?;
    let documents = Arc::new(Documents::new(printable(&folder)));
    documents.publish(first.unwrap_or_default());

    let publisher = Arc::clone(&documents);
    let watched = folder.clone();
    thread::Builder::new()
        .name("windows".to_owned())
        .spawn(move || follow(windows, &watched, &publisher))
        .context("cannot start a thread")?;

    writeln!(out, "http://{}/  (Ctrl-C ends it)", listener.local_addr()?)?;
    out.flush()?;
    server::serve(listener, &printable(&folder), documents)
}

fn follow(mut windows: Windows, folder: &str, documents: &Documents) {
    let mut complained = false;
    loop {
        thread::sleep(INTERVAL);
        match windows.refresh() {
            Ok(Some(snapshot)) => documents.publish(snapshot),
            Ok(None) => complained = false,
            Err(error) => {
                if !complained {
                    note(&format!(
                        "error: {folder}: cannot list: {error}; what was read stays"
                    ));
                }
                complained = true;
            }
        }
    }
}
