//! `vtprof convert`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use vtprof_profile::formats::Format;
use vtprof_profile::kind::Kind;
use vtprof_profile::model::ValueType;

use super::{FilesArgs, kinds};

#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub files: FilesArgs,

    /// File to write, gzipped where it ends in .gz (pprof unless it ends in .pb), or '-' for standard output
    #[arg(long, short, value_name = "OUT")]
    pub output: PathBuf,

    /// Format of the inputs [default: by what is in them; collapsed by .collapsed or .folded]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub from: Option<Format>,

    /// Format to write [default: by the end of OUT: .pb .pprof, .collapsed .folded, .otlp .otlp.pb, .otlp.json,
    /// .speedscope.json]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub to: Option<Format>,

    /// Profiles to convert, where there are several kinds and the format holds one
    #[arg(long, value_parser = kinds())]
    pub kind: Option<Kind>,

    /// Sample type whose values are written, by its kind, where the format holds one (collapsed) [default: that of
    /// --kind, else the file's default, else that of its kind, else its last]
    #[arg(long, value_name = "KIND")]
    pub sample_type: Option<String>,

    /// What the numbers of collapsed inputs are [default: samples/count, or values/count where all are 100,000 or more]
    #[arg(long, value_name = "KIND/UNIT", value_parser = value_type)]
    pub value_type: Option<TypeArg>,
}

/// A sample type as given.
#[derive(Debug, Clone)]
pub struct TypeArg(pub ValueType);

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("no such format"))
}

fn value_type(text: &str) -> Result<TypeArg, String> {
    match text.split_once('/') {
        Some((kind, unit)) if !kind.is_empty() && !unit.is_empty() => Ok(TypeArg(ValueType {
            kind: kind.to_owned(),
            unit: unit.to_owned(),
        })),
        _ => Err("write KIND/UNIT, e.g. cpu/nanoseconds".to_owned()),
    }
}
