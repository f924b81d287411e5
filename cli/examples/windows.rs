//! Writes windows as the agent would of a busy service, to measure readers with.
//!
//! Requests are short beside a window, so the spans of each window are new, while stacks come from the same code again and
//! again: some often, most seldom. What is written depends on the arguments alone.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Parser;
use fastrand::Rng;
use vtprof_profile::builder::{LocationId, ProfileBuilder, ValueType};

/// Windows of a busy service
#[derive(Parser)]
struct Args {
    /// Folder to write to
    folder: PathBuf,
    /// Files
    #[arg(long, default_value_t = 1_000)]
    windows: u32,
    /// Samples taken in each
    #[arg(long, default_value_t = 6_000)]
    samples: u32,
    /// Places in the code at which they are taken
    #[arg(long, default_value_t = 2_000)]
    stacks: usize,
    /// Frames of a stack, on average
    #[arg(long, default_value_t = 40)]
    frames: usize,
    /// Requests in each window
    #[arg(long, default_value_t = 500)]
    spans: usize,
    /// Begins the series of random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// ns between two samples.
const PERIOD: i64 = 10_000_000;
/// Length of a window, ns.
const WINDOW: i64 = 60_000_000_000;
const START: i64 = 1_700_000_000_000_000_000;
const ENDPOINTS: u64 = 24;
/// Frames that all stacks have at their root: the thread, the server.
const COMMON_FRAMES: usize = 12;

const SAMPLES: ValueType<'static> = ValueType {
    kind: "samples",
    unit: "count",
};
const CPU: ValueType<'static> = ValueType {
    kind: "cpu",
    unit: "nanoseconds",
};

/// A frame: which method, which line of it.
type Frame = (u32, i64);

/// Stacks of a tree of calls, from the leaf: each is a way down from one that is there already.
fn stacks(args: &Args, rng: &mut Rng) -> Vec<Vec<Frame>> {
    let methods = args.stacks as u32 * 2;
    let common: Vec<Frame> = (0..COMMON_FRAMES as u32).map(|i| (i, 100)).collect();
    let mut stacks: Vec<Vec<Frame>> = Vec::new();
    while stacks.len() < args.stacks {
        let depth = rng.usize(args.frames / 2..=args.frames * 3 / 2);
        let mut stack = match stacks.is_empty() {
            true => common.clone(),
            false => {
                let from = &stacks[rng.usize(..stacks.len())];
                from[..rng.usize(COMMON_FRAMES.min(from.len())..=from.len())].to_vec()
            }
        };
        while stack.len() < depth {
            stack.push((rng.u32(..methods), rng.i64(1..40) * 7));
        }
        stacks.push(stack);
    }
    for stack in &mut stacks {
        stack.reverse();
    }
    stacks
}

/// A request: its ids, the spans in it, its endpoint.
struct Request {
    trace: String,
    root: String,
    children: Vec<String>,
    endpoint: u64,
}

impl Request {
    fn new(rng: &mut Rng) -> Self {
        let mut id = || format!("{:016x}", rng.u64(1..));
        let trace = id() + &id();
        let root = id();
        let children = (0..3).map(|_| id()).collect();
        Request {
            trace,
            root,
            children,
            endpoint: rng.u64(..ENDPOINTS),
        }
    }

    /// The span that runs: the request itself, mostly.
    fn span(&self, rng: &mut Rng) -> &str {
        match rng.usize(..10) {
            child @ 0..3 => &self.children[child],
            _ => &self.root,
        }
    }
}

/// Of `len`, the first more often than the last, as code is.
fn skewed(len: usize, rng: &mut Rng) -> usize {
    let at = rng.f64().powi(3) * len as f64;
    (at as usize).min(len - 1)
}

fn window(
    number: u32,
    args: &Args,
    stacks: &[Vec<Frame>],
    rng: &mut Rng,
) -> Result<ProfileBuilder, Box<dyn Error>> {
    let mut builder = ProfileBuilder::new(&[SAMPLES, CPU], CPU, PERIOD);
    builder.set_time(START + i64::from(number) * WINDOW, WINDOW);
    builder.default_sample_type("cpu");
    builder.comment("service=shop");
    builder.comment(&format!(
        "window: period.wanted_ns={PERIOD} process.cpu_ns={}",
        i64::from(args.samples) * PERIOD
    ));
    builder.comment(&format!(
        "counters (those not named are 0): samples.taken={}",
        args.samples
    ));
    let mut known: Vec<Option<Vec<LocationId>>> = vec![None; stacks.len()];
    let requests: Vec<_> = (0..args.spans.max(1)).map(|_| Request::new(rng)).collect();
    for _ in 0..args.samples {
        let at = skewed(stacks.len(), rng);
        let stack = known[at].get_or_insert_with(|| {
            let frames = stacks[at].iter().map(|(method, line)| {
                let class = method / 12;
                let name = format!(
                    "io.shop.service.area{}.Handler{class}.call{method}",
                    class % 40
                );
                let file = format!("Handler{class}.java");
                let function = builder.function(&name, &format!("{name}()V"), &file, 0);
                builder.location(function, *line)
            });
            frames.collect()
        });
        let request = &requests[rng.usize(..requests.len())];
        let endpoint = format!("GET /shop/endpoint{}/{{id}}", request.endpoint);
        let labels = [
            ("trace_id", request.trace.as_str()),
            ("span_id", request.span(rng)),
            ("local_root_span_id", request.root.as_str()),
            ("span_name", endpoint.as_str()),
            ("thread", "virtual"),
        ];
        builder.sample(stack, &[1, PERIOD], &labels)?;
    }
    Ok(builder)
}

fn write(builder: ProfileBuilder, path: &Path) -> Result<(), Box<dyn Error>> {
    let file = BufWriter::new(File::create(path)?);
    builder.write_gz(file)?.into_inner()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    fs::create_dir_all(&args.folder)?;
    let mut rng = Rng::with_seed(args.seed);
    let stacks = stacks(&args, &mut rng);
    for number in 0..args.windows {
        let name = format!("shop-1-cpu-{number:06}.pb.gz");
        let builder = window(number, &args, &stacks, &mut rng)?;
        write(builder, &args.folder.join(name))?;
    }
    Ok(())
}
