//! The labels of a series: what of an origin Pyroscope can have beside its profiles.
//!
//! Host and process id are not among them: each start of a process would be another series. Who wants them gives them as
//! static labels.

use crate::origin::Origin;

/// Pyroscope's default of labels a series (`-validation.max-label-names-per-series`), those included that each has.
const MOST: usize = 30;
/// As above, bytes of a name (`max-label-name-length`).
const LONGEST_NAME: usize = 1_024;
/// As above, of a value (`max-label-value-length`).
const LONGEST_VALUE: usize = 2_048;

/// What each series has: `__name__`, `__delta__`, `service_name`.
const ALWAYS: usize = 3;
/// The label of the service.
pub(super) const SERVICE: &str = "service_name";
/// What a service without a name is called, by OpenTelemetry too.
const UNKNOWN_SERVICE: &str = "unknown_service:java";

/// The static labels of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Labels {
    /// Value of [`SERVICE`], not empty.
    pub service: String,
    /// Names are `[a-zA-Z_][a-zA-Z0-9_]*`, each once; values are not empty.
    pub others: Vec<(String, String)>,
    /// Those that are not among them.
    pub left_out: u64,
}

impl Labels {
    /// In the order in which they were given, labels before attributes, so that the same are left out each time.
    pub fn of(origin: &Origin) -> Self {
        let mut labels = Labels {
            service: service(&origin.service),
            others: Vec::new(),
            left_out: 0,
        };
        for (name, value) in &origin.labels {
            if !labels.add(name, value) {
                labels.left_out += 1;
            }
        }
        let own = labels.others.len();
        for (name, value) in origin.told_attributes() {
            // A label of that name wins, and nothing is missing.
            let known = |(known, _): &(String, String)| *known == sanitised(name);
            let overridden = labels.others.iter().take(own).any(known);
            if !overridden && !labels.add(name, value) {
                labels.left_out += 1;
            }
        }
        labels
    }

    fn add(&mut self, name: &str, value: &str) -> bool {
        let name = sanitised(name);
        let fits = !name.is_empty()
            && name.len() <= LONGEST_NAME
            && !value.is_empty()
            && value.len() <= LONGEST_VALUE
            && self.others.len() + ALWAYS < MOST
            // These are Pyroscope's own.
            && !name.starts_with("__")
            && name != SERVICE
            && self.others.iter().all(|(known, _)| *known != name);
        if fits {
            self.others.push((name, value.to_owned()));
        }
        fits
    }
}

/// As Prometheus has names of labels.
fn sanitised(name: &str) -> String {
    let first_is_digit = name.starts_with(|c: char| c.is_ascii_digit());
    let start = if first_is_digit { "_" } else { "" };
    let rest = name.chars().map(|c| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
        _ => '_',
    });
    start.chars().chain(rest).collect()
}

fn service(name: &str) -> String {
    if name.trim().is_empty() {
        return UNKNOWN_SERVICE.to_owned();
    }
    let end = (0..=LONGEST_VALUE)
        .rev()
        .find(|end| name.is_char_boundary(*end));
    name.get(..end.unwrap_or(0)).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn names_become_those_of_prometheus_and_labels_win_over_attributes() {
        let labels = Labels::of(&Origin {
            service: "shop".to_owned(),
            labels: pairs(&[("env", "prod"), ("9lives", "cat"), ("région", "eu")]),
            resource: pairs(&[("env", "test"), ("k8s.pod.name", "shop-1")]),
            ..Origin::default()
        });
        assert_eq!(
            labels.others,
            pairs(&[
                ("env", "prod"),
                ("_9lives", "cat"),
                ("r_gion", "eu"),
                ("k8s_pod_name", "shop-1")
            ])
        );
        assert_eq!(labels.left_out, 0);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_same_each_time() {
        let many: Vec<_> = (0..40).map(|i| (format!("l{i}"), "v".to_owned())).collect();
        let origin = Origin {
            service: String::new(),
            labels: [
                pairs(&[
                    ("__name__", "x"),
                    ("service.name", "other"),
                    ("empty", ""),
                    ("", "no name"),
                    ("long", &"v".repeat(LONGEST_VALUE + 1)),
                    ("l0", "first"),
                ]),
                many,
            ]
            .concat(),
            ..Origin::default()
        };
        let labels = Labels::of(&origin);
        assert_eq!(labels.service, UNKNOWN_SERVICE);
        assert_eq!(labels.others.len(), MOST - ALWAYS);
        assert_eq!(labels.others[0], ("l0".to_owned(), "first".to_owned()));
        assert_eq!(labels.left_out, 46 - 27);
        assert_eq!(labels, Labels::of(&origin));
    }

    #[test]
    fn command_lines_are_not_told() {
        let labels = Labels::of(&Origin {
            service: "shop".to_owned(),
            resource: pairs(&[
                ("process.command_line", "java -Dpassword=hunter2"),
                ("process.command_args", "-Dpassword=hunter2"),
            ]),
            ..Origin::default()
        });
        assert_eq!(labels.others, []);
        assert_eq!(labels.left_out, 0);
    }

    #[test]
    fn a_long_name_of_a_service_is_cut_between_characters() {
        let labels = Labels::of(&Origin {
            service: "é".repeat(LONGEST_VALUE),
            ..Origin::default()
        });
        assert_eq!(labels.service, "é".repeat(LONGEST_VALUE / 2));
    }
}
