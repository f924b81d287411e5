//! `vtprof flame`: a flame graph as a page, a picture or lines.

mod class;
mod collapsed;
mod columns;
pub mod condition;
pub mod document;
pub mod groups;
pub mod page;
mod stacks;
mod sums;
mod svg;
mod texts;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use vtprof_profile::kind::Kind;

use crate::args::{FilesArgs, FlameArgs, FlameFormat};
use crate::bundle::{Bundle, OfKind};
use crate::by_kind::share_columns;
use crate::figures::plural;
use crate::measure::Chooser;
use crate::output::{self, Output};
use crate::selection;
use crate::text::{note, printable, shortened};

use collapsed::Collapsed;
use condition::Condition;
use document::{About, Builder, Part};
use groups::Side;
use page::Page;

const NOTHING_MATCHES: &str = "no sample matches; `vtprof spans` lists names and ids";

/// Runs the command.
pub fn run(args: &FlameArgs, out: &mut impl Write) -> Result<()> {
    let to_file = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let format = args.format.unwrap_or_else(|| by_ending(to_file));
    if format == FlameFormat::Html && args.output.is_none() && io::stdout().is_terminal() {
        bail!("a page is nothing to read in a terminal: -o names a file, --format another form");
    }
    if format == FlameFormat::Html && args.sample_type.is_some() {
        bail!("--sample-type is for svg and collapsed: a page has all of them");
    }
    if let Some(path) = to_file {
        let mut inputs = args.files.files.clone();
        inputs.extend(args.base.iter().cloned());
        let output = Output::File(path.to_owned());
        output.check(&inputs, true)?;
        output.check_other(&inputs)?;
    }
    let sets = Sets::read(args)?;
    let bytes = match format {
        FlameFormat::Html => sets.page(args)?,
        FlameFormat::Svg | FlameFormat::Collapsed => sets.stacks(args, format)?,
    };
    match to_file {
        Some(path) => output::write_file(path, |out| out.write_all(&bytes)),
        None => Ok(out.write_all(&bytes)?),
    }
}

fn by_ending(path: Option<&Path>) -> FlameFormat {
    match path.and_then(Path::extension).and_then(|end| end.to_str()) {
        Some("svg") => FlameFormat::Svg,
        Some("collapsed" | "folded" | "txt") => FlameFormat::Collapsed,
        _ => FlameFormat::Html,
    }
}

/// What is shown and, where two are compared, the base.
struct Sets {
    shown: Bundle,
    /// Where it is of other files.
    base: Option<Bundle>,
    conditions: [Condition; 2],
    compares: bool,
}

impl Sets {
    fn read(args: &FlameArgs) -> Result<Self> {
        let asked = selection::wanted(args.kind, args.sample_type.as_deref());
        let mut shown = Bundle::read(&args.files, asked, true)?;
        let base = (!args.base.is_empty()).then(|| {
            let files = FilesArgs {
                files: args.base.clone(),
                max_mib: args.files.max_mib,
            };
            Bundle::read(&files, asked, true).context("--base")
        });
        let mut base = base.transpose()?;
        // What is compared has the same columns.
        for shown in &mut shown.profiles {
            for base in base.iter_mut().flat_map(|base| &mut base.profiles) {
                if base.kind == shown.kind {
                    share_columns(&mut [&mut *shown, base]);
                }
            }
        }
        if let Some(kind) = args.kind
            && shown.of(kind).is_none()
        {
            bail!("no {} profile among the inputs", kind.name());
        }
        if shown.profiles.is_empty() {
            bail!("no profile among the inputs, only spans");
        }
        Ok(Sets {
            shown,
            base,
            conditions: [
                Condition {
                    focus: args.focus.clone(),
                    roots: args.roots.clone(),
                },
                Condition {
                    focus: args.base_focus.clone(),
                    roots: args.base_roots.clone(),
                },
            ],
            compares: args.compares(),
        })
    }

    /// The sides that there are, with what each is of.
    fn sides(&self) -> Vec<(Side, &Bundle, &Condition)> {
        let mut sides = vec![(Side::Shown, &self.shown, &self.conditions[0])];
        if self.compares {
            let base = self.base.as_ref().unwrap_or(&self.shown);
            sides.push((Side::Base, base, &self.conditions[1]));
        }
        sides
    }

    fn page(&self, args: &FlameArgs) -> Result<Vec<u8>> {
        let mut builder = Builder::new();
        let mut notes = Vec::new();
        for (side, bundle, condition) in self.sides() {
            let wanted = |of: &&OfKind| args.kind.is_none() || of.kind == args.kind;
            let parts: Vec<_> = bundle.profiles.iter().filter(wanted).map(part).collect();
            builder.add(
                side,
                &parts,
                [bundle.spans.clone()],
                &bundle.names,
                condition,
            )?;
            if !condition.is_empty() && builder.is_empty(side) {
                note(NOTHING_MATCHES);
            }
            if bundle.spans_left_out > 0 {
                notes.push(format!(
                    "{} ended and are in no span file",
                    plural(i128::from(bundle.spans_left_out), "more span")
                ));
            }
        }
        let title = title(args);
        let document = builder.finish(&About {
            title: &title,
            version: env!("CARGO_PKG_VERSION"),
            notes: &notes,
        })?;
        Ok(Page::new(&title, Some(&document)).html.into_bytes())
    }

    fn stacks(&self, args: &FlameArgs, format: FlameFormat) -> Result<Vec<u8>> {
        let chosen = choose(&self.shown, args)?;
        let amount = chosen.kind.map(|kind| kind.amount().kind);
        let mut chooser = Chooser::new(args.sample_type.as_deref().or(amount));
        let mut collapsed = Collapsed::default();
        for (side, bundle, condition) in self.sides() {
            let types = &chosen.profile.sample_types;
            let found = bundle
                .profiles
                .iter()
                .find(|of| of.profile.sample_types == *types);
            let of = found.ok_or_else(|| anyhow!("--base has no profile of the same kind"))?;
            let reader = chooser.reader(&of.profile)?;
            let mut roots = bundle.names.clone();
            roots.add_spans(bundle.spans.clone(), 0);
            roots.settle();
            collapsed.add(side as usize, &of.profile, reader, &roots, condition);
        }
        let (lines, negative) = collapsed.lines(self.compares);
        if negative > 0 {
            let stacks = plural(negative as i128, "stack");
            note(&format!("{stacks} with a value below zero left out"));
        }
        let mut bytes = Vec::new();
        match format {
            FlameFormat::Svg => {
                let unit = chooser.measure().map_or("", |measure| &measure.unit);
                svg::write(&lines, &title(args), unit, self.compares, &mut bytes)?;
            }
            _ => collapsed::write(&lines, &mut bytes)?,
        }
        if lines.is_empty() {
            note(NOTHING_MATCHES);
        }
        Ok(bytes)
    }
}

fn part(of: &OfKind) -> Part<'_> {
    Part {
        kind: of.kind,
        profile: &of.profile,
        files: of.files,
    }
}

/// The profile asked for, else the first of a known kind, else the first.
fn choose<'a>(bundle: &'a Bundle, args: &FlameArgs) -> Result<&'a OfKind> {
    if let Some(kind) = args.kind {
        return bundle
            .of(kind)
            .ok_or_else(|| anyhow!("no {} profile among the inputs", kind.name()));
    }
    let all = || bundle.profiles.iter();
    if let Some(wanted) = &args.sample_type {
        let found = all().find(|of| of.profile.sample_type(wanted).is_some());
        return found
            .ok_or_else(|| anyhow!("no profile among the inputs has the sample type {wanted}"));
    }
    let first = all().find(|of| of.kind.is_some()).or(all().next());
    let first = first.ok_or_else(|| anyhow!("no profile among the inputs"))?;
    let others: Vec<_> = all()
        .filter(|of| !std::ptr::eq(*of, first))
        .map(|of| plural(i128::from(of.files), &format!("{} profile", name(of.kind))))
        .collect();
    if !others.is_empty() {
        note(&format!(
            "{} left out, {} is shown: kinds are not added up, --kind names another",
            others.join(", "),
            name(first.kind)
        ));
    }
    Ok(first)
}

fn name(kind: Option<Kind>) -> &'static str {
    kind.map_or("other", Kind::name)
}

fn title(args: &FlameArgs) -> String {
    if let Some(title) = &args.title {
        return printable(&shortened(title));
    }
    let names = |paths: &[std::path::PathBuf]| {
        let shown = paths.iter().take(3).map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        });
        let mut names = shown.collect::<Vec<_>>().join(", ");
        if paths.len() > 3 {
            names += &format!(" and {} more", paths.len() - 3);
        }
        names
    };
    let mut title = names(&args.files.files);
    if !args.base.is_empty() {
        title += &format!(" against {}", names(&args.base));
    }
    printable(&shortened(&title))
}
