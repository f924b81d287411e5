//! What really happened: the log that the Java programs write.
//!
//! `# key=value` lines, then a line a span of tab-separated fields, see `SpanTruth.java`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use vtprof_profile::ids::{SpanId, TraceId};

/// Classes whose work belongs to no span.
pub const NEVER_TAGGED: [&str; 3] = ["Background", "Unsampled", "AfterEnd"];

/// One span, as the program that made it knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanTruth {
    /// Simple name of the only class that burns in it.
    pub burner: String,
    /// The name it had in the end.
    pub name: String,
    /// The name it had at first; empty where it was never renamed.
    pub first_name: String,
    /// Its trace.
    pub trace: TraceId,
    /// Its id.
    pub span: SpanId,
    /// The span of this process that it descends from, or itself.
    pub local_root: SpanId,
    /// A moment before it started, ns of the monotonic clock.
    pub start: i64,
    /// A moment after it ended, ns of the monotonic clock; `None` where the program ended first.
    pub end: Option<i64>,
    /// Iterations burnt in it and not in its children; 0 where nobody counted.
    pub iterations: u64,
    /// Several threads worked for it at once.
    pub parallel: bool,
    /// From a moment after it started to one before it ended, ns; 0 where nobody looked, or the program ended first.
    pub least: u64,
}

/// All spans of one run.
#[derive(Debug, Default)]
pub struct TruthLog {
    /// The spans by id.
    pub spans: HashMap<SpanId, SpanTruth>,
    /// The classes that burn, those without a span included.
    pub burners: HashSet<String>,
    /// Which classes burn below which local root.
    families: HashSet<(SpanId, String)>,
    facts: BTreeMap<String, String>,
}

impl TruthLog {
    /// Reads a log.
    ///
    /// # Errors
    /// It is missing, or a line is not one.
    pub fn read(path: &Path) -> Result<TruthLog> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("no truth log {}", path.display()))?;
        TruthLog::parse(&text)
    }

    fn parse(text: &str) -> Result<TruthLog> {
        let mut log = TruthLog::default();
        log.burners.extend(NEVER_TAGGED.map(str::to_owned));
        for (number, line) in (1..).zip(text.lines()) {
            let at = || format!("line {number} of the truth log: {line}");
            if let Some(fact) = line.strip_prefix("# ") {
                let (key, value) = fact.split_once('=').with_context(at)?;
                log.facts.insert(key.to_owned(), value.to_owned());
                continue;
            }
            let span: SpanTruth = line.parse().with_context(at)?;
            log.add(span)?;
        }
        Ok(log)
    }

    /// Adds a span.
    ///
    /// # Errors
    /// The log has it already.
    pub fn add(&mut self, span: SpanTruth) -> Result<()> {
        self.burners.insert(span.burner.clone());
        self.families.insert((span.local_root, span.burner.clone()));
        if let Some(twin) = self.spans.insert(span.span, span) {
            bail!("span {} is in the truth log twice", twin.span);
        }
        Ok(())
    }

    /// Whether that class burns in that local root or in a span below it.
    pub fn is_family(&self, local_root: SpanId, burner: &str) -> bool {
        self.families.contains(&(local_root, burner.to_owned()))
    }

    /// What the program said about itself.
    ///
    /// # Errors
    /// It did not, or it is no such value.
    pub fn fact<T: FromStr>(&self, key: &str) -> Result<T> {
        let text = self
            .facts
            .get(key)
            .with_context(|| format!("the truth log has no {key}"))?;
        text.parse()
            .ok()
            .with_context(|| format!("{key}={text} in the truth log"))
    }

    /// The local root of a span; `None` where the log has none, which a program of ours never
    /// writes.
    pub fn root_of(&self, span: &SpanTruth) -> Option<&SpanTruth> {
        self.spans.get(&span.local_root)
    }
}

impl SpanTruth {
    /// How long it lasted at the most, ns; `None` where the program ended first.
    pub fn duration(&self) -> Option<u64> {
        u64::try_from(self.end? - self.start).ok()
    }
}

impl FromStr for SpanTruth {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<SpanTruth> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            burner,
            name,
            first_name,
            trace,
            span,
            _parent,
            local_root,
            start,
            end,
            iterations,
            threads,
            least,
        ] = fields[..]
        else {
            bail!("{} fields", fields.len());
        };
        ensure!(
            ["serial", "parallel"].contains(&threads),
            "threads: {threads}"
        );
        let end: i64 = end.parse()?;
        Ok(SpanTruth {
            burner: burner.to_owned(),
            name: name.to_owned(),
            first_name: first_name.to_owned(),
            trace: trace.parse()?,
            span: span.parse()?,
            local_root: local_root.parse()?,
            start: start.parse()?,
            end: (end != 0).then_some(end),
            iterations: iterations.parse()?,
            parallel: threads == "parallel",
            least: least.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_back_and_a_broken_line_is_named() {
        let line = "Root01\troot01\trequest\t000000000000000000000000000000ab\t00000000000000cd\t\t00000000000000cd\t100\t0\t7\tserial\t5";
        let log = TruthLog::parse(&format!("# seed=42\n{line}\n")).expect("a log");
        assert_eq!(log.fact::<u64>("seed").expect("a fact"), 42);
        let span = &log.spans[&SpanId(0xcd)];
        assert_eq!(
            (span.burner.as_str(), span.end, span.iterations, span.least),
            ("Root01", None, 7, 5)
        );
        assert!(log.burners.contains("Root01") && log.burners.contains("Background"));

        let twice = TruthLog::parse(&format!("{line}\n{line}\n"));
        assert!(twice.is_err());
        let broken = TruthLog::parse("Root01\tx\n").expect_err("two fields");
        assert!(format!("{broken:#}").contains("line 1"), "{broken:#}");
    }
}
