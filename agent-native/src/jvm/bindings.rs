//! Generated from `jvmti.h` by `build.rs`.
#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    unused_imports,
    dead_code,
    unsafe_op_in_unsafe_fn
)]

use jni_sys::*;

include!(concat!(env!("OUT_DIR"), "/jvmti.rs"));
