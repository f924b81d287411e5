//! The JDKs of this machine, by feature release.
//!
//! Found and not configured: a developer's machine, a build server and a container keep them in
//! different places. A missing one skips its tests with a line that says so, unless
//! `VTPROF_REQUIRE_JDKS=17,21,25` names it: a build server must not pass by testing nothing.
//!
//! Releases that few machines have, 26 and 27, take part where `VTPROF_JDK_26` and `VTPROF_JDK_27`
//! give them (`make matrix`). `VTPROF_JDKS=26,27` leaves the others out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::artifacts::repository;
use crate::report::say;

/// The releases that tests run on, oldest first.
const RELEASES: [u32; 5] = [17, 21, 25, 26, 27];
/// The first release with virtual threads.
pub const VIRTUAL_THREADS: u32 = 21;
/// Those that are looked for; the rest is given or not.
const LOOKED_FOR: [u32; 3] = [17, 21, 25];

/// Where platforms and version managers install JDKs, each a folder of its own.
const USUAL_PLACES: [&str; 7] = [
    "/usr/lib/jvm",
    "/usr/java",
    "/usr/local/openjdk",
    "/opt/java",
    "/opt/jdk",
    "/opt/jdks",
    "/opt",
];
/// The same below the home folder.
const USUAL_PLACES_AT_HOME: [&str; 3] = [".sdkman/candidates/java", ".jdks", ".jenv/versions"];
/// How deep a JDK may lie below one of those folders.
const DEPTH: usize = 4;

/// A JDK or a JVM without compiler.
#[derive(Debug, Clone)]
pub struct Jdk {
    /// Its home folder.
    pub home: PathBuf,
    /// Feature release, e.g. 21.
    pub feature: u32,
    /// Full version, e.g. `21.0.8`.
    pub version: String,
}

impl Jdk {
    /// The JDK in this folder, `None` where there is none.
    pub fn at(home: &Path) -> Option<Jdk> {
        if !home.join("bin/java").is_file() {
            return None;
        }
        let release = fs::read_to_string(home.join("release")).ok()?;
        let version = release
            .lines()
            .find_map(|line| line.strip_prefix("JAVA_VERSION="))?
            .trim_matches('"')
            .to_owned();
        Some(Jdk {
            home: home.to_owned(),
            feature: feature_release(&version)?,
            version,
        })
    }

    /// A tool of this JDK, `None` where it has none of that name.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.join("bin").join(name)).filter(|path| path.is_file())
    }
}

/// The first JDK of that feature release, `None` with a line on stderr where there is none or
/// `VTPROF_JDKS` leaves it out.
///
/// # Panics
/// When it is missing and `VTPROF_REQUIRE_JDKS` names it.
pub fn of_feature(feature: u32, test: &str) -> Option<Jdk> {
    if listed("VTPROF_JDKS").is_some_and(|wanted| !wanted.contains(&feature)) {
        say(&format!(
            "SKIPPED {test}: VTPROF_JDKS leaves JDK {feature} out"
        ));
        return None;
    }
    let found = found().get(&feature).cloned();
    if found.is_none() {
        let reason = if LOOKED_FOR.contains(&feature) {
            format!(
                "no JDK {feature} found (JAVA_HOME, VTPROF_JDK_{feature}, PATH, .toolchain/, the usual places)"
            )
        } else {
            format!("no JDK {feature} given (VTPROF_JDK_{feature})")
        };
        let is_required =
            listed("VTPROF_REQUIRE_JDKS").is_some_and(|required| required.contains(&feature));
        assert!(!is_required, "{test}: {reason}");
        say(&format!("SKIPPED {test}: {reason}"));
    }
    if let Some(jdk) = &found {
        say(&format!("{test} on JDK {}", jdk.version));
    }
    found
}

/// A JDK that is tested only where `VTPROF_JDK_<feature>` names it.
pub fn named(feature: u32) -> Option<Jdk> {
    let home = std::env::var_os(format!("VTPROF_JDK_{feature}"))?;
    Jdk::at(Path::new(&home)).filter(|jdk| jdk.feature == feature)
}

/// The newest JDK with virtual threads, `None` with a line where there is none.
pub fn newest_virtual(test: &str) -> Option<Jdk> {
    RELEASES
        .into_iter()
        .rev()
        .filter(|feature| *feature >= VIRTUAL_THREADS)
        .find_map(|feature| of_feature(feature, test))
}

/// Every JDK that tests know about and that is here, oldest first. Never empty.
///
/// # Panics
/// When there is none at all, or one that is required is missing.
pub fn each(test: &str) -> Vec<Jdk> {
    let found = each_from(RELEASES[0], test);
    assert!(!found.is_empty(), "{test}: no JDK at all");
    found
}

/// The oldest and the newest of [`each`]: for what is about the agent and its surroundings, where one release is much as
/// the next. All of them where `VTPROF_JDKS` names those to test (`make matrix`).
///
/// # Panics
/// As [`each`].
pub fn ends(test: &str) -> Vec<Jdk> {
    some(test, |place, last| place == 0 || place == last)
}

/// The newest of [`each`]: for what the release has no part in. All of them where `VTPROF_JDKS` names those to test.
///
/// # Panics
/// As [`each`].
pub fn newest(test: &str) -> Vec<Jdk> {
    some(test, |place, last| place == last)
}

/// Those of [`each`] that are chosen by their place among those that are here, and that of the last.
fn some(test: &str, is_chosen: impl Fn(usize, usize) -> bool) -> Vec<Jdk> {
    if std::env::var_os("VTPROF_JDKS").is_some() {
        return each(test);
    }
    let here = found();
    let last = here.len().saturating_sub(1);
    let chosen: Vec<_> = RELEASES
        .into_iter()
        .filter(|feature| here.contains_key(feature))
        .enumerate()
        .filter(|(place, _)| is_chosen(*place, last))
        .filter_map(|(_, feature)| of_feature(feature, test))
        .collect();
    assert!(!chosen.is_empty(), "{test}: no JDK at all");
    chosen
}

/// Those of [`each`] from a feature release on; none where none is here.
///
/// # Panics
/// One that is required is missing.
pub fn each_from(first: u32, test: &str) -> Vec<Jdk> {
    RELEASES
        .into_iter()
        .filter(|feature| *feature >= first)
        .filter_map(|feature| of_feature(feature, test))
        .collect()
}

/// The feature releases in an environment variable, `None` where it is not set.
///
/// # Panics
/// Something in it is no number: a misspelt one would pass by testing nothing.
fn listed(variable: &str) -> Option<Vec<u32>> {
    let list = std::env::var(variable).ok()?;
    let items = list.split(',').map(str::trim);
    Some(
        items
            .filter(|item| !item.is_empty())
            .map(|item| {
                item.parse().unwrap_or_else(|_| {
                    panic!("{variable}={list}: {item} is no feature release; write 21,25")
                })
            })
            .collect(),
    )
}

/// Those of this machine.
fn found() -> &'static BTreeMap<u32, Jdk> {
    static FOUND: OnceLock<BTreeMap<u32, Jdk>> = OnceLock::new();
    FOUND.get_or_init(find_all)
}

fn find_all() -> BTreeMap<u32, Jdk> {
    let mut found = BTreeMap::new();
    for feature in RELEASES {
        let variable = format!("VTPROF_JDK_{feature}");
        if let Some(home) = std::env::var_os(&variable).map(PathBuf::from) {
            let jdk = Jdk::at(&home)
                .filter(|jdk| jdk.feature == feature)
                .unwrap_or_else(|| panic!("{variable}={}: no JDK {feature} there", home.display()));
            found.insert(feature, jdk);
        }
    }
    for jdk in candidates().iter().filter_map(|home| Jdk::at(home)) {
        if LOOKED_FOR.contains(&jdk.feature) {
            found.entry(jdk.feature).or_insert(jdk);
        }
    }
    found
}

/// Folders that may be a JDK's home, the most deliberate choice first.
fn candidates() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = Vec::new();
    homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    homes.extend(std::env::split_paths(&path).filter_map(|dir| home_of(&dir.join("java"))));
    add_below(&repository().join(".toolchain"), DEPTH, &mut homes);
    for place in USUAL_PLACES {
        add_below(Path::new(place), 1, &mut homes);
    }
    if let Some(home) = std::env::home_dir() {
        for place in USUAL_PLACES_AT_HOME {
            add_below(&home.join(place), 1, &mut homes);
        }
    }
    homes
}

/// The home of the JDK that an executable belongs to, links followed.
fn home_of(java: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(java).ok()?;
    Some(real.parent()?.parent()?.to_owned())
}

/// Adds `dir` and its folders to that depth, in the order of their names.
fn add_below(dir: &Path, depth: usize, homes: &mut Vec<PathBuf>) {
    homes.push(dir.to_owned());
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    for folder in folders {
        add_below(&folder, deeper, homes);
    }
}

/// `21.0.8` is 21, `1.8.0_412` is 8, `26-ea` is 26.
fn feature_release(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first: u32 = numbers.next()?.parse().ok()?;
    match first {
        1 => numbers.next()?.parse().ok(),
        _ => Some(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_releases_are_read_from_every_style_of_version() {
        for (version, feature) in [
            ("17.0.15", 17),
            ("21.0.8", 21),
            ("25", 25),
            ("1.8.0_412", 8),
            ("26-ea", 26),
        ] {
            assert_eq!(feature_release(version), Some(feature), "{version}");
        }
        assert_eq!(feature_release("unknown"), None);
    }

    #[test]
    fn a_jdk_is_found_below_a_folder_and_a_folder_without_java_is_none() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let home = dir.path().join("a/java-runtime");
        fs::create_dir_all(home.join("bin")).expect("folder");
        fs::write(home.join("bin/java"), "").expect("file");
        fs::write(
            home.join("release"),
            "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"21.0.8\"\n",
        )
        .expect("file");
        let mut homes = Vec::new();
        add_below(dir.path(), DEPTH, &mut homes);
        let found: Vec<u32> = homes
            .iter()
            .filter_map(|home| Jdk::at(home))
            .map(|jdk| jdk.feature)
            .collect();
        assert_eq!(found, [21]);
    }
}
