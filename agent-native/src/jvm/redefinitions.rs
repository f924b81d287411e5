//! When classes are redefined, told to the symbolizer: JVMTI has no event for it.
//!
//! `RedefineClasses` and `RetransformClasses` are entries of one function table that HotSpot shares among all
//! environments (`jvmti_Interface_1_` in `jvmtiEnter.xsl`); java.lang.instrument, debuggers and JFR go through
//! it. Ours stand before the JVM's own, as async-profiler's do, and are never taken out again, since somebody
//! may have put theirs before ours. A `ClassFileLoadHook` would tell when one begins, but not when it is done,
//! and slows the loading of every class from the CDS archive.

use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use jni_sys::{jclass, jint};
use parking_lot::Mutex;
use vtprof_signal::clock::now_ns;

use super::bindings as sys;
use super::jvmti::Jvmti;
use super::memory;
use crate::log;
use crate::session;
use crate::symbolize::changes::Step;

/// Method ids in steps that wait for the drain.
const WAITING: usize = 1 << 20;

type Redefine =
    unsafe extern "C" fn(*mut sys::jvmtiEnv, jint, *const sys::jvmtiClassDefinition) -> u32;
type Retransform = unsafe extern "C" fn(*mut sys::jvmtiEnv, jint, *const jclass) -> u32;

/// What stood in the table before ours. Set before ours are put there, so whoever runs ours sees them.
static ORIGINAL: OnceLock<(Redefine, Retransform)> = OnceLock::new();

/// Steps that wait for the drain.
#[derive(Debug, Default)]
pub struct Redefinitions(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    steps: Vec<Step>,
    methods: usize,
}

impl Redefinitions {
    /// From now on redefinitions are told. Says so where they cannot be.
    pub fn watch(jvmti: Jvmti) {
        if let Err(why) = put(jvmti) {
            log::info(&format!(
                "lines of classes that are redefined may be those of their old version: {why}"
            ));
        }
    }

    fn push(&self, step: Step) {
        let mut queue = self.0.lock();
        let (Step::Begun { methods, .. } | Step::Ended { methods, .. }) = &step else {
            return;
        };
        if queue.methods + methods.len() > WAITING {
            // Nobody takes them: no line is known of what comes before this is seen.
            *queue = Queue::default();
            queue.steps.push(Step::Lost);
            return;
        }
        queue.methods += methods.len();
        queue.steps.push(step);
    }

    /// Whether one of the steps that wait is of that method.
    pub fn concern(&self, method: u64) -> bool {
        self.0.lock().steps.iter().any(|step| match step {
            Step::Begun { methods, .. } | Step::Ended { methods, .. } => methods.contains(&method),
            Step::Lost => true,
        })
    }

    /// The steps since the last call, oldest first.
    pub fn take(&self) -> Vec<Step> {
        mem::take(&mut *self.0.lock()).steps
    }
}

fn put(jvmti: Jvmti) -> Result<(), &'static str> {
    let table = jvmti.table();
    // SAFETY: the table is whole and lives as long as the VM.
    let (redefine, retransform) =
        unsafe { ((*table).RedefineClasses, (*table).RetransformClasses) };
    let (Some(redefine), Some(retransform)) = (redefine, retransform) else {
        return Err("this JVM has no function for it");
    };
    if ORIGINAL.set((redefine, retransform)).is_err() {
        return Ok(());
    }
    // SAFETY: places inside the table.
    let entries = unsafe {
        [
            (&raw const (*table).RedefineClasses, on_redefine as *mut ()),
            (
                (&raw const (*table).RetransformClasses).cast(),
                on_retransform as *mut (),
            ),
        ]
    };
    let entries = entries.map(|(place, ours)| (place as usize, ours));
    if !entries
        .iter()
        .all(|(place, _)| memory::is_writable::<{ size_of::<usize>() }>(*place))
    {
        return Err("its function table cannot be written");
    }
    for (place, ours) in entries {
        // SAFETY: an aligned pointer in writable memory of the VM; others read it as one word.
        let entry = unsafe { AtomicPtr::from_ptr(ptr::with_exposed_provenance_mut(place)) };
        // Release: pairs with the dependent read of whoever calls through the table.
        entry.store(ours, Ordering::Release);
    }
    Ok(())
}

unsafe extern "C" fn on_redefine(
    env: *mut sys::jvmtiEnv,
    count: jint,
    definitions: *const sys::jvmtiClassDefinition,
) -> u32 {
    let class = |i| {
        // SAFETY: the caller passes `count` definitions.
        unsafe { (*definitions.add(i)).klass }
    };
    let Some((redefine, _)) = ORIGINAL.get() else {
        return sys::JVMTI_ERROR_NOT_AVAILABLE;
    };
    told(count, definitions.is_null(), class, || {
        // SAFETY: the caller's arguments, for the function it meant to call.
        unsafe { redefine(env, count, definitions) }
    })
}

unsafe extern "C" fn on_retransform(
    env: *mut sys::jvmtiEnv,
    count: jint,
    classes: *const jclass,
) -> u32 {
    let class = |i| {
        // SAFETY: the caller passes `count` classes.
        unsafe { *classes.add(i) }
    };
    let Some((_, retransform)) = ORIGINAL.get() else {
        return sys::JVMTI_ERROR_NOT_AVAILABLE;
    };
    told(count, classes.is_null(), class, || {
        // SAFETY: the caller's arguments, for the function it meant to call.
        unsafe { retransform(env, count, classes) }
    })
}

/// Runs `original`, and tells when it began and ended.
fn told(
    count: jint,
    is_null: bool,
    class: impl Fn(usize) -> jclass,
    original: impl FnOnce() -> u32,
) -> u32 {
    let session = session::get().filter(|session| !session.is_over());
    let Some(session) = session else {
        return original();
    };
    let count = if is_null {
        0
    } else {
        usize::try_from(count).unwrap_or(0)
    };
    let Some(jni) = session.vm.env() else {
        return original();
    };
    // New methods have no id before they are asked for.
    let methods = || -> Box<[u64]> {
        (0..count)
            .map(&class)
            .filter(|class| !class.is_null())
            // One that is not prepared, or no class at all: the original says what is wrong.
            .flat_map(|class| {
                let prepared = session.classes.prepare(session.jvmti, jni, class);
                prepared.unwrap_or_default()
            })
            .collect()
    };
    let begun = methods();
    session.redefinitions.push(Step::Begun {
        at_ns: now_ns(),
        methods: begun.clone(),
    });
    let result = original();
    let at_ns = now_ns();
    // Whatever has begun ends, also what is not told of any more.
    let added = methods();
    let added = added.iter().filter(|id| !begun.contains(id));
    session.redefinitions.push(Step::Ended {
        at_ns,
        methods: begun.iter().chain(added).copied().collect(),
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(methods: usize) -> Step {
        Step::Begun {
            at_ns: 1,
            methods: vec![7; methods].into(),
        }
    }

    #[test]
    fn steps_that_nobody_takes_are_bounded_and_their_loss_is_told() {
        let redefinitions = Redefinitions::default();
        redefinitions.push(begun(WAITING));
        assert_eq!(redefinitions.take(), [begun(WAITING)]);
        redefinitions.push(begun(WAITING));
        redefinitions.push(begun(1));
        redefinitions.push(begun(2));
        assert_eq!(redefinitions.take(), [Step::Lost, begun(2)]);
        assert!(redefinitions.take().is_empty());
    }
}
