//! `vtprof convert`: profiles in another format.

use std::io::{self, Write};

use anyhow::{Result, anyhow, bail};
use vtprof_profile::Message;
use vtprof_profile::formats::{Document, Format, Hint, collapsed, speedscope};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{LabelValue, Profile};
use vtprof_profile::otlp::{profiles::ProfilesData, write_profiles};

use crate::args::ConvertArgs;
use crate::by_kind::ByKind;
use crate::gz;
use crate::input;
use crate::output::{Output, write_file};
use crate::text::note;

/// How the file is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    format: Format,
    is_gzipped: bool,
}

/// Runs the command.
pub fn run(args: &ConvertArgs, out: &mut impl Write) -> Result<()> {
    let output = Output::of(&args.output);
    let form = form(args)?;
    let is_text = form.format.is_text() && !form.is_gzipped;
    output.check(&args.files.files, is_text)?;
    output.check_other(&args.files.files)?;
    let profiles = read(args)?;
    let file = File::of(&profiles, form, args)?;
    match output {
        Output::Stdout => Ok(file.write(out)?),
        Output::File(path) => write_file(&path, |mut out| file.write(&mut out)),
        Output::Folder(path) => bail!("{}: is a folder; name a file", path.display()),
    }
}

fn form(args: &ConvertArgs) -> Result<Form> {
    let name = args.output.to_string_lossy();
    let of_name = Format::of_file(&name);
    let format = args.to.or(of_name.map(|(format, _)| format));
    let format = format.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        anyhow!("{name}: tells no format by its end; --to names one of {names}")
    })?;
    // As every writer of pprof does.
    let is_gzipped = name.ends_with(".gz") || format == Format::Pprof && !name.ends_with(".pb");
    Ok(Form { format, is_gzipped })
}

/// The inputs, added up by what their values are.
fn read(args: &ConvertArgs) -> Result<Vec<Profile>> {
    let mut sums = ByKind::new(args.kind);
    let mut has_spans = false;
    let hint = Hint {
        format: args.from,
        value_type: args.value_type.clone().map(|told| told.0),
    };
    input::read_documents(&args.files, &hint, |document| {
        let Document::Profile(profile) = document else {
            has_spans = true;
            return Ok(());
        };
        if args.kind.is_some_and(|kind| !kind.is_in(&profile)) {
            return Ok(());
        }
        sums.of(&profile).add(&profile)?;
        Ok(())
    })?;
    let profiles = sums.finish()?.into_iter().map(|of| of.profile);
    let profiles: Vec<_> = profiles.collect();
    if profiles.is_empty() {
        match args.kind {
            Some(kind) => bail!("no {} profile among the inputs", kind.name()),
            None if has_spans => bail!("no profile among the inputs, only spans"),
            None => bail!("no profile among the inputs"),
        }
    }
    if has_spans {
        note("spans left out: profiles alone are converted");
    }
    Ok(profiles)
}

/// What is written, all checked.
enum Body<'a> {
    Pprof(&'a Profile),
    /// And the sample type.
    Collapsed(&'a Profile, usize),
    OtlpProto(ProfilesData),
    OtlpJson(ProfilesData),
    Speedscope(&'a Profile),
}

struct File<'a> {
    body: Body<'a>,
    is_gzipped: bool,
}

impl<'a> File<'a> {
    fn of(profiles: &'a [Profile], form: Form, args: &ConvertArgs) -> Result<Self> {
        let otlp = || Ok::<_, anyhow::Error>(write_profiles(None, profiles)?);
        let body = match form.format {
            Format::Pprof => Body::Pprof(one(profiles, form)?),
            Format::Collapsed => {
                let profile = one(profiles, form)?;
                let sample_type = sample_type(profile, args)?;
                say_what_is_lost(profile, form);
                Body::Collapsed(profile, sample_type)
            }
            Format::OtlpProto => Body::OtlpProto(otlp()?),
            Format::OtlpJson => Body::OtlpJson(otlp()?),
            Format::Speedscope => {
                let profile = one(profiles, form)?;
                say_what_is_lost(profile, form);
                Body::Speedscope(profile)
            }
        };
        let is_gzipped = form.is_gzipped;
        Ok(File { body, is_gzipped })
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.is_gzipped {
            gz::compress(out, |mut gz| self.write_plain(&mut gz))
        } else {
            self.write_plain(out)
        }
    }

    fn write_plain(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.body {
            Body::Pprof(profile) => profile.write_pprof(out),
            Body::Collapsed(profile, sample_type) => collapsed::write(profile, *sample_type, out),
            Body::OtlpProto(data) => out.write_all(&data.encode_to_vec()),
            Body::OtlpJson(data) => {
                serde_json::to_writer(&mut *out, data)?;
                writeln!(out)
            }
            Body::Speedscope(profile) => speedscope::write(profile, "vtprof", &mut *out),
        }
    }
}

fn one(profiles: &[Profile], form: Form) -> Result<&Profile> {
    match profiles {
        [only] => Ok(only),
        several => {
            let name = |profile: &Profile| {
                let first = profile.sample_types.first();
                Kind::of(profile).map_or_else(
                    || first.map_or_else(String::new, |t| t.kind.clone()),
                    |kind| kind.name().to_owned(),
                )
            };
            let names: Vec<_> = several.iter().map(name).collect();
            bail!(
                "{} kinds of profile, of which {} holds one ({}): --kind names it, the OTLP formats hold all",
                names.len(),
                form.format.name(),
                names.join(", ")
            )
        }
    }
}

/// Index of the one that is written.
fn sample_type(profile: &Profile, args: &ConvertArgs) -> Result<usize> {
    let types = &profile.sample_types;
    let amount_of = |kind: Kind| kind.amount().kind;
    match args.sample_type.as_deref().or(args.kind.map(amount_of)) {
        None => {
            let amount = Kind::of(profile).map(amount_of);
            let amount = amount.and_then(|amount| profile.sample_type(amount));
            let default = profile.default_sample_type.or(amount);
            Ok(default.unwrap_or(types.len().saturating_sub(1)))
        }
        Some(kind) => profile.sample_type(kind).ok_or_else(|| {
            let has = types.iter().map(|t| format!("{}/{}", t.kind, t.unit));
            let has: Vec<_> = has.collect();
            anyhow!("no sample type {kind}; there are {}", has.join(", "))
        }),
    }
}

/// These formats have no labels: whoever converts may not know.
fn say_what_is_lost(profile: &Profile, form: Form) {
    let is_tagged = profile.samples.iter().any(|sample| {
        let mut labels = sample.labels.iter();
        labels.any(|label| matches!(label.value, LabelValue::Text(_)))
    });
    if is_tagged {
        note(&format!(
            "{} has no labels: which span a sample belongs to is lost",
            form.format.name()
        ));
    }
}
