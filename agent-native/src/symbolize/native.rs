//! Names of native code by address: symbol and library, or the library alone, or `[native]`.
//!
//! A name is given only where the library that is there now was there when the sample was taken: none has been unloaded
//! since the last samples but these were read. Otherwise another may have its addresses by now.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::loaded::{self, Place};
use super::symbolizer::Function;

/// Native code of which nothing is known: in no library, or in one that may be gone.
pub const NATIVE: &str = "[native]";
/// The kernel's code in user space: clocks.
const KERNELS: &str = "[vdso]";
/// Where the program itself is, in the loader's list, there is no name.
const PROGRAM: &str = "/proc/self/exe";
/// Ranges remembered; where there are more, all are forgotten.
const RANGES: usize = 20_000;
/// Characters of a name, at most: those of C++ templates have no bound of their own.
const NAME: usize = 200;

/// See the module. Used by the drain thread alone.
pub struct NativeCode {
    /// By the range's start: its end, and what it is called.
    known: BTreeMap<u64, (u64, Arc<Function>)>,
    /// Libraries unloaded when what is known was looked up.
    known_at: u64,
    /// The same before the batch before this one was read, and before this one was.
    before: u64,
    latest: u64,
    is_sure: bool,
    nothing: Arc<Function>,
}

impl NativeCode {
    /// Nothing known yet.
    pub fn new() -> Self {
        let unloads = loaded::unloads();
        Self {
            known: BTreeMap::new(),
            known_at: unloads,
            before: unloads,
            latest: unloads,
            is_sure: true,
            nothing: function(NATIVE, ""),
        }
    }

    /// Samples are about to be read. They were taken after this was last called.
    pub fn before_batch(&mut self) {
        self.before = std::mem::replace(&mut self.latest, loaded::unloads());
    }

    /// They have been read, and are about to be named.
    pub fn after_batch(&mut self) {
        let now = loaded::unloads();
        self.is_sure = now == self.before;
        if self.known_at != now {
            self.known.clear();
            self.known_at = now;
        }
    }

    /// The code at `pc`.
    pub fn at(&mut self, pc: u64) -> Arc<Function> {
        if !self.is_sure {
            return Arc::clone(&self.nothing);
        }
        let range = self.known.range(..=pc).next_back();
        if let Some((_, (end, function))) = range
            && pc < *end
        {
            return Arc::clone(function);
        }
        let (unloads, place) = loaded::find(pc);
        let Some(place) = place.filter(|_| unloads == self.known_at) else {
            return Arc::clone(&self.nothing);
        };
        let function = named(&place);
        if self.known.len() >= RANGES {
            self.known.clear();
        }
        self.known
            .insert(place.range.start, (place.range.end, Arc::clone(&function)));
        function
    }
}

fn function(name: &str, file: &str) -> Arc<Function> {
    Arc::new(Function {
        name: name.to_owned(),
        file: file.to_owned(),
    })
}

fn named(place: &Place) -> Arc<Function> {
    let file_name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let library = if place.path.is_empty() {
        std::fs::read_link(PROGRAM)
            .ok()
            .and_then(|path| file_name(&path))
    } else {
        file_name(Path::new(&place.path))
    };
    match (library, &place.symbol) {
        (Some(library), _) if library.starts_with("linux-vdso") => function(KERNELS, ""),
        (Some(library), Some(symbol)) => function(&demangled(symbol), &library),
        (Some(library), None) => function(&format!("[{library}]"), &library),
        (None, _) => function(NATIVE, ""),
    }
}

/// As the name is written in its language, without parameters; as it is where it is not mangled.
fn demangled(symbol: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let name = if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        format!("{name:#}")
    } else if symbol.starts_with("_Z")
        && let Ok(name) = cpp_demangle::Symbol::new(symbol)
        && let Ok(name) = name.demangle_with_options(&options)
    {
        name
    } else {
        symbol.to_owned()
    };
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolize::loaded::LOADING;

    #[test]
    fn names_are_those_of_the_language() {
        for (symbol, name) in [
            ("Java_java_util_zip_CRC32_updateBytes0", None),
            (
                "_ZN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEED0Ev",
                Some("__gnu_cxx::stdio_filebuf<char, std::char_traits<char> >::~stdio_filebuf"),
            ),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                Some("std::vector<int, std::allocator<int> >::push_back"),
            ),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                Some("core::fmt::Write::write_fmt"),
            ),
            ("_Znonsense", None),
            ("deflate", None),
        ] {
            assert_eq!(demangled(symbol), name.unwrap_or(symbol));
        }
        let long = "x".repeat(300);
        assert_eq!(demangled(&long).chars().count(), NAME + 1);
    }

    #[test]
    fn a_function_is_named_with_its_library_and_remembered_by_its_range() {
        let _alone = LOADING.lock();
        let mut code = NativeCode::new();
        let pc = libc::strtol as *const () as u64;
        let first = code.at(pc);
        assert!(first.name.contains("strtol"), "{first:?}");
        assert!(first.file.starts_with("libc.so"), "{first:?}");
        assert!(Arc::ptr_eq(&first, &code.at(pc + 1)));
        assert_eq!(code.known.len(), 1);
        assert_eq!(code.at(8).name, NATIVE);
    }

    #[test]
    fn the_programs_own_code_is_known_by_its_file_and_the_kernels_as_such() {
        let here = named(&Place {
            path: String::new(),
            symbol: None,
            range: 0..1,
        });
        assert!(here.name.starts_with("[vtprof"), "{here:?}");
        let clocks = named(&Place {
            path: "linux-vdso.so.1".into(),
            symbol: Some("__vdso_gettimeofday".into()),
            range: 0..1,
        });
        assert_eq!(clocks.name, KERNELS);
    }

    #[test]
    fn nothing_is_named_while_a_library_may_have_gone_since_the_samples_were_taken() {
        let _alone = LOADING.lock();
        let mut code = NativeCode::new();
        let pc = libc::strtol as *const () as u64;
        let name = |code: &mut NativeCode| code.at(pc).name.contains("strtol");
        let batch = |code: &mut NativeCode| {
            code.before_batch();
            code.after_batch();
        };
        batch(&mut code);
        assert!(name(&mut code));
        // As if one had been unloaded between the last two looks, and so before or after these samples.
        code.latest = code.latest.wrapping_sub(1);
        code.known_at = code.latest;
        batch(&mut code);
        assert!(!name(&mut code));
        assert!(code.known.is_empty());
        batch(&mut code);
        assert!(name(&mut code));
    }
}
