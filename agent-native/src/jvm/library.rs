//! Symbols of the JVM's library, and of our own.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The loaded `libjvm.so`.
#[derive(Clone, Copy)]
pub struct Library(*mut c_void);

impl Library {
    /// The library that contains `address`; it is loaded already and stays so.
    pub fn containing(address: *const c_void) -> Option<Self> {
        let path = path_of(address)?;
        let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: RTLD_NOLOAD only finds what is loaded, so no constructor runs.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Self(handle))
    }

    /// Address of a symbol.
    pub fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is a live one; the name is NUL-terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// Where a loaded object lies.
struct Loaded {
    /// The code segment that was asked about.
    code: Range<u64>,
    /// What the calling thread has of its thread-locals, where it has any yet.
    thread_locals: Option<Range<u64>>,
}

/// The loaded code segment that contains `address`; `None` where no library has it.
pub fn code_around(address: *const c_void) -> Option<Range<u64>> {
    around(address).map(|loaded| loaded.code)
}

/// The calling thread's thread-locals of the library whose code contains `address`; `None` where there are none, or the
/// thread has not touched them yet.
pub fn thread_locals_beside(address: *const c_void) -> Option<Range<u64>> {
    around(address).and_then(|loaded| loaded.thread_locals)
}

fn around(address: *const c_void) -> Option<Loaded> {
    let mut search = (address as u64, None);
    // SAFETY: `look` is called before this returns, with `search` as its last argument.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.1
}

/// # Safety
/// Only `dl_iterate_phdr` calls it, for `around`.
unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `around` passes this, and has no other reference meanwhile.
    let (address, found) = unsafe { &mut *search.cast::<(u64, Option<Loaded>)>() };
    // SAFETY: the loader's description of a loaded object.
    let info = unsafe { &*info };
    // SAFETY: the object has so many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let code = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .filter(|header| header.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_X | libc::PF_R)
        .map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            start..start.wrapping_add(header.p_filesz)
        })
        .find(|segment| segment.contains(address));
    *found = code.map(|code| {
        let start = info.dlpi_tls_data as u64;
        let kept = headers.iter().find(|header| header.p_type == libc::PT_TLS);
        let thread_locals = kept
            .filter(|_| start != 0)
            .map(|header| start..start.wrapping_add(header.p_memsz));
        Loaded {
            code,
            thread_locals,
        }
    });
    c_int::from(found.is_some())
}

/// File of the library that contains `address`.
pub fn path_of(address: *const c_void) -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: `info` is a place for the answer; any address may be asked about.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success `dli_fname` is a NUL-terminated string that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_around_a_function_contains_it_and_there_is_none_around_the_stack() {
        let here = code_around as *const () as u64;
        let code = code_around(here as *const c_void).unwrap();
        assert!(code.contains(&here) && code.end - code.start > 1 << 12);
        assert_eq!(code_around((&raw const here).cast()), None);
    }
}
