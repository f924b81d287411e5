//! `vtprof why`: what slow spans of an endpoint have more of than fast ones, where, and what others do meanwhile.

mod answer;
mod causes;
mod endpoint;
mod evidence;
mod frames;
mod parts;
mod plumbing;
mod print;
mod waits;

use std::io::Write;

use anyhow::{Result, bail};
use vtprof_profile::comments;
use vtprof_profile::kind::Kind;

use crate::args::WhyArgs;
use crate::bundle::Bundle;
use crate::requests::{Requests, Slow, Speeds, Which};
use crate::stats::Difference;

use causes::{Cause, Causes};
use endpoint::Endpoint;
use evidence::{LEAST_SPANS, Loss, Verdict};
use frames::Behind;
use parts::{Part, Split};
use plumbing::Plumbing;
use waits::EvenlyLonger;

/// Parts of less than this share of the difference are not looked into.
const WORTH: f64 = 0.1;

/// All there is to tell.
struct View {
    endpoint: Endpoint,
    slow_bound: String,
    fast_bound: String,
    /// Means of durations, ns.
    fast_nanos: f64,
    slow_nanos: f64,
    longer: Difference,
    losses: Vec<Loss>,
    verdict: Verdict,
    /// Instead of the part that the verdict names, where waits are evenly longer.
    evenly: Option<EvenlyLonger>,
    /// CPU and blocked time as shares of durations.
    accounted: [Option<f64>; 2],
    /// Waits for own threads of a slow span, ns; `None` where spans have no threads side by side.
    joined: Option<f64>,
    /// CPUs that the process used.
    cpus: Option<f64>,
    behind: Vec<Behind>,
    causes: Vec<Causes>,
    notes: Vec<String>,
}

impl View {
    /// What others do that makes for that part, if it is known: the biggest of them.
    fn cause(&self, part: Part) -> Option<(&Causes, &Cause)> {
        let causes = self.causes.iter().find(|causes| causes.part == part)?;
        Some((causes, causes.rows.first()?))
    }

    /// The part that the verdict is.
    fn lead(&self) -> Option<Part> {
        match &self.verdict {
            Verdict::Told { .. } if self.evenly.is_some() => Some(Part::Runnable),
            Verdict::Told { lead, .. } => Some(*lead),
            Verdict::Thin(_) => None,
        }
    }

    /// The frame to be named for a part, and its leaf. Where the world is stopped, or there is no carrier, a request stands
    /// wherever it happens to: what is to be named is who allocates, or who has the CPUs.
    fn frame(&self, part: Part) -> Option<(&str, Option<&str>)> {
        if matches!(part, Part::Gc | Part::Runnable)
            && let Some((_, cause)) = self.cause(part)
        {
            return Some((&cause.frame, None));
        }
        let behind = self.behind.iter().find(|behind| behind.part == part)?;
        let at = behind.at.as_ref()?;
        Some((&at.frame, Some(&at.leaf)))
    }
}

/// Runs the command.
pub fn run(args: &WhyArgs, out: &mut impl Write) -> Result<()> {
    let (name, files) = endpoint::asked(args)?;
    let mut bundle = Bundle::read(&files, None, false)?;
    let requests = Requests::of(std::mem::take(&mut bundle.spans));
    if bundle.of(Kind::Cpu).is_none() && bundle.of(Kind::Blocked).is_none() {
        bail!("neither a cpu nor a blocked profile among the inputs");
    }
    let (slow, fast) = (args.slow.unwrap_or_default(), args.fast.unwrap_or_default());
    let which = |name| Which {
        name,
        with_errors: args.with_errors,
    };
    let (endpoint, speeds) = endpoint::choose(&requests, name.as_deref(), which, slow, fast)?;
    let view = look(args, &bundle, &requests, endpoint, &speeds)?;
    if args.json {
        answer::json(&view, out)
    } else if args.csv {
        answer::csv(&view, out)
    } else {
        print::write(&view, args.row_limit(), out)
    }
}

fn look(
    args: &WhyArgs,
    bundle: &Bundle,
    requests: &Requests,
    endpoint: Endpoint,
    speeds: &Speeds,
) -> Result<View> {
    let mut fast = parts::split(bundle, requests, &speeds.fast)?;
    let mut slow = parts::split(bundle, requests, &speeds.slow)?;
    let accounted = [parts::accounted(&fast), parts::accounted(&slow)];
    let are_many = parts::tell_joins([&mut fast, &mut slow]);
    let longer = evidence::longer(&fast, &slow);
    let losses = evidence::losses(&fast, &slow);
    let verdict = evidence::judge(&losses, &fast, &slow);
    let blocked = bundle.of(Kind::Blocked);
    let is_told = blocked.is_some_and(|of| waits::is_told(&of.profile));
    let evenly = match &verdict {
        Verdict::Told { lead, .. } if is_wait(*lead) || *lead == Part::Runnable => {
            waits::evenly_longer(&fast, &slow, longer.value, is_told)
        }
        _ => None,
    };

    let plumbing = Plumbing { app: &args.app };
    let mut to_look_into: Vec<Part> = losses
        .iter()
        .filter(|loss| loss.difference.value > 0.0 && loss.difference.value >= WORTH * longer.value)
        .map(|loss| loss.part)
        .collect();
    let mut notes = notes(bundle, &losses, longer.value, are_many, is_told);
    if let Verdict::Thin(_) = verdict
        && let Some(hint) = more_slow(args.slow.unwrap_or_default(), &endpoint, speeds)
    {
        notes.insert(0, hint);
    }
    let sides: [&[u32]; 2] = [&speeds.fast, &speeds.slow];
    let mut behind = Vec::new();
    for part in &to_look_into {
        behind.extend(frames::behind(bundle, requests, sides, *part, plumbing)?);
    }
    if evenly.is_some() && !to_look_into.contains(&Part::Runnable) {
        to_look_into.insert(0, Part::Runnable);
    }
    let mut causes = Vec::new();
    for part in to_look_into {
        match causes::of(bundle, requests, &speeds.slow, part, plumbing)? {
            Some(Ok(found)) => causes.push(found),
            Some(Err(missing)) => notes.push(missing.to_owned()),
            None => {}
        }
    }
    let mean = |values: &dyn Fn(&Split) -> f64, splits: &[Split]| {
        splits.iter().map(values).sum::<f64>() / splits.len() as f64
    };
    Ok(View {
        endpoint,
        slow_bound: args.slow.unwrap_or_default().to_string(),
        fast_bound: args.fast.unwrap_or_default().to_string(),
        fast_nanos: mean(&|split| split.duration, &fast),
        slow_nanos: mean(&|split| split.duration, &slow),
        joined: are_many.then(|| mean(&|split| split.joined, &slow)),
        longer,
        losses,
        verdict,
        evenly,
        accounted,
        cpus: cpus(bundle),
        behind,
        causes,
        notes,
    })
}

/// Whether a part is a wait that ends by what others do.
fn is_wait(part: Part) -> bool {
    !matches!(
        part,
        Part::Cpu | Part::Runnable | Part::Gc | Part::Unexplained
    )
}

/// What must be said beside.
fn notes(
    bundle: &Bundle,
    losses: &[Loss],
    longer: f64,
    are_many: bool,
    is_told: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let has_blocked = bundle.of(Kind::Blocked).is_some();
    if !has_blocked {
        notes.push(
            "there is no blocked profile (agent option blocked=1ms): whatever a span waited for is unexplained".to_owned(),
        );
    }
    if bundle.of(Kind::Cpu).is_none() {
        notes.push("there is no cpu profile: what a span computed is unexplained".to_owned());
    }
    if are_many {
        notes.push(
            "several threads work or wait for one span at once: parts are thread time and may exceed the duration; waits for threads of its own are left out of 'queue'".to_owned(),
        );
    }
    let unexplained = losses.iter().find(|loss| loss.part == Part::Unexplained);
    if has_blocked
        && let Some(loss) = unexplained
        && loss.difference.value >= WORTH * longer
        && longer > 0.0
    {
        notes.push(
            "unexplained is time in no profile: a platform thread or carrier that could run and had no CPU, work in threads that the context did not reach, waits shorter than the interval of visits, windows whose files are missing".to_owned(),
        );
    }
    if has_blocked && !is_told {
        notes.push(
            "from its wake-up until it has a carrier a virtual thread counts as waiting for what it waited for".to_owned(),
        );
    }
    notes
}

/// The percentile that would leave enough slow spans.
fn more_slow(slow: Slow, endpoint: &Endpoint, speeds: &Speeds) -> Option<String> {
    let percent = slow.percentile()?;
    if speeds.slow.len() >= LEAST_SPANS {
        return None;
    }
    let spans = endpoint.spans as f64;
    [95.0, 90.0, 80.0, 75.0]
        .into_iter()
        .find(|less| *less < percent && spans * (100.0 - less) / 100.0 >= 2.0 * LEAST_SPANS as f64)
        .map(|less| {
            format!(
                "--slow p{less} has about {:.0} spans",
                spans * (100.0 - less) / 100.0
            )
        })
}

/// CPUs that the process used on average, where its profiles say so.
fn cpus(bundle: &Bundle) -> Option<f64> {
    let profile = &bundle.of(Kind::Cpu)?.profile;
    let nanos = comments::figure(&profile.comments, comments::WINDOW, "process.cpu_ns")?;
    (profile.duration_nanos > 0).then(|| nanos as f64 / profile.duration_nanos as f64)
}
