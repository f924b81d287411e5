//! `vtprof merge`: many files to one a kind.

mod filter;
mod sum;
mod traces;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use vtprof_profile::gzip;
use vtprof_profile::model::Profile;
use vtprof_profile::otlp::trace::TracesData;

use crate::args::MergeArgs;
use crate::gz;
use crate::output::{Output, write_file};
use crate::text::note;
use sum::Sums;

/// Runs the command.
pub fn run(args: &MergeArgs, out: &mut impl Write) -> Result<()> {
    let output = Output::of(&args.output);
    output.check(&args.files.files, false)?;
    let sums = sum::read(args)?;
    match &output {
        Output::Folder(folder) => write_folder(&sums, folder),
        Output::File(path) => match one(&sums, args)? {
            One::Profile(profile) => write_profile(profile, path),
            One::Spans(traces) => write_file(path, |file| write_spans(traces, file)),
        },
        Output::Stdout => {
            match one(&sums, args)? {
                One::Profile(profile) => gz::compress(&mut *out, |gz| profile.write_pprof(gz))?,
                One::Spans(traces) => write_spans(traces, out)?,
            }
            Ok(())
        }
    }
}

/// What goes into one file.
enum One<'a> {
    Profile(&'a Profile),
    Spans(&'a TracesData),
}

/// The only one, if there is only one. Spans beside a profile are what every folder of the agent has: they are left out, and
/// said unless a kind was asked for.
fn one<'a>(sums: &'a Sums, args: &MergeArgs) -> Result<One<'a>> {
    match (sums.profiles.as_slice(), &sums.spans) {
        ([], Some(spans)) => Ok(One::Spans(spans)),
        ([only], spans) => {
            if spans.is_some() && args.kind.is_none() {
                note(
                    "spans left out: one file holds one kind; -o DIR/ writes a file for each, --kind spans them alone",
                );
            }
            Ok(One::Profile(&only.profile))
        }
        (several, _) => {
            let names: Vec<_> = several.iter().map(|of| of.name.as_str()).collect();
            bail!(
                "{} kinds of profile, whose values have no sum ({}): --kind names one, -o DIR/ writes a file for each",
                names.len(),
                names.join(", ")
            )
        }
    }
}

fn write_folder(sums: &Sums, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| anyhow::anyhow!("{}: cannot create: {error}", folder.display()))?;
    for of in &sums.profiles {
        write_profile(&of.profile, &folder.join(file_name(&of.name)))?;
    }
    if let Some(spans) = &sums.spans {
        write_file(&folder.join(file_name("spans")), |file| {
            write_spans(spans, file)
        })?;
    }
    Ok(())
}

/// Between hyphens stands the kind, as in the names that the agent gives.
fn file_name(kind: &str) -> String {
    format!("all-{kind}-merged.pb.gz")
}

fn write_profile(profile: &Profile, path: &Path) -> Result<()> {
    let is_plain = path.extension().is_some_and(|ending| ending == "pb");
    let mut bytes = 0;
    write_file(path, |file| {
        let mut write = |out: &mut dyn Write| {
            let mut counted = Counted { out, bytes: 0 };
            profile.write_pprof(&mut counted)?;
            bytes = counted.bytes;
            Ok(())
        };
        if is_plain {
            write(file)
        } else {
            gz::compress(file, write)
        }
    })?;
    if bytes > gzip::DEFAULT_LIMIT {
        let mib = bytes.div_ceil(1 << 20);
        note(&format!(
            "{}: {mib} MiB when decompressed, to be read with --max-mib {mib}; --drop-labels span_id,trace_id makes less of it",
            path.display()
        ));
    }
    Ok(())
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_spans(traces: &TracesData, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    gzip::write_gz(traces, out).map(drop)
}
