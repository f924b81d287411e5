//! A made-up service: endpoints with fast and slow requests, in several kinds of profile and in span files.

use std::path::Path;

use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::ids::{SpanId, TraceId};
use vtprof_profile::kind::Kind;
use vtprof_profile::spans::{SpanKind, SpanRecord, SpanStatus, spans_to_traces};

use super::{PERIOD, START, WINDOW, write, write_spans};

const MS: u64 = 1_000_000;

/// Numbers that look random and are the same in each run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// Where requests of all endpoints come through, outermost first.
const SERVER: [&str; 5] = [
    "java.lang.VirtualThread.run@VirtualThread.java",
    "io.helidon.webserver.ConnectionHandler.run@ConnectionHandler.java",
    "io.helidon.webserver.http1.Http1Connection.handle@Http1Connection.java",
    "io.helidon.webserver.http.Filters.filter@Filters.java",
    "io.opentelemetry.helidon.TracingFilter.filter@TracingFilter.java",
];

struct Endpoint {
    name: &'static str,
    requests: u64,
    /// Usual length in ms.
    millis: u64,
    /// One of so many is slow.
    slow_of: u64,
    /// Stacks above the server's, outermost first, and how much of a request's CPU time goes there.
    stacks: &'static [(u64, &'static [&'static str])],
    /// Where the time of slow ones goes.
    slow: &'static [&'static str],
}

const ENDPOINTS: [Endpoint; 4] = [
    Endpoint {
        name: "GET /cart/{id}",
        requests: 240,
        millis: 40,
        slow_of: 14,
        stacks: &[
            (
                4,
                &[
                    "com.shop.cart.CartResource.get@CartResource.java",
                    "com.shop.cart.CartRepository.load@CartRepository.java",
                    "org.postgresql.jdbc.PgPreparedStatement.executeQuery@PgPreparedStatement.java",
                    "java.net.SocketInputStream.read@SocketInputStream.java",
                    "[libnet.so]@libnet.so",
                ],
            ),
            (
                3,
                &[
                    "com.shop.cart.CartResource.get@CartResource.java",
                    "com.shop.cart.Cart.total@Cart.java",
                    "java.math.BigDecimal.add@BigDecimal.java",
                ],
            ),
            (
                5,
                &[
                    "com.shop.cart.CartResource.get@CartResource.java",
                    "com.fasterxml.jackson.databind.ObjectMapper.writeValue@ObjectMapper.java",
                    "com.fasterxml.jackson.core.json.UTF8JsonGenerator.writeString@UTF8JsonGenerator.java",
                ],
            ),
            (
                1,
                &[
                    "com.shop.cart.CartResource.get@CartResource.java",
                    "java.util.zip.Deflater.deflate@Deflater.java",
                    "[libzip.so]@libzip.so",
                ],
            ),
            (1, &["[truncated: depth]"]),
        ],
        slow: &[
            "com.shop.cart.CartResource.get@CartResource.java",
            "com.shop.price.Discounts.apply@Discounts.java",
            "com.shop.price.RuleEngine.match@RuleEngine.java",
            "java.util.regex.Pattern$Loop.match@Pattern.java",
            "java.util.regex.Pattern$GroupTail.match@Pattern.java",
        ],
    },
    Endpoint {
        name: "POST /checkout",
        requests: 90,
        millis: 180,
        slow_of: 9,
        stacks: &[
            (
                4,
                &[
                    "com.shop.checkout.CheckoutResource.post@CheckoutResource.java",
                    "com.shop.checkout.Payment.authorize@Payment.java",
                    "javax.net.ssl.SSLEngine.wrap@SSLEngine.java",
                    "[stub: aes_cbc]",
                ],
            ),
            (
                3,
                &[
                    "com.shop.checkout.CheckoutResource.post@CheckoutResource.java",
                    "com.shop.checkout.Orders.insert@Orders.java",
                    "org.postgresql.core.v3.QueryExecutorImpl.execute@QueryExecutorImpl.java",
                ],
            ),
            (
                2,
                &[
                    "com.shop.checkout.CheckoutResource.post@CheckoutResource.java",
                    "com.shop.checkout.Stock.reserve@Stock.java",
                    "java.util.concurrent.ConcurrentHashMap.compute@ConcurrentHashMap.java",
                ],
            ),
            (1, &["[failed: unknown_java]"]),
        ],
        slow: &[
            "com.shop.checkout.CheckoutResource.post@CheckoutResource.java",
            "com.shop.checkout.Stock.reserve@Stock.java",
            "com.shop.checkout.Stock.recount@Stock.java",
            "java.util.HashMap$KeySpliterator.forEachRemaining@HashMap.java",
        ],
    },
    Endpoint {
        name: "GET /search",
        requests: 160,
        millis: 70,
        slow_of: 20,
        stacks: &[
            (
                6,
                &[
                    "com.shop.search.SearchResource.search@SearchResource.java",
                    "org.apache.lucene.search.IndexSearcher.search@IndexSearcher.java",
                    "org.apache.lucene.search.BooleanScorer.score@BooleanScorer.java",
                    "org.apache.lucene.codecs.lucene99.Lucene99PostingsReader.advance@Lucene99PostingsReader.java",
                ],
            ),
            (
                2,
                &[
                    "com.shop.search.SearchResource.search@SearchResource.java",
                    "com.shop.search.Highlighter.mark@Highlighter.java",
                    "java.lang.StringLatin1.indexOf@StringLatin1.java",
                ],
            ),
        ],
        slow: &[
            "com.shop.search.SearchResource.search@SearchResource.java",
            "org.apache.lucene.search.FuzzyTermsEnum.next@FuzzyTermsEnum.java",
            "org.apache.lucene.util.automaton.Automaton.step@Automaton.java",
        ],
    },
    Endpoint {
        name: "GET /health",
        requests: 60,
        millis: 1,
        slow_of: 1_000,
        stacks: &[(1, &["com.shop.Health.get@Health.java"])],
        slow: &["com.shop.Health.get@Health.java"],
    },
];

/// Writes two windows of each kind, and the spans. `regression` makes JSON dearer.
pub fn write_service(folder: &Path, seed: u64, regression: bool) {
    let mut dice = Dice::new(seed);
    let mut spans = Vec::new();
    let mut builders = [Kind::Cpu, Kind::Alloc, Kind::Blocked].map(|kind| (kind, builder(kind)));
    for (number, endpoint) in ENDPOINTS.iter().enumerate() {
        for request in 0..endpoint.requests {
            let id = (seed << 48) | ((number as u64 + 1) << 32) | (request + 1);
            let is_slow = request % endpoint.slow_of == endpoint.slow_of - 1;
            let spread = endpoint.millis * (50 + dice.roll(100)) / 100;
            let extra = if is_slow {
                endpoint.millis * (8 + dice.roll(30))
            } else {
                0
            };
            let nanos = (spread + extra).max(1) * MS;
            let start = START as u64 + dice.roll(2 * WINDOW as u64);
            let failed = is_slow && dice.roll(3) == 0;
            spans.push(SpanRecord {
                trace: TraceId::from_halves(seed, id),
                span: SpanId(id),
                parent: None,
                local_root: SpanId(id),
                name: endpoint.name.to_owned(),
                kind: SpanKind::Server,
                start_unix_nanos: start,
                end_unix_nanos: start + nanos,
                status: if failed {
                    SpanStatus::Error
                } else {
                    SpanStatus::Unset
                },
            });
            let labels = Labels {
                root: format!("{id:016x}"),
                trace: TraceId::from_halves(seed, id).to_string(),
                name: endpoint.name,
            };
            // Half of a request is work, the rest waits.
            let periods = nanos / PERIOD as u64 / 2;
            for _ in 0..periods.min(60) + u64::from(dice.roll(2) == 0) {
                let all: u64 = endpoint.stacks.iter().map(|(weight, _)| weight).sum();
                let mut at = dice.roll(all);
                let usual = endpoint.stacks.iter().find(|(weight, _)| {
                    let here = at < *weight;
                    at = at.saturating_sub(*weight);
                    here
                });
                let mut stack = usual.map_or(endpoint.slow, |(_, stack)| stack);
                if is_slow && dice.roll(4) != 0 {
                    stack = endpoint.slow;
                }
                let is_json = stack.iter().any(|frame| frame.contains("ObjectMapper"));
                let times = if regression && is_json { 3 } else { 1 };
                sample(
                    &mut builders[0],
                    stack,
                    &[times, times * PERIOD],
                    &labels,
                    &mut dice,
                );
            }
            let bytes = (1 + dice.roll(8) as i64) << 19;
            let class =
                ["byte[]@", "java.lang.String@", "com.shop.cart.Item@"][dice.roll(3) as usize];
            let stack = [endpoint.stacks[0].1, &[class]].concat();
            sample(
                &mut builders[1],
                &stack,
                &[bytes >> 8, bytes],
                &labels,
                &mut dice,
            );
            let waits = (nanos / 3) as i64;
            sample(
                &mut builders[2],
                endpoint.stacks[0].1,
                &[2, waits],
                &labels,
                &mut dice,
            );
        }
    }
    for (kind, builder) in &mut builders {
        if *kind == Kind::Cpu {
            for (name, samples) in [
                ("GC Thread", 60),
                ("C2 CompilerThread", 35),
                ("VM Thread", 4),
            ] {
                let function = builder.function(name, "", "", 0);
                let location = builder.location(function, 0);
                builder
                    .sample(
                        &[location],
                        &[samples, samples * PERIOD],
                        &[("thread", name)],
                    )
                    .expect("a good sample");
            }
        }
    }
    for (kind, builder) in builders {
        let name = format!("shop-1-{}-20231114T221320Z.pb.gz", kind.name());
        write(&builder.finish(), &folder.join(name));
    }
    let traces = spans_to_traces("shop", spans);
    write_spans(&traces, &folder.join("shop-1-spans-20231114T221320Z.pb.gz"));
}

struct Labels {
    root: String,
    trace: String,
    name: &'static str,
}

fn builder(kind: Kind) -> ProfileBuilder {
    let mut builder = ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), PERIOD);
    builder.default_sample_type(kind.amount().kind);
    builder.set_time(START, 2 * WINDOW);
    builder
}

fn sample(
    (kind, builder): &mut (Kind, ProfileBuilder),
    stack: &[&str],
    values: &[i64],
    labels: &Labels,
    dice: &mut Dice,
) {
    let mut all = vec![
        ("trace_id", labels.trace.as_str()),
        ("span_id", &labels.root),
        ("local_root_span_id", &labels.root),
        ("span_name", labels.name),
    ];
    if kind.label().is_some() {
        all.push(("state", ["io", "lock"][dice.roll(2) as usize]));
    }
    let frames: Vec<_> = SERVER
        .iter()
        .chain(stack)
        .rev()
        .map(|frame| {
            let (name, file) = frame.split_once('@').unwrap_or((frame, ""));
            let function = builder.function(name, "", file, 0);
            builder.location(function, 1)
        })
        .collect();
    builder
        .sample(&frames, values, &all)
        .expect("a good sample");
}

/// A profile whose tree has so many nodes below its root, in stacks of up to 60 frames.
pub fn write_wide(path: &Path, nodes: usize) {
    let mut dice = Dice::new(7);
    let mut builder = builder(Kind::Cpu);
    let mut known = std::collections::HashSet::new();
    let mut stack: Vec<u64> = Vec::new();
    while known.len() < nodes {
        stack.truncate(dice.roll(stack.len() as u64 + 1) as usize);
        while stack.len() < 60 && known.len() < nodes {
            stack.push(dice.roll(4_000));
            known.insert(stack.clone());
            if dice.roll(24) == 0 {
                break;
            }
        }
        let frames: Vec<_> = stack
            .iter()
            .rev()
            .map(|function| {
                let name = format!(
                    "com.shop.part{}.Service{}.call{function}",
                    function % 40,
                    function % 400
                );
                let function = builder.function(&name, "", "Service.java", 0);
                builder.location(function, 1)
            })
            .collect();
        let samples = 1 + dice.roll(30) as i64;
        builder
            .sample(&frames, &[samples, samples * PERIOD], &[])
            .expect("a good sample");
    }
    write(&builder.finish(), path);
}

/// One stack of so many frames.
pub fn write_deep(path: &Path, frames: usize) {
    let mut builder = builder(Kind::Cpu);
    let stack: Vec<_> = (0..frames)
        .rev()
        .map(|depth| {
            let function = builder.function(
                &format!("com.shop.tree.Node.visit{}", depth % 7),
                "",
                "Node.java",
                0,
            );
            builder.location(function, depth as i64)
        })
        .collect();
    builder
        .sample(&stack, &[100, 100 * PERIOD], &[])
        .expect("a good sample");
    builder
        .sample(&stack[frames / 2..], &[50, 50 * PERIOD], &[])
        .expect("a good sample");
    write(&builder.finish(), path);
}
