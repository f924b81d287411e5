//! From paths to read files, a few at a time: of a folder of windows what is made of them is held, and not the files. Spans that
//! do not name their local roots are, up to the last file, and of each process the last profile of a moment.

mod ahead;
mod sources;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use vtprof_profile::comments::{self, SESSION_START, WINDOW};
use vtprof_profile::formats::{self, Document, Format, FormatError, Hint};
use vtprof_profile::gzip::{self, ReadError};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::{ModelError, Profile};
use vtprof_profile::otlp::Gathered;
use vtprof_profile::otlp::trace::TracesData;
use vtprof_profile::spans::{self, LOCAL_ROOT_ATTRIBUTE, SpanFiles, SpanList};
use vtprof_profile::window::Window;

use crate::args::FilesArgs;
use crate::figures::plural;
use crate::text::note;
use sources::Source;
pub use sources::{is_read_from_folder, list};

/// What the agent writes into the name of its span files.
const SPANS_IN_NAME: &str = "-spans-";

/// One file's content.
pub enum Loaded<S = SpanList> {
    /// A profile.
    Profile(Box<Profile>),
    /// Spans that ended, and how many more ended than the file has.
    Spans { list: S, left_out: u64 },
}

/// What is handed on of a file, its spans in the form asked for.
enum Item<S> {
    Profile(Box<Profile>),
    Spans(S),
}

/// The last profile of a moment that one process wrote.
struct Moment {
    name: String,
    profile: Box<Profile>,
    is_named: bool,
}

/// Which process a profile is of: by the name that the agent gives its file, and the session, as in containers all may have
/// one id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    name: String,
    session: Option<i128>,
}

/// What became of a source.
enum Outcome<S> {
    /// It was read.
    Items(Vec<Item<S>>),
    /// It was in a folder and is not any more.
    Gone,
    /// It was in a folder, and is JSON of something else.
    Other,
}

/// Reads all inputs in order and hands each to `take`. Profiles of a moment come last, of each process the latest: the
/// others are of the same objects. Behind them come spans whose local root may be in another file, all together.
///
/// # Errors
/// The first file that cannot be read or that `take` refuses, with its name.
pub fn read_all(args: &FilesArgs, mut take: impl FnMut(Loaded) -> Result<()>) -> Result<()> {
    let mut rootless: Option<(SpanFiles, u64)> = None;
    read_items(args, &Hint::default(), (trim, turn), |item| match item {
        Item::Profile(profile) => take(Loaded::Profile(profile)),
        Item::Spans((files, left_out)) if files.name_all_roots() => take(Loaded::Spans {
            list: files.finish(),
            left_out,
        }),
        Item::Spans((files, more)) => {
            let (all, left_out) = rootless.get_or_insert_default();
            all.join(files);
            *left_out = left_out.saturating_add(more);
            Ok(())
        }
    })?;
    match rootless {
        Some((files, left_out)) => take(Loaded::Spans {
            list: files.finish(),
            left_out,
        }),
        None => Ok(()),
    }
}

/// Reads one file of a folder, of at most `limit` bytes when decompressed; how many it had. `None` of JSON of something else.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_one(path: &Path, limit: u64) -> Result<(Option<Vec<Loaded<SpanFiles>>>, u64)> {
    let file = File::open(path).context("cannot open")?;
    let bytes = gzip::read_bytes(file, limit)?;
    let name = path.display().to_string();
    let items = match items(&bytes, &name, &Hint::default(), &(trim, turn)) {
        Err(error) if is_other(&error, &bytes, &name) => None,
        items => Some(items?),
    };
    let loaded = items.map(|items| {
        let loaded = items.into_iter().map(|item| match item {
            Item::Profile(profile) => Loaded::Profile(profile),
            Item::Spans((list, left_out)) => Loaded::Spans { list, left_out },
        });
        loaded.collect()
    });
    Ok((loaded, bytes.len() as u64))
}

/// Leaves away what is not needed of spans: most of a trace file is attributes.
fn trim(traces: &mut TracesData) {
    let resources = traces.resource_spans.iter_mut();
    for scope in resources.flat_map(|resource| &mut resource.scope_spans) {
        for span in &mut scope.spans {
            let attributes = &mut span.attributes;
            attributes.retain(|attribute| attribute.key == LOCAL_ROOT_ATTRIBUTE);
            attributes.shrink_to_fit();
        }
    }
}

/// The spans of a file, and how many more ended.
fn turn(traces: TracesData) -> (SpanFiles, u64) {
    let mut files = SpanFiles::default();
    files.add(&traces);
    (files, spans::left_out(&traces))
}

/// As [`read_all`], with spans as they are in the file. `hint` is what is known of all files.
///
/// # Errors
/// As [`read_all`].
pub fn read_documents(
    args: &FilesArgs,
    hint: &Hint,
    mut take: impl FnMut(Document) -> Result<()>,
) -> Result<()> {
    read_items(
        args,
        hint,
        (|_: &mut TracesData| {}, |traces| traces),
        |item| match item {
            Item::Profile(profile) => take(Document::Profile(profile)),
            Item::Spans(traces) => take(Document::Traces(traces)),
        },
    )
}

/// Of spans, the first of `spans` leaves away what is not needed of each message, the second makes of all of a file what is
/// asked for; both where the file is read, on another core than `take`.
fn read_items<S: Send>(
    args: &FilesArgs,
    hint: &Hint,
    spans: (
        impl Fn(&mut TracesData) + Sync,
        impl Fn(TracesData) -> S + Sync,
    ),
    mut take: impl FnMut(Item<S>) -> Result<()>,
) -> Result<()> {
    let mut moments: BTreeMap<Series, Moment> = BTreeMap::new();
    let mut others = Vec::new();
    let sources = sources::sources(&args.files)?;
    ahead::in_order(
        &sources,
        |source| (source, read_source(source, args, hint, &spans)),
        |(source, read)| {
            let name = source.name();
            let items = match read.with_context(|| name.clone())? {
                Outcome::Items(items) => items,
                Outcome::Gone => {
                    note(&format!(
                        "{name}: removed since the folder was listed, left out"
                    ));
                    return Ok(());
                }
                Outcome::Other => {
                    others.push(name);
                    return Ok(());
                }
            };
            for item in items {
                if let Item::Profile(profile) = &item
                    && let Some(series) = series(profile, &name)
                    && let Item::Profile(profile) = item
                {
                    let moment = Moment {
                        name: name.clone(),
                        profile,
                        is_named: matches!(source, Source::Named(_)),
                    };
                    keep_latest(&mut moments, series, moment);
                } else {
                    take(item).with_context(|| name.clone())?;
                }
            }
            Ok(())
        },
    )?;
    if let Some(first) = others.first() {
        note(&other_files(others.len(), first));
    }
    for moment in moments.into_values() {
        take(Item::Profile(moment.profile)).context(moment.name)?;
    }
    Ok(())
}

/// Says how many files are JSON of something else.
pub fn other_files(count: usize, first: &str) -> String {
    let files = plural(count as i128, "file");
    format!("{files} of JSON that is neither OTLP nor speedscope not read, e.g. {first}")
}

/// Which process a profile of a moment is of, if it is one.
pub fn series(profile: &Profile, name: &str) -> Option<Series> {
    let kind = Kind::of(profile).filter(|kind| kind.is_of_a_moment())?;
    let before = name.rsplit_once(&format!("-{}-", kind.name()));
    Some(Series {
        name: before.map_or(name, |(process, _)| process).to_owned(),
        session: comments::figure(&profile.comments, WINDOW, SESSION_START),
    })
}

fn keep_latest(moments: &mut BTreeMap<Series, Moment>, series: Series, moment: Moment) {
    let Some(known) = moments.get_mut(&series) else {
        moments.insert(series, moment);
        return;
    };
    let mut left_out = moment;
    if known.profile.time_nanos <= left_out.profile.time_nanos {
        std::mem::swap(known, &mut left_out);
    }
    if overlap(&known.profile, &left_out.profile) {
        note(&format!(
            "{}: left out for {}, though of the same time: of two processes, give each a folder and name both",
            left_out.name, known.name
        ));
    } else if left_out.is_named {
        note(&format!(
            "{}: left out, what is in use later is shown and not both added",
            left_out.name
        ));
    }
}

/// Whether windows have more in common than a clock is set by: those of one process do not.
fn overlap(first: &Profile, second: &Profile) -> bool {
    let windows = Window::of(first).zip(Window::of(second));
    windows.is_some_and(|(first, second)| {
        let common = first.end.min(second.end) - first.start.max(second.start);
        common > first.covered.min(second.covered) / 2
    })
}

fn read_source<S>(
    source: &Source,
    args: &FilesArgs,
    hint: &Hint,
    spans: &(impl Fn(&mut TracesData), impl Fn(TracesData) -> S),
) -> Result<Outcome<S>> {
    let name = source.name();
    let bytes = match source {
        Source::Stdin => read(io::stdin().lock(), args)?,
        Source::Named(path) | Source::Found(path) => match File::open(path) {
            Ok(file) if is_empty(&file) => {
                let may_be_other = matches!(source, Source::Found(_)) && sources::is_json(&name);
                return if may_be_other {
                    Ok(Outcome::Other)
                } else {
                    // A list of no spans is gzipped: a crash of the machine has left this.
                    Err(ModelError::Empty.into())
                };
            }
            Ok(file) => read(file, args)?,
            Err(error)
                if error.kind() == ErrorKind::NotFound && matches!(source, Source::Found(_)) =>
            {
                return Ok(Outcome::Gone);
            }
            Err(error) => return Err(anyhow!("cannot open: {error}")),
        },
    };
    match items(&bytes, &name, hint, spans) {
        Err(error) if matches!(source, Source::Found(_)) && is_other(&error, &bytes, &name) => {
            Ok(Outcome::Other)
        }
        items => items.map(Outcome::Items),
    }
}

/// Whether nobody has said that what cannot be read is a profile: any JSON may lie in a folder, or what is almost JSON.
fn is_other(error: &anyhow::Error, bytes: &[u8], name: &str) -> bool {
    let is_object = bytes.trim_ascii_start().starts_with(b"{");
    let is_of_others = matches!(error.downcast_ref(), Some(FormatError::OtherJson { .. }));
    sources::is_json(name) && (!is_object || is_of_others || !sources::is_marked(bytes))
}

/// What is in the bytes of a file.
fn items<S>(
    bytes: &[u8],
    name: &str,
    hint: &Hint,
    (trim, turn): &(impl Fn(&mut TracesData), impl Fn(TracesData) -> S),
) -> Result<Vec<Item<S>>> {
    // A list of no spans has no byte, and nothing tells it but its name.
    if bytes.is_empty() && name.contains(SPANS_IN_NAME) {
        let none = Item::Spans(turn(TracesData::default()));
        return Ok(vec![none]);
    }
    let of_name = Format::of_file(name).map(|(format, _)| format);
    let of_name = of_name.filter(|format| *format == Format::Collapsed);
    let hint = Hint {
        format: hint.format.or(of_name),
        ..hint.clone()
    };
    let mut items = Vec::new();
    let mut gathered: Option<Gathered> = None;
    formats::read(bytes, &hint, |document| match document {
        Document::Profile(profile) => items.push(Item::Profile(profile)),
        Document::Traces(mut traces) => {
            trim(&mut traces);
            gathered.get_or_insert_default().add(traces);
        }
    })?;
    if let Some(gathered) = gathered {
        items.push(Item::Spans(turn(gathered.finish())));
    }
    Ok(items)
}

fn is_empty(file: &File) -> bool {
    let metadata = file.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

fn read(source: impl Read, args: &FilesArgs) -> Result<Vec<u8>> {
    gzip::read_bytes(source, args.byte_limit()).map_err(|error| match error {
        ReadError::TooLarge { .. } => {
            anyhow!(
                "more than {} MiB when decompressed; --max-mib raises the limit",
                args.max_mib
            )
        }
        other => other.into(),
    })
}
