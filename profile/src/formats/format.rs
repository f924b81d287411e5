//! The formats, by name and by the endings of files.

/// A format of profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `profile.proto` of google/pprof.
    Pprof,
    /// A line a stack, frames from the root, parted by semicolons, and a number.
    Collapsed,
    /// OTLP profiles in protobuf.
    OtlpProto,
    /// OTLP profiles in JSON.
    OtlpJson,
    /// What speedscope.app reads.
    Speedscope,
}

/// Endings of file names; one that ends as another does stands before it.
const ENDINGS: [(&str, Format); 14] = [
    (".speedscope.json", Format::Speedscope),
    (".speedscope", Format::Speedscope),
    (".otlp.json", Format::OtlpJson),
    (".otlp.jsonl", Format::OtlpJson),
    (".otlp.pb", Format::OtlpProto),
    (".otlp.binpb", Format::OtlpProto),
    (".otlp", Format::OtlpProto),
    (".collapsed", Format::Collapsed),
    (".folded", Format::Collapsed),
    (".collapsed.txt", Format::Collapsed),
    (".folded.txt", Format::Collapsed),
    (".pb", Format::Pprof),
    (".pprof", Format::Pprof),
    (".profile", Format::Pprof),
];

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] = [
        Format::Pprof,
        Format::Collapsed,
        Format::OtlpProto,
        Format::OtlpJson,
        Format::Speedscope,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Pprof => "pprof",
            Format::Collapsed => "collapsed",
            Format::OtlpProto => "otlp",
            Format::OtlpJson => "otlp-json",
            Format::Speedscope => "speedscope",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that the end of a file's name tells, and whether it tells that the file is gzipped.
    #[must_use]
    pub fn of_file(name: &str) -> Option<(Self, bool)> {
        let plain = name.strip_suffix(".gz");
        let name = plain.unwrap_or(name);
        let mut endings = ENDINGS.into_iter();
        let (_, format) = endings.find(|(ending, _)| name.ends_with(ending))?;
        Some((format, plain.is_some()))
    }

    /// Whether it is text, which people and other tools read as it is.
    #[must_use]
    pub const fn is_text(self) -> bool {
        !matches!(self, Format::Pprof | Format::OtlpProto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_tells_the_format_and_whether_it_is_gzipped() {
        for (name, expected) in [
            ("a.pb.gz", Some((Format::Pprof, true))),
            ("a.pprof", Some((Format::Pprof, false))),
            ("a.otlp.pb.gz", Some((Format::OtlpProto, true))),
            ("a.otlp.json", Some((Format::OtlpJson, false))),
            ("a.folded", Some((Format::Collapsed, false))),
            ("a.collapsed.txt.gz", Some((Format::Collapsed, true))),
            ("a.speedscope.json", Some((Format::Speedscope, false))),
            ("a.json", None),
            ("a.txt", None),
            ("a", None),
        ] {
            assert_eq!(Format::of_file(name), expected, "{name}");
        }
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
    }
}
