//! Stacks as lines, `root;caller;leaf 12`, which `flamegraph.pl` and many others read.

use std::collections::BTreeMap;
use std::io::{self, Write};

use vtprof_profile::formats::collapsed::frame;
use vtprof_profile::model::Profile;

use super::condition::Condition;
use crate::measure::Reader;
use crate::spans::roots::Roots;
use crate::tags::TagKeys;
use crate::text::{NO_STACK, printable, shortened};

/// Values by stack: what is shown, and the base.
#[derive(Debug, Default)]
pub struct Collapsed {
    lines: BTreeMap<String, [i128; 2]>,
}

impl Collapsed {
    /// Adds the samples that are wanted to a side, 0 or 1.
    pub fn add(
        &mut self,
        side: usize,
        profile: &Profile,
        reader: Reader,
        roots: &Roots,
        wanted: &Condition,
    ) {
        let keys = TagKeys::of(profile);
        let names: Vec<_> = profile
            .functions
            .iter()
            .map(|(_, function)| element(profile.strings.get(function.name)))
            .collect();
        for sample in profile.samples.iter() {
            let tags = keys.read(profile, &sample);
            let root = roots.find_of(&tags).and_then(|place| roots.get(place));
            if !wanted.takes(&tags, root) {
                continue;
            }
            let frames = profile.frames(&sample);
            let mut frames: Vec<_> = frames
                .map(|frame| names[frame.function.as_usize()].as_str())
                .collect();
            if frames.is_empty() {
                frames.push(NO_STACK);
            }
            frames.reverse();
            let sums = self.lines.entry(frames.join(";")).or_default();
            sums[side] += reader.sum(&sample).value;
        }
    }

    /// Lines of one value, or of two with the base's first. A value below zero, which some tools write for
    /// differences, has no width; how many stacks have none is returned, too.
    pub fn lines(&self, compares: bool) -> (Vec<String>, usize) {
        let mut negative = 0;
        let mut lines = Vec::new();
        for (stack, [shown, base]) in &self.lines {
            if *shown < 0 || *base < 0 {
                negative += 1;
            } else if compares {
                lines.push(format!("{stack} {base} {shown}"));
            } else if *shown > 0 {
                lines.push(format!("{stack} {shown}"));
            }
        }
        (lines, negative)
    }
}

/// Writes lines.
pub fn write(lines: &[String], out: &mut impl Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// A name as part of a line, which may go to a terminal.
fn element(name: &str) -> String {
    frame(&printable(&shortened(name)))
}
