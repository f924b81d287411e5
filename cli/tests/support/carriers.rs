//! Virtual threads that change carriers, simulated: who ran, and whom a profiler charges that writes the span into a slot of the
//! OS thread when it starts. The first carrier that a thread waits on keeps its span, as in the README's picture.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus, spans_to_traces};

use super::support::{self, Folder, PERIOD, START};

/// Length of a window, ns.
const WINDOW: u64 = 10_000_000_000;
/// Waits of that length and more are all in the blocked profile, ns.
const BLOCKED: u64 = 1_000_000;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponential, ns.
    fn around(&mut self, millis: f64) -> u64 {
        (-millis * 1e6 * (1.0 - self.uniform()).ln()) as u64
    }
}

/// A sort of request.
#[derive(Clone, Copy)]
pub struct Endpoint {
    pub name: &'static str,
    /// How often it runs, and for how long each time, ms on average.
    pub bursts: u32,
    pub burst: f64,
    /// How long it waits in between, ms on average.
    pub wait: f64,
    /// Its part of all requests.
    pub part: f64,
}

/// What goes on.
#[derive(Clone, Copy)]
pub struct Load {
    pub endpoints: &'static [Endpoint],
    pub carriers: usize,
    /// Of the carriers' time, the part in which they run.
    pub busy: f64,
}

/// Who is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tagging {
    /// Who ran.
    Right,
    /// Whoever started last on that carrier and has not ended there.
    ByCarrier,
}

struct Request {
    endpoint: usize,
    left: u32,
    /// When it last stopped to run.
    stopped: Option<u64>,
    start: u64,
    end: u64,
    blocked: Vec<u64>,
}

/// What happened.
pub struct Run {
    load: Load,
    requests: Vec<Request>,
    /// Samples by window, who ran, and who is charged by carrier.
    samples: BTreeMap<(u64, usize, Option<usize>), i64>,
}

impl Run {
    /// So many requests, from `seed`.
    pub fn new(load: Load, count: usize, seed: u64) -> Run {
        let mut chance = Chance(seed);
        let parts: f64 = load.endpoints.iter().map(|endpoint| endpoint.part).sum();
        let cpu = |endpoint: &Endpoint| f64::from(endpoint.bursts) * endpoint.burst;
        let mean: f64 = load.endpoints.iter().map(|e| e.part / parts * cpu(e)).sum();
        let between = mean / (load.busy * load.carriers as f64);

        let mut requests = Vec::new();
        let mut ready = BinaryHeap::new();
        let mut now = 0;
        for number in 0..count {
            now += chance.around(between);
            let mut at = chance.uniform() * parts;
            let endpoint = load.endpoints.iter().position(|endpoint| {
                at -= endpoint.part;
                at < 0.0
            });
            let endpoint = endpoint.unwrap_or(0);
            requests.push(Request {
                endpoint,
                left: load.endpoints[endpoint].bursts,
                stopped: None,
                start: 0,
                end: 0,
                blocked: Vec::new(),
            });
            ready.push(Reverse((now, number)));
        }
        let mut run = Run {
            load,
            requests,
            samples: BTreeMap::new(),
        };
        run.go(ready, &mut chance);
        run
    }

    fn go(&mut self, mut ready: BinaryHeap<Reverse<(u64, usize)>>, chance: &mut Chance) {
        let carriers = self.load.carriers;
        let mut free = vec![0_u64; carriers];
        let mut slots: Vec<Option<usize>> = vec![None; carriers];
        // CPU time used since the last sample; timers of different threads are not in step.
        let period = PERIOD as u64;
        let mut used: Vec<u64> = (0..carriers)
            .map(|_| (chance.uniform() * PERIOD as f64) as u64)
            .collect();
        while let Some(Reverse((since, number))) = ready.pop() {
            let idle: Vec<usize> = (0..carriers).filter(|c| free[*c] <= since).collect();
            let first = (0..carriers).min_by_key(|c| free[*c]).expect("carriers");
            let carrier = match idle.len() {
                0 => first,
                some => idle[((chance.uniform() * some as f64) as usize).min(some - 1)],
            };
            let start = since.max(free[carrier]);
            let request = &mut self.requests[number];
            let endpoint = &self.load.endpoints[request.endpoint];
            match request.stopped {
                None => {
                    request.start = start;
                    slots[carrier] = Some(number);
                }
                Some(stopped) => request.blocked.push(start - stopped),
            }
            let length = chance.around(endpoint.burst);
            let end = start + length;
            let mut next = start + period - used[carrier];
            while next <= end {
                let key = (next / WINDOW, number, slots[carrier]);
                *self.samples.entry(key).or_default() += 1;
                next += period;
            }
            used[carrier] = (used[carrier] + length) % period;
            free[carrier] = end;
            request.left -= 1;
            request.stopped = Some(end);
            request.end = end;
            if request.left > 0 {
                ready.push(Reverse((end + chance.around(endpoint.wait), number)));
            } else {
                slots[carrier] = None;
            }
        }
    }

    fn id(number: usize) -> SpanId {
        SpanId(0x1000_0000_0000_0000 + number as u64)
    }

    /// Writes CPU profiles tagged so, and the spans; span ids in the labels `labels`, written by `text`.
    pub fn write(
        &self,
        folder: &Folder,
        tagging: Tagging,
        labels: &[&str],
        text: impl Fn(SpanId) -> String,
    ) {
        let mut windows: HashMap<u64, ProfileBuilder> = HashMap::new();
        let types = [Kind::Cpu.count(), Kind::Cpu.amount()];
        for ((window, ran, charged), samples) in &self.samples {
            let builder = windows.entry(*window).or_insert_with(|| {
                let mut builder = ProfileBuilder::new(&types, types[1], PERIOD);
                let start = START as u64 + window * WINDOW;
                builder.set_time(start as i64, WINDOW as i64);
                builder
            });
            let name = self.load.endpoints[self.requests[*ran].endpoint].name;
            let stack: Vec<_> = [name, "java.lang.VirtualThread.run"]
                .iter()
                .map(|name| {
                    let function = builder.function(name, "", "", 0);
                    builder.location(function, 1)
                })
                .collect();
            let charged = match tagging {
                Tagging::Right => Some(*ran),
                Tagging::ByCarrier => *charged,
            };
            let id = charged.map(|charged| text(Run::id(charged)));
            let tags: Vec<_> = id
                .iter()
                .flat_map(|id| labels.iter().map(|label| (*label, id.as_str())))
                .collect();
            builder
                .sample(&stack, &[*samples, samples * PERIOD], &tags)
                .expect("a good sample");
        }
        for (window, builder) in windows {
            let name = format!("shop-1-cpu-{window:06}.pb.gz");
            support::write(&builder.finish(), &folder.file(&name));
        }
        let spans = self.requests.iter().enumerate();
        let spans = spans.map(|(number, request)| SpanRecord {
            trace: TraceId::from_halves(1, number as u64),
            span: Run::id(number),
            parent: None,
            local_root: Run::id(number),
            name: self.load.endpoints[request.endpoint].name.to_owned(),
            kind: SpanKind::Server,
            start_unix_nanos: START as u64 + request.start,
            end_unix_nanos: START as u64 + request.end,
            status: SpanStatus::Unset,
        });
        support::write_spans(
            &spans_to_traces("shop", spans),
            &folder.file("shop-1-spans-x.pb.gz"),
        );
    }

    /// Writes the blocked profile, which is right whatever the CPU samples are.
    pub fn write_blocked(&self, folder: &Folder, seed: u64) {
        let mut chance = Chance(seed);
        let types = [Kind::Blocked.count(), Kind::Blocked.amount()];
        let mut builder = ProfileBuilder::new(&types, Kind::Blocked.period(), BLOCKED as i64);
        let last = self.requests.iter().map(|request| request.end).max();
        builder.set_time(START, last.unwrap_or(0) as i64 + 1);
        let stack: Vec<_> = [
            "java.lang.VirtualThread.yieldContinuation",
            "java.lang.VirtualThread.run",
        ]
        .iter()
        .map(|name| {
            let function = builder.function(name, "", "", 0);
            builder.location(function, 1)
        })
        .collect();
        for (number, request) in self.requests.iter().enumerate() {
            let id = Run::id(number).to_string();
            let tags = [
                ("span_id", id.as_str()),
                ("local_root_span_id", id.as_str()),
            ];
            for wait in &request.blocked {
                let is_taken = chance.uniform() < *wait as f64 / BLOCKED as f64;
                if is_taken {
                    let nanos = (*wait).max(BLOCKED) as i64;
                    builder
                        .sample(&stack, &[1, nanos], &tags)
                        .expect("a good sample");
                }
            }
        }
        support::write(&builder.finish(), &folder.file("shop-1-blocked-x.pb.gz"));
    }

    /// CPU time of all and blocked time of all, ns, for tests of the simulation itself.
    pub fn totals(&self) -> (u64, u64) {
        let samples: i64 = self.samples.values().sum();
        let blocked = self
            .requests
            .iter()
            .flat_map(|request| &request.blocked)
            .sum();
        (samples as u64 * PERIOD as u64, blocked)
    }

    /// The part of the samples that a tagging by carrier charges to another than who ran.
    pub fn wrong_part(&self) -> f64 {
        let all: i64 = self.samples.values().sum();
        let wrong: i64 = self
            .samples
            .iter()
            .filter(|((_, ran, charged), _)| charged.is_some_and(|charged| charged != *ran))
            .map(|(_, samples)| samples)
            .sum();
        wrong as f64 / all as f64
    }
}
