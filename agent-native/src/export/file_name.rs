//! How a window's files are called: `{service}-{pid}-{kind}-{UTC start}.pb.gz`.

use vtprof_profile::kind::Kind;

/// Ending of every file.
pub const ENDING: &str = ".pb.gz";
/// What stands for a kind of profile in the name of a list of spans.
pub const SPANS: &str = "spans";

/// The name of a file. `start_unix_ns` is the window's start.
#[must_use]
pub fn name(service: &str, pid: u32, kind: &str, start_unix_ns: u64) -> String {
    format!(
        "{}-{pid}-{kind}-{}{ENDING}",
        safe(service),
        utc(start_unix_ns)
    )
}

/// The names that files of one window can have, of whichever kind.
#[must_use]
pub fn window(service: &str, pid: u32, start_unix_ns: u64) -> Vec<String> {
    Kind::ALL
        .map(Kind::name)
        .into_iter()
        .chain([SPANS])
        .map(|kind| name(service, pid, kind, start_unix_ns))
        .collect()
}

/// Whether a file is one of vtprof's, by its name.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(ENDING) else {
        return false;
    };
    let mut parts = stem.rsplit('-');
    let time = parts.next().is_some_and(|time| {
        time.len() == "20260101T000000.000Z".len() && time.ends_with('Z') && time.contains('T')
    });
    let kind = parts
        .next()
        .is_some_and(|kind| kind == SPANS || Kind::from_name(kind).is_some());
    let pid = parts
        .next()
        .is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()));
    time && kind && pid && parts.next().is_some()
}

/// A service name as part of a file name.
#[must_use]
pub fn safe(service: &str) -> String {
    const LONGEST: usize = 100;
    let mut safe: String = service
        .chars()
        .take(LONGEST)
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                '_'
            }
        })
        .collect();
    // Neither hidden nor a path of its own.
    if safe.is_empty() || safe.starts_with('.') {
        safe.insert(0, '_');
    }
    safe
}

/// `20261129T151911.042Z`: sorts by time, and two windows never share it.
fn utc(unix_ns: u64) -> String {
    let seconds = (unix_ns / 1_000_000_000).cast_signed();
    // SAFETY: `tm` is a plain C struct for which zero is valid.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid for the call; gmtime_r keeps no state.
    unsafe { libc::gmtime_r(&raw const seconds, &raw mut tm) };
    format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}.{:03}Z",
        tm.tm_year + 1900,
        tm.tm_mon + 1,
        tm.tm_mday,
        tm.tm_hour,
        tm.tm_min,
        tm.tm_sec,
        unix_ns / 1_000_000 % 1000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_carries_service_pid_kind_and_utc_start() {
        assert_eq!(
            name("shop", 42, "cpu", 1_795_965_551_042_000_000),
            "shop-42-cpu-20261129T151911.042Z.pb.gz"
        );
    }

    #[test]
    fn the_names_of_a_window_differ_by_kind_only() {
        let names = window("shop", 42, 5);
        assert_eq!(names.len(), Kind::ALL.len() + 1);
        for kind in ["cpu", SPANS] {
            assert!(names.contains(&name("shop", 42, kind, 5)), "{names:?}");
        }
    }

    #[test]
    fn our_own_names_are_known_and_others_are_not() {
        for service in ["shop", "a-b-c", "..", "", "ü/x", "9-cpu"] {
            for kind in Kind::ALL.map(Kind::name).into_iter().chain([SPANS]) {
                assert!(is_ours(&name(service, 1, kind, 5)), "{service} {kind}");
            }
        }
        for other in [
            "notes.txt",
            "shop.pb.gz",
            "shop-cpu-20261129T151911.042Z.pb.gz",
            "shop-42-heap-20261129T151911.042Z.pb.gz",
            "42-cpu-20261129T151911.042Z.pb.gz",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn a_service_name_never_leaves_the_directory() {
        for service in ["../../etc/passwd", "/abs", "..", "a\0b", ""] {
            let name = safe(service);
            assert!(
                !name.contains('/') && !name.starts_with('.') && !name.contains('\0'),
                "{name}"
            );
        }
    }
}
