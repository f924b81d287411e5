//! Which endpoint is asked after.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::evidence::LEAST_SPANS;
use crate::args::{FilesArgs, WhyArgs};
use crate::requests::{Fast, Requests, Slow, Speeds, Which};

/// The endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    pub name: String,
    /// Its spans that count.
    pub spans: usize,
    pub slow_spans: usize,
    pub fast_spans: usize,
    /// What its slow spans are longer than its fast ones, together, ns.
    pub lost_nanos: f64,
    /// Whether it was chosen for that.
    pub is_chosen: bool,
}

/// The endpoint asked for, if any, and the files.
///
/// # Errors
/// There are none.
pub fn asked(args: &WhyArgs) -> Result<(Option<String>, FilesArgs)> {
    let mut files = args.files.clone();
    if let Some(name) = &args.name {
        return Ok((Some(name.clone()), files));
    }
    let is_file = |path: &PathBuf| path.as_path() == Path::new("-") || path.exists();
    let first = &files.files[0];
    if is_file(first) {
        return Ok((None, files));
    }
    let Some(name) = first.to_str().map(str::to_owned) else {
        return Ok((None, files));
    };
    if files.files.len() == 1 {
        bail!("'{name}' is no file; if it is an endpoint, name files behind it");
    }
    files.files.remove(0);
    Ok((Some(name), files))
}

/// The endpoint and its slow and fast spans.
///
/// # Errors
/// There is no such endpoint, no span at all, or none that is slow or fast.
pub fn choose<'a>(
    requests: &Requests,
    name: Option<&'a str>,
    which: impl Fn(Option<&'a str>) -> Which<'a>,
    slow: Slow,
    fast: Fast,
) -> Result<(Endpoint, Speeds)> {
    let all = requests.all();
    let indices = requests.which(which(name));
    if indices.is_empty() {
        match name {
            _ if all.is_empty() => bail!(
                "no local root span ended among the inputs: add the -spans- files, or wait until one has"
            ),
            Some(name) => bail!(
                "no local root span called '{name}' that ended and did not fail; `vtprof spans` lists names, --with-errors counts those that failed"
            ),
            None => bail!("each local root span failed; --with-errors counts them"),
        }
    }
    let mut by_name: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for index in &indices {
        let name = all[*index as usize].name.as_str();
        by_name.entry(name).or_default().push(*index);
    }
    let mut found: Vec<(Endpoint, Speeds)> = by_name
        .into_iter()
        .map(|(endpoint, spans)| {
            let speeds = Speeds::of(requests, &spans, slow, fast);
            let nanos = |index: &u32| all[*index as usize].duration_nanos as f64;
            let of_fast: f64 = speeds.fast.iter().map(nanos).sum();
            let mean = of_fast / (speeds.fast.len() as f64).max(1.0);
            let lost = speeds.slow.iter().map(|index| nanos(index) - mean);
            let endpoint = Endpoint {
                name: endpoint.to_owned(),
                spans: spans.len(),
                slow_spans: speeds.slow.len(),
                fast_spans: speeds.fast.len(),
                lost_nanos: lost.sum(),
                is_chosen: name.is_none(),
            };
            (endpoint, speeds)
        })
        .collect();
    // One of which enough is there before one that is slow once.
    found.sort_by(|(a, of_a), (b, of_b)| {
        let tells = |speeds: &Speeds| {
            let least = speeds.slow.len().min(speeds.fast.len());
            (least >= LEAST_SPANS, least > 0)
        };
        tells(of_b)
            .cmp(&tells(of_a))
            .then_with(|| b.lost_nanos.total_cmp(&a.lost_nanos))
            .then_with(|| a.name.cmp(&b.name))
    });
    let (endpoint, speeds) = found.swap_remove(0);
    speeds.check(endpoint.spans, slow, fast)?;
    Ok((endpoint, speeds))
}
