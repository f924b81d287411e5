//! What the program says while it runs: whether each part of it gets on, and its memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::soak::memory::Reading;

/// A part that has not moved for so long hangs, and for so many beats: a machine that is busy elsewhere slows both.
/// A round may start a recording or a process, and takes its minute where others want the machine as well.
pub const PATIENCE: Duration = Duration::from_secs(180);
const PATIENCE_BEATS: u64 = 120;
const BEAT: &str = "beat";

/// How far a part is, and when that last changed, by the clock and by the beat.
#[derive(Debug, Clone, Copy)]
struct Mark {
    count: u64,
    at: Instant,
    beat: u64,
}

/// The program's output, read again and again.
#[derive(Debug)]
pub struct Watch {
    progress: BTreeMap<String, Mark>,
    beat: u64,
    /// Memory, in the order of time.
    pub memory: Vec<Reading>,
    last_beat: String,
}

impl Watch {
    /// Nothing has been said yet.
    pub fn new() -> Watch {
        Watch {
            progress: BTreeMap::new(),
            beat: 0,
            memory: Vec::new(),
            last_beat: String::new(),
        }
    }

    /// Takes in all of the output so far.
    pub fn read(&mut self, stdout: &str, now: Instant) {
        // The last line may be half written.
        let whole = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
        self.memory = whole.lines().filter_map(Reading::parse).collect();
        let Some(beat) = whole
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("beat "))
        else {
            return;
        };
        beat.clone_into(&mut self.last_beat);
        for (number, word) in beat.split(' ').enumerate() {
            let (part, count) = match word.split_once('=') {
                Some(pair) => pair,
                None if number == 0 => (BEAT, word),
                None => continue,
            };
            let Ok(count) = count.parse() else { continue };
            if part == BEAT {
                self.beat = count;
            }
            let mark = Mark {
                count,
                at: now,
                beat: self.beat,
            };
            let known = self.progress.entry(part.to_owned()).or_insert(mark);
            if known.count != count {
                *known = mark;
            }
        }
    }

    /// The part that hangs, if one does. The start is bounded by the limit on the run.
    pub fn hung(&self, now: Instant) -> Option<&str> {
        self.progress
            .iter()
            .find(|(part, mark)| {
                now.duration_since(mark.at) > PATIENCE
                    && (*part == BEAT || self.beat - mark.beat >= PATIENCE_BEATS)
            })
            .map(|(part, _)| part.as_str())
    }

    /// The last thing it said.
    pub fn last_beat(&self) -> &str {
        &self.last_beat
    }
}

impl Default for Watch {
    fn default() -> Self {
        Watch::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_stands_still_is_named_while_others_move() {
        let start = Instant::now();
        let later = start + PATIENCE + Duration::from_secs(1);
        let mut watch = Watch::new();
        watch.read(
            "truth: soak\nbeat 1 requests=5 rounds=1\nbeat 2 requ",
            start,
        );
        watch.read("beat 120 requests=5 rounds=7\n", later);
        assert_eq!(watch.hung(later), None, "minutes in which little was done");
        watch.read("beat 121 requests=5 rounds=8\n", later);
        assert_eq!(watch.hung(later), Some("requests"));
        assert_eq!(watch.last_beat(), "121 requests=5 rounds=8");
    }

    #[test]
    fn a_heart_that_stands_still_is_a_hang() {
        let start = Instant::now();
        let mut watch = Watch::new();
        watch.read("beat 1 requests=5\n", start);
        assert_eq!(watch.hung(start + PATIENCE), None);
        assert_eq!(
            watch.hung(start + PATIENCE + Duration::from_secs(1)),
            Some(BEAT)
        );
    }

    #[test]
    fn a_start_is_no_hang() {
        let watch = Watch::new();
        assert_eq!(watch.hung(Instant::now() + 9 * PATIENCE), None);
    }
}
