//! The VM itself: the environment of the calling thread, attaching one of our own.

use std::ffi::{CString, c_void};
use std::ptr;

use jni_sys::{JNI_VERSION_1_6, JNIEnv, JavaVM, JavaVMAttachArgs};

use super::jni::Jni;

/// A `JavaVM*`.
#[derive(Clone, Copy)]
pub struct Vm(*mut JavaVM);

// SAFETY: the invocation interface may be used from any thread (JNI specification, chapter 5).
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

impl Vm {
    /// # Safety
    /// `vm` is the `JavaVM*` the JVM passed to an agent entry point.
    pub unsafe fn new(vm: *mut JavaVM) -> Self {
        Self(vm)
    }

    /// The calling thread's environment, when it is attached.
    pub fn env(self) -> Option<Jni> {
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: `self.0` is the live VM; `env` is a place for one pointer.
        let code = unsafe { ((**self.0).v1_2.GetEnv)(self.0, &raw mut env, JNI_VERSION_1_6) };
        // SAFETY: on success it is this thread's own environment.
        (code == 0 && !env.is_null()).then(|| unsafe { Jni::new(env.cast::<JNIEnv>()) })
    }

    /// Attaches the calling thread as a daemon of that name, runs `body`, detaches it.
    pub fn attached<T>(self, name: &str, body: impl FnOnce(Jni) -> T) -> Option<T> {
        let name = CString::new(name).ok()?;
        let mut arguments = JavaVMAttachArgs {
            version: JNI_VERSION_1_6,
            name: name.as_ptr().cast_mut(),
            group: ptr::null_mut(),
        };
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: the VM is live; both pointers are valid for the call, the name is copied.
        let code = unsafe {
            ((**self.0).v1_4.AttachCurrentThreadAsDaemon)(
                self.0,
                &raw mut env,
                (&raw mut arguments).cast(),
            )
        };
        if code != 0 {
            return None;
        }
        // SAFETY: the thread is attached now, and `env` its environment until the detach below.
        let value = body(unsafe { Jni::new(env.cast::<JNIEnv>()) });
        // SAFETY: attached above, and no Java frame of this thread is on its stack.
        unsafe { ((**self.0).v1_2.DetachCurrentThread)(self.0) };
        Some(value)
    }
}
