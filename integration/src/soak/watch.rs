//! What the program says while it runs: whether each part of it gets on, and its memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::soak::memory::Reading;

/// A part that has not moved for so long hangs, for so many beats, and for so much CPU of the whole program: a machine
/// that is busy elsewhere slows all three. A round may start a recording or a process, and takes its minute where others
/// want the machine as well.
const PATIENCE: Duration = Duration::from_secs(300);
const PATIENCE_BEATS: u64 = 200;
const PATIENCE_CPU: Duration = Duration::from_secs(10);
/// After so long it hangs even if nothing else uses CPU: all may wait for each other.
const PATIENCE_IDLE: Duration = Duration::from_secs(600);
const BEAT: &str = "beat";
/// The parts that count as work.
const WORK: [&str; 2] = ["requests", "descents"];

/// How far a part is, and when that last changed, by the clock, by the beat and by CPU.
#[derive(Debug, Clone, Copy)]
struct Mark {
    count: u64,
    at: Instant,
    beat: u64,
    cpu: Duration,
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

    /// Takes in all of the output so far, and how much CPU the program has used.
    pub fn read(&mut self, stdout: &str, now: Instant, cpu: Duration) {
        // The last line may be half written.
        let whole = stdout.rfind('\n').map_or("", |end| &stdout[..end]);
        self.memory = readings(whole);
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
                cpu,
            };
            let known = self.progress.entry(part.to_owned()).or_insert(mark);
            if known.count != count {
                *known = mark;
            }
        }
    }

    /// The part that hangs, if one does. The start is bounded by the limit on the run.
    pub fn hung(&self, now: Instant, cpu: Duration) -> Option<&str> {
        self.progress
            .iter()
            .find(|(part, mark)| {
                let (stood, used) = (now - mark.at, cpu.saturating_sub(mark.cpu));
                stood > PATIENCE
                    && (*part == BEAT || self.beat - mark.beat >= PATIENCE_BEATS)
                    && (used >= PATIENCE_CPU || stood > PATIENCE_IDLE)
            })
            .map(|(part, _)| part.as_str())
    }

    /// The last thing it said.
    pub fn last_beat(&self) -> &str {
        &self.last_beat
    }
}

/// Each reading with the work of the beat before it.
fn readings(output: &str) -> Vec<Reading> {
    let mut work = 0;
    let mut readings = Vec::new();
    for line in output.lines() {
        if let Some(beat) = line.strip_prefix("beat ") {
            work = beat
                .split(' ')
                .filter_map(|word| word.split_once('='))
                .filter(|(part, _)| WORK.contains(part))
                .filter_map(|(_, count)| count.parse::<u64>().ok())
                .sum();
        }
        readings.extend(Reading::parse(line, work));
    }
    readings
}

impl Default for Watch {
    fn default() -> Self {
        Watch::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Duration = Duration::from_secs(100);

    #[test]
    fn a_part_that_stands_still_is_named_while_others_move() {
        let start = Instant::now();
        let later = start + PATIENCE + Duration::from_secs(1);
        let mut watch = Watch::new();
        watch.read(
            "truth: soak\nbeat 1 requests=5 rounds=1\nbeat 2 requ",
            start,
            Duration::ZERO,
        );
        watch.read("beat 200 requests=5 rounds=7\n", later, BUSY);
        assert_eq!(
            watch.hung(later, BUSY),
            None,
            "minutes in which little was done"
        );
        watch.read("beat 201 requests=5 rounds=8\n", later, BUSY);
        assert_eq!(watch.hung(later, BUSY), Some("requests"));
        assert_eq!(watch.last_beat(), "201 requests=5 rounds=8");
        let starved = Duration::from_secs(9);
        assert_eq!(watch.hung(later, starved), None, "no CPU to get on with");
    }

    #[test]
    fn a_heart_that_stands_still_is_a_hang_sooner_where_there_is_cpu() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut watch = Watch::new();
        watch.read("beat 1 requests=5\n", start, Duration::ZERO);
        assert_eq!(watch.hung(start + PATIENCE, BUSY), None);
        assert_eq!(watch.hung(start + PATIENCE + second, BUSY), Some(BEAT));
        let idle = |after| watch.hung(start + after, Duration::ZERO);
        assert_eq!(idle(PATIENCE_IDLE), None);
        assert_eq!(idle(PATIENCE_IDLE + second), Some(BEAT));
    }

    #[test]
    fn a_start_is_no_hang() {
        let watch = Watch::new();
        assert_eq!(watch.hung(Instant::now() + 9 * PATIENCE, BUSY), None);
    }

    #[test]
    fn memory_is_read_with_the_work_before_it() {
        let output = "beat 1 requests=5 descents=2 rounds=9\nmemory resident_kb=3 jvm_kb=1\nbeat 2 requests=7 descents=4 rounds=9\nmemory resident_kb=4 jvm_kb=1";
        let works: Vec<u64> = readings(output)
            .iter()
            .map(|reading| reading.work)
            .collect();
        assert_eq!(works, [7, 11]);
    }
}
