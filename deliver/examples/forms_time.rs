//! What it costs to bring a window into each form: a usual one, and one as large as the agent makes any.
//! `cargo run -p vtprof-deliver --release --example forms_time`

use std::time::Instant;

use vtprof_deliver::form::Form;
use vtprof_deliver::origin::Origin;
use vtprof_deliver::pyroscope::Pyroscope;
use vtprof_deliver::window::Window;
use vtprof_profile::builder::ProfileBuilder;
use vtprof_profile::kind::Kind;

/// So many samples of stacks of so many frames, of 2,000 methods; a span for each ten.
fn window(samples: u64, depth: u64) -> Window {
    let kind = Kind::Cpu;
    let mut builder =
        ProfileBuilder::new(&[kind.count(), kind.amount()], kind.period(), 10_000_000);
    for at in 0..samples {
        let stack: Vec<_> = (0..depth)
            .map(|frame| {
                let method = (at * 31 + frame * frame * 7) % 2_000;
                let name = format!("com.example.shop.service.Service{method}.handleRequest");
                let function = builder.function(&name, &name, "Service.java", 0);
                builder.location(function, (method % 90).cast_signed())
            })
            .collect();
        let span = at / 10 + 1;
        let (trace, root) = (format!("{span:032x}"), format!("{span:016x}"));
        let name = format!("GET /{}", span % 50);
        let thread = format!("worker-{}", at % 16);
        let labels = [
            ("trace_id", trace.as_str()),
            ("span_id", &root),
            ("local_root_span_id", &root),
            ("span_name", &name),
            ("thread", &thread),
        ];
        let added = builder.sample(&stack, &[1, 10_000_000], &labels);
        added.expect("a good sample");
    }
    Window {
        start_unix_ns: 1_790_000_000_000_000_000,
        duration_ns: 60_000_000_000,
        profiles: vec![(kind, builder.finish())],
    }
}

fn main() {
    let origin = Origin {
        service: "shop".to_owned(),
        ..Origin::default()
    };
    for (what, samples, depth) in [("usual", 6_000, 40), ("largest", 75_000, 40)] {
        let window = window(samples, depth);
        for (name, form) in [
            ("pyroscope", Form::Pyroscope(Pyroscope::default())),
            ("otlp", Form::Otlp),
            ("pprof", Form::Pprof),
        ] {
            let begin = Instant::now();
            let formed = form.requests(&origin, &window);
            let took = begin.elapsed();
            let bytes: usize = formed
                .requests
                .iter()
                .map(|request| request.body.len())
                .sum();
            println!(
                "{what:8} {name:10} {samples} samples of {depth} frames: {:.0} ms, {} requests, {} KiB",
                took.as_secs_f64() * 1e3,
                formed.requests.len(),
                bytes / 1024
            );
        }
    }
}
