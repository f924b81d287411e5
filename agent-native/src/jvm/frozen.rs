//! What the walk of frozen frames needs to know of this JVM, and where each piece came from.
//!
//! | what | from |
//! |---|---|
//! | thread: state, continuation entry | VMStructs; `JavaThread::_cont_entry` before JDK 24: looked for by the self-test ([`super::entry`]) |
//! | entry: its continuation | behind `_parent`, the third word on all JDKs seen; its class is checked at each walk |
//! | collector: active, count | VMStructs |
//! | ZGC: colours that are good | VMStructs (`ZGlobalsForVMStructs`: generational) |
//! | ZGC: mounted thread | VMStructs (`JavaThread::_vthread`), JNI field id; the agent's own note of it |
//! | widths of references and class words | VMStructs flags, bases and shifts |
//! | classes of continuation and chunk | `java_lang_Class::_klass_offset` in their mirrors, confirmed by `Klass::_java_mirror` |
//! | fields of continuation and chunk | JNI field ids: the offset is the id without its two low bits |
//! | `StackChunk.cont` | looked for by the self-test ([`super::selftest`]) |
//! | code heaps, blobs, compiled methods | VMStructs; which of three shapes (JDK 21, 23, 25), by which fields there are |
//! | interpreter, methods, method ids | VMStructs; frames as in `frame_x86.hpp` |
//!
//! Nothing of it is trusted before the self-test has confirmed whole walks on this very JVM.

use jni_sys::{jclass, jfieldID};
use vtprof_signal::frozen::Marks;
use vtprof_signal::layout::{
    Bottom, CODE_HEAPS, ClassWord, Collector, DebugInfo, Entry, InThread, Layout, Metadata,
    Mounted, NOTES, Notes, Place,
};

use super::jni::Jni;
use super::lookups::{Missing, Structs, word_at};
use super::memory;
use super::vmstructs::VmStructs;

const CONTINUATION: &str = "jdk/internal/vm/Continuation";
const VIRTUAL: &str = "java/lang/VirtualThread$VThreadContinuation";
const THREAD: &str = "java/lang/VirtualThread";
const CONTINUATION_FIELD: &str = "Ljdk/internal/vm/Continuation;";
const CHUNK_FIELD: &str = "Ljdk/internal/vm/StackChunk;";
const CHUNK: &str = "jdk/internal/vm/StackChunk";
/// `ContinuationEntry::_parent`, behind an empty first member (continuationEntry.hpp); not published.
const ENTRY_PARENT: u64 = 8;
/// `ContinuationEntry::_cont`, behind `_parent`; not published.
const ENTRY_CONTINUATION: u64 = 16;
/// Tries to read a moving object's class.
const TRIES: usize = 16;

/// The methods that mark the shape of a virtual thread's stack; none where one is missing.
pub fn marks(jni: Jni) -> Marks {
    let id = |name, signature| {
        let class = jni.find_class(CONTINUATION).ok()?;
        Some(jni.static_method(class, name, signature).ok()? as u64)
    };
    let found = || {
        Some(Marks {
            enter_special: id("enterSpecial", "(Ljdk/internal/vm/Continuation;ZZ)V")?,
            enter: id("enter", "(Ljdk/internal/vm/Continuation;Z)V")?,
            do_yield: id("doYield", "()I")?,
        })
    };
    found().unwrap_or_default()
}

/// The fields by which a virtual thread's chunks are reached.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// `VirtualThread.cont`.
    pub continuation: jfieldID,
    /// `Continuation.tail`.
    pub tail: jfieldID,
    /// `StackChunk.parent`.
    pub parent: jfieldID,
}

/// See [`Chain`]; `None` where one is missing.
pub fn chain(jni: Jni) -> Option<Chain> {
    let id = |class, name, signature| {
        let class = jni.find_class(class).ok()?;
        let id = jni.field(class, name, signature).ok();
        jni.delete_local(class);
        id
    };
    Some(Chain {
        continuation: id(THREAD, "cont", CONTINUATION_FIELD)?,
        tail: id(CONTINUATION, "tail", CHUNK_FIELD)?,
        parent: id(CHUNK, "parent", CHUNK_FIELD)?,
    })
}

/// The layout of this JVM.
pub fn learn(jni: Jni, structs: Option<&VmStructs>) -> Result<Layout, Missing> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Missing::Architecture);
    }
    let structs = structs.ok_or_else(|| Missing::Unpublished("gHotSpotVMStructs".to_owned()))?;
    let of = Structs(structs);
    let collector = of.collector()?;
    let narrow_classes = (
        of.word("CompressedKlassPointers", &["_base", "_narrow_klass._base"])?,
        of.shift(
            "CompressedKlassPointers",
            &["_shift", "_narrow_klass._shift"],
        )?,
    );
    let narrow_oops = if of.flag("UseCompressedOops")? {
        Some((
            of.word("CompressedOops", &["_base", "_narrow_oop._base"])?,
            of.shift("CompressedOops", &["_shift", "_narrow_oop._shift"])?,
        ))
    } else {
        None
    };
    let class_word = if structs.flag("UseCompactObjectHeaders") == Some(true) {
        let shift = structs
            .long_constant("markWord::klass_shift")
            .and_then(|shift| u32::try_from(shift).ok())
            .ok_or_else(|| Missing::Unpublished("markWord::klass_shift".to_owned()))?;
        ClassWord::InMark(shift)
    } else if structs.flag("UseCompressedClassPointers") == Some(false) {
        ClassWord::Wide(of.field(&["oopDesc"], "_metadata._klass")?)
    } else {
        // Renamed in JDK 27, which has no other class words outside the mark.
        let narrow = structs
            .offset(&["oopDesc"], "_compressed_klass")
            .map(|offset| Ok(offset as u64))
            .unwrap_or_else(|| of.field(&["oopDesc"], "_metadata._compressed_klass"));
        ClassWord::Narrow(narrow?)
    };

    let (continuation, chunk) = (class(jni, CONTINUATION)?, class(jni, CHUNK)?);
    let chunk_class = of.class(jni, CHUNK, collector)?;
    let layout_helper = of.field(&["Klass"], "_layout_helper")?;
    let helper = memory::read::<4>((chunk_class + layout_helper) as usize)
        .map(i32::from_ne_bytes)
        .filter(|helper| *helper > 0)
        .ok_or(Missing::Class(CHUNK))?;
    let blob = &["CodeBlob"];
    let nmethod = &["nmethod", "CompiledMethod"];
    let low = of.field(&["VirtualSpace"], "_low")?;
    let memory_of_heap = of.field(&["CodeHeap"], "_memory")?;
    Ok(Layout {
        thread_state: of.field(&["JavaThread"], "_thread_state")?,
        in_java: structs
            .constant("_thread_in_Java")
            .ok_or_else(|| Missing::Unpublished("_thread_in_Java".to_owned()))?,
        entry: Entry {
            in_thread: of.in_thread()?,
            parent: ENTRY_PARENT,
            continuation: ENTRY_CONTINUATION,
        },
        heap: of.word("Universe", &["_collectedHeap"])?,
        gc_active: of.any(&["CollectedHeap"], &["_is_stw_gc_active", "_is_gc_active"])?,
        collections: of.field(&["CollectedHeap"], "_total_collections")?,
        collector,
        mounted: of.mounted(jni, collector, class_word)?,
        narrow_oops,
        class_word,
        narrow_classes,
        continuation_class: of.class(jni, VIRTUAL, collector)?,
        chunk_class,
        tail: field(jni, continuation, "tail", CHUNK_FIELD)?,
        parent: field(jni, chunk, "parent", CHUNK_FIELD)?,
        size: field(jni, chunk, "size", "I")?,
        sp: field(jni, chunk, "sp", "I")?,
        bottom: field(jni, chunk, "bottom", "I")
            .map(Bottom::FromBase)
            .or_else(|_| field(jni, chunk, "argsize", "I").map(Bottom::FromEnd))?,
        // Bytes of an instance; the low bits are flags (klass.hpp).
        stack_base: u64::from(helper.cast_unsigned() & !7),
        code_heaps: of.code_heaps()?,
        code_bounds: (
            memory_of_heap + low,
            memory_of_heap + of.field(&["VirtualSpace"], "_high")?,
        ),
        segment_map: of.field(&["CodeHeap"], "_segmap")? + low,
        segment_shift: of.field(&["CodeHeap"], "_log2_segment_size")?,
        block: (
            of.size("HeapBlock")?,
            of.field(&["HeapBlock"], "_header")? + of.field(&["HeapBlock::Header"], "_used")?,
        ),
        blob_name: of.field(blob, "_name")?,
        blob_size: of.field(blob, "_size")?,
        frame_size: of.field(blob, "_frame_size")?,
        code: of.place(blob, "_code_offset", "_code_begin")?,
        compiled_method: of.field(nmethod, "_method")?,
        original_pc: of.field(nmethod, "_orig_pc_offset")?,
        deopt: of.deopt()?,
        debug_info: of.debug_info()?,
        interpreter: of.interpreter()?,
        const_method: of.field(&["Method"], "_constMethod")?,
        access_flags: of.field(&["Method"], "_access_flags")?,
        bytecodes: of.size("ConstMethod")?,
        code_size: of.field(&["ConstMethod"], "_code_size")?,
        constants: of.field(&["ConstMethod"], "_constants")?,
        method_number: of.field(&["ConstMethod"], "_method_idnum")?,
        holder: of.field(&["ConstantPool"], "_pool_holder")?,
        method_ids: of.field(&["InstanceKlass"], "_methods_jmethod_ids")?,
    })
}

fn class(jni: Jni, name: &'static str) -> Result<jclass, Missing> {
    jni.find_class(name).map_err(|_| Missing::Class(name))
}

fn field(jni: Jni, class: jclass, name: &str, signature: &str) -> Result<u64, Missing> {
    let id = jni
        .field(class, name, signature)
        .map_err(|_| Missing::Unpublished(format!("a field {name} of a stack chunk")))?;
    // jfieldIDWorkaround.hpp: the offset above two bits of kind.
    Ok(id as u64 >> 2)
}

impl Structs<'_> {
    fn collector(&self) -> Result<Collector, Missing> {
        if self.0.flag("UseShenandoahGC") == Some(true) {
            return Ok(Collector::Forwarding);
        }
        if self.0.flag("UseZGC") != Some(true) {
            return Ok(Collector::Stopping);
        }
        // Its references tell nothing by a mask that is published; the flag is gone where it is (JDK 24).
        if self.0.flag("ZGenerational") == Some(false) {
            return Err(Missing::Collector("ZGC that is not generational"));
        }
        let of_zgc = "ZGlobalsForVMStructs";
        let globals = self.word(of_zgc, &["_instance_p"])?;
        let variable = |name| {
            let field = globals + self.field(&[of_zgc], name)?;
            word_at(field).ok_or_else(|| Missing::Unpublished(format!("{of_zgc}::{name}")))
        };
        Ok(Collector::Colouring {
            bad: variable("_ZPointerLoadBadMask")?,
            shift: variable("_ZPointerLoadShift")?,
        })
    }

    fn mounted(
        &self,
        jni: Jni,
        collector: Collector,
        class_word: ClassWord,
    ) -> Result<Option<Mounted>, Missing> {
        if !matches!(collector, Collector::Colouring { .. }) {
            return Ok(None);
        }
        let thread = class(jni, THREAD)?;
        Ok(Some(Mounted {
            in_thread: self.field(&["JavaThread"], "_vthread")?,
            class: self.class(jni, THREAD, collector)?,
            continuation: field(jni, thread, "cont", CONTINUATION_FIELD)?,
            notes: match self.0.offset(&["JavaThread"], "_monitor_owner_id") {
                Some(owner_id) => Some(Notes {
                    array: jni
                        .new_array(class(jni, "java/lang/Object")?, NOTES)
                        .map_err(|_| Missing::Class("java/lang/Object"))?
                        as u64,
                    // Behind mark, class word and length, whole words (arrayOop.hpp).
                    elements: match class_word {
                        ClassWord::Wide(_) => 24,
                        ClassWord::Narrow(_) | ClassWord::InMark(_) => 16,
                    },
                    thread_id: field(jni, class(jni, "java/lang/Thread")?, "tid", "J")?,
                    owner_id: owner_id as u64,
                }),
                None => None,
            },
        }))
    }

    fn place(&self, types: &[&str], offset: &str, address: &str) -> Result<Place, Missing> {
        match self.0.offset(types, offset) {
            Some(field) => Ok(Place::Offset(field as u64)),
            None => self.field(types, address).map(Place::Address),
        }
    }

    fn in_thread(&self) -> Result<InThread, Missing> {
        let thread = &["JavaThread", "Thread"];
        let narrow = |value: u64, what: &str| {
            u32::try_from(value).map_err(|_| Missing::Unpublished(what.to_owned()))
        };
        match self.0.offset(&["JavaThread"], "_cont_entry") {
            Some(offset) => {
                narrow(offset as u64, "JavaThread::_cont_entry").map(InThread::Published)
            }
            None => Ok(InThread::Sought {
                thread_size: narrow(self.size("JavaThread")?, "the size of JavaThread")?,
                stack_base: self.field(thread, "_stack_base")?,
            }),
        }
    }

    fn deopt(&self) -> Result<(Place, Place), Missing> {
        let types = &["nmethod", "CompiledMethod"];
        // JDK 26 on; where code runs is deoptimised by its return to this place, not to the handler's start.
        if let Some(entry) = self.0.offset(types, "_deopt_handler_entry_offset") {
            let entry = Place::Offset(entry as u64);
            return Ok((entry, entry));
        }
        let plain = self.place(types, "_deopt_handler_offset", "_deopt_handler_begin")?;
        // A handler of its own for method handle calls is gone from later JDKs.
        let other = self.place(types, "_deopt_mh_handler_offset", "_deopt_mh_handler_begin");
        Ok((plain, other.unwrap_or(plain)))
    }

    fn debug_info(&self) -> Result<DebugInfo, Missing> {
        let nmethod = &["nmethod", "CompiledMethod"];
        let pcs = self.field(nmethod, "_scopes_pcs_offset")?;
        if self.0.offset(nmethod, "_immutable_data").is_some() {
            return Ok(DebugInfo::Outside {
                immutable: self.field(nmethod, "_immutable_data")?,
                pcs,
                data: self.field(nmethod, "_scopes_data_offset")?,
                metadata: self.metadata()?,
            });
        }
        Ok(DebugInfo::Inside {
            pcs,
            pcs_end: self.field(nmethod, "_dependencies_offset")?,
            data: self.field(nmethod, "_scopes_data_begin")?,
            metadata: self.field(nmethod, "_metadata_offset")?,
        })
    }

    fn metadata(&self) -> Result<Metadata, Missing> {
        let blob = &["CodeBlob"];
        if self.0.offset(blob, "_mutable_data").is_some() {
            return Ok(Metadata::Outside {
                mutable: self.field(blob, "_mutable_data")?,
                relocation_size: self.field(blob, "_relocation_size")?,
            });
        }
        Ok(Metadata::Inside {
            data: self.field(blob, "_data_offset")?,
            metadata: self.field(&["nmethod"], "_metadata_offset")?,
        })
    }

    fn interpreter(&self) -> Result<(u64, u64), Missing> {
        let queue = self.word("AbstractInterpreter", &["_code"])?;
        let start = queue + self.field(&["StubQueue"], "_stub_buffer")?;
        let limit = queue + self.field(&["StubQueue"], "_buffer_limit")?;
        let read = || {
            let start = word_at(start)?;
            let limit = i32::from_ne_bytes(memory::read::<4>(limit as usize)?);
            Some((start, start + u64::try_from(limit).ok()?))
        };
        read().ok_or_else(|| Missing::Unpublished("the interpreter's code".to_owned()))
    }

    fn code_heaps(&self) -> Result<[u64; CODE_HEAPS], Missing> {
        let array = self.word("CodeCache", &["_heaps"])?;
        let length = array + self.field(&["GrowableArrayBase"], "_len")?;
        let data = array + self.field(&["GrowableArray<int>"], "_data")?;
        let read = || {
            let length = i32::from_ne_bytes(memory::read::<4>(length as usize)?);
            let length = usize::try_from(length).ok()?;
            let data = word_at(data)?;
            let mut heaps = [0; CODE_HEAPS];
            for (i, heap) in heaps.get_mut(..length)?.iter_mut().enumerate() {
                *heap = word_at(data + 8 * i as u64)?;
            }
            (length > 0).then_some(heaps)
        };
        read().ok_or_else(|| Missing::Unpublished("its code heaps".to_owned()))
    }

    /// `Klass*` of a class, from its mirror, which may be moved while it is read: taken when the class names
    /// the same mirror. Looked up anew at each try, which brings the reference up to date.
    fn class(&self, jni: Jni, name: &'static str, collector: Collector) -> Result<u64, Missing> {
        let in_mirror = self
            .0
            .static_int("java_lang_Class", &["_klass_offset"])
            .and_then(|offset| u64::try_from(offset).ok())
            .ok_or_else(|| Missing::Unpublished("java_lang_Class::_klass_offset".to_owned()))?;
        let mirror_of = self.field(&["Klass"], "_java_mirror")?;
        let read = || {
            let class = jni.find_class(name).ok()?;
            // A local reference is the address of an oop (jniHandles.hpp).
            let mirror = word_at(class as u64);
            jni.delete_local(class);
            let mirror = mirror?;
            let klass = word_at(mirror + in_mirror)?;
            let back = word_at(word_at(klass.checked_add(mirror_of)?)?)?;
            let back = match collector {
                Collector::Colouring { bad, shift } => {
                    let is_good = back & word_at(bad)? == 0;
                    is_good.then_some(back >> (word_at(shift)? & 63))?
                }
                _ => back,
            };
            (back == mirror && klass.is_multiple_of(8)).then_some(klass)
        };
        (0..TRIES).find_map(|_| read()).ok_or(Missing::Class(name))
    }
}
