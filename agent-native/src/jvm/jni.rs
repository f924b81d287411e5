//! JNI calls: a handle over `JNIEnv*`, valid on the thread it was given to.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use jni_sys::{
    JNIEnv, JNINativeMethod, jclass, jfieldID, jint, jmethodID, jobject, jstring, jvalue,
};

/// A `JNIEnv*` on its own thread; not Send.
#[derive(Clone, Copy)]
pub struct Jni(*mut JNIEnv);

/// Something the JVM did not have or threw; the exception has been cleared.
#[derive(Debug, thiserror::Error)]
#[error("the JVM has no {0}, or it threw")]
pub struct JniError(pub String);

pub type Result<T> = std::result::Result<T, JniError>;

/// Calls `$name` of the JNI 1.6 table.
macro_rules! call {
    ($self:ident, $name:ident $(, $arg:expr)*) => {{
        // SAFETY: `$self.0` is this thread's JNIEnv (contract of `Jni::new`), so its table is whole; the
        // arguments are of the types the JNI specification asks of this function.
        unsafe { ((**$self.0).v1_6.$name)($self.0 $(, $arg)*) }
    }};
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| JniError(format!("{text:?} (NUL inside)")))
}

impl Jni {
    /// # Safety
    /// `env` is the calling thread's JNIEnv, and the handle stays on this thread while it is attached.
    pub unsafe fn new(env: *mut JNIEnv) -> Self {
        Self(env)
    }

    /// The environment itself.
    pub fn env(self) -> *mut JNIEnv {
        self.0
    }

    /// The address itself.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// Clears a pending exception; `Err` when there was one.
    fn checked<T>(self, value: T, what: &str) -> Result<T> {
        if call!(self, ExceptionCheck) {
            call!(self, ExceptionClear);
            return Err(JniError(what.to_owned()));
        }
        Ok(value)
    }

    fn not_null<T>(self, value: *mut T, what: &str) -> Result<*mut T> {
        let value = self.checked(value, what)?;
        if value.is_null() {
            return Err(JniError(what.to_owned()));
        }
        Ok(value)
    }

    /// A class of the boot or system loader, as a local reference.
    pub fn find_class(self, name: &str) -> Result<jclass> {
        let c = c_string(name)?;
        self.not_null(call!(self, FindClass, c.as_ptr()), name)
    }

    pub fn field(self, class: jclass, name: &str, signature: &str) -> Result<jfieldID> {
        let (n, s) = (c_string(name)?, c_string(signature)?);
        self.not_null(call!(self, GetFieldID, class, n.as_ptr(), s.as_ptr()), name)
    }

    pub fn static_method(self, class: jclass, name: &str, signature: &str) -> Result<jmethodID> {
        let (n, s) = (c_string(name)?, c_string(signature)?);
        self.not_null(
            call!(self, GetStaticMethodID, class, n.as_ptr(), s.as_ptr()),
            name,
        )
    }

    /// The value of a static `int` field; a class that is not initialised yet is.
    pub fn static_int(self, class: jclass, name: &str) -> Result<i32> {
        let n = c_string(name)?;
        let field = call!(self, GetStaticFieldID, class, n.as_ptr(), c"I".as_ptr());
        let field = self.not_null(field, name)?;
        Ok(call!(self, GetStaticIntField, class, field))
    }

    /// The values of those of `names` that the class has; as [`static_int`](Self::static_int).
    pub fn static_ints(self, class: jclass, names: &[&str]) -> Vec<i32> {
        let known = |name: &&str| self.static_int(class, name).ok();
        names.iter().filter_map(known).collect()
    }

    /// Reads a `long` field. No Java code runs, nothing is allocated: fit for a mount callback.
    ///
    /// # Safety
    /// `object` is a live reference to an instance of the class `field` was looked up in.
    pub unsafe fn long_field(self, object: jobject, field: jfieldID) -> i64 {
        call!(self, GetLongField, object, field)
    }

    /// Reads an `int` field. No Java code runs, nothing is allocated.
    ///
    /// # Safety
    /// `object` is a live reference to an instance of the class `field` was looked up in.
    pub unsafe fn int_field(self, object: jobject, field: jfieldID) -> i32 {
        call!(self, GetIntField, object, field)
    }

    /// Reads a field that holds an object, as a local reference; `None` for null. No Java code runs.
    ///
    /// # Safety
    /// `object` is a live reference to an instance of the class `field` was looked up in.
    pub unsafe fn object_field(self, object: jobject, field: jfieldID) -> Option<jobject> {
        let value = call!(self, GetObjectField, object, field);
        (!value.is_null()).then_some(value)
    }

    /// A global reference to a new array of objects, all null; never given back.
    pub fn new_array(self, class: jclass, length: usize) -> Result<jobject> {
        let length = jint::try_from(length).unwrap_or(jint::MAX);
        let local = call!(self, NewObjectArray, length, class, ptr::null_mut());
        let local = self.not_null(local, "new array")?;
        let global = call!(self, NewGlobalRef, local);
        self.delete_local(local);
        self.not_null(global, "global reference")
    }

    /// Puts `value`, or null, into an array. No Java code runs, nothing is allocated.
    ///
    /// # Safety
    /// `array` is a live reference to an `Object[]` longer than `index`, `value` null or a live reference.
    pub unsafe fn set_element(self, array: jobject, index: usize, value: jobject) {
        call!(self, SetObjectArrayElement, array, index as jint, value);
    }

    /// An element of an array, as a local reference; `None` for null.
    ///
    /// # Safety
    /// `array` is a live reference to an `Object[]` longer than `index`.
    pub unsafe fn element(self, array: jobject, index: usize) -> Option<jobject> {
        let value = call!(self, GetObjectArrayElement, array, index as jint);
        (!value.is_null()).then_some(value)
    }

    /// Calls a static method that returns an object.
    ///
    /// # Safety
    /// `arguments` are as many and of the kinds that `method` of `class` takes.
    pub unsafe fn call_static_object(
        self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
        what: &str,
    ) -> Result<jobject> {
        let value = call!(
            self,
            CallStaticObjectMethodA,
            class,
            method,
            arguments.as_ptr()
        );
        self.checked(value, what)
    }

    /// Calls a static method without arguments or result.
    ///
    /// # Safety
    /// `method` of `class` takes nothing and returns nothing.
    pub unsafe fn call_static_void(
        self,
        class: jclass,
        method: jmethodID,
        what: &str,
    ) -> Result<()> {
        call!(self, CallStaticVoidMethodA, class, method, ptr::null());
        self.checked((), what)
    }

    /// Calls a static method without arguments that returns a boolean.
    ///
    /// # Safety
    /// `method` of `class` takes nothing and returns a boolean.
    pub unsafe fn call_static_boolean(
        self,
        class: jclass,
        method: jmethodID,
        what: &str,
    ) -> Result<bool> {
        let value = call!(self, CallStaticBooleanMethodA, class, method, ptr::null());
        self.checked(value, what)
    }

    /// Calls a static method that returns a boolean.
    ///
    /// # Safety
    /// `arguments` are as many and of the kinds that `method` of `class` takes.
    pub unsafe fn call_static_boolean_with(
        self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
        what: &str,
    ) -> Result<bool> {
        let arguments = arguments.as_ptr();
        let value = call!(self, CallStaticBooleanMethodA, class, method, arguments);
        self.checked(value, what)
    }

    /// A new Java string, as a local reference.
    pub fn new_string(self, text: &str) -> Result<jstring> {
        // UTF-16, since NewStringUTF takes the JVM's modified UTF-8.
        let units: Vec<u16> = text.encode_utf16().collect();
        self.not_null(
            call!(self, NewString, units.as_ptr(), units.len() as jint),
            "new String",
        )
    }

    /// Contents of a Java string; `None` for null. At most `limit` UTF-16 units are read.
    ///
    /// # Safety
    /// `string` is null or a live reference to a `java.lang.String`.
    pub unsafe fn string(self, string: jstring, limit: usize) -> Option<String> {
        if string.is_null() {
            return None;
        }
        let length = usize::try_from(call!(self, GetStringLength, string))
            .unwrap_or(0)
            .min(limit);
        let mut units = vec![0_u16; length];
        call!(
            self,
            GetStringRegion,
            string,
            0,
            length as jint,
            units.as_mut_ptr()
        );
        Some(String::from_utf16_lossy(&units))
    }

    /// The class of an object, as a local reference. No Java code runs.
    ///
    /// # Safety
    /// `object` is a live reference, not null.
    pub unsafe fn class_of(self, object: jobject) -> jclass {
        call!(self, GetObjectClass, object)
    }

    /// Whether `object` is of that class or one below it. No Java code runs.
    ///
    /// # Safety
    /// `object` is a live reference, `class` one to a class.
    pub unsafe fn is_instance(self, object: jobject, class: jclass) -> bool {
        call!(self, IsInstanceOf, object, class)
    }

    /// Whether both references are to one object; either may be weak.
    pub fn is_same(self, one: jobject, other: jobject) -> bool {
        call!(self, IsSameObject, one, other)
    }

    /// A class of the boot or system loader, as a global reference that is never given back.
    pub fn find_class_for_good(self, name: &str) -> Result<jclass> {
        let local = self.find_class(name)?;
        let global = call!(self, NewGlobalRef, local);
        self.delete_local(local);
        self.not_null(global, name)
    }

    /// A reference that does not keep `object` alive.
    pub fn weak_ref(self, object: jobject) -> Result<jobject> {
        self.not_null(call!(self, NewWeakGlobalRef, object), "weak reference")
    }

    /// The same in a callback, where a pending exception would be the application's: none is looked for. `None` where the
    /// JVM has no memory for it.
    pub fn weak_ref_in_callback(self, object: jobject) -> Option<jobject> {
        let weak = call!(self, NewWeakGlobalRef, object);
        if weak.is_null() {
            // That of the call itself.
            call!(self, ExceptionClear);
            return None;
        }
        Some(weak)
    }

    /// A local reference to what a weak one refers to; `None` when it is gone.
    pub fn local_ref(self, weak: jobject) -> Option<jobject> {
        let local = call!(self, NewLocalRef, weak);
        (!local.is_null()).then_some(local)
    }

    /// Gives a weak reference back; it must not be used again.
    pub fn delete_weak(self, weak: jobject) {
        call!(self, DeleteWeakGlobalRef, weak);
    }

    /// Announces that many local references to `-Xcheck:jni`, which warns of more than it was told.
    pub fn ensure_capacity(self, references: usize) {
        let references = jint::try_from(references).unwrap_or(jint::MAX);
        if call!(self, EnsureLocalCapacity, references) != 0 {
            call!(self, ExceptionClear);
        }
    }

    /// Whether what a weak reference refers to is gone. Does not keep it alive, as
    /// [`local_ref`](Self::local_ref) would.
    pub fn is_cleared(self, weak: jobject) -> bool {
        call!(self, IsSameObject, weak, ptr::null_mut())
    }

    pub fn delete_local(self, object: jobject) {
        call!(self, DeleteLocalRef, object);
    }

    /// Runs `body` in a local reference frame of its own, so that what it leaves behind is freed.
    pub fn with_frame<T>(self, body: impl FnOnce() -> T) -> T {
        const REFERENCES: jint = 16;
        let pushed = call!(self, PushLocalFrame, REFERENCES) == 0;
        let value = body();
        if pushed {
            call!(self, PopLocalFrame, ptr::null_mut());
        } else {
            call!(self, ExceptionClear);
        }
        value
    }

    /// Registers native methods.
    ///
    /// # Safety
    /// Each function has the C signature of its method.
    pub unsafe fn register_natives(
        self,
        class: jclass,
        natives: &[(&CStr, &CStr, *const c_void)],
    ) -> Result<()> {
        let table: Vec<JNINativeMethod> = natives
            .iter()
            .map(|(name, signature, function)| JNINativeMethod {
                name: name.as_ptr().cast_mut(),
                signature: signature.as_ptr().cast_mut(),
                fnPtr: function.cast_mut(),
            })
            .collect();
        let code = call!(
            self,
            RegisterNatives,
            class,
            table.as_ptr(),
            table.len() as jint
        );
        self.checked((), "native methods")?;
        if code == 0 {
            Ok(())
        } else {
            Err(JniError("native methods".to_owned()))
        }
    }
}
