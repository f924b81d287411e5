//! Whose a jmethodID is, for as long as its class lives: what may be asked of the JVM.
//!
//! An id from AsyncGetCallTrace is not passed to JVMTI as it is. Its class may be unloaded by then, and
//! before JDK 18 JVMTI looks into methods of classes that are just being unloaded (JDK-8268364). And it may be
//! no id at all: after a redefinition JDK 25 reads beyond the end of a class's ids for frames of the old
//! version (`InstanceKlass::jmethod_id_or_null` checks no bound there), and JVMTI follows whatever it is given.
//! So each class that is prepared is noted with its ids behind a weak reference; who asks about an id gets the
//! class as a strong one, or nothing.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use jni_sys::{jclass, jobject};
use parking_lot::Mutex;

use super::jni::Jni;
use super::jvmti::{Jvmti, Result};

/// Unloaded classes are looked for once there are this many more than twice those that were left last time.
const LEAST: usize = 4_096;

/// See the module.
#[derive(Debug, Default)]
pub struct Classes {
    book: Mutex<Book>,
    /// Nobody will ask. Relaxed: a class more or less is noted.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Book {
    classes: HashMap<u32, Entry>,
    by_method: HashMap<u64, u32>,
    next: u32,
    left: usize,
}

/// A weak reference to a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weak(jobject);

// SAFETY: a weak global reference belongs to no thread.
unsafe impl Send for Weak {}

#[derive(Debug)]
struct Entry {
    class: Weak,
    methods: Box<[u64]>,
}

impl Book {
    fn knows(&self, methods: &[u64]) -> bool {
        methods.iter().all(|id| self.by_method.contains_key(id))
    }

    /// Notes a class; gives its reference back where all of its methods are known.
    #[must_use]
    fn note(&mut self, methods: Box<[u64]>, class: Weak) -> Option<Weak> {
        if self.knows(&methods) {
            return Some(class);
        }
        while self.classes.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        for id in &methods {
            self.by_method.insert(*id, self.next);
        }
        self.classes.insert(self.next, Entry { class, methods });
        self.next = self.next.wrapping_add(1);
        None
    }

    fn class_of(&self, method: u64) -> Option<Weak> {
        let class = self.by_method.get(&method)?;
        Some(self.classes.get(class)?.class)
    }

    fn forget(&mut self, classes: &[u32]) {
        for index in classes {
            let Some(entry) = self.classes.remove(index) else {
                continue;
            };
            for id in &entry.methods {
                // Unless it was noted anew.
                if self.by_method.get(id) == Some(index) {
                    self.by_method.remove(id);
                }
            }
        }
    }
}

impl Classes {
    /// Makes the jmethodIDs of all methods of `class`, which AsyncGetCallTrace cannot do, and notes them.
    pub fn prepare(&self, jvmti: Jvmti, jni: Jni, class: jclass) -> Result<Box<[u64]>> {
        let methods: Box<[u64]> = jvmti
            .class_methods(class)?
            .into_iter()
            .map(|method| method as u64)
            .collect();
        if self.closed.load(Ordering::Relaxed) || self.book.lock().knows(&methods) {
            return Ok(methods);
        }
        // Not under the lock: the JVM may hold a thread up in there for as long as a debugger likes.
        let Ok(reference) = jni.weak_ref(class) else {
            return Ok(methods);
        };
        let left_over = self.book.lock().note(methods.clone(), Weak(reference));
        if let Some(reference) = left_over {
            jni.delete_weak(reference.0);
        }
        Ok(methods)
    }

    /// Forgets all, and notes no more: where nothing is profiled, nobody sweeps.
    pub fn close(&self, jni: Jni) {
        self.closed.store(true, Ordering::Relaxed);
        let book = mem::take(&mut *self.book.lock());
        for entry in book.classes.into_values() {
            jni.delete_weak(entry.class.0);
        }
    }

    /// The class of a method as a local reference, while it lives. Only on the thread that calls
    /// [`sweep`](Self::sweep).
    pub fn class_of(&self, jni: Jni, method: u64) -> Option<jclass> {
        let class = self.book.lock().class_of(method)?;
        jni.local_ref(class.0)
    }

    /// Forgets unloaded classes, where there may be many. On one thread only.
    pub fn sweep(&self, jni: Jni) {
        let noted: Vec<(u32, Weak)> = {
            let book = self.book.lock();
            if book.classes.len() < 2 * book.left + LEAST {
                return;
            }
            let classes = book.classes.iter();
            classes
                .map(|(index, entry)| (*index, entry.class))
                .collect()
        };
        let (mut gone, mut references) = (Vec::new(), Vec::new());
        for (index, class) in noted {
            if jni.is_cleared(class.0) {
                gone.push(index);
                references.push(class);
            }
        }
        let mut book = self.book.lock();
        book.forget(&gone);
        book.left = book.classes.len();
        drop(book);
        for class in references {
            jni.delete_weak(class.0);
        }
    }

    /// Methods noted.
    pub fn methods(&self) -> usize {
        self.book.lock().by_method.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weak(number: usize) -> Weak {
        Weak(std::ptr::without_provenance_mut(number))
    }

    #[test]
    fn a_method_is_known_until_its_class_is_forgotten() {
        let mut book = Book::default();
        assert_eq!(book.note([1, 2].into(), weak(11)), None);
        assert_eq!(book.note([3].into(), weak(12)), None);
        assert_eq!(book.class_of(2), Some(weak(11)));
        book.forget(&[0]);
        assert_eq!(book.class_of(2), None);
        assert_eq!(book.class_of(3), Some(weak(12)));
        assert_eq!((book.classes.len(), book.by_method.len()), (1, 1));
    }

    #[test]
    fn a_class_met_twice_is_noted_once_and_anew_when_it_has_new_methods() {
        let mut book = Book::default();
        assert_eq!(book.note([1, 2].into(), weak(11)), None);
        assert_eq!(book.note([1, 2].into(), weak(13)), Some(weak(13)));
        assert_eq!(book.note([1, 2, 3].into(), weak(12)), None);
        book.forget(&[0]);
        for id in 1..=3 {
            assert_eq!(book.class_of(id), Some(weak(12)));
        }
    }
}
