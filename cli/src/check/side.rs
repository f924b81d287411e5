//! The spans that tags name: current ones and local roots, and which of them several threads may work for.

use std::collections::{HashMap, HashSet};

use vtprof_profile::ids::SpanId;

use super::account::Account;
use super::charge::Charge;
use super::evidence;
use super::ledger::{Ledger, Level};
use super::lives::{Life, Lives};

/// The share of an endpoint's spans from which on all of them may work in several threads.
const OFTEN: f64 = 0.05;
/// Odds of an endpoint from which on its code is looked at.
const DOUBTFUL_AT: f64 = 20.0;

/// One level of tags with what its spans were.
pub struct Side<'a> {
    pub level: Level,
    pub lives: HashMap<SpanId, &'a Life>,
    pub charges: HashMap<SpanId, &'a Charge>,
}

/// The current spans first.
pub fn sides<'a>(ledger: &'a Ledger, lives: &'a Lives, is_labelled: bool) -> Vec<Side<'a>> {
    let mut sides = Vec::new();
    for level in [Level::Current, Level::Root] {
        if !ledger.has(level) {
            continue;
        }
        let of_level: HashMap<SpanId, &Life> = match level {
            Level::Current if is_labelled => {
                // A label that names a local root has all below it; one that names another span bounds it more.
                let all = lives.spans.iter().chain(&lives.roots);
                all.map(|(span, life)| (*span, life)).collect()
            }
            Level::Current => lives
                .spans
                .iter()
                .map(|(span, life)| (*span, life))
                .collect(),
            Level::Root => lives
                .roots
                .iter()
                .map(|(span, life)| (*span, life))
                .collect(),
        };
        let charges = ledger.charges(level, |span| of_level.contains_key(&span));
        sides.push(Side {
            level,
            lives: of_level,
            charges,
        });
    }
    sides
}

/// Names of local roots that may be worked for by several threads: those that were named, and those of which some show it.
pub fn parallel_names<'a>(sides: &[Side<'a>], named: &'a [String]) -> HashSet<&'a str> {
    let mut parallel: HashSet<&str> = named.iter().map(String::as_str).collect();
    for side in sides {
        let mut of_name: HashMap<&str, (f64, f64)> = HashMap::new();
        for (span, charge) in &side.charges {
            let Some(life) = side.lives.get(span) else {
                continue;
            };
            let (all, several) = of_name.entry(life.name.as_str()).or_default();
            *all += 1.0;
            if life.fan_out || charge.threads.len() > 1 {
                *several += 1.0;
            }
        }
        let often = of_name
            .into_iter()
            .filter(|(_, (all, several))| *several > 0.0 && several / all >= OFTEN);
        parallel.extend(often.map(|(name, _)| name));
    }
    parallel
}

/// Names of local roots that have more than one thread could, and run code that nobody else runs: so it is theirs, of several
/// threads.
pub fn proven_names<'a>(
    ledger: &Ledger,
    lives: &'a Lives,
    sides: &[Side<'a>],
    grain: f64,
) -> HashSet<&'a str> {
    let mut of_name: HashMap<&str, Vec<Account>> = HashMap::new();
    let mut doubtful: HashSet<&str> = HashSet::new();
    for side in sides {
        of_name.clear();
        for (span, life) in &side.lives {
            let account = Account::of(life, side.charges.get(span).copied(), grain);
            of_name.entry(life.name.as_str()).or_default().push(account);
        }
        let odds = of_name
            .iter()
            .map(|(name, accounts)| (*name, evidence::log_odds(accounts, grain)));
        doubtful.extend(
            odds.filter(|(_, odds)| *odds >= DOUBTFUL_AT.ln())
                .map(|(name, _)| name),
        );
    }
    if doubtful.is_empty() {
        return doubtful;
    }
    let own = ledger.own_code(|span| lives.spans.get(&span).map(|life| life.name.as_str()));
    doubtful.retain(|name| own.contains(name));
    doubtful
}
