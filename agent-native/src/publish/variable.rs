//! `otel_thread_ctx_v1`: the thread-local pointer to a thread's record, which others find by its name in the table of
//! dynamic symbols (OTEP 4947, "Thread-Local Variable").
//!
//! In assembly, as stable Rust can neither export a thread-local nor choose how it is reached: by TLSDESC, as the OTEP
//! wants it. `build.rs` has the linker export the name (`exports.map` in this folder). Protected: whoever else exports the same
//! name, the agent writes to its own variable, which is what its symbol says.

use std::arch::{asm, global_asm};
use std::sync::atomic::{Ordering, compiler_fence};

use vtprof_signal::record::Record;

global_asm!(
    r#".pushsection .tbss.otel_thread_ctx_v1,"awT",@nobits"#,
    ".globl otel_thread_ctx_v1",
    ".protected otel_thread_ctx_v1",
    ".type otel_thread_ctx_v1, @object",
    ".size otel_thread_ctx_v1, 8",
    ".p2align 3",
    "otel_thread_ctx_v1:",
    ".zero 8",
    ".popsection",
);

/// Where the calling thread has it.
fn place() -> *mut *const Record {
    let place;
    // SAFETY: the sequence of the x86-64 ABI for a thread-local by its descriptor, in the form that linkers know; the
    // call gives the offset from the thread pointer, which is at fs:0, and needs an aligned stack, as there is here. It
    // keeps all other registers; that of glibc before 2.40 may change vector registers where memory has to be made
    // first, so they are given up.
    unsafe {
        asm!(
            "leaq otel_thread_ctx_v1@tlsdesc(%rip), %rax",
            "call *otel_thread_ctx_v1@tlscall(%rax)",
            "addq %fs:0, %rax",
            out("rax") place,
            clobber_abi("sysv64"),
            options(att_syntax),
        );
    }
    place
}

/// Others who stop the calling thread read that record of it from now on, or none.
pub fn point_to(record: Option<&'static Record>) {
    let record = record.map_or(std::ptr::null(), std::ptr::from_ref);
    // Whoever stops this thread sees what it has stored, in order, but for what the compiler turns round.
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the thread's own variable, eight aligned bytes for as long as it lives; nobody else writes it.
    unsafe { place().write_volatile(record) };
    compiler_fence(Ordering::SeqCst);
}

/// The record that others read of the calling thread.
pub fn pointed_to() -> Option<&'static Record> {
    // SAFETY: the variable is null or what `point_to` was given, which lives for ever; a record is atomics alone.
    unsafe { place().read_volatile().as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_pointer_of_its_own_that_begins_as_null() {
        let record: &'static Record = Box::leak(Box::new(Record::new()));
        assert!(pointed_to().is_none());
        point_to(Some(record));
        let seen = std::thread::spawn(|| pointed_to().is_none());
        assert!(seen.join().unwrap());
        assert!(pointed_to().is_some_and(|seen| std::ptr::eq(seen, record)));
        point_to(None);
        assert!(pointed_to().is_none());
    }
}
