//! The agent's own threads, and the CPU time that each has used, by the kernel's clock of it.
//!
//! A thread is taken in where it is left out of the profiles ([`Registry::exclude`](super::registry::Registry::exclude)), so
//! none is forgotten. Those of one name are one figure. What an ended thread had used stays in it: [`ends`] says so to the
//! last ns; without it what was seen at the last look.

use parking_lot::Mutex;
use vtprof_signal::perf::thread_cpu_ns;

use super::tasks;
use super::timer::{OsThreadId, cpu_time_ns};

/// What the names of all of them begin with.
const PREFIX: &str = "vtprof-";
/// Different names, at the most; those beyond are one figure.
const NAMES: usize = 32;
/// The name of that figure.
const OTHERS: &str = "agent.other_cpu_ns";

static OWN: Mutex<OwnThreads> = Mutex::new(OwnThreads::NONE);

/// See the module.
struct OwnThreads {
    names: Vec<Used>,
    living: Vec<Living>,
}

/// CPU time of all threads of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// `agent.NAME_cpu_ns`: the name without `vtprof-`, `-` as `_`.
    pub figure_name: &'static str,
    /// ns. Never less than before.
    pub cpu_ns: u64,
}

impl Used {
    /// The name within [`Used::figure_name`].
    #[must_use]
    pub fn thread(&self) -> &'static str {
        let name = self.figure_name.strip_prefix("agent.");
        let name = name.and_then(|name| name.strip_suffix("_cpu_ns"));
        name.unwrap_or(self.figure_name)
    }
}

struct Living {
    /// Place of its name.
    name: usize,
    thread: OsThreadId,
    /// When it started, as the kernel has it: ids are used again.
    started: Option<u64>,
    /// What of its CPU time is in the sum, ns.
    counted_ns: u64,
}

impl OwnThreads {
    const NONE: Self = Self {
        names: Vec::new(),
        living: Vec::new(),
    };

    fn begun(&mut self, thread: OsThreadId) {
        let name = tasks::name(thread).unwrap_or_default();
        let name = self.place_of(&figure_name(&name));
        self.living.push(Living {
            name,
            thread,
            started: tasks::started(thread),
            counted_ns: 0,
        });
    }

    fn place_of(&mut self, name: &str) -> usize {
        let place = |names: &[Used], name| names.iter().position(|used| used.figure_name == name);
        if let Some(known) = place(&self.names, name) {
            return known;
        }
        let is_full = self.names.len() >= NAMES;
        let name = if is_full { OTHERS } else { name };
        place(&self.names, name).unwrap_or_else(|| {
            self.names.push(Used {
                // So many at the most, for as long as the process lives.
                figure_name: Box::leak(Box::from(name)),
                cpu_ns: 0,
            });
            self.names.len() - 1
        })
    }

    fn ends(&mut self, thread: OsThreadId, cpu_ns: u64) {
        let names = &mut self.names;
        self.living.retain_mut(|living| {
            let is_it = living.thread == thread;
            if is_it {
                living.count(names, cpu_ns);
            }
            !is_it
        });
    }

    fn used(&mut self) -> Vec<Used> {
        let names = &mut self.names;
        self.living.retain_mut(|living| {
            let is_there =
                living.started.is_some() && tasks::started(living.thread) == living.started;
            let now = cpu_time_ns(living.thread).filter(|_| is_there);
            if let Some(now) = now {
                living.count(names, now);
            }
            now.is_some()
        });
        names.clone()
    }
}

/// `agent.courier_cpu_ns` of `vtprof-courier`. Names are the agent's own; what would break a line of figures is left out.
fn figure_name(thread: &str) -> String {
    let name = thread.strip_prefix(PREFIX).unwrap_or(thread);
    let name = name.chars().map(|c| match c {
        'a'..='z' | '0'..='9' => c,
        _ => '_',
    });
    format!("agent.{}_cpu_ns", name.collect::<String>())
}

impl Living {
    fn count(&mut self, names: &mut [Used], cpu_ns: u64) {
        if let Some(used) = names.get_mut(self.name) {
            used.cpu_ns += cpu_ns.saturating_sub(self.counted_ns);
        }
        self.counted_ns = self.counted_ns.max(cpu_ns);
    }
}

/// A thread of the agent's own is there. Takes a lock and reads two small files.
pub fn begun(thread: OsThreadId) {
    OWN.lock().begun(thread);
}

/// The calling thread, one of those, is about to end.
pub fn ends() {
    let (me, cpu_ns) = (OsThreadId::current(), thread_cpu_ns());
    OWN.lock().ends(me, cpu_ns);
}

/// CPU time of all of them so far, in the order in which their names were first seen. From any thread; reads a file for
/// each thread.
#[must_use]
pub fn used() -> Vec<Used> {
    OWN.lock().used()
}

/// What was used between two looks, of those that are in the later one.
#[must_use]
pub fn since(now: &[Used], earlier: &[Used]) -> Vec<Used> {
    let before = |name| {
        let known = earlier.iter().find(|used| used.figure_name == name);
        known.map_or(0, |used| used.cpu_ns)
    };
    now.iter()
        .map(|used| Used {
            cpu_ns: used.cpu_ns.saturating_sub(before(used.figure_name)),
            ..*used
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// A thread of that name that burns so much, says so, and waits; `settles` says whether it tells of its end.
    fn burning(
        own: &'static Mutex<OwnThreads>,
        name: &str,
        ns: u64,
        settles: bool,
    ) -> (u64, impl FnOnce() + use<>) {
        let (to_test, from_thread) = channel();
        let (to_thread, from_test) = channel::<()>();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                own.lock().begun(OsThreadId::current());
                while thread_cpu_ns() < ns {}
                to_test.send(thread_cpu_ns()).unwrap();
                from_test.recv().unwrap_or_default();
                if settles {
                    own.lock().ends(OsThreadId::current(), thread_cpu_ns());
                }
            })
            .unwrap();
        let used = from_thread.recv().unwrap();
        (used, move || {
            drop(to_thread);
            thread.join().unwrap();
        })
    }

    fn of(own: &Mutex<OwnThreads>, name: &str) -> u64 {
        let used = own.lock().used();
        let of_it: Vec<_> = used.iter().filter(|used| used.thread() == name).collect();
        assert_eq!(of_it.len(), 1, "{used:?}");
        of_it[0].cpu_ns
    }

    #[test]
    fn threads_of_a_name_are_one_figure_that_no_end_and_no_second_look_changes() {
        static OWN: Mutex<OwnThreads> = Mutex::new(OwnThreads::NONE);
        const MS: u64 = 1_000_000;
        let (first, end_first) = burning(&OWN, "vtprof-b-c", 20 * MS, true);
        let (second, end_second) = burning(&OWN, "vtprof-b-c", 30 * MS, false);
        let (alone, end_alone) = burning(&OWN, "vtprof-a", 10 * MS, true);
        let seen = of(&OWN, "b_c");
        assert!(
            (first + second..first + second + 5 * MS).contains(&seen),
            "{seen} of {first} and {second}"
        );
        assert!(of(&OWN, "b_c") - seen < 5 * MS, "counted twice");
        end_first();
        end_second();
        let after = of(&OWN, "b_c");
        assert!((seen..seen + 10 * MS).contains(&after), "{after}");
        let alone_seen = of(&OWN, "a");
        assert!((alone..alone + 5 * MS).contains(&alone_seen));
        end_alone();
        // Ids are used again; an ended thread's is nobody's.
        let _ended = of(&OWN, "a");
        assert!(OWN.lock().living.is_empty());
    }

    #[test]
    fn names_have_a_bound_and_those_beyond_are_one_figure() {
        let mut own = OwnThreads::NONE;
        for name in 0..NAMES * 2 {
            own.place_of(&name.to_string());
        }
        assert_eq!(own.names.len(), NAMES + 1);
        assert_eq!(own.place_of("one more"), NAMES);
        assert_eq!(own.place_of("0"), 0);
    }
}
