//! What stays in the output directory: oldest windows go first, of whichever process; nothing else is
//! touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::directory::unfinished;
use super::file_name::is_ours;
use crate::options::Keep;

/// A file that has been half written for so long was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes what lies beyond `keep`, and what was left half written; returns how many files went. Those called `newest`
/// have just been written, and stay however large or, by a clock that was set in between, old they are.
///
/// # Errors
/// When the directory cannot be read. A file that cannot be removed is passed over: another process may
/// have removed it.
pub fn prune(
    directory: &Path,
    keep: Keep,
    now: SystemTime,
    newest: &[String],
) -> io::Result<usize> {
    let mut files = Vec::new();
    let mut removed = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let half = unfinished(name);
        if !is_ours(half.unwrap_or(name)) {
            continue;
        }
        let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else {
            continue;
        };
        let modified = metadata.modified()?;
        if half.is_none() {
            let is_new = newest.iter().any(|new| new == name);
            files.push((is_new, modified, metadata.len(), entry.path()));
        } else if now.duration_since(modified).unwrap_or_default() > ABANDONED
            && fs::remove_file(entry.path()).is_ok()
        {
            removed += 1;
        }
    }
    // Newest first: those are kept as long as there is room.
    files
        .sort_by(|a: &(bool, SystemTime, u64, PathBuf), b| (b.0, b.1, &b.3).cmp(&(a.0, a.1, &a.3)));
    let mut bytes = 0_u64;
    for (is_new, modified, length, path) in files {
        bytes = bytes.saturating_add(length);
        let age = now.duration_since(modified).unwrap_or_default();
        let beyond = bytes > keep.bytes || age > keep.age;
        if beyond && !is_new && fs::remove_file(path).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::directory::temporary;
    use crate::export::file_name;

    #[test]
    fn the_oldest_go_first_and_other_peoples_files_stay() {
        let directory = std::env::temp_dir().join(format!("vtprof-keep-{}", std::process::id()));
        let _absent = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let now = SystemTime::now();
        let put = |name: &str, age: u64| {
            let path = directory.join(name);
            fs::write(&path, [0; 1000]).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        };
        // Of whichever kind.
        let kinds = ["cpu", "alloc", "blocked", "spans", "cpu"];
        for (hour, kind) in (0_u64..).zip(kinds) {
            put(
                &file_name::name("shop", 1, kind, hour * 3_600_000_000_000),
                18_000 - hour * 3600,
            );
        }
        put("notes.pb.gz", 1_000_000);
        let left = || fs::read_dir(&directory).unwrap().count();
        let keep = |bytes, hours: u64| Keep {
            bytes,
            age: Duration::from_secs(hours * 3600),
        };
        assert_eq!(prune(&directory, keep(u64::MAX, 24), now, &[]).unwrap(), 0);
        assert_eq!(prune(&directory, keep(3500, 24), now, &[]).unwrap(), 2);
        assert_eq!(left(), 4);
        assert_eq!(prune(&directory, keep(3500, 2), now, &[]).unwrap(), 1);
        assert!(
            directory
                .join(file_name::name("shop", 1, "cpu", 4 * 3_600_000_000_000))
                .exists()
        );
        assert!(directory.join("notes.pb.gz").exists());
    }

    #[test]
    fn the_newest_window_stays_though_it_is_large_and_the_clock_says_it_is_old() {
        let directory = std::env::temp_dir().join(format!("vtprof-new-{}", std::process::id()));
        let _absent = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let now = SystemTime::now();
        let names: Vec<String> = ["cpu", "spans", "cpu"]
            .iter()
            .zip([7_000_000_000, 7_000_000_000, 8_000_000_000])
            .map(|(kind, start)| file_name::name("shop", 1, kind, start))
            .collect();
        // The clock was set back before the newest, the first two, were written.
        for (name, age) in names.iter().zip([9, 9, 8]) {
            let path = directory.join(name);
            fs::write(&path, [0; 1000]).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let keep = |bytes, seconds| Keep {
            bytes,
            age: Duration::from_secs(seconds),
        };
        let pruned = |keep| prune(&directory, keep, now, &names[..2]).unwrap();
        let left = || {
            names
                .iter()
                .map(|name| directory.join(name).exists())
                .collect::<Vec<_>>()
        };
        assert_eq!(pruned(keep(3000, 8)), 0, "all have room");
        assert_eq!(pruned(keep(2999, 8)), 1);
        assert_eq!(left(), [true, true, false], "the room is the newest's");
        assert_eq!(pruned(keep(0, 0)), 0);
        assert_eq!(left(), [true, true, false]);
    }

    #[test]
    fn what_a_killed_process_left_half_written_goes_and_what_is_being_written_stays() {
        let directory = std::env::temp_dir().join(format!("vtprof-half-{}", std::process::id()));
        let _absent = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let now = SystemTime::now();
        let put = |name: &str, age: Duration| {
            let file = fs::File::create(directory.join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        };
        let half = |start| temporary(&file_name::name("shop", 1, "cpu", start));
        put(&half(0), ABANDONED + Duration::from_secs(1));
        put(&half(1_000_000_000), ABANDONED);
        put(".notes.tmp", 9 * ABANDONED);
        let keep = Keep {
            bytes: u64::MAX,
            age: Duration::MAX,
        };
        assert_eq!(prune(&directory, keep, now, &[]).unwrap(), 1);
        assert!(!directory.join(half(0)).exists());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    }
}
