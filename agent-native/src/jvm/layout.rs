//! What is known of this JVM's layout, and where each piece came from.
//!
//! | what | from | needed for |
//! |---|---|---|
//! | `JNIEnv*` → `JavaThread*` | `Thread.eetop` of the thread VMInit runs on: the distance is one constant | AsyncGetCallTrace, `_monitor_owner_id` |
//! | `Thread.tid` | JNI field id | the key of a record |
//! | `JavaThread::_monitor_owner_id` | VMStructs, JDK 24+ | `context=sample` |
//! | `Thread::_osthread`, `OSThread::_thread_id` | VMStructs | threads that run before the agent |
//! | `JavaThread::_stack_base` | VMStructs | imprints of waiting threads |
//! | `JavaThread::_current_pending_monitor` | VMStructs | waits for a monitor |

use jni_sys::{jfieldID, jobject};
use vtprof_signal::tag::JavaThreadId;

use super::jni::{self, Jni};
use super::vmstructs::VmStructs;

/// See the module.
pub struct Layout {
    eetop: jfieldID,
    tid: jfieldID,
    env_to_thread: i64,
    osthread: Option<(usize, usize)>,
    /// Byte offset of `_monitor_owner_id`, where this JVM has it.
    pub owner_id: Option<usize>,
    /// Byte offset of `_stack_base`.
    pub stack_base: Option<usize>,
    /// Byte offset of `_current_pending_monitor`.
    pub pending_monitor: Option<usize>,
}

// SAFETY: ids and numbers, which belong to no thread.
unsafe impl Send for Layout {}
// SAFETY: as above; never changed after it was made.
unsafe impl Sync for Layout {}

impl Layout {
    /// Learns the layout on the thread `jni` belongs to, once the VM is live.
    pub fn learn(jni: Jni, structs: Option<&VmStructs>) -> jni::Result<Self> {
        // The ids outlive the reference: java.lang.Thread is never unloaded.
        let class = jni.find_class("java/lang/Thread")?;
        let current_thread = jni.static_method(class, "currentThread", "()Ljava/lang/Thread;")?;
        let mut layout = Self {
            eetop: jni.field(class, "eetop", "J")?,
            tid: jni.field(class, "tid", "J")?,
            env_to_thread: 0,
            osthread: structs.and_then(|s| {
                Some((
                    s.offset(&["Thread", "JavaThread"], "_osthread")?,
                    s.offset(&["OSThread"], "_thread_id")?,
                ))
            }),
            owner_id: structs.and_then(|s| s.offset(&["JavaThread"], "_monitor_owner_id")),
            stack_base: structs.and_then(|s| s.offset(&["Thread", "JavaThread"], "_stack_base")),
            pending_monitor: structs
                .and_then(|s| s.offset(&["JavaThread"], "_current_pending_monitor")),
        };
        // SAFETY: the method was looked up with that signature and takes nothing.
        let current =
            unsafe { jni.call_static_object(class, current_thread, &[], "Thread.currentThread") }?;
        let eetop = layout.eetop_of(jni, current);
        layout.env_to_thread = (eetop as i64).wrapping_sub(jni.address() as i64);
        jni.delete_local(current);
        if eetop == 0 {
            return Err(jni::JniError(
                "Thread.eetop of the current thread".to_owned(),
            ));
        }
        Ok(layout)
    }

    /// Thread id of `thread`, read from its field: `getId` may be overridden.
    pub fn thread_id(&self, jni: Jni, thread: jobject) -> JavaThreadId {
        // SAFETY: `tid` is a long field of java.lang.Thread, and `thread` is one.
        JavaThreadId(unsafe { jni.long_field(thread, self.tid) })
    }

    fn eetop_of(&self, jni: Jni, thread: jobject) -> u64 {
        // SAFETY: `eetop` is a long field of java.lang.Thread, and `thread` is one.
        unsafe { jni.long_field(thread, self.eetop) }.cast_unsigned()
    }

    /// `JavaThread*` of the thread whose `JNIEnv*` this is.
    pub fn java_thread(&self, jni_env: u64) -> u64 {
        jni_env.wrapping_add_signed(self.env_to_thread)
    }

    /// `JNIEnv*` and kernel thread id of another platform thread; `None` when it is not running, or this JVM
    /// does not say.
    pub fn of_running(&self, jni: Jni, thread: jobject) -> Option<(u64, u32)> {
        let (osthread, thread_id) = self.osthread?;
        let java_thread = self.eetop_of(jni, thread);
        if java_thread == 0 {
            return None;
        }
        // The thread may end meanwhile, so its memory is read in a way that fails instead of faulting.
        let os = u64::from_ne_bytes(super::memory::read(java_thread as usize + osthread)?);
        let id = u32::from_ne_bytes(super::memory::read(os as usize + thread_id)?);
        Some((
            java_thread.wrapping_sub(self.env_to_thread.cast_unsigned()),
            id,
        ))
    }
}
