//! JVMTI calls: a thin safe-to-hold handle over `jvmtiEnv*`, each call with its error named.
//!
//! What JDK 21 added is given by number, as the header of the JDK that builds may be older
//! (JVMTI specification, sections "Event Index" and "GetPotentialCapabilities").

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use jni_sys::{JavaVM, jclass, jint, jmethodID, jobject};

use super::bindings as sys;

/// Events by their JVMTI number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Event {
    VmInit = 50,
    VmDeath = 51,
    ThreadStart = 52,
    ThreadEnd = 53,
    ClassLoad = 55,
    ClassPrepare = 56,
    VmStart = 57,
    /// Needs [`Capability::GenerateNativeMethodBindEvents`].
    NativeMethodBind = 67,
    CompiledMethodLoad = 68,
    DynamicCodeGenerated = 70,
    /// Needs [`Capability::GenerateMonitorEvents`], as the next.
    MonitorContendedEnter = 75,
    MonitorContendedEntered = 76,
    /// Needs [`Capability::GenerateGarbageCollectionEvents`].
    GarbageCollectionStart = 81,
    /// As the former.
    GarbageCollectionFinish = 82,
    /// Needs [`Capability::GenerateSampledObjectAllocEvents`].
    SampledObjectAlloc = 86,
    /// JDK 21+.
    VirtualThreadStart = 87,
    /// JDK 21+.
    VirtualThreadEnd = 88,
}

const FIRST_EVENT: usize = 50;
const EVENTS: usize = 39;

/// `jvmtiEventCallbacks` as JDK 21 lays it out: one pointer an event, by number. An older JVM takes as much
/// of it as it knows (`SetEventCallbacks` is told the size).
#[repr(C)]
pub struct Callbacks([*const c_void; EVENTS]);

const _: () = assert!(size_of::<sys::jvmtiEventCallbacks>() <= size_of::<Callbacks>());

// SAFETY: addresses of functions, which belong to no thread.
unsafe impl Sync for Callbacks {}

impl Callbacks {
    pub const fn none() -> Self {
        Self([ptr::null(); EVENTS])
    }

    /// `function` must have the signature the specification gives for `event`.
    pub const fn with(mut self, event: Event, function: *const c_void) -> Self {
        self.0[event as usize - FIRST_EVENT] = function;
        self
    }
}

/// Capabilities by bit, in the order of `jvmtiCapabilities`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Capability {
    /// In any phase.
    GetMonitorInfo = 7,
    GetSourceFileName = 11,
    GetLineNumbers = 12,
    GenerateCompiledMethodLoadEvents = 27,
    GenerateMonitorEvents = 28,
    GenerateNativeMethodBindEvents = 30,
    GenerateGarbageCollectionEvents = 31,
    /// In OnLoad alone.
    GenerateEarlyVmStart = 41,
    /// In any phase.
    GenerateSampledObjectAllocEvents = 43,
    /// JDK 21+.
    SupportVirtualThreads = 44,
}

/// A JVMTI error code (specification, section "Error Codes").
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("JVMTI error {0}")]
pub struct JvmtiError(pub u32);

impl JvmtiError {
    /// The table lacks the function: no JVM is like that.
    const MISSING: Self = Self(u32::MAX);
}

pub type Result<T> = std::result::Result<T, JvmtiError>;

/// A `jvmtiEnv*`.
#[derive(Clone, Copy)]
pub struct Jvmti(*mut sys::jvmtiEnv);

// SAFETY: a JVMTI environment may be used from any thread (specification, section "Environments"), and is
// never disposed of here.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls `$name` of the function table of `$self`.
macro_rules! call {
    ($self:ident, $name:ident $(, $arg:expr)*) => {{
        // SAFETY: `$self.0` came from GetEnv, so the table is whole and lives as long as the VM.
        let function = unsafe { (**$self.0).$name };
        match function {
            // SAFETY: the arguments are of the types and lifetimes the specification asks of this function.
            Some(function) => check(unsafe { function($self.0 $(, $arg)*) }),
            None => Err(JvmtiError::MISSING),
        }
    }};
}

fn check(code: sys::jvmtiError) -> Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(JvmtiError(code))
    }
}

/// Memory that JVMTI handed out; given back on drop.
struct Allocated(Jvmti, *mut u8);

impl Drop for Allocated {
    fn drop(&mut self) {
        if !self.1.is_null() {
            let jvmti = self.0;
            // The only error is a pointer that JVMTI did not hand out.
            let _freed = call!(jvmti, Deallocate, self.1);
        }
    }
}

impl Jvmti {
    /// A new environment of `vm`, JVMTI 11 or later.
    ///
    /// # Safety
    /// `vm` is the `JavaVM*` the JVM passed to an agent entry point.
    pub unsafe fn new(vm: *mut JavaVM) -> Option<Self> {
        const JVMTI_VERSION_11: jint = 0x300B_0000;
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: `vm` is valid by the contract; `env` is a place for one pointer.
        let code = unsafe { ((**vm).v1_2.GetEnv)(vm, &raw mut env, JVMTI_VERSION_11) };
        (code == 0 && !env.is_null()).then(|| Self(env.cast()))
    }

    /// The environment that JVMTI has passed to a callback.
    pub fn of(env: *mut sys::jvmtiEnv) -> Self {
        Self(env)
    }

    /// Whether the VM is in its live phase (an agent attached late starts there).
    pub fn is_live(self) -> bool {
        let mut phase: sys::jvmtiPhase = 0;
        call!(self, GetPhase, &raw mut phase).is_ok() && phase == sys::JVMTI_PHASE_LIVE
    }

    /// Adds `capabilities`.
    pub fn add_capabilities(self, capabilities: &[Capability]) -> Result<()> {
        let mut bits = [0_u8; size_of::<sys::jvmtiCapabilities>()];
        for capability in capabilities {
            let bit = *capability as usize;
            bits[bit / 8] |= 1 << (bit % 8);
        }
        call!(self, AddCapabilities, bits.as_ptr().cast())
    }

    /// Sets all callbacks.
    pub fn set_callbacks(self, callbacks: &Callbacks) -> Result<()> {
        call!(
            self,
            SetEventCallbacks,
            ptr::from_ref(callbacks).cast(),
            size_of::<Callbacks>() as jint
        )
    }

    /// Switches an event on or off for all threads.
    pub fn notify(self, event: Event, on: bool) -> Result<()> {
        self.notify_number(event as u32, on)
    }

    /// Bytes between two samples of allocations, on average; from the next sample of each thread on, for all
    /// environments of the JVM. Needs [`Capability::GenerateSampledObjectAllocEvents`].
    pub fn set_heap_sampling_interval(self, bytes: u32) -> Result<()> {
        let bytes = jint::try_from(bytes).unwrap_or(jint::MAX);
        call!(self, SetHeapSamplingInterval, bytes)
    }

    /// Sends events again for what there is already, before it returns.
    pub fn generate(self, event: Event) -> Result<()> {
        call!(self, GenerateEvents, event as u32)
    }

    fn notify_number(self, event: u32, on: bool) -> Result<()> {
        let mode = if on {
            sys::JVMTI_ENABLE
        } else {
            sys::JVMTI_DISABLE
        };
        call!(self, SetEventNotificationMode, mode, event, ptr::null_mut())
    }

    /// The extension event of that id, if this JVM has it (specification, section "Extension Mechanism").
    pub fn extension_event(self, id: &str) -> Result<Option<ExtensionEvent>> {
        let mut count = 0;
        let mut infos: *mut sys::jvmtiExtensionEventInfo = ptr::null_mut();
        call!(self, GetExtensionEvents, &raw mut count, &raw mut infos)?;
        let _infos = Allocated(self, infos.cast());
        let mut found = None;
        for i in 0..count as usize {
            // SAFETY: JVMTI filled `count` entries.
            let info = unsafe { &*infos.add(i) };
            let strings = [info.id, info.short_description];
            // SAFETY: `id` is a NUL-terminated string by the specification.
            if unsafe { CStr::from_ptr(info.id) }.to_bytes() == id.as_bytes() {
                found = Some(ExtensionEvent(info.extension_event_index));
            }
            for p in 0..info.param_count as usize {
                // SAFETY: `params` has `param_count` entries.
                drop(Allocated(
                    self,
                    unsafe { (*info.params.add(p)).name }.cast(),
                ));
            }
            drop(Allocated(self, info.params.cast()));
            for string in strings {
                drop(Allocated(self, string.cast()));
            }
        }
        Ok(found)
    }

    /// Sets the callback of an extension event and switches it on: without the second call nothing is sent.
    pub fn enable_extension(self, event: ExtensionEvent, callback: *const c_void) -> Result<()> {
        // SAFETY: the table's type is variadic, the event's own is not; both are plain C calls, and on the
        // platforms of HotSpot a fixed-argument callee may be called as a variadic one with the same arguments.
        let callback: sys::jvmtiExtensionEvent = unsafe { std::mem::transmute(callback) };
        call!(self, SetExtensionEventCallback, event.0, callback)?;
        self.notify_number(event.0.cast_unsigned(), true)
    }

    /// Switches an extension event off; its callback stays set, as one may be running.
    pub fn disable_extension(self, event: ExtensionEvent) -> Result<()> {
        self.notify_number(event.0.cast_unsigned(), false)
    }

    /// The function table, which HotSpot shares among all environments.
    pub fn table(self) -> *const sys::jvmtiInterface_1_ {
        // SAFETY: `self.0` came from GetEnv.
        unsafe { *self.0 }
    }

    /// The jmethodIDs of all methods of `class`, made where there are none yet.
    pub fn class_methods(self, class: jclass) -> Result<Vec<jmethodID>> {
        let mut count = 0;
        let mut methods: *mut jmethodID = ptr::null_mut();
        call!(
            self,
            GetClassMethods,
            class,
            &raw mut count,
            &raw mut methods
        )?;
        Ok(self.copied(count, methods))
    }

    /// All loaded classes, as local references.
    pub fn loaded_classes(self) -> Result<Vec<jclass>> {
        let mut count = 0;
        let mut classes: *mut jclass = ptr::null_mut();
        call!(self, GetLoadedClasses, &raw mut count, &raw mut classes)?;
        Ok(self.copied(count, classes))
    }

    /// All live platform threads, as local references.
    pub fn all_threads(self) -> Result<Vec<jobject>> {
        let mut count = 0;
        let mut threads: *mut jobject = ptr::null_mut();
        call!(self, GetAllThreads, &raw mut count, &raw mut threads)?;
        Ok(self.copied(count, threads))
    }

    fn copied<T: Copy>(self, count: jint, from: *mut T) -> Vec<T> {
        self.taken(count, from, |entry| *entry)
    }

    /// Takes what is wanted of each of `count` entries that JVMTI filled, and frees them.
    fn taken<T, U>(self, count: jint, from: *mut T, wanted: impl Fn(&T) -> U) -> Vec<U> {
        let _from = Allocated(self, from.cast());
        (0..count as usize)
            // SAFETY: JVMTI filled `count` entries.
            .map(|i| wanted(unsafe { &*from.add(i) }))
            .collect()
    }

    /// Signature of a class, such as `Ljava/lang/String;`.
    pub fn class_signature(self, class: jclass) -> Result<String> {
        let mut signature = ptr::null_mut();
        call!(
            self,
            GetClassSignature,
            class,
            &raw mut signature,
            ptr::null_mut()
        )?;
        Ok(self.string(signature))
    }

    /// Name of a thread. Leaves two local references (thread group, class loader) to the caller's frame.
    pub fn thread_name(self, thread: jobject) -> Result<String> {
        let mut info = sys::jvmtiThreadInfo::default();
        call!(self, GetThreadInfo, thread, &raw mut info)?;
        Ok(self.string(info.name))
    }

    /// The calling thread, virtual where one is mounted, as a local reference.
    pub fn current_thread(self) -> Result<jobject> {
        let mut thread = ptr::null_mut();
        call!(self, GetCurrentThread, &raw mut thread)?;
        Ok(thread)
    }

    /// Signature of the class that declares a method. Leaves a local reference to the caller's frame.
    pub fn method_class_signature(self, method: jmethodID) -> Result<String> {
        let mut class = ptr::null_mut();
        call!(self, GetMethodDeclaringClass, method, &raw mut class)?;
        self.class_signature(class)
    }

    /// Name of a method.
    pub fn method_name(self, method: jmethodID) -> Result<String> {
        let mut name = ptr::null_mut();
        call!(
            self,
            GetMethodName,
            method,
            &raw mut name,
            ptr::null_mut(),
            ptr::null_mut()
        )?;
        Ok(self.string(name))
    }

    /// Source file of a class, where it has one.
    pub fn source_file(self, class: jclass) -> Option<String> {
        let mut name = ptr::null_mut();
        call!(self, GetSourceFileName, class, &raw mut name).ok()?;
        Some(self.string(name))
    }

    /// Line table of a method: (first bytecode index, line), in the JVM's order; empty where it has none.
    pub fn line_table(self, method: jmethodID) -> Vec<(sys::jlocation, jint)> {
        let mut count = 0;
        let mut table: *mut sys::jvmtiLineNumberEntry = ptr::null_mut();
        if call!(
            self,
            GetLineNumberTable,
            method,
            &raw mut count,
            &raw mut table
        )
        .is_err()
        {
            return Vec::new();
        }
        self.taken(count, table, |entry| {
            (entry.start_location, entry.line_number)
        })
    }

    /// The stack of `thread`, which is the calling one, youngest frame first: how many frames were written. Nothing
    /// is allocated, so it is fit for a mount callback. By its name: for null JDK 21 stops the mounts of all.
    pub fn own_stack(self, thread: jobject, frames: &mut [sys::jvmtiFrameInfo]) -> Result<usize> {
        self.stack_of(thread, frames)
    }

    /// The same of any thread, of the platform or virtual, mounted or not. One that runs is stopped for it (a
    /// handshake); the caller waits until it does.
    pub fn stack_of(self, thread: jobject, frames: &mut [sys::jvmtiFrameInfo]) -> Result<usize> {
        let mut count = 0;
        call!(
            self,
            GetStackTrace,
            thread,
            0,
            jint::try_from(frames.len()).unwrap_or(jint::MAX),
            frames.as_mut_ptr(),
            &raw mut count
        )?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The thread that has the monitor of `object`, as a local reference; `None` where nobody has it, or a virtual
    /// thread. Stops all threads (a VM operation). Leaves a local reference for each thread that waits to the caller's
    /// frame: how many is told to `expect`, before anything else is made there. Needs [`Capability::GetMonitorInfo`].
    pub fn monitor_owner(
        self,
        object: jobject,
        expect: impl FnOnce(usize),
    ) -> Result<Option<jobject>> {
        let mut usage = sys::jvmtiMonitorUsage::default();
        call!(self, GetObjectMonitorUsage, object, &raw mut usage)?;
        drop(Allocated(self, usage.waiters.cast()));
        drop(Allocated(self, usage.notify_waiters.cast()));
        let waiters = i64::from(usage.waiter_count) + i64::from(usage.notify_waiter_count);
        expect(usize::try_from(waiters).unwrap_or(0));
        Ok((!usage.owner.is_null()).then_some(usage.owner))
    }

    /// A system property, in the OnLoad and live phases.
    pub fn system_property(self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        let mut value = ptr::null_mut();
        call!(self, GetSystemProperty, name.as_ptr(), &raw mut value).ok()?;
        Some(self.string(value))
    }

    fn string(self, from: *mut c_char) -> String {
        if from.is_null() {
            return String::new();
        }
        // SAFETY: JVMTI's strings are NUL-terminated; this one is ours until `Allocated` drops.
        let text = unsafe { CStr::from_ptr(from) }
            .to_string_lossy()
            .into_owned();
        drop(Allocated(self, from.cast()));
        text
    }

    /// An address inside the JVM's library, by which that library is found.
    pub fn library_address(self) -> *const c_void {
        // SAFETY: the table is whole and lives as long as the VM.
        let function = unsafe { (**self.0).GetPhase };
        function.map_or(ptr::null(), |function| function as *const c_void)
    }
}

/// Index of an extension event: differs between JVMs, so it is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtensionEvent(jint);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_bits_are_those_of_the_header() {
        let mut header = sys::jvmtiCapabilities::default();
        header.set_can_get_monitor_info(1);
        header.set_can_get_source_file_name(1);
        header.set_can_get_line_numbers(1);
        header.set_can_generate_compiled_method_load_events(1);
        header.set_can_generate_monitor_events(1);
        header.set_can_generate_native_method_bind_events(1);
        header.set_can_generate_garbage_collection_events(1);
        header.set_can_generate_early_vmstart(1);
        header.set_can_generate_sampled_object_alloc_events(1);
        // SAFETY: a plain bit field of 16 bytes.
        let bytes: [u8; 16] = unsafe { std::mem::transmute(header) };
        let bits: Vec<usize> = (0..128)
            .filter(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1)
            .collect();
        assert_eq!(
            bits,
            [
                Capability::GetMonitorInfo as usize,
                Capability::GetSourceFileName as usize,
                Capability::GetLineNumbers as usize,
                Capability::GenerateCompiledMethodLoadEvents as usize,
                Capability::GenerateMonitorEvents as usize,
                Capability::GenerateNativeMethodBindEvents as usize,
                Capability::GenerateGarbageCollectionEvents as usize,
                Capability::GenerateEarlyVmStart as usize,
                Capability::GenerateSampledObjectAllocEvents as usize
            ]
        );
    }

    #[test]
    fn event_numbers_are_those_of_the_header() {
        for (event, number) in [
            (Event::VmInit, sys::JVMTI_EVENT_VM_INIT),
            (Event::VmDeath, sys::JVMTI_EVENT_VM_DEATH),
            (Event::ThreadStart, sys::JVMTI_EVENT_THREAD_START),
            (Event::ThreadEnd, sys::JVMTI_EVENT_THREAD_END),
            (Event::ClassLoad, sys::JVMTI_EVENT_CLASS_LOAD),
            (Event::ClassPrepare, sys::JVMTI_EVENT_CLASS_PREPARE),
            (
                Event::MonitorContendedEnter,
                sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
            ),
            (
                Event::MonitorContendedEntered,
                sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
            ),
            (Event::VmStart, sys::JVMTI_EVENT_VM_START),
            (Event::NativeMethodBind, sys::JVMTI_EVENT_NATIVE_METHOD_BIND),
            (
                Event::CompiledMethodLoad,
                sys::JVMTI_EVENT_COMPILED_METHOD_LOAD,
            ),
            (
                Event::DynamicCodeGenerated,
                sys::JVMTI_EVENT_DYNAMIC_CODE_GENERATED,
            ),
            (
                Event::MonitorContendedEnter,
                sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
            ),
            (
                Event::MonitorContendedEntered,
                sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
            ),
            (
                Event::GarbageCollectionStart,
                sys::JVMTI_EVENT_GARBAGE_COLLECTION_START,
            ),
            (
                Event::GarbageCollectionFinish,
                sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            ),
            (
                Event::SampledObjectAlloc,
                sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
            ),
        ] {
            assert_eq!(event as u32, number);
        }
        assert_eq!(FIRST_EVENT as u32, sys::JVMTI_MIN_EVENT_TYPE_VAL);
    }
}
