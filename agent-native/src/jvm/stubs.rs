//! Which stubs this JVM has, by address and name: JVMTI's `DynamicCodeGenerated` events, asked for when they are
//! wanted.
//!
//! Asked again while walks keep failing in unknown code: the stubs that only compilers need are made by a
//! compiler's thread, after the VM is live (JDK 21+).

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni_sys::jint;
use parking_lot::Mutex;
use vtprof_signal::counters::Counter;
use vtprof_signal::shared::Shared;
use vtprof_signal::stubs::{Stub, Table};

use super::bindings::jvmtiEnv;
use super::jvmti::{Event, Jvmti};
use crate::log;

/// Times that the stubs are asked for. Each keeps a table, some 20 KiB, for good.
const TIMES: u32 = 8;
/// Walks failed in unknown code since the last time, after which they are asked for again.
const FAILURES: u64 = 20;

/// Code that is no callee of a compiled method, or whose frames AsyncGetCallTrace knows.
const OTHERS: [&str; 6] = [
    "Interpreter",
    "I2C/C2I adapters",
    "DeoptimizationBlob",
    "UncommonTrapBlob",
    "ExceptionBlob",
    "SafepointBlob",
];

/// Parts of the names of C1's own stubs, by release: their callers push arguments, so that the return address does
/// not tell where the caller's frame ends (c1_Runtime1_x86.cpp).
const PUSHING: [&str; 3] = ["Runtime1", "C1 Runtime", "C1 runtime"];

/// What came by events since it was last asked for.
static REPORTED: Mutex<Vec<(Stub, String)>> = Mutex::new(Vec::new());

/// Known stubs. Used by the drain thread alone.
pub struct KnownStubs {
    names: HashMap<u64, String>,
    asked: u32,
    failures: u64,
}

impl KnownStubs {
    /// None yet.
    pub fn new() -> Self {
        Self {
            names: HashMap::new(),
            asked: 0,
            failures: 0,
        }
    }

    /// Asks for the stubs where that is due: at first, and while walks fail for want of one.
    pub fn look(&mut self, jvmti: Jvmti, shared: &Shared) {
        let failures = shared.counters.get(Counter::WalkUnknownJava);
        let is_due = self.asked == 0 || failures >= self.failures.saturating_add(FAILURES);
        if !is_due || self.asked >= TIMES {
            return;
        }
        self.asked += 1;
        self.failures = failures;
        let asked = jvmti
            .notify(Event::DynamicCodeGenerated, true)
            .and_then(|()| jvmti.generate(Event::DynamicCodeGenerated));
        // Where it was not switched on, there is nothing to switch off.
        let _off = jvmti.notify(Event::DynamicCodeGenerated, false);
        if let Err(error) = asked {
            self.asked = TIMES;
            log::info(&format!(
                "code in the JVM's stubs is not attributed: {error}"
            ));
            return;
        }
        let stubs = innermost(std::mem::take(&mut *REPORTED.lock()));
        if stubs.len() == self.names.len() {
            return;
        }
        let table: Vec<Stub> = stubs.iter().map(|(stub, _)| *stub).collect();
        log::debug(&format!("{} stubs of the JVM are known", table.len()));
        self.names = stubs
            .into_iter()
            .map(|(stub, name)| (stub.start, name))
            .collect();
        // Leaked: a handler may hold it until the process ends.
        shared
            .stubs
            .publish(Box::leak(Box::new(Table(Box::leak(table.into())))));
    }

    /// Name of the stub whose code begins there.
    pub fn name(&self, start: u64) -> Option<&str> {
        self.names.get(&start).map(String::as_str)
    }
}

/// By address, without those that hold others, and without what is no stub.
fn innermost(mut stubs: Vec<(Stub, String)>) -> Vec<(Stub, String)> {
    // Of two that begin alike the shorter one comes first.
    stubs.sort_by_key(|(stub, _)| (stub.start, stub.end));
    stubs.dedup_by_key(|(stub, _)| stub.start);
    let starts: Vec<u64> = stubs.iter().map(|(stub, _)| stub.start).collect();
    let mut next = starts.into_iter().skip(1);
    stubs.retain(|(stub, name)| {
        let holds_none = next.next().is_none_or(|start| start >= stub.end);
        let is_other = OTHERS.iter().any(|other| name.starts_with(other));
        holds_none && !is_other && !PUSHING.iter().any(|part| name.contains(part))
    });
    stubs
}

/// JVMTI's `DynamicCodeGenerated`.
pub extern "C" fn on_generated(
    _jvmti: *mut jvmtiEnv,
    name: *const c_char,
    address: *const c_void,
    length: jint,
) {
    // A panic must not reach the JVM; there is nobody to tell of it here.
    let _done = catch_unwind(AssertUnwindSafe(|| {
        let (Ok(length), false) = (u64::try_from(length), name.is_null()) else {
            return;
        };
        // SAFETY: JVMTI passes a NUL-terminated string that lives as long as this call.
        let name = unsafe { CStr::from_ptr(name) };
        let start = address as u64;
        let stub = Stub {
            start,
            end: start.saturating_add(length),
        };
        REPORTED
            .lock()
            .push((stub, name.to_string_lossy().into_owned()));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_other_stubs_and_what_is_none_is_left_out() {
        let given = [
            (100, 200, "StubRoutines (compiler stubs)"),
            (150, 160, "sha256_implCompress"),
            (100, 120, "updateBytesCRC32"),
            (300, 400, "Interpreter"),
            (500, 510, "vtable stub"),
            (600, 610, "C1 Runtime slow_subtype_check_blob"),
            (620, 630, "slow_subtype_check_blob (C1 runtime)"),
            (640, 650, "slow_subtype_check Runtime1 stub"),
            (150, 160, "sha256_implCompress"),
        ];
        let given = given.map(|(start, end, name)| (Stub { start, end }, name.to_owned()));
        let names: Vec<(u64, String)> = innermost(given.into())
            .into_iter()
            .map(|(stub, name)| (stub.start, name))
            .collect();
        assert_eq!(
            names,
            [
                (100, "updateBytesCRC32".to_owned()),
                (150, "sha256_implCompress".to_owned()),
                (500, "vtable stub".to_owned())
            ]
        );
    }
}
