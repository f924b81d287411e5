//! What the dynamic loader has mapped: which library an address lies in, and which of its symbols.
//!
//! Symbols are read from the library's own table in memory, within `dl_iterate_phdr`, whose lock keeps it from being
//! unmapped meanwhile. Not by `dladdr`: that waits for a lock which is held while constructors of a library run, and so
//! for as long as they like; and it names the nearest exported symbol, however far it is. Not from files: what is on
//! disk may be another version by now, or gone.

use std::ffi::{CStr, c_int, c_void};
use std::mem::offset_of;
use std::ops::Range;

/// Symbols of a library, at most; one with more is named without them.
const SYMBOLS: usize = 1 << 18;
/// Bytes of a name, at most.
const NAME: usize = 4_096;
/// Entries of a dynamic section (`Elf64_Dyn`) and of a table of symbols (`Elf64_Sym`), bytes.
const DYNAMIC_ENTRY: usize = 16;
const SYMBOL_ENTRY: usize = 24;
/// `STT_FUNC`: not those that choose a function when they are bound, which have another type.
const FUNCTION: u8 = 2;

/// Tags of the dynamic section (elf.h).
mod tag {
    pub const HASH: u64 = 4;
    pub const STRINGS: u64 = 5;
    pub const SYMBOLS: u64 = 6;
    pub const GNU_HASH: u64 = 0x6FFF_FEF5;
}

/// Where an address lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The library's path as the loader has it; empty for the program itself.
    pub path: String,
    /// The symbol whose code contains the address, as it is spelled in the table.
    pub symbol: Option<String>,
    /// Addresses of which the same is true.
    pub range: Range<u64>,
}

/// How many libraries were unloaded in this process so far.
#[must_use]
pub fn unloads() -> u64 {
    find(0).0
}

/// As [`unloads`], and where `pc` lies; `None` in no library's code. One moment for both.
#[must_use]
pub fn find(pc: u64) -> (u64, Option<Place>) {
    let mut search = Search {
        pc,
        unloads: 0,
        place: None,
    };
    // SAFETY: `look` is called before this returns, with `search` as its last argument.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    (search.unloads, search.place)
}

struct Search {
    pc: u64,
    unloads: u64,
    place: Option<Place>,
}

/// # Safety
/// Only `dl_iterate_phdr` calls it, for `find`.
unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    size: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `find` passes this, and has no other reference meanwhile.
    let search = unsafe { &mut *search.cast::<Search>() };
    // SAFETY: the loader's description of a loaded object.
    let info = unsafe { &*info };
    if size >= offset_of!(libc::dl_phdr_info, dlpi_subs) + size_of_val(&info.dlpi_subs) {
        search.unloads = info.dlpi_subs;
    }
    if search.pc == 0 {
        return 1;
    }
    // SAFETY: the object has so many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let image = Image {
        base: info.dlpi_addr,
        headers,
    };
    let Some(segment) = image.code_with(search.pc) else {
        return 0;
    };
    let path = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: a NUL-terminated string that lives as long as the object.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) };
        path.to_string_lossy().into_owned()
    };
    let (symbol, range) = image
        .symbol(search.pc, segment.clone())
        .unwrap_or((None, search.pc..search.pc + 1));
    search.place = Some(Place {
        path,
        symbol,
        range,
    });
    1
}

/// A loaded object. All that is read of it is inside of its segments.
struct Image<'a> {
    base: u64,
    headers: &'a [libc::Elf64_Phdr],
}

impl<'a> Image<'a> {
    fn segments(&self, flags: u32) -> impl Iterator<Item = Range<u64>> {
        let readable = self.headers.iter().filter(move |header| {
            header.p_type == libc::PT_LOAD && header.p_flags & flags == flags
        });
        readable.map(|header| self.range_of(header))
    }

    fn range_of(&self, header: &libc::Elf64_Phdr) -> Range<u64> {
        let start = self.base.wrapping_add(header.p_vaddr);
        start..start.saturating_add(header.p_memsz)
    }

    fn code_with(&self, pc: u64) -> Option<Range<u64>> {
        self.segments(libc::PF_X).find(|range| range.contains(&pc))
    }

    /// Memory of the object; `None` of what is not all in one readable segment.
    fn bytes(&self, start: u64, length: usize) -> Option<&'a [u8]> {
        let end = start.checked_add(length as u64)?;
        self.segments(libc::PF_R)
            .any(|range| range.start <= start && end <= range.end)
            // SAFETY: inside a readable segment of an object that is loaded, and stays so while the loader's lock is
            // held. Bytes of any value will do.
            .then(|| unsafe { std::slice::from_raw_parts(start as *const u8, length) })
    }

    /// What is there from `start` to the end of its segment, `most` bytes at most.
    fn bytes_up_to(&self, start: u64, most: usize) -> Option<&'a [u8]> {
        let segment = self
            .segments(libc::PF_R)
            .find(|range| range.contains(&start))?;
        let there = usize::try_from(segment.end - start).ok()?;
        self.bytes(start, there.min(most))
    }

    fn u32_at(&self, address: u64) -> Option<u32> {
        number(self.bytes(address, 4)?, 0)
    }

    /// The tables of the dynamic section, by their tags.
    fn table(&self, wanted: u64) -> Option<u64> {
        let header = self
            .headers
            .iter()
            .find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let range = self.range_of(header);
        let section = self.bytes(range.start, usize::try_from(range.end - range.start).ok()?)?;
        let value = section
            .chunks_exact(DYNAMIC_ENTRY)
            .map(|entry| (long(entry, 0), long(entry, 8)))
            .take_while(|(tag, _)| *tag != 0)
            .find_map(|(tag, value)| (tag == wanted).then_some(value))?;
        // The loader adds the base in place, where it may write.
        Some(if value < self.base {
            self.base.wrapping_add(value)
        } else {
            value
        })
    }

    /// How many symbols there are: what the hash tables know, as the section does not say.
    fn symbols(&self) -> Option<usize> {
        let count = if let Some(hash) = self.table(tag::HASH) {
            self.u32_at(hash.checked_add(4)?)?
        } else {
            self.hashed(self.table(tag::GNU_HASH)?)?
        };
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= SYMBOLS)
    }

    /// One more than the greatest index in a GNU hash table: the end of the chain of the greatest bucket.
    fn hashed(&self, table: u64) -> Option<u32> {
        let header = self.bytes(table, 16)?;
        let (buckets, first, filters) =
            (number(header, 0)?, number(header, 4)?, number(header, 8)?);
        let buckets_at = table
            .checked_add(16)?
            .checked_add(u64::from(filters).checked_mul(8)?)?;
        let length = usize::try_from(buckets).ok()?.checked_mul(4)?;
        let greatest = self
            .bytes(buckets_at, length)?
            .chunks_exact(4)
            .filter_map(|bucket| number(bucket, 0))
            .max()?;
        if greatest < first {
            return Some(first);
        }
        let chains = buckets_at.checked_add(length as u64)?;
        let mut last = greatest;
        while self.u32_at(chains.checked_add(u64::from(last - first).checked_mul(4)?)?)? & 1 == 0 {
            last = last.checked_add(1)?;
        }
        last.checked_add(1)
    }

    /// The function that contains `pc`, and the addresses up to the next ones in `segment`.
    fn symbol(&self, pc: u64, segment: Range<u64>) -> Option<(Option<String>, Range<u64>)> {
        let table = self.table(tag::SYMBOLS)?;
        let strings = self.table(tag::STRINGS)?;
        let bytes = self.symbols()?.checked_mul(SYMBOL_ENTRY)?;
        let mut best: Option<(&[u8], Range<u64>)> = None;
        let mut gap = segment;
        for entry in self.bytes(table, bytes)?.chunks_exact(SYMBOL_ENTRY) {
            // name (4), type and binding (1), visibility (1), section (2), value (8), size (8)
            let is_defined = entry[6] != 0 || entry[7] != 0;
            if entry[4] & 0xF != FUNCTION || !is_defined {
                continue;
            }
            let start = self.base.wrapping_add(long(entry, 8));
            let end = start.saturating_add(long(entry, 16));
            if !(start..end).contains(&pc) {
                if end <= pc {
                    gap.start = gap.start.max(end);
                } else if start > pc {
                    gap.end = gap.end.min(start);
                }
                continue;
            }
            let name = self.bytes_up_to(strings.checked_add(number(entry, 0)?.into())?, NAME)?;
            let name = name.split(|byte| *byte == 0).next()?;
            // Of several names the plainest, and always the same: `read`, not `__read`.
            if best
                .as_ref()
                .is_none_or(|(other, _)| rank(name) < rank(other))
            {
                best = Some((name, start..end));
            }
        }
        Some(match best {
            Some((name, range)) => (Some(String::from_utf8_lossy(name).into_owned()), range),
            None => (None, gap),
        })
    }
}

fn rank(name: &[u8]) -> (bool, usize, &[u8]) {
    (name.starts_with(b"_"), name.len(), name)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Of an entry that has been cut to its size.
fn long(entry: &[u8], at: usize) -> u64 {
    entry
        .get(at..at + 8)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

/// Held by tests that name native code, and by the one that unloads a library.
#[cfg(test)]
pub static LOADING: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    fn at(function: *const c_void, ahead: u64) -> Place {
        find(function as u64 + ahead).1.unwrap()
    }

    #[test]
    fn an_exported_function_is_named_by_all_of_its_code_and_by_nothing_behind_it() {
        let function = libc::strtol as *const c_void;
        let place = at(function, 0);
        assert!(place.path.contains("libc.so"), "{place:?}");
        let name = place.symbol.clone().unwrap();
        assert!(name.contains("strtol"), "{name}");
        assert_eq!(place.range.start, function as u64);
        assert_eq!(at(function, place.range.end - place.range.start - 1), place);
        let behind = at(function, place.range.end - place.range.start);
        assert_ne!(behind.symbol, place.symbol);
    }

    #[test]
    fn what_lies_between_two_symbols_has_the_librarys_name_alone_and_is_a_gap_as_a_whole() {
        // Most of the C library's functions are its own.
        let start = libc::strtol as *const () as u64;
        let hidden = (0..4_096)
            .map(|step| start + step * 16)
            .find_map(|pc| find(pc).1.filter(|place| place.symbol.is_none()))
            .unwrap();
        for pc in [hidden.range.start, hidden.range.end - 1] {
            assert_eq!(find(pc).1.unwrap(), hidden);
        }
    }

    #[test]
    fn no_library_is_where_there_is_no_code() {
        let on_stack = 0_u8;
        for pc in [1, &raw const on_stack as u64, u64::MAX] {
            assert_eq!(find(pc).1, None);
        }
    }

    #[test]
    fn unloads_are_counted_when_a_library_goes() {
        let _alone = LOADING.lock();
        let before = unloads();
        assert_eq!(before, find(libc::strtol as *const () as u64).0);
        // One that nothing else here has.
        // SAFETY: a library of the C library's own, without constructors of note.
        let handle = unsafe { libc::dlopen(c"libBrokenLocale.so.1".as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            eprintln!("SKIPPED: no library to load");
            return;
        }
        assert_eq!(unloads(), before);
        // SAFETY: the handle is the one just made.
        unsafe { libc::dlclose(handle) };
        assert_eq!(unloads(), before + 1);
    }
}
