//! Reads of JVM memory that may be gone: outside the handler, through the kernel.

/// `N` bytes at `address`, or `None` where nothing is mapped.
pub fn read<const N: usize>(address: usize) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    read_into(address, &mut bytes).then_some(bytes)
}

/// Fills `bytes` with those at `address`; `false` where not all of them are mapped (process_vm_readv(2) on our own
/// process).
pub fn read_into(address: usize, bytes: &mut [u8]) -> bool {
    let length = bytes.len();
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: length,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: `local` is our own buffer; the kernel checks `remote` and fails instead of faulting.
    let count = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    usize::try_from(count) == Ok(length)
}

/// Whether the `N` bytes at `address` can be written: they are, with what is there
/// (process_vm_writev(2) on our own process). They must not change meanwhile.
pub fn is_writable<const N: usize>(address: usize) -> bool {
    let Some(bytes) = read::<N>(address) else {
        return false;
    };
    let local = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: N,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: N,
    };
    // SAFETY: `local` is our own buffer and only read; the kernel checks `remote` and fails instead of faulting.
    let count = unsafe {
        libc::process_vm_writev(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    count == N as isize
}

#[cfg(test)]
mod tests {
    use super::{is_writable, read};

    #[test]
    fn what_is_writable_is_told_and_keeps_its_value() {
        static CONSTANT: u64 = 7;
        let value = Box::new(0x1234_u64);
        assert!(is_writable::<8>((&raw const *value) as usize));
        assert_eq!(*value, 0x1234);
        assert!(!is_writable::<8>((&raw const CONSTANT) as usize));
        assert!(!is_writable::<8>(0));
    }

    #[test]
    fn what_is_mapped_is_read_and_what_is_not_is_none() {
        let value = 0x1234_5678_9ABC_DEF0_u64;
        assert_eq!(read((&raw const value) as usize), Some(value.to_ne_bytes()));
        assert_eq!(read::<8>(0), None);
        assert_eq!(read::<8>(usize::MAX - 3), None);
    }
}
