//! Whether the process grew by memory that the JVM does not explain.
//!
//! Two figures must both grow: resident memory without files, and the same less what the JVM's native memory
//! tracking has committed. Where the JVM takes more (classes, code, stacks), only the first grows; where it gives
//! back to the allocator, which keeps the pages, only the second. A leak of the agent's makes both grow. Each is
//! compared between the second third of the run's work and the last by its median: the first third fills caches, tables
//! and the allocator's arenas, and single readings jump. By work and not by time: a machine that gives little CPU in the
//! end or in the beginning makes nothing grow, and nothing shrink. A leak goes on: all four sixths of the work must grow
//! over the one before. The heap is all there from the start.

use std::fmt;

/// More is growth, KiB: above what is seen without a leak, which is noise and does not grow with time.
const LIMIT_KIB: i64 = 16 << 10;
/// Fewer readings in a sixth of the work are no measurement.
const FEWEST: usize = 2;
/// Sixths of the work that count, the last ones.
const SETTLED: usize = 4;

/// Memory at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What had been done by then, in requests and descents.
    pub work: u64,
    /// Resident, without files, KiB.
    pub resident: i64,
    /// Committed by the JVM itself, KiB.
    pub jvm: i64,
}

impl Reading {
    /// From a line of the program, and what it had done before.
    pub fn parse(line: &str, work: u64) -> Option<Reading> {
        let (resident, jvm) = line
            .strip_prefix("memory resident_kb=")?
            .split_once(" jvm_kb=")?;
        Some(Reading {
            work,
            resident: resident.parse().ok()?,
            jvm: jvm.parse().ok()?,
        })
    }

    fn unexplained(self) -> i64 {
        self.resident - self.jvm
    }
}

/// What became of memory between the second third of a run's work and the last, medians, KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Of resident memory.
    pub resident: i64,
    /// Of what the JVM does not explain of it.
    pub unexplained: i64,
    /// Resident at the end.
    pub size: i64,
    /// Both grew from each of the last four sixths of the work to the next.
    pub steady: bool,
}

impl Growth {
    /// Of a whole run; `None` where it was too short to tell.
    pub fn of(readings: &[Reading]) -> Option<Growth> {
        let last = readings.last()?;
        let sixth = |number: usize| {
            let after = |sixths: usize| last.work * sixths as u64 / 6;
            let begin = readings.partition_point(|reading| reading.work <= after(number));
            let end = readings.partition_point(|reading| reading.work <= after(number + 1));
            &readings[begin..end]
        };
        let settled: [&[Reading]; SETTLED] = std::array::from_fn(|i| sixth(6 - SETTLED + i));
        if settled.iter().any(|sixth| sixth.len() < FEWEST) {
            return None;
        }
        let figures: [fn(Reading) -> i64; 2] = [|reading| reading.resident, Reading::unexplained];
        let [resident, unexplained] = figures.map(|figure| {
            let half = |sixths: &[&[Reading]]| median(&sixths.concat(), figure);
            half(&settled[SETTLED / 2..]) - half(&settled[..SETTLED / 2])
        });
        let steady = settled.windows(2).all(|two| {
            figures
                .iter()
                .all(|figure| median(two[0], *figure) < median(two[1], *figure))
        });
        Some(Growth {
            resident,
            unexplained,
            size: last.resident,
            steady,
        })
    }

    /// Whether it is more than noise.
    pub fn is_leak(self) -> bool {
        self.steady && self.resident.min(self.unexplained) > LIMIT_KIB
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |kib: i64| kib as f64 / 1024.0;
        write!(
            f,
            "{} MiB resident, since the second third {:+.1} MiB, {:+.1} MiB beyond what the JVM explains, {}",
            self.size >> 10,
            mib(self.resident),
            mib(self.unexplained),
            if self.steady {
                "steadily"
            } else {
                "not steadily"
            }
        )
    }
}

fn median(readings: &[Reading], figure: fn(Reading) -> i64) -> i64 {
    let mut values: Vec<i64> = readings.iter().copied().map(figure).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of so many minutes, a reading each 5 s. In a minute the JVM takes and keeps so much, frees so much
    /// without a page going back, and the agent leaks so much; all with noise.
    fn run(minutes: i64, taken: i64, freed: i64, leaked: i64) -> Growth {
        let readings: Vec<Reading> = (0..minutes * 12)
            .map(|i| {
                let minute = |kib: i64| i * kib / 12;
                let noise = i * 7_919 % 20_000;
                Reading {
                    work: 30 * i.unsigned_abs(),
                    resident: 600_000 + noise + i * 104_729 % 5_000 + minute(taken + leaked),
                    jvm: 590_000 + noise + minute(taken - freed),
                }
            })
            .collect();
        Growth::of(&readings).expect("readings")
    }

    #[test]
    fn a_leak_is_found_and_what_the_jvm_takes_and_gives_back_is_none() {
        const MIB: i64 = 1 << 10;
        for minutes in [3, 20] {
            for (taken, freed) in [(0, 0), (20 * MIB, 0), (0, 20 * MIB)] {
                let growth = run(minutes, taken, freed, 0);
                assert!(!growth.is_leak(), "{growth}");
            }
        }
        for (minutes, leaked) in [(3, 24 * MIB), (20, 4 * MIB), (60, 2 * MIB)] {
            let growth = run(minutes, 0, 0, leaked);
            assert!(growth.is_leak(), "{leaked} KiB a minute: {growth}");
        }
    }

    #[test]
    fn memory_that_comes_once_and_work_that_stops_are_no_leak() {
        let reading = |work: u64, resident: i64| Reading {
            work,
            resident,
            jvm: 590_000,
        };
        let once: Vec<Reading> = (0..60)
            .map(|i| reading(i, 600_000 + if i < 40 { 0 } else { 40_000 }))
            .collect();
        let growth = Growth::of(&once).expect("readings");
        assert!(growth.resident > LIMIT_KIB && !growth.is_leak(), "{growth}");
        // Little is held where little is done: by time the last third would hold more than the second.
        let late: Vec<Reading> = (0..90_u32)
            .map(|i| match i.checked_sub(60) {
                None => reading(u64::from(i / 20), 600_000),
                Some(busy) => reading(u64::from(busy) * 100, 640_000),
            })
            .collect();
        let growth = Growth::of(&late).expect("readings");
        assert!(!growth.is_leak(), "{growth}");
        assert_eq!(Growth::of(&once[..5]), None, "too few");
    }

    #[test]
    fn a_line_of_the_program_is_read() {
        let read = Reading::parse("memory resident_kb=612772 jvm_kb=618437", 7);
        assert_eq!(
            read.map(|read| (read.work, read.unexplained())),
            Some((7, -5_665))
        );
        assert_eq!(Reading::parse("beat 1", 7), None);
    }
}
