//! What the kernel says runs in this process: `/proc/self/task`.

use std::fs;

use super::timer::OsThreadId;

/// Kernel thread ids of this process.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn list() -> std::io::Result<Vec<OsThreadId>> {
    let mut ids = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        if let Some(id) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            ids.push(OsThreadId(id));
        }
    }
    Ok(ids)
}

/// HotSpot's own threads whose names the kernel cuts (`TASK_COMM_LEN`, 15 bytes and a NUL), by what is left.
const CUT: [(&str, &str); 8] = [
    ("C1 CompilerThre", "C1 CompilerThread"),
    ("C2 CompilerThre", "C2 CompilerThread"),
    ("Monitor Deflati", "Monitor Deflation Thread"),
    ("Notification Th", "Notification Thread"),
    ("Shenandoah Cont", "Shenandoah Control Thread"),
    ("Shenandoah GC T", "Shenandoah GC Threads"),
    ("Signal Dispatch", "Signal Dispatcher"),
    ("VM Periodic Tas", "VM Periodic Task Thread"),
];

/// Name of a thread; `None` when it is gone. At most 15 bytes, but for those of [`CUT`].
#[must_use]
pub fn name(thread: OsThreadId) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/self/task/{}/comm", thread.0)).ok()?;
    let name = name.trim_end_matches('\n');
    let whole = CUT.iter().find(|(cut, _)| *cut == name);
    Some(whole.map_or(name, |(_, whole)| whole).to_owned())
}

/// When a thread started, in clock ticks since the machine's start; `None` when it is gone. With its id this tells
/// threads apart: ids are used again.
#[must_use]
pub fn started(thread: OsThreadId) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/self/task/{}/stat", thread.0)).ok()?;
    // The second field, the name in parentheses, may hold anything; the 22nd is what is asked for (proc(5)).
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}
