//! Which JVM a soak runs on, for how long, and the settings that its seed chooses.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::artifacts;
use crate::jdk::{self, Jdk};
use crate::launch::Launch;

/// Every way to block but sockets, which need a platform thread each: an antagonist has those.
const WAITS: &str = "sleep+park+lock+monitor+object_wait+queue+future+yield";
const THREADS: u32 = 12;
/// Found at start by the dynamic linker, on its own path.
const DEBUG_ALLOCATOR: &str = "libc_malloc_debug.so.0";

/// Options that turn all kinds on but CPU time.
const KINDS: &str = ",blocked=1ms,wall=10ms,wall_scope=all,lock=1ms,alloc=512k,live=4k";

/// See the module.
#[derive(Debug, Clone)]
pub struct Plan {
    /// On which JDK.
    pub jdk: Jdk,
    /// Minutes of load; the start comes on top.
    pub minutes: u32,
    /// As in `-XX:+Use{gc}GC`; `ZGC` is taken for `Z`.
    pub gc: String,
    /// Of all that is drawn at random.
    pub seed: u64,
    /// The agent's option that makes signals, `stress=…` or `cpu=…`.
    pub pace: String,
    /// Whether all kinds of profile are on, or CPU time alone.
    pub all_kinds: bool,
    /// Whether the C library checks and poisons what is allocated.
    pub debug_allocator: bool,
    /// Whether the code cache is so small that code is thrown away.
    pub small_code_cache: bool,
    /// Carriers of virtual threads.
    pub carriers: u32,
}

impl Plan {
    /// What `VTPROF_SOAK_*` say; `None`, with a line, where the JDK is not here.
    ///
    /// # Errors
    /// One of them is no value.
    pub fn from_environment() -> Result<Option<Plan>> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let seed: u64 = setting("SEED", clock)?;
        let Some(jdk) = jdk::of_feature(setting("JDK", 25)?, "soak") else {
            return Ok(None);
        };
        let mut draw = Draw(seed);
        let drawn = draw.one_of(4) == 0;
        let debug_allocator = match setting("MALLOC", String::new())?.as_str() {
            "" => drawn,
            "debug" => true,
            "plain" => false,
            other => bail!("VTPROF_SOAK_MALLOC is debug or plain, not {other}"),
        };
        Ok(Some(Plan {
            jdk,
            minutes: setting("MINUTES", 1)?,
            gc: setting("GC", "G1".to_owned())?.replace("GC", ""),
            seed,
            pace: setting("PACE", "stress=4000hz".to_owned())?,
            all_kinds: match setting("KINDS", "all".to_owned())?.as_str() {
                "all" => true,
                "cpu" => false,
                other => bail!("VTPROF_SOAK_KINDS is all or cpu, not {other}"),
            },
            debug_allocator,
            small_code_cache: draw.one_of(3) == 0,
            carriers: 1 + draw.one_of(3),
        }))
    }

    /// Its JVM. Few threads of the JVM's own: under `stress` each of them takes the signals of all.
    ///
    /// # Errors
    /// Something to run is missing.
    pub fn launch(&self, dir: &std::path::Path) -> Result<Launch> {
        let program = artifacts::truth_program()?;
        let mut transformer = std::ffi::OsString::from("-javaagent:");
        transformer.push(&program);
        let options = format!(
            "{}{},out=out,every=10s,keep=64GiB,service=soak,log=debug",
            self.pace,
            if self.all_kinds { KINDS } else { "" }
        );
        let mut launch = Launch::new(&self.jdk)
            .agent_at(&artifacts::install(dir)?, &options)
            .flag(transformer)
            .flag(format!("-XX:+Use{}GC", self.gc))
            // A heap that is all there from the start is no growth.
            .flags(["-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch"])
            .flags([
                "-XX:MaxMetaspaceSize=192m",
                "-XX:NativeMemoryTracking=summary",
            ])
            .flags([
                "-XX:CICompilerCount=2",
                "-XX:ParallelGCThreads=2",
                "-XX:ConcGCThreads=1",
            ])
            .flag("-Djava.util.concurrent.ForkJoinPool.common.parallelism=2")
            .flag("-Djdk.virtualThreadScheduler.maxPoolSize=8")
            .flag(format!(
                "-Djdk.virtualThreadScheduler.parallelism={}",
                self.carriers
            ))
            .flag("-XX:-CreateCoredumpOnCrash")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.DeepStacks::rest*")
            .flag("-XX:CompileCommand=dontinline,io.vtprof.truth.DeepStacks::leaf")
            .env("MALLOC_ARENA_MAX", "2");
        if self.small_code_cache {
            launch = launch.flag("-XX:ReservedCodeCacheSize=24m");
        }
        if self.jdk.feature >= 22 {
            launch = launch.flag("--enable-native-access=ALL-UNNAMED");
        }
        if self.debug_allocator {
            launch = launch
                .env("LD_PRELOAD", DEBUG_ALLOCATOR)
                .env("MALLOC_CHECK_", "3")
                .env("MALLOC_PERTURB_", "165");
        }
        launch.truth_program([
            "soak".to_owned(),
            format!("--seconds={}", self.minutes * 60),
            // By the clock alone: its load is not counted as work, most of it.
            "--work=0".to_owned(),
            format!("--threads={THREADS}"),
            format!("--seed={}", self.seed.cast_signed()),
            format!("--waits={WAITS}"),
            "--log=truth.log".to_owned(),
        ])
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "soak of {} min on {} with {}, {}, {}, seed {} ({} carrier(s), {} code cache, {} allocator)",
            self.minutes,
            self.jdk.version,
            self.gc,
            self.pace,
            if self.all_kinds {
                "all kinds"
            } else {
                "CPU time alone"
            },
            self.seed,
            self.carriers,
            if self.small_code_cache {
                "small"
            } else {
                "usual"
            },
            if self.debug_allocator {
                "debug"
            } else {
                "usual"
            },
        )
    }
}

/// `VTPROF_SOAK_{key}`, unless empty.
fn setting<T: FromStr>(key: &str, otherwise: T) -> Result<T> {
    let name = format!("VTPROF_SOAK_{key}");
    match std::env::var(&name) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .ok()
            .with_context(|| format!("{name}={text} is no value of its kind")),
        _ => Ok(otherwise),
    }
}

/// Numbers that follow from the seed (SplitMix64).
struct Draw(u64);

impl Draw {
    /// One of the first `n` numbers.
    fn one_of(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let fraction = u128::from(x ^ (x >> 31)) * u128::from(n);
        u32::try_from(fraction >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_draws_the_same_and_every_choice_is_drawn() {
        let draws = |seed| {
            let mut draw = Draw(seed);
            [draw.one_of(4), draw.one_of(3), draw.one_of(3)]
        };
        assert_eq!(draws(42), draws(42));
        for place in 0..3 {
            let mut seen: Vec<u32> = (0..200).map(|seed| draws(seed)[place]).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), if place == 0 { 4 } else { 3 });
        }
    }
}
