//! Where a thread of another process has `otel_thread_ctx_v1`, found as OTEP 4947 says: the symbol in the library's table
//! of dynamic symbols, its TLS descriptor, the thread pointer.

use anyhow::{Context, Result, ensure};
use object::elf::{R_X86_64_TLSDESC, STT_TLS};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolFlags};

use crate::outside::Process;

const NAME: &str = "otel_thread_ctx_v1";

/// How the variable is reached from a thread pointer, in one process.
#[derive(Clone, Copy, Debug)]
pub enum Variable {
    /// So many bytes from it, as the library's part of each thread was made with the thread.
    Static(i64),
    /// By the thread's vector of such parts: which one, and how far in it.
    Dynamic { module: u64, offset: u64 },
}

impl Variable {
    /// Looks it up.
    pub fn find(process: Process) -> Result<Variable> {
        let (base, path) = process.library("libvtprof.so")?;
        let bytes = std::fs::read(&path)?;
        let file: ElfFile64 = ElfFile64::parse(bytes.as_slice())?;
        let symbol = file
            .dynamic_symbols()
            .find(|symbol| symbol.name() == Ok(NAME))
            .context("no such dynamic symbol")?;
        ensure!(
            matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info & 0xf == STT_TLS),
            "{NAME} is no thread-local"
        );
        let descriptor =
            file.dynamic_relocations()
                .context("no relocations")?
                .find(|(_, relocation)| {
                    relocation.target() == RelocationTarget::Symbol(symbol.index())
                        && relocation.flags()
                            == RelocationFlags::Elf {
                                r_type: R_X86_64_TLSDESC,
                            }
                });
        let (descriptor, _) = descriptor.context("no TLS descriptor")?;
        // A function, and what it is given.
        let argument = process.word(base + descriptor + 8)?;
        let distance = argument.cast_signed();
        if distance < 0 {
            return Ok(Variable::Static(distance));
        }
        Ok(Variable::Dynamic {
            module: process.word(argument)?,
            offset: process.word(argument + 8)?,
        })
    }

    /// What the thread with that thread pointer has in it; 0 for nothing.
    pub fn of_thread(self, process: Process, thread_pointer: u64) -> Result<u64> {
        match self {
            Variable::Static(distance) => {
                process.word(thread_pointer.wrapping_add_signed(distance))
            }
            Variable::Dynamic { module, offset } => {
                let vector = process.word(thread_pointer + 8)?;
                let part = process.word(vector + 16 * module)?;
                // The thread has never touched it.
                if part == u64::MAX {
                    return Ok(0);
                }
                process.word(part + offset)
            }
        }
    }
}
