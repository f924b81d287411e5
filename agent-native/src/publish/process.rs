//! What is said of the process, in a mapping named `OTEL_CTX` that others find in `/proc/PID/maps` (OTEP 4719,
//! "Publication Protocol"). Made once and never changed, as nothing that is said changes; it goes with the process, and no
//! child inherits it.

use std::ffi::{CStr, c_int, c_uint};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Name of the mapping.
const NAME: &CStr = c"OTEL_CTX";
/// How lines of `/proc/PID/maps` name it, whatever the kernel permitted.
const NAMES: [&str; 3] = [
    "/memfd:OTEL_CTX",
    "[anon_shmem:OTEL_CTX]",
    "[anon:OTEL_CTX]",
];
const SIGNATURE: [u8; 8] = *b"OTEL_CTX";
const VERSION: u32 = 2;
/// Longest payload that the eBPF profiler takes, bytes (`maxPayloadSize` in its `processcontext.go`).
const LONGEST: usize = 65_536;
/// Not in the `libc` crate: Linux 6.3.
const MFD_NOEXEC_SEAL: c_uint = 8;

/// The beginning of the mapping; the payload follows it.
#[repr(C)]
struct Header {
    signature: [u8; 8],
    version: u32,
    payload_size: u32,
    /// ns of CLOCK_BOOTTIME; 0 until the rest is written. Pair: the fence before it is stored, with that of the reader.
    published_at_ns: AtomicU64,
    payload: u64,
}

const _: () = {
    assert!(size_of::<Header>() == 32);
    assert!(std::mem::offset_of!(Header, published_at_ns) == 16);
    assert!(std::mem::offset_of!(Header, payload) == 24);
};

/// Why nothing is said.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error(
        "somebody else in this process has published a process context, and there may be one alone"
    )]
    Twice,
    #[error(
        "the resource attributes take {0} bytes, and readers take {LONGEST}: give fewer in OTEL_RESOURCE_ATTRIBUTES"
    )]
    TooLong(usize),
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    #[error("the kernel gives neither a memfd nor a name to a mapping ({0})")]
    Nameless(io::Error),
}

/// Publishes `payload`, an encoded `ProcessContext`.
pub fn publish(payload: &[u8]) -> Result<(), ProcessError> {
    if is_published().map_err(|error| ProcessError::System("/proc/self/maps", error))? {
        return Err(ProcessError::Twice);
    }
    if payload.len() > LONGEST {
        return Err(ProcessError::TooLong(payload.len()));
    }
    let (mapping, has_file) = Mapping::new(size_of::<Header>() + payload.len())?;
    mapping.write(payload)?;
    // Always, as some listen for this very call; without a file it is what makes the mapping known.
    if let Err(error) = mapping.name()
        && !has_file
    {
        return Err(ProcessError::Nameless(error));
    }
    // It stays for as long as the process does.
    std::mem::forget(mapping);
    Ok(())
}

/// Whether there is such a mapping in this process already.
fn is_published() -> io::Result<bool> {
    for line in BufReader::new(fs::File::open("/proc/self/maps")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let name = line.splitn(6, ' ').nth(5).map(str::trim_start);
        if name.is_some_and(|name| NAMES.iter().any(|known| name.starts_with(known))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Private memory that no child inherits.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Zeroed memory of so many bytes, and whether it is that of a memfd, by whose name others find it.
    fn new(length: usize) -> Result<(Self, bool), ProcessError> {
        let file = memfd(length);
        let (flags, descriptor) = match &file {
            Some(file) => (libc::MAP_PRIVATE, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: a new mapping where the kernel likes it; the file is as long as it is.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                descriptor,
                0,
            )
        };
        let start = NonNull::new(start.cast::<u8>())
            .filter(|_| start != libc::MAP_FAILED)
            .ok_or_else(|| system("mmap"))?;
        let mapping = Self { start, length };
        // SAFETY: the mapping just made.
        let kept = unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_DONTFORK) };
        if kept != 0 {
            return Err(system("madvise"));
        }
        Ok((mapping, file.is_some()))
    }

    /// Writes payload, header and, last of all, the time. Whoever looks before that sees that there is nothing yet.
    fn write(&self, payload: &[u8]) -> Result<(), ProcessError> {
        let now_ns = boot_ns()?;
        let header = self.start.cast::<Header>();
        let size =
            u32::try_from(payload.len()).map_err(|_| ProcessError::TooLong(payload.len()))?;
        // SAFETY: `new` has made the mapping for a header and the payload behind it, page-aligned and writable, and
        // nothing else in this process knows of it.
        unsafe {
            let behind = self.start.add(size_of::<Header>());
            behind.copy_from_nonoverlapping(NonNull::from(payload).cast(), payload.len());
            header.write(Header {
                signature: SIGNATURE,
                version: VERSION,
                payload_size: size,
                published_at_ns: AtomicU64::new(0),
                payload: behind.as_ptr() as u64,
            });
            fence(Ordering::SeqCst);
            header
                .as_ref()
                .published_at_ns
                .store(now_ns, Ordering::Release);
        }
        Ok(())
    }

    fn name(&self) -> io::Result<()> {
        // SAFETY: names the mapping; the text is copied by the kernel.
        let named = unsafe {
            libc::prctl(
                libc::PR_SET_VMA,
                libc::PR_SET_VMA_ANON_NAME,
                self.start.as_ptr(),
                self.length,
                NAME.as_ptr(),
            )
        };
        if named == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and nothing points into it. There is no way in which this fails.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A file in memory of so many bytes; `None` where the kernel, or a filter of system calls, gives none.
fn memfd(length: usize) -> Option<OwnedFd> {
    let plain = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let file = [plain | MFD_NOEXEC_SEAL, plain]
        .into_iter()
        .find_map(|flags| {
            // SAFETY: the name is a string that ends in NUL.
            let descriptor: c_int = unsafe { libc::memfd_create(NAME.as_ptr(), flags) };
            // SAFETY: the descriptor is new, and nobody else's.
            (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
        })?;
    let length = libc::off_t::try_from(length).ok()?;
    // SAFETY: sets the length of the file just made.
    (unsafe { libc::ftruncate(file.as_raw_fd(), length) } == 0).then_some(file)
}

/// CLOCK_BOOTTIME, ns; never 0, which would say that nothing is there.
fn boot_ns() -> Result<u64, ProcessError> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to the place given.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) } != 0 {
        return Err(system("clock_gettime"));
    }
    let seconds = time.tv_sec.cast_unsigned();
    let nanos = time.tv_nsec.cast_unsigned();
    Ok(seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanos)
        .max(1))
}

fn system(call: &'static str) -> ProcessError {
    ProcessError::System(call, io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, as there may be one in a process.
    #[test]
    fn a_process_context_is_found_by_its_name_once_whole_and_not_by_children() {
        let payload = b"not a message, but bytes";
        assert!(!is_published().unwrap());
        let long = vec![0; LONGEST + 1];
        assert!(matches!(publish(&long), Err(ProcessError::TooLong(65_537))));
        publish(payload).unwrap();
        assert!(is_published().unwrap());
        assert!(matches!(publish(payload), Err(ProcessError::Twice)));

        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps
            .lines()
            .skip_while(|line| !NAMES.iter().any(|name| line.contains(name)));
        let line = lines.next().unwrap();
        let start = line.split('-').next().unwrap();
        let start = usize::from_str_radix(start, 16).unwrap();
        // "dc": do not copy this area on fork (proc(5)).
        let flags = lines.find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");

        // SAFETY: the mapping that was just found, which stays.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, 32 + payload.len()) };
        assert_eq!(bytes[..8], *b"OTEL_CTX");
        assert_eq!(bytes[8..12], 2_u32.to_ne_bytes());
        assert_eq!(bytes[12..16], 24_u32.to_ne_bytes());
        let published = u64::from_ne_bytes(bytes[16..24].try_into().unwrap());
        assert!((1..=boot_ns().unwrap()).contains(&published));
        assert_eq!(bytes[24..32], (start as u64 + 32).to_ne_bytes());
        assert_eq!(bytes[32..], *payload);
    }
}
