//! What HotSpot publishes about itself: `gHotSpotVMStructs` and its sisters
//! (`src/hotspot/share/runtime/vmStructs.cpp`), made for the serviceability agent.

use std::ffi::{CStr, c_char};

use super::library::Library;

/// One published table: entries of one length, the last with a null name.
struct Table {
    entries: *const u8,
    stride: usize,
}

impl Table {
    fn of(library: Library, entries: &CStr, stride: &CStr) -> Option<Self> {
        let variable = library.symbol(entries)?.cast::<*const u8>();
        // SAFETY: the symbol is a pointer variable of the JVM.
        let entries = unsafe { *variable };
        (!entries.is_null()).then_some(Self {
            entries,
            stride: number(library, stride)?,
        })
    }

    /// The entries, up to the one whose string at `name` is null.
    fn iter(&self, name: usize) -> impl Iterator<Item = Entry> + '_ {
        (0..)
            // SAFETY: entries lie `stride` apart, and none is looked at behind the last.
            .map(|i| Entry(unsafe { self.entries.add(i * self.stride) }))
            .take_while(move |entry| entry.text(name).is_some())
    }
}

/// One entry. Members are read at offsets the JVM itself gave, so they lie inside.
#[derive(Clone, Copy)]
struct Entry(*const u8);

impl Entry {
    fn text(self, at: usize) -> Option<&'static [u8]> {
        // SAFETY: a member of type `const char*`, null or a constant of the JVM's library.
        unsafe {
            let text = *self.0.add(at).cast::<*const c_char>();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
        }
    }

    fn value<T: Copy>(self, at: usize) -> T {
        // SAFETY: a member of that type; `T` is an integer.
        unsafe { self.0.add(at).cast::<T>().read() }
    }
}

fn number(library: Library, name: &CStr) -> Option<usize> {
    let address = library.symbol(name)?.cast::<u64>();
    // SAFETY: these symbols are `uint64_t` constants of the JVM (vmStructs.cpp).
    usize::try_from(unsafe { *address }).ok()
}

/// The published tables.
pub struct VmStructs {
    library: Library,
    fields: Table,
    type_name: usize,
    field_name: usize,
    is_static: usize,
    offset: usize,
    address: usize,
}

impl VmStructs {
    /// The tables of that library, when it has them.
    pub fn of(library: Library) -> Option<Self> {
        let number = |name| number(library, name);
        Some(Self {
            library,
            fields: Table::of(
                library,
                c"gHotSpotVMStructs",
                c"gHotSpotVMStructEntryArrayStride",
            )?,
            type_name: number(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: number(c"gHotSpotVMStructEntryFieldNameOffset")?,
            is_static: number(c"gHotSpotVMStructEntryIsStaticOffset")?,
            offset: number(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: number(c"gHotSpotVMStructEntryAddressOffset")?,
        })
    }

    fn field(&self, types: &[&str], field: &str, is_static: bool) -> Option<Entry> {
        self.fields.iter(self.type_name).find(|entry| {
            (entry.value::<i32>(self.is_static) != 0) == is_static
                && entry.text(self.field_name) == Some(field.as_bytes())
                && entry
                    .text(self.type_name)
                    .is_some_and(|name| types.iter().any(|t| t.as_bytes() == name))
        })
    }

    /// Byte offset of an instance field, declared by any of `types` (a field has moved between a type and its
    /// super type from one JDK to the next).
    pub fn offset(&self, types: &[&str], field: &str) -> Option<usize> {
        let entry = self.field(types, field, false)?;
        usize::try_from(entry.value::<u64>(self.offset)).ok()
    }

    /// Value of a static field of 8 bytes, declared under one of `names`.
    pub fn static_word(&self, of_type: &str, names: &[&str]) -> Option<u64> {
        self.static_value(of_type, names)
    }

    /// Value of a static field of type `int`.
    pub fn static_int(&self, of_type: &str, names: &[&str]) -> Option<i32> {
        self.static_value(of_type, names)
    }

    fn static_value<T: Copy>(&self, of_type: &str, names: &[&str]) -> Option<T> {
        let entry = names
            .iter()
            .find_map(|name| self.field(&[of_type], name, true))?;
        let address = entry.value::<*const T>(self.address);
        // SAFETY: the address of a variable of the JVM, published as one of that type.
        (!address.is_null()).then(|| unsafe { address.read() })
    }

    /// Size of a type, bytes.
    pub fn size_of(&self, name: &str) -> Option<u64> {
        let number = |name| number(self.library, name);
        let table = Table::of(
            self.library,
            c"gHotSpotVMTypes",
            c"gHotSpotVMTypeEntryArrayStride",
        )?;
        let type_name = number(c"gHotSpotVMTypeEntryTypeNameOffset")?;
        let size = number(c"gHotSpotVMTypeEntrySizeOffset")?;
        table
            .iter(type_name)
            .find(|entry| entry.text(type_name) == Some(name.as_bytes()))
            .map(|entry| entry.value(size))
    }

    /// A constant of type `int`.
    pub fn constant(&self, name: &str) -> Option<i32> {
        let number = |name| number(self.library, name);
        let table = Table::of(
            self.library,
            c"gHotSpotVMIntConstants",
            c"gHotSpotVMIntConstantEntryArrayStride",
        )?;
        let at = number(c"gHotSpotVMIntConstantEntryNameOffset")?;
        let value = number(c"gHotSpotVMIntConstantEntryValueOffset")?;
        table
            .iter(at)
            .find(|entry| entry.text(at) == Some(name.as_bytes()))
            .map(|entry| entry.value(value))
    }

    /// A constant of type `long`.
    pub fn long_constant(&self, name: &str) -> Option<u64> {
        let number = |name| number(self.library, name);
        let table = Table::of(
            self.library,
            c"gHotSpotVMLongConstants",
            c"gHotSpotVMLongConstantEntryArrayStride",
        )?;
        let at = number(c"gHotSpotVMLongConstantEntryNameOffset")?;
        let value = number(c"gHotSpotVMLongConstantEntryValueOffset")?;
        table
            .iter(at)
            .find(|entry| entry.text(at) == Some(name.as_bytes()))
            .map(|entry| entry.value(value))
    }

    /// A `-XX:` flag of type `bool`, as in force; `None` where this JVM has no such flag.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let value = self.flag_value(name)?;
        // SAFETY: the address of the flag's value, a `bool`.
        Some(unsafe { value.read() != 0 })
    }

    /// Whether a `-XX:` flag whose value is a text has one.
    pub fn has_text(&self, flag: &str) -> bool {
        self.flag_value(flag).is_some_and(|value| {
            // SAFETY: the address of the flag's value, a `const char*`.
            !unsafe { value.cast::<*const c_char>().read() }.is_null()
        })
    }

    fn flag_value(&self, name: &str) -> Option<*const u8> {
        let flags = self.static_word("JVMFlag", &["flags"])? as *const u8;
        let count = usize::try_from(self.static_word("JVMFlag", &["numFlags"])?).ok()?;
        let size = usize::try_from(self.size_of("JVMFlag")?).ok()?;
        let (at_name, at_value) = (
            self.offset(&["JVMFlag"], "_name")?,
            self.offset(&["JVMFlag"], "_addr")?,
        );
        (0..count)
            // SAFETY: the JVM published a table of `count` flags of that size.
            .map(|i| Entry(unsafe { flags.add(i * size) }))
            .find(|flag| flag.text(at_name) == Some(name.as_bytes()))
            .map(|flag| flag.value::<*const u8>(at_value))
            .filter(|value| !value.is_null())
    }
}
