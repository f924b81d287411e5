//! What an application notices of servers that take nothing: requests done in a given time and memory, without `push=` and
//! with each sort of broken server, by turns. Run by `make bench-push`; `ROUNDS` (3) and `SECONDS` (30) choose.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Running};
use vtprof_integration::truth::TruthLog;
use vtprof_integration::truth_run::{Strategy, TruthRun};
use vtprof_integration::workdir::WorkDir;

/// Servers, by what they do; the first is none.
const SERVERS: [&str; 5] = ["none", "down", "hangs", "500", "slow 200"];

fn main() -> Result<()> {
    let rounds = number("ROUNDS", 3)?;
    let seconds = number("SECONDS", 30)?;
    let jdk = jdk::newest_virtual("what pushing costs").context("a JDK")?;
    let mut found: Vec<Vec<(f64, u64)>> = vec![Vec::new(); SERVERS.len()];
    for round in 1..=rounds {
        for (server, found) in SERVERS.iter().zip(&mut found) {
            let run = TruthRun::new(&jdk, "mix", Strategy::Auto)
                .seconds(seconds)
                .rate("100hz")
                .every("1s")
                .quiet();
            let (requests, memory) = run_with(run, server)?;
            println!(
                "round {round}, server {server}: {requests} requests, {memory} kB at the most"
            );
            found.push((requests, memory));
        }
    }
    let none = found.first().cloned().unwrap_or_default();
    for (server, found) in SERVERS.iter().zip(&found) {
        let pairs = found.iter().zip(&none);
        let mut ratios: Vec<f64> = pairs.map(|((its, _), (free, _))| its / free).collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).context("a round")?;
        let least = ratios.first().context("a round")?;
        let memory = found.iter().map(|(_, memory)| memory).max();
        println!(
            "server {server}: requests beside none: median {median:.3}, least {least:.3}; memory at the most {} kB",
            memory.context("a round")?
        );
    }
    Ok(())
}

/// Requests done, and the most memory that was resident, kB.
fn run_with(run: TruthRun, server: &str) -> Result<(f64, u64)> {
    let dir = WorkDir::new("push-cost")?;
    let run = match server {
        "none" => run,
        _ => run.option(&format!(
            "push=pyroscope+http://127.0.0.1:{}",
            serve(server)?
        )),
    };
    let limit = Duration::from_secs(u64::from(run.seconds) + 180);
    let running = Running::start(&run.launch()?, dir.path(), limit)?;
    let most = Arc::new(AtomicU64::new(0));
    let status = format!("/proc/{}/status", running.pid());
    let seen = Arc::clone(&most);
    let watch = std::thread::spawn(move || {
        while let Some(now) = std::fs::read_to_string(&status)
            .ok()
            .as_deref()
            .and_then(peak)
        {
            seen.fetch_max(now, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    running.wait().and_then(Finished::success)?;
    watch.join().ok().context("the watch")?;
    let log = TruthLog::read(&dir.path().join("truth.log"))?;
    Ok((log.spans.len() as f64, most.load(Ordering::Relaxed)))
}

fn peak(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// The port of such a server.
fn serve(what: &str) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let (answer, pause) = match what {
        "down" => return Ok(port),
        "500" => (
            "HTTP/1.1 500 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            0,
        ),
        "slow 200" => (
            "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            5,
        ),
        _ => ("", 600),
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut taken = [0; 65_536];
                // Some of the request: who answers sooner than it was sent would break it off.
                let _some = stream.read(&mut taken);
                std::thread::sleep(Duration::from_secs(pause));
                let _gone = stream.write_all(answer.as_bytes());
            });
        }
    });
    Ok(port)
}

fn number(name: &str, usual: u32) -> Result<u32> {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{name}={text}: a number")),
        Err(_) => Ok(usual),
    }
}
