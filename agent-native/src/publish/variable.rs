//! `otel_thread_ctx_v1`: the thread-local pointer to a thread's record, which others find by its name in the table of
//! dynamic symbols (OTEP 4947, "Thread-Local Variable").
//!
//! In assembly, as stable Rust can neither export a thread-local nor choose how it is reached: by TLSDESC, as the OTEP
//! wants it. `build.rs` has the linker export the name (`exports.map` in this folder). Not protected: readers
//! find the descriptor by the name of its relocation. So where another library exports the same name, the loader may have
//! given the agent that one's variable, which [`is_own`] tells.

use std::arch::{asm, global_asm};
use std::ffi::c_void;
use std::sync::atomic::{Ordering, compiler_fence};

use vtprof_signal::record::Record;

use crate::jvm::library::thread_locals_beside;

global_asm!(
    r#".pushsection .tbss.otel_thread_ctx_v1,"awT",@nobits"#,
    ".globl otel_thread_ctx_v1",
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

/// Whether the variable that the agent reaches by the name is this library's own. To be asked before it is written to.
#[must_use]
pub fn is_own() -> bool {
    // First: by it the thread has the variable.
    let reached = place() as u64;
    let own = thread_locals_beside(is_own as *const c_void);
    own.is_some_and(|own| own.contains(&reached))
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
    // SAFETY: the variable is null or what `point_to` was given, which lives for ever, as it is written by nobody else
    // (`is_own`); a record is atomics alone.
    unsafe { place().read_volatile().as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_this_programs_own_on_each_thread() {
        assert!(is_own());
        assert!(std::thread::spawn(is_own).join().unwrap());
    }

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
