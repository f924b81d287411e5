//! Another process from outside: its memory, and what is mapped where.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// A process that is looked at.
#[derive(Clone, Copy)]
pub struct Process(pub u32);

/// A line of `/proc/PID/maps`.
pub struct Mapping {
    pub start: u64,
    pub offset: u64,
    pub name: String,
}

impl Process {
    /// `length` bytes of its memory.
    pub fn read(self, address: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0_u8; length];
        let local = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: length,
        };
        let remote = libc::iovec {
            iov_base: address as *mut libc::c_void,
            iov_len: length,
        };
        let pid = libc::pid_t::try_from(self.0)?;
        // SAFETY: writes as many bytes as there are to `bytes`; the other address is the other process's.
        let read =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        ensure!(
            usize::try_from(read).is_ok_and(|read| read == length),
            "{length} bytes at {address:#x}: {}",
            std::io::Error::last_os_error()
        );
        Ok(bytes)
    }

    /// A 64 bit number of its memory.
    pub fn word(self, address: u64) -> Result<u64> {
        Ok(u64::from_ne_bytes(
            self.read(address, 8)?.as_slice().try_into()?,
        ))
    }

    /// What is mapped.
    pub fn mappings(self) -> Result<Vec<Mapping>> {
        let text = fs::read_to_string(format!("/proc/{}/maps", self.0))?;
        text.lines()
            .map(|line| mapping(line).context(line.to_owned()))
            .collect()
    }

    /// Where the library of that file name is, and which file it is.
    pub fn library(self, name: &str) -> Result<(u64, PathBuf)> {
        let mappings = self.mappings()?;
        let first = mappings
            .into_iter()
            .find(|mapping| mapping.offset == 0 && mapping.name.ends_with(name));
        let first = first.with_context(|| format!("no {name} is mapped"))?;
        Ok((first.start, PathBuf::from(first.name)))
    }
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, _) = fields.next()?.split_once('-')?;
    let offset = fields.nth(1)?;
    let name = fields.nth(2).unwrap_or_default().trim().to_owned();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        name,
    })
}
