//! The only place that sees JNI and JVMTI.
//!
//! | module | noun |
//! |---|---|
//! | [`jvmti`], [`jni`] | the two interfaces, each call with its error |
//! | [`library`], [`vmstructs`], [`memory`] | symbols of libjvm, what HotSpot publishes of itself, reads that fail instead of faulting |
//! | [`layout`] | what is known of this JVM, and from where |
//! | [`support`] | which JVMs are supported |
//! | [`callbacks`] | JVMTI events |
//! | [`mounts`] | mount events, and the proof that `sample` may take over |
//! | [`lookups`], [`code_heaps`], [`frozen`], [`entry`], [`selftest`] | where frozen frames of virtual threads are, and the proof that they are read rightly |
//! | [`stubs`] | code that is no method's, by address and name |
//! | [`healing`] | stale references to them, under ZGC |
//! | [`capture`] | a sample of the calling thread, taken in an event |
//! | [`blocking`] | how long virtual threads were off their carriers |
//! | [`delays`] | how much of that they waited for a carrier |
//! | [`monitors`], [`entering`] | waits for monitors, and the stacks of those who waited |
//! | [`collections`] | collections that stop the world |
//! | [`contention`] | how long threads waited for locks |
//! | [`parks`] | parks of threads that keep their OS thread |
//! | [`waiters`], [`owners`] | who waits for which lock now, and who has it |
//! | [`allocations`] | samples of allocations |
//! | [`identity`] | which Java thread the caller is |
//! | [`shim`] | native methods of the Java shim |
//! | [`extension`] | handing the shim to the OTel javaagent |
//! | [`properties`] | system properties |
//! | [`classes`] | whose a method id is, while its class lives |
//! | [`methods`] | methods by id, for the symbolizer |
//! | [`redefinitions`] | when classes are redefined |
//! | [`vm`], [`worker`] | the VM itself: attaching a thread, and one of the agent's own |

pub mod allocations;
pub mod bindings;
pub mod blocking;
pub mod callbacks;
pub mod capture;
pub mod classes;
pub mod code_heaps;
pub mod collections;
pub mod contention;
pub mod delays;
pub mod entering;
pub mod entry;
pub mod extension;
pub mod frozen;
pub mod healing;
pub mod identity;
pub mod jni;
pub mod jvmti;
pub mod layout;
pub mod library;
pub mod lookups;
pub mod memory;
pub mod methods;
pub mod monitors;
pub mod mounts;
pub mod owners;
pub mod parks;
pub mod properties;
pub mod redefinitions;
pub mod selftest;
pub mod shim;
pub mod stubs;
pub mod support;
pub mod vm;
pub mod vmstructs;
pub mod waiters;
pub mod worker;
