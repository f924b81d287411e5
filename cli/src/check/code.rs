//! Whose code samples run: an endpoint whose samples run code that no other endpoint runs has the right samples, however many.
//! Threads that work for a span side by side are told so where neither child spans nor threads show them.

use std::collections::{HashMap, HashSet};

use vtprof_profile::model::{Profile, Sample};

/// Samples that a function must have.
const ENOUGH: f64 = 10.0;
/// The share of them that must be of one endpoint, for it to be that endpoint's code.
const ITS_OWN: f64 = 0.97;
/// The share of an endpoint's samples that must run its code; what else there is, such as a server's own, is nobody's.
const EXPLAINED: f64 = 0.3;
/// For each of those, so many may run the code of another.
const FOREIGN: f64 = 0.05;
/// An endpoint with more of all samples has every function, whatever the tags are worth.
const DOMINANT: f64 = 0.9;

/// Samples by who is charged and by the functions in their stacks.
#[derive(Debug)]
pub struct Code<K> {
    functions: HashMap<String, u32>,
    stacks: HashMap<Vec<u32>, u32>,
    samples: HashMap<(K, u32), f64>,
}

impl<K> Default for Code<K> {
    fn default() -> Self {
        Code {
            functions: HashMap::new(),
            stacks: HashMap::new(),
            samples: HashMap::new(),
        }
    }
}

impl<K: std::hash::Hash + Eq + Copy> Code<K> {
    /// Adds samples of `charged`.
    pub fn add(&mut self, profile: &Profile, sample: &Sample<'_>, charged: K, samples: f64) {
        let mut stack = Vec::new();
        for frame in profile.frames(sample) {
            let name = profile
                .strings
                .get(profile.functions.get(frame.function).name);
            let next = self.functions.len() as u32;
            // What could not be walked runs nobody's code.
            if !name.starts_with('[') {
                stack.push(match self.functions.get(name) {
                    Some(function) => *function,
                    None => *self.functions.entry(name.to_owned()).or_insert(next),
                });
            }
        }
        if stack.is_empty() {
            return;
        }
        stack.sort_unstable();
        stack.dedup();
        let next = self.stacks.len() as u32;
        let stack = *self.stacks.entry(stack).or_insert(next);
        *self.samples.entry((charged, stack)).or_default() += samples;
    }

    /// The endpoints that run code of their own; `endpoint` says whose a charge is.
    pub fn own<'a>(&self, endpoint: impl Fn(K) -> Option<&'a str>) -> HashSet<&'a str> {
        let mut by_stack: HashMap<u32, HashMap<&str, f64>> = HashMap::new();
        for ((charged, stack), samples) in &self.samples {
            if let Some(endpoint) = endpoint(*charged) {
                *by_stack
                    .entry(*stack)
                    .or_default()
                    .entry(endpoint)
                    .or_default() += samples;
            }
        }
        let functions_of: HashMap<u32, &Vec<u32>> =
            self.stacks.iter().map(|(f, at)| (*at, f)).collect();
        let mut by_function: HashMap<u32, HashMap<&str, f64>> = HashMap::new();
        let mut by_endpoint: HashMap<&str, f64> = HashMap::new();
        for (stack, samples) in &by_stack {
            for (endpoint, samples) in samples {
                *by_endpoint.entry(endpoint).or_default() += samples;
                for function in functions_of[stack] {
                    *by_function
                        .entry(*function)
                        .or_default()
                        .entry(endpoint)
                        .or_default() += samples;
                }
            }
        }
        let owner = |function: &u32| {
            let samples = &by_function[function];
            let all: f64 = samples.values().sum();
            let of_most = samples
                .iter()
                .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
            of_most
                .filter(|(_, most)| all >= ENOUGH && **most >= ITS_OWN * all)
                .map(|(endpoint, _)| *endpoint)
        };
        let owners: HashMap<u32, &str> = by_function
            .keys()
            .filter_map(|function| Some((*function, owner(function)?)))
            .collect();
        let mut explained: HashMap<&str, f64> = HashMap::new();
        let mut foreign: HashMap<&str, f64> = HashMap::new();
        for (stack, samples) in &by_stack {
            let owners: Vec<_> = functions_of[stack]
                .iter()
                .filter_map(|function| owners.get(function).copied())
                .collect();
            for (endpoint, samples) in samples {
                if owners.contains(endpoint) {
                    *explained.entry(endpoint).or_default() += samples;
                } else if !owners.is_empty() {
                    *foreign.entry(endpoint).or_default() += samples;
                }
            }
        }
        let whole: f64 = by_endpoint.values().sum();
        let names = by_endpoint.into_iter().filter(|(endpoint, samples)| {
            let of = |table: &HashMap<&str, f64>| table.get(endpoint).copied().unwrap_or(0.0);
            let (explained, foreign) = (of(&explained), of(&foreign));
            *samples <= DOMINANT * whole
                && explained >= EXPLAINED * samples
                && foreign <= FOREIGN * explained
        });
        // The name as the caller has it lives longer than this table.
        let names: HashSet<&str> = names.map(|(endpoint, _)| endpoint).collect();
        self.samples
            .keys()
            .filter_map(|(charged, _)| endpoint(*charged))
            .filter(|endpoint| names.contains(endpoint))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vtprof_profile::Message as _;
    use vtprof_profile::builder::{ProfileBuilder, ValueType};

    /// Samples of (endpoint, function, how many), all below `run`.
    fn own(samples: &[(&'static str, &str, i64)]) -> Vec<&'static str> {
        let cpu = ValueType {
            kind: "cpu",
            unit: "nanoseconds",
        };
        let mut code: Code<&'static str> = Code::default();
        for (endpoint, function, count) in samples {
            let mut builder = ProfileBuilder::new(&[cpu], cpu, 1);
            let stack: Vec<_> = [*function, "run"]
                .iter()
                .map(|name| {
                    let function = builder.function(name, "", "", 0);
                    builder.location(function, 1)
                })
                .collect();
            builder.sample(&stack, &[*count], &[]).expect("a sample");
            let profile =
                Profile::from_bytes(&builder.finish().encode_to_vec()).expect("a profile");
            for sample in profile.samples.iter() {
                code.add(&profile, &sample, endpoint, *count as f64);
            }
        }
        let mut own: Vec<_> = code.own(Some).into_iter().collect();
        own.sort_unstable();
        own
    }

    #[test]
    fn an_endpoint_has_its_own_code_if_nobody_else_runs_it() {
        assert_eq!(own(&[("a", "A.get", 50), ("b", "B.get", 50)]), ["a", "b"]);
        assert_eq!(
            own(&[("a", "A.get", 50), ("b", "B.get", 5)]),
            [] as [&str; 0]
        );
        // What is foreign to it, and little of its own.
        let little = [("a", "A.get", 50), ("b", "B.get", 400), ("a", "B.get", 5)];
        assert_eq!(own(&little), ["b"]);
        // What both run is nobody's.
        assert_eq!(
            own(&[("a", "get", 50), ("b", "get", 50), ("c", "C.get", 20)]),
            ["c"]
        );
        // Samples that belong elsewhere take it from both.
        let mixed = [
            ("a", "A.get", 40),
            ("a", "B.get", 10),
            ("b", "B.get", 40),
            ("b", "A.get", 10),
        ];
        assert_eq!(own(&mixed), [] as [&str; 0]);
        // One that is everything proves nothing.
        assert_eq!(
            own(&[("a", "A.get", 500), ("b", "B.get", 5)]),
            [] as [&str; 0]
        );
    }
}
