//! Methods by id, for the symbolizer: asked of JVMTI on the drain thread.
//!
//! A jmethodID is passed back to the JVM and never looked into; and only one that the JVM gave for a class that
//! is still there, and stays there meanwhile ([`super::classes`]).

use jni_sys::{jclass, jmethodID, jobject};

use super::classes::Classes;
use super::jni::Jni;
use super::jvmti::Jvmti;
use super::redefinitions::Redefinitions;
use super::stubs::KnownStubs;
use crate::events::object::{ObjectRef, Objects};
use crate::symbolize::symbolizer::{MethodDescription, MethodSource};

/// Asks the JVM; on the thread `jni` belongs to.
pub struct JvmMethods {
    jvmti: Jvmti,
    jni: Jni,
    classes: &'static Classes,
    redefinitions: &'static Redefinitions,
    /// Code that is no method's.
    pub stubs: KnownStubs,
}

impl JvmMethods {
    pub fn new(
        jvmti: Jvmti,
        jni: Jni,
        classes: &'static Classes,
        redefinitions: &'static Redefinitions,
    ) -> Self {
        Self {
            jvmti,
            jni,
            classes,
            redefinitions,
            stubs: KnownStubs::new(),
        }
    }
}

impl MethodSource for JvmMethods {
    fn stub(&self, start: u64) -> Option<&str> {
        self.stubs.name(start)
    }

    fn describe(&self, method: u64) -> Option<MethodDescription> {
        let class = self.classes.class_of(self.jni, method)?;
        let description = self.describe_of(class, method as jmethodID);
        self.jni.delete_local(class);
        description
    }

    fn is_changing(&self, method: u64) -> bool {
        self.redefinitions.concern(method)
    }
}

impl Objects for JvmMethods {
    fn is_gone(&self, object: &ObjectRef) -> bool {
        self.jni.is_gone(object)
    }

    fn let_go(&self, object: ObjectRef) {
        self.jni.let_go(object);
    }
}

impl Objects for Jni {
    fn is_gone(&self, object: &ObjectRef) -> bool {
        self.is_cleared(object.address() as jobject)
    }

    fn let_go(&self, object: ObjectRef) {
        self.delete_weak(object.address() as jobject);
    }
}

impl JvmMethods {
    /// `class` is the method's, as a strong reference.
    fn describe_of(&self, class: jclass, method: jmethodID) -> Option<MethodDescription> {
        Some(MethodDescription {
            class_signature: self.jvmti.class_signature(class).ok()?,
            name: self.jvmti.method_name(method).ok()?,
            file: self.jvmti.source_file(class).unwrap_or_default(),
            lines: self
                .jvmti
                .line_table(method)
                .into_iter()
                .map(|(start, line)| (i32::try_from(start).unwrap_or(i32::MAX), line))
                .collect(),
        })
    }
}
