//! Where HotSpot keeps what the walk of frozen frames reads: offsets in bytes, addresses as they are.
//!
//! A plain struct that the agent fills, once, from what this very JVM publishes of itself; nothing here is a
//! constant of one release. Which piece came from where stands in the agent (`jvm/frozen.rs`).

/// A class word in an object's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassWord {
    /// A whole pointer at this offset.
    Wide(u64),
    /// 32 bits at this offset, to be shifted and added to a base.
    Narrow(u64),
    /// The mark's bits from this one up (compact object headers), then as `Narrow`.
    InMark(u32),
}

/// Where a compiled method keeps what tells its frames apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugInfo {
    /// In a block outside the code (JDK 23+): a field that holds its address, and int32 offsets into it.
    Outside {
        /// `nmethod::_immutable_data`.
        immutable: u64,
        /// `nmethod::_scopes_pcs_offset`.
        pcs: u64,
        /// `nmethod::_scopes_data_offset`; the end of the former as well.
        data: u64,
        /// Methods.
        metadata: Metadata,
    },
    /// In the code blob itself (JDK 21, 22): int32 offsets from its start, and one address.
    Inside {
        /// `nmethod::_scopes_pcs_offset`.
        pcs: u64,
        /// `nmethod::_dependencies_offset`: the end of the former.
        pcs_end: u64,
        /// `CompiledMethod::_scopes_data_begin`, an address.
        data: u64,
        /// `nmethod::_metadata_offset`.
        metadata: u64,
    },
}

/// Where the methods are that debug information outside the code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// In a block of their own (JDK 25+).
    Outside {
        /// `CodeBlob::_mutable_data`, an address.
        mutable: u64,
        /// `CodeBlob::_relocation_size`, int32: methods follow the relocations.
        relocation_size: u64,
    },
    /// Still in the code blob (JDK 23, 24).
    Inside {
        /// `CodeBlob::_data_offset`, int32 from the blob's start.
        data: u64,
        /// `nmethod::_metadata_offset`, uint16 from there.
        metadata: u64,
    },
}

/// A place in a code blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The field holds an int32 offset from the blob's start.
    Offset(u64),
    /// The field holds an address.
    Address(u64),
}

/// How a chunk tells where its frames end, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottom {
    /// `StackChunk.bottom`, from the stack's base.
    FromBase(u64),
    /// `StackChunk.argsize`, from the stack's end: arguments of the oldest frame (before JDK 22; JDK 21 up to
    /// 21.0.4 at least).
    FromEnd(u64),
}

/// Where a `JavaThread` keeps its continuation entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InThread {
    /// At this offset (JDK 24+).
    Published(u32),
    /// To be found first ([`crate::frozen::Frozen::set_entry`]).
    Sought {
        /// Size of a `JavaThread`, bytes.
        thread_size: u32,
        /// `JavaThread::_stack_base`: the end of the thread's stack, which the entry is on.
        stack_base: u64,
    },
}

/// How the collector moves objects, which is how references to them are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// Only while all threads stand still.
    Stopping,
    /// Shenandoah: at any time; an object that has moved keeps its new address in its mark.
    Forwarding,
    /// ZGC: at any time; a reference tells by its colour whether it was made after the last move. The
    /// addresses of two variables: bits that a good one has not, and how far its address is shifted.
    Colouring {
        /// `ZPointerLoadBadMask`.
        bad: u64,
        /// `ZPointerLoadShift`.
        shift: u64,
    },
}

/// The way to a virtual thread's continuation through objects, whose references can be told stale from good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// `JavaThread::_vthread`: the address of a reference.
    pub in_thread: u64,
    /// `Klass*` of `VirtualThread`.
    pub class: u64,
    /// `VirtualThread.cont`.
    pub continuation: u64,
    /// The agent's own note of who is mounted where; `None` where a thread cannot be told by its id.
    pub notes: Option<Notes>,
}

/// An `Object[]` of [`NOTES`] threads, each put down by its carrier when it was mounted. HotSpot's own reference
/// in the carrier is brought up to date by the carrier alone, and goes stale while a thread computes; these are
/// brought up to date by the agent's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notes {
    /// The array's JNI global reference.
    pub array: u64,
    /// Bytes from an array's start to its elements.
    pub elements: u64,
    /// `Thread.tid`.
    pub thread_id: u64,
    /// `JavaThread::_monitor_owner_id`: who is mounted in truth.
    pub owner_id: u64,
}

/// Elements of the array of [`Notes`].
pub const NOTES: usize = 256;

/// Where in the array of [`Notes`] the carrier's own is; another carrier's at times, so what is there is to be
/// checked.
#[must_use]
pub fn note_of(java_thread: u64) -> usize {
    // Fibonacci hashing: the upper bits are spread evenly.
    (java_thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}

const _: () = assert!(NOTES == 1 << 8);

/// Where the innermost continuation of a thread is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `JavaThread::_cont_entry`.
    pub in_thread: InThread,
    /// `ContinuationEntry::_parent`, an address; null for the outermost.
    pub parent: u64,
    /// `ContinuationEntry::_cont`, an uncompressed oop.
    pub continuation: u64,
}

/// Code heaps a JVM has at most (CodeCache.cpp: one, or three by kind; one to spare).
pub const CODE_HEAPS: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `JavaThread::_thread_state`, int32.
    pub thread_state: u64,
    /// Value of `_thread_in_Java`.
    pub in_java: i32,
    /// The thread's continuation.
    pub entry: Entry,

    /// `Universe::_collectedHeap`, an address.
    pub heap: u64,
    /// `CollectedHeap::_is_stw_gc_active`, bool.
    pub gc_active: u64,
    /// `CollectedHeap::_total_collections`, uint32.
    pub collections: u64,

    /// How objects move.
    pub collector: Collector,
    /// The way to the continuation where the one in `entry` cannot be told stale from good: a frame of a
    /// thread's stack is brought up to date when the thread returns to it (stackWatermark.hpp), and
    /// uncoloured.
    pub mounted: Option<Mounted>,
    /// Base and shift of compressed references; `None` where they are whole.
    pub narrow_oops: Option<(u64, u32)>,
    /// Class word.
    pub class_word: ClassWord,
    /// Base and shift of compressed class pointers.
    pub narrow_classes: (u64, u32),

    /// `Klass*` of `VirtualThread$VThreadContinuation`.
    pub continuation_class: u64,
    /// `Klass*` of `StackChunk`.
    pub chunk_class: u64,
    /// `Continuation.tail`.
    pub tail: u64,
    /// `StackChunk.parent`.
    pub parent: u64,
    /// `StackChunk.size`, words.
    pub size: u64,
    /// `StackChunk.sp`, words from the stack's base.
    pub sp: u64,
    /// Where the chunk's frames end.
    pub bottom: Bottom,
    /// Bytes from a chunk's start to its stack.
    pub stack_base: u64,

    /// `CodeHeap*`, 0 where there is none.
    pub code_heaps: [u64; CODE_HEAPS],
    /// `CodeHeap::_memory._low` and `_high`.
    pub code_bounds: (u64, u64),
    /// `CodeHeap::_segmap._low`.
    pub segment_map: u64,
    /// `CodeHeap::_log2_segment_size`, int32.
    pub segment_shift: u64,
    /// Size of a `HeapBlock`, and its `_used`.
    pub block: (u64, u64),

    /// `CodeBlob::_name`, an address.
    pub blob_name: u64,
    /// `CodeBlob::_size`, int32 bytes.
    pub blob_size: u64,
    /// `CodeBlob::_frame_size`, int32 words.
    pub frame_size: u64,
    /// Where the blob's instructions begin.
    pub code: Place,
    /// `nmethod::_method`.
    pub compiled_method: u64,
    /// `nmethod::_orig_pc_offset`, int32 bytes from the frame's unextended stack pointer.
    pub original_pc: u64,
    /// Deoptimisation handlers: plain, and of method handle calls.
    pub deopt: (Place, Place),
    /// Debug information.
    pub debug_info: DebugInfo,

    /// Bounds of the interpreter's code.
    pub interpreter: (u64, u64),

    /// `Method::_constMethod`.
    pub const_method: u64,
    /// `Method::_access_flags`, of which 16 bits are looked at.
    pub access_flags: u64,
    /// Size of a `ConstMethod`: bytecodes follow it.
    pub bytecodes: u64,
    /// `ConstMethod::_code_size`, uint16.
    pub code_size: u64,
    /// `ConstMethod::_constants`.
    pub constants: u64,
    /// `ConstMethod::_method_idnum`, uint16.
    pub method_number: u64,
    /// `ConstantPool::_pool_holder`.
    pub holder: u64,
    /// `InstanceKlass::_methods_jmethod_ids`.
    pub method_ids: u64,
}

#[cfg(test)]
impl Layout {
    /// Nothing is anywhere.
    pub(crate) const BLANK: Self = Self {
        thread_state: 0,
        in_java: 8,
        entry: Entry {
            in_thread: InThread::Sought {
                thread_size: 0,
                stack_base: 0,
            },
            parent: 8,
            continuation: 16,
        },
        heap: 0,
        gc_active: 0,
        collections: 0,
        collector: Collector::Stopping,
        mounted: None,
        narrow_oops: None,
        class_word: ClassWord::Wide(8),
        narrow_classes: (0, 0),
        continuation_class: 0,
        chunk_class: 0,
        tail: 0,
        parent: 0,
        size: 0,
        sp: 0,
        bottom: Bottom::FromBase(0),
        stack_base: 0,
        code_heaps: [0; CODE_HEAPS],
        code_bounds: (0, 0),
        segment_map: 0,
        segment_shift: 0,
        block: (0, 0),
        blob_name: 0,
        blob_size: 0,
        frame_size: 0,
        code: Place::Offset(0),
        compiled_method: 0,
        original_pc: 0,
        deopt: (Place::Offset(0), Place::Offset(0)),
        debug_info: DebugInfo::Inside {
            pcs: 0,
            pcs_end: 0,
            data: 0,
            metadata: 0,
        },
        interpreter: (0, 0),
        const_method: 0,
        access_flags: 0,
        bytecodes: 0,
        code_size: 0,
        constants: 0,
        method_number: 0,
        holder: 0,
        method_ids: 0,
    };
}
