//! The list as text: as Prometheus reads it (text format 0.0.4), and as the shim does. In base units (seconds, bytes), as
//! both want them.

use std::fmt::Write;

use super::{Figure, Nature};

/// The name of all figures of the agent's threads, where the thread is a label.
const THREADS: &str = "agent.thread_cpu_ns";

/// What a figure is called in base units, how its unit is called, and its value in it.
struct Scaled {
    /// Without the unit.
    stem: &'static str,
    /// As OpenTelemetry has it (UCUM).
    unit: &'static str,
    /// As Prometheus has it, at the name's end.
    suffix: &'static str,
    value: f64,
}

fn scaled(figure: &Figure) -> Scaled {
    let name = figure.thread.map_or(figure.name, |_| THREADS);
    let (stem, unit, suffix, scale) = if let Some(stem) = name.strip_suffix("_ns") {
        (stem, "s", "_seconds", 1e9)
    } else if let Some(stem) = name.strip_suffix("_bytes") {
        (stem, "By", "_bytes", 1.0)
    } else {
        (name, "1", "", 1.0)
    };
    Scaled {
        stem,
        unit,
        suffix,
        value: figure.value / scale,
    }
}

/// As Prometheus reads it. Figures of one name, but for a label, must stand beside each other.
#[must_use]
pub fn prometheus(figures: &[Figure]) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for figure in figures {
        let Scaled {
            stem,
            suffix,
            value,
            ..
        } = scaled(figure);
        let stem = stem.replace('.', "_");
        let (total, nature) = match figure.nature {
            Nature::Counter => ("_total", "counter"),
            Nature::Gauge => ("", "gauge"),
        };
        let name = format!("vtprof_{stem}{suffix}{total}");
        if name != last {
            let help = figure.help.trim().replace('\\', "\\\\").replace('\n', " ");
            // Into a string, which takes it.
            let _written = write!(text, "# HELP {name} {help}\n# TYPE {name} {nature}\n");
            last.clone_from(&name);
        }
        let label = figure
            .thread
            .map(|thread| format!("{{thread=\"{thread}\"}}"));
        let label = label.unwrap_or_default();
        let _written = writeln!(text, "{name}{label} {value}");
    }
    text
}

/// As the shim reads it: a line a figure, six fields with a tab between two: `counter` or `gauge`, name, unit, thread or
/// nothing, value, and what it is.
#[must_use]
pub fn lines(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures {
        let Scaled {
            stem, unit, value, ..
        } = scaled(figure);
        let nature = match figure.nature {
            Nature::Counter => "counter",
            Nature::Gauge => "gauge",
        };
        let thread = figure.thread.unwrap_or_default();
        let help = figure.help.trim().replace(['\t', '\n'], " ");
        // Into a string, which takes it.
        let _written = writeln!(
            text,
            "{nature}\tvtprof.{stem}\t{unit}\t{thread}\t{value}\t{help}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use vtprof_signal::counters::Counter;

    fn some() -> Vec<Figure> {
        let thread = |thread, name, ns| Figure {
            thread: Some(thread),
            ..Figure::counter(name, "CPU.", ns)
        };
        vec![
            Figure::counter("samples.taken", " Samples\nand \\ more.", 3),
            Figure::counter("agent.handler_ns", "CPU time.", 1_500_000_000),
            thread("drain", "agent.drain_cpu_ns", 2_000_000),
            thread("wall", "agent.wall_cpu_ns", 250_000_000),
            Figure::gauge("agent.heap_bytes", "Memory.", 4096.0),
        ]
    }

    #[test]
    fn prometheus_reads_base_units_a_help_and_a_type_a_family_and_threads_as_labels() {
        let expected = "\
# HELP vtprof_samples_taken_total Samples and \\\\ more.
# TYPE vtprof_samples_taken_total counter
vtprof_samples_taken_total 3
# HELP vtprof_agent_handler_seconds_total CPU time.
# TYPE vtprof_agent_handler_seconds_total counter
vtprof_agent_handler_seconds_total 1.5
# HELP vtprof_agent_thread_cpu_seconds_total CPU.
# TYPE vtprof_agent_thread_cpu_seconds_total counter
vtprof_agent_thread_cpu_seconds_total{thread=\"drain\"} 0.002
vtprof_agent_thread_cpu_seconds_total{thread=\"wall\"} 0.25
# HELP vtprof_agent_heap_bytes Memory.
# TYPE vtprof_agent_heap_bytes gauge
vtprof_agent_heap_bytes 4096
";
        assert_eq!(prometheus(&some()), expected);
    }

    #[test]
    fn the_shim_reads_six_fields_a_line_whatever_the_help_is() {
        let text = lines(&some());
        let rows: Vec<Vec<_>> = text
            .lines()
            .map(|line| line.split('\t').collect())
            .collect();
        assert_eq!(rows.len(), some().len());
        assert!(rows.iter().all(|row| row.len() == 6), "{rows:?}");
        let first = ["counter", "vtprof.samples.taken", "1", "", "3"];
        assert_eq!(rows[0][..5], first);
        let drain = ["counter", "vtprof.agent.thread_cpu", "s", "drain", "0.002"];
        assert_eq!(rows[2][..5], drain);
        assert_eq!(rows[4][..3], ["gauge", "vtprof.agent.heap", "By"]);
    }

    #[test]
    fn each_counter_has_a_family_of_its_own_and_a_help() {
        let figures: Vec<_> = Counter::ALL
            .iter()
            .map(|counter| Figure::counter(counter.name(), counter.help(), 1))
            .collect();
        let text = prometheus(&figures);
        let mut families = HashMap::new();
        for line in text.lines().filter(|line| line.starts_with("# HELP ")) {
            let (name, help) = line[7..].split_once(' ').unwrap();
            assert!(help.len() > 5 && help.ends_with('.'), "{line}");
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(legal), "{name}");
            *families.entry(name).or_insert(0) += 1;
        }
        assert_eq!(families.len(), Counter::ALL.len());
        assert!(families.values().all(|count| *count == 1));
    }

    #[test]
    fn a_large_value_is_written_out_in_full() {
        let text = prometheus(&[Figure::counter("a.b", "A.", 9_007_199_254_740_991)]);
        assert!(
            text.ends_with("\nvtprof_a_b_total 9007199254740991\n"),
            "{text}"
        );
    }
}
