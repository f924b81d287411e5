//! What tests break on purpose. Compiled only with the feature `inject`, which no released library has; said by
//! `VTPROF_INJECT=walks=N,loads=N,layout=NAME`: one walk and one load of so many faults, and the offset of that
//! name is wrong.

use vtprof_signal::inject;
use vtprof_signal::layout::{Bottom, DebugInfo, InThread, Layout, Metadata, Place};

use crate::log;

fn given(key: &str) -> Option<String> {
    std::env::var("VTPROF_INJECT")
        .ok()?
        .split(',')
        .find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            (name == key).then(|| value.to_owned())
        })
}

fn number(key: &str) -> u32 {
    given(key).map_or(0, |text| text.parse().expect("a number"))
}

/// Faults come from now on.
pub fn begin() {
    let (walks, loads) = (number("walks"), number("loads"));
    inject::begin(walks, loads);
    log::warn(&format!("injects faults: walks={walks} loads={loads}"));
}

/// Makes one piece of the layout wrong.
pub fn spoil(layout: &mut Layout) {
    let Some(name) = given("layout") else {
        return;
    };
    match name.as_str() {
        "in_thread" => {
            layout.entry.in_thread = match layout.entry.in_thread {
                InThread::Published(offset) => InThread::Published(offset + 8),
                InThread::Sought { .. } => InThread::Published(8),
            }
        }
        "continuation" => layout.entry.continuation += 8,
        "tail" => layout.tail += 4,
        "parent" => layout.parent += 4,
        "size" => layout.size += 4,
        "sp" => layout.sp += 4,
        "bottom" => {
            layout.bottom = match layout.bottom {
                Bottom::FromBase(field) => Bottom::FromBase(field + 4),
                Bottom::FromEnd(field) => Bottom::FromEnd(field + 4),
            }
        }
        "stack_base" => layout.stack_base += 8,
        "chunk_class" => layout.chunk_class += 8,
        "code_heaps" => layout.code_heaps = layout.code_heaps.map(|heap| heap + 8),
        "segment_map" => layout.segment_map += 8,
        "blob_name" => layout.blob_name += 8,
        "blob_size" => layout.blob_size += 4,
        "frame_size" => layout.frame_size = layout.blob_size,
        "original_pc" => layout.original_pc += 4,
        "deopt" => {
            let wrong = |place| match place {
                Place::Offset(field) => Place::Offset(field + 4),
                Place::Address(field) => Place::Address(field + 8),
            };
            layout.deopt = (wrong(layout.deopt.0), wrong(layout.deopt.1));
        }
        "scopes" => match &mut layout.debug_info {
            DebugInfo::Outside { data, .. } => *data += 4,
            DebugInfo::Inside { data, .. } => *data += 8,
        },
        "metadata" => match &mut layout.debug_info {
            DebugInfo::Outside { metadata, .. } => match metadata {
                Metadata::Outside { mutable, .. } => *mutable += 8,
                Metadata::Inside { metadata, .. } => *metadata += 2,
            },
            DebugInfo::Inside { metadata, .. } => *metadata += 4,
        },
        "interpreter" => layout.interpreter = (layout.interpreter.1, layout.interpreter.1 + 4096),
        "bytecodes" => layout.bytecodes += 8,
        "const_method" => layout.const_method += 8,
        "method_number" => layout.method_number += 2,
        "holder" => layout.holder += 8,
        "method_ids" => layout.method_ids += 8,
        _ => panic!("VTPROF_INJECT: no piece of the layout is called {name}"),
    }
    log::warn(&format!("injects a wrong layout: {name}"));
}
