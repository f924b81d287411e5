//! Methods by id, resolved on first sight, while their class is most likely still there.

use std::collections::HashMap;
use std::sync::Arc;

use super::changes::{Changes, Step, Version};
use super::class_name;
use super::native::NativeCode;

/// Methods remembered. Those not met for a window, or longest where there are too many, are forgotten.
const METHODS: usize = 100_000;

/// Names remembered that are no method's; beyond that all are forgotten.
const NAMED: usize = 10_000;

/// What a JVM tells of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodDescription {
    /// Signature of its class, `Lcom/acme/Shop;`.
    pub class_signature: String,
    /// Its name.
    pub name: String,
    /// Source file, or empty.
    pub file: String,
    /// (first bytecode index, line), in any order; empty where there is no table.
    pub lines: Vec<(i32, i32)>,
}

/// Who knows methods: the JVM, or a test.
pub trait MethodSource {
    /// `None` when the method is gone.
    fn describe(&self, method: u64) -> Option<MethodDescription>;
    /// Whether a redefinition of its class has begun that was not handed on yet: what was described just now
    /// may be of a later version than is thought.
    fn is_changing(&self, method: u64) -> bool;

    /// Name of the JVM's stub whose code begins there; `None` when it is not known.
    fn stub(&self, _start: u64) -> Option<&str> {
        None
    }
}

/// A function as it stands in a profile.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// `com.acme.Shop.checkout`, or `[what stands for a stack]`.
    pub name: String,
    /// Source file, library of native code, or empty.
    pub file: String,
}

/// What a frame means for the shape of a virtual thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing.
    Plain,
    /// `Continuation.enterSpecial`: below it lie the carrier's frames.
    EnterSpecial,
    /// `Continuation.enter`: the root of a whole stack.
    ContinuationEnter,
}

/// A resolved method.
#[derive(Debug)]
pub struct Method {
    /// What it is called.
    pub function: Arc<Function>,
    /// See [`Role`].
    pub role: Role,
    /// Whether its class was there.
    is_found: bool,
    lines: Box<[(i32, i32)]>,
}

impl Method {
    /// Line of a bytecode index, 0 where unknown.
    #[must_use]
    pub fn line(&self, bci: i32) -> i32 {
        let after = self.lines.partition_point(|(start, _)| *start <= bci);
        match after.checked_sub(1).and_then(|at| self.lines.get(at)) {
            Some((_, line)) if bci >= 0 => *line,
            _ => 0,
        }
    }
}

/// See the module. Used by the drain thread alone.
///
/// HotSpot never gives the id of an unloaded class's method to another one (`JNIMethodBlock` is cleared and
/// left behind, JDK 26+ count on), so a name once found stays right. Lines do not: redefinition moves an id to
/// the new version of its method; see [`changes`](super::changes).
pub struct Symbolizer {
    /// Methods met since the last turn, and those met between the two before.
    young: HashMap<u64, Arc<Method>>,
    old: HashMap<u64, Arc<Method>>,
    generation: usize,
    changes: Changes,
    named: HashMap<String, Arc<Function>>,
    /// Names of native code.
    pub native: NativeCode,
    /// Frames that a name was asked for since this was last read.
    pub asked: u64,
    /// Of those the ones that could not be named.
    pub unresolved: u64,
}

/// Name of a frame whose method is gone.
pub const UNLOADED: &str = "[unloaded method]";
/// Name of a frame for which the JVM gave no method.
pub const NO_METHOD: &str = "[unknown method]";

impl Symbolizer {
    pub fn new() -> Self {
        Self::with_bound(METHODS)
    }

    /// One that remembers `methods` methods at the most.
    fn with_bound(methods: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            generation: methods / 2,
            changes: Changes::default(),
            named: HashMap::new(),
            native: NativeCode::new(),
            asked: 0,
            unresolved: 0,
        }
    }

    /// The method of that id and the line of `bci`, as they were at `time_ns` (0 for a line not known for sure).
    pub fn frame(
        &mut self,
        id: u64,
        bci: i32,
        time_ns: u64,
        source: &impl MethodSource,
    ) -> (Arc<Method>, i32) {
        let (method, line) = match self.changes.version(id, time_ns) {
            Version::Present => {
                let (method, is_sure) = self.method(id, source);
                let line = if is_sure { method.line(bci) } else { 0 };
                (method, line)
            }
            Version::Before(method) => {
                let line = method.line(bci);
                (method, line)
            }
            // The name is the same in all versions.
            Version::Unknown => (self.method(id, source).0, 0),
        };
        self.asked += 1;
        if !method.is_found {
            self.unresolved += 1;
        }
        (method, line)
    }

    /// The method, and whether its lines are of the version that is known to be there.
    fn method(&mut self, id: u64, source: &impl MethodSource) -> (Arc<Method>, bool) {
        if let Some(known) = self.young.get(&id) {
            return (Arc::clone(known), true);
        }
        let method = if let Some(known) = self.old.remove(&id) {
            known
        } else {
            let described = if id == 0 { None } else { source.describe(id) };
            let method = Arc::new(match described {
                Some(description) => resolved(description),
                None => Method {
                    function: self.named(if id == 0 { NO_METHOD } else { UNLOADED }),
                    role: Role::Plain,
                    is_found: false,
                    lines: Box::default(),
                },
            });
            if source.is_changing(id) {
                return (method, false);
            }
            method
        };
        if self.young.len() >= self.generation {
            self.turn();
        }
        self.young.insert(id, Arc::clone(&method));
        (method, true)
    }

    /// A class is about to be redefined, or has been.
    pub fn redefine(&mut self, step: Step, now_ns: u64) {
        if step == Step::Lost {
            (self.young, self.old) = (HashMap::new(), HashMap::new());
        }
        let (young, old) = (&mut self.young, &mut self.old);
        self.changes.take(step, now_ns, |id| {
            young.remove(&id).or_else(|| old.remove(&id))
        });
    }

    /// Forgets the versions that no sample can be of any more.
    pub fn expire(&mut self, now_ns: u64) {
        self.changes.expire(now_ns);
    }

    /// The function of a name that is no method's.
    pub fn named(&mut self, name: &str) -> Arc<Function> {
        if let Some(known) = self.named.get(name) {
            return Arc::clone(known);
        }
        let function = Arc::new(Function {
            name: name.to_owned(),
            file: String::new(),
        });
        if self.named.len() >= NAMED {
            self.named = HashMap::new();
        }
        self.named.insert(name.to_owned(), Arc::clone(&function));
        function
    }

    /// Methods remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Forgets what was not met since the last turn.
    fn turn(&mut self) {
        self.old = std::mem::take(&mut self.young);
    }

    /// A window closed.
    pub fn next_window(&mut self) {
        self.turn();
    }
}

fn resolved(description: MethodDescription) -> Method {
    let class = class_name::from_signature(&description.class_signature);
    let role = match (class.as_str(), description.name.as_str()) {
        ("jdk.internal.vm.Continuation", "enterSpecial") => Role::EnterSpecial,
        ("jdk.internal.vm.Continuation", "enter") => Role::ContinuationEnter,
        _ => Role::Plain,
    };
    let mut lines = description.lines;
    lines.sort_unstable();
    Method {
        function: Arc::new(Function {
            name: format!("{class}.{}", description.name),
            file: description.file,
        }),
        role,
        is_found: true,
        lines: lines.into_boxed_slice(),
    }
}

#[cfg(test)]
mod tests;
