//! From an entry point to a running session, in the order the JVM allows.
//!
//! | when | what |
//! |---|---|
//! | OnLoad | options, output directory, capabilities, events |
//! | VMStart | the shim is handed to the OTel javaagent |
//! | VMInit (or OnAttach, at once) | the session: layout, threads, signal, drain |
//!
//! Whatever goes wrong is one line on stderr, and the application runs on, unprofiled.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use jni_sys::JavaVM;
use once_cell::sync::OnceCell;
use vtprof_profile::kind::Kind;

use crate::control::{self, ControlError};
use crate::export::directory::Directory;
use crate::jvm::allocations;
use crate::jvm::callbacks;
use crate::jvm::classes::Classes;
use crate::jvm::collections;
use crate::jvm::contention;
use crate::jvm::entering;
use crate::jvm::extension;
use crate::jvm::jni::{Jni, JniError};
use crate::jvm::jvmti::{Capability, Jvmti, JvmtiError};
use crate::jvm::library::Library;
use crate::jvm::parks;
use crate::jvm::shim::Shims;
use crate::jvm::support::Jvm;
use crate::jvm::vm::Vm;
use crate::jvm::vmstructs::VmStructs;
use crate::log;
use crate::options::control as request;
use crate::options::value::spelled;
use crate::options::{OptionError, Options, layers};
use crate::sampling::signal::SignalError;
use crate::session::{self, Session};

/// Why the application runs unprofiled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Options(#[from] OptionError),
    #[error("{0}")]
    Control(#[from] ControlError),
    #[error("the option string is not UTF-8: write it in UTF-8")]
    NotUtf8,
    #[error("{jvm} is not supported: {reason}")]
    Unsupported { jvm: String, reason: String },
    #[error("cannot write to {}: {error}; name another directory with out=DIR", path.display())]
    Directory {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("context=sample needs JDK 24 or later, this is {0}: use context=auto or context=mount")]
    NoOwnerId(String),
    #[error("vtprof is in this JVM already: this second one is ignored, the first goes on")]
    Twice,
    #[error("the JVM gives no JVMTI 11 environment")]
    NoJvmti,
    #[error("{0}")]
    Jvmti(#[from] JvmtiError),
    #[error("{0}")]
    Jni(#[from] JniError),
    #[error("{0}")]
    Signal(#[from] SignalError),
    #[error("out=off without push= leaves no place for profiles: give one of the two")]
    Nowhere,
    #[error("{0}")]
    Push(String),
    #[error("the thread {0} could not be started")]
    Thread(&'static str),
}

/// What OnLoad leaves to VMInit.
pub struct Prepared {
    /// Whether the VM was live already: attached, not loaded.
    pub late: bool,
    pub vm: Vm,
    pub jvmti: Jvmti,
    pub jvm: Jvm,
    pub library: Option<Library>,
    pub options: Options,
    pub directory: Directory,
    pub jar: Option<PathBuf>,
    pub shims: Shims,
    pub classes: Classes,
}

// SAFETY: handles of the VM and its library, which may be used from any thread.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

static PREPARED: OnceCell<Prepared> = OnceCell::new();
/// Whether an agent of this library has begun. SeqCst: once for a process.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// What OnLoad prepared.
pub fn prepared() -> Option<&'static Prepared> {
    PREPARED.get()
}

/// OnLoad: prepares; the rest comes with VMInit.
///
/// # Safety
/// The arguments are those of `Agent_OnLoad`.
pub unsafe fn on_load(vm: *mut JavaVM, options: *const c_char) -> Result<(), StartError> {
    // SAFETY: as the caller promises.
    unsafe { prepare(vm, options) }?;
    Ok(())
}

/// OnAttach: prepares and starts at once, or asks something of the session that is there.
///
/// # Safety
/// The arguments are those of `Agent_OnAttach`.
pub unsafe fn on_attach(vm: *mut JavaVM, options: *const c_char) -> Result<(), StartError> {
    // SAFETY: as the caller promises.
    let string = unsafe { option_string(options) }?;
    if let Some(control) = request::read(string).map_err(ControlError::from)? {
        // SAFETY: `vm` is the entry point's.
        control::obey(unsafe { Vm::new(vm) }, control)?;
        return Ok(());
    }
    // SAFETY: as the caller promises.
    let prepared = unsafe { prepare(vm, options) }?;
    let jni = prepared.vm.env().ok_or(StartError::NoJvmti)?;
    jni.with_frame(|| live(prepared, jni))
}

/// # Safety
/// The arguments are those of an agent entry point.
unsafe fn prepare(
    vm: *mut JavaVM,
    options: *const c_char,
) -> Result<&'static Prepared, StartError> {
    if BEGUN.swap(true, Ordering::SeqCst) {
        return Err(StartError::Twice);
    }
    // SAFETY: as the caller promises.
    unsafe { prepare_first(vm, options) }.inspect_err(|_| {
        // Nothing was begun: a second try with better options may.
        BEGUN.store(false, Ordering::SeqCst);
    })
}

/// # Safety
/// The arguments are those of an agent entry point.
unsafe fn prepare_first(
    raw_vm: *mut JavaVM,
    options: *const c_char,
) -> Result<&'static Prepared, StartError> {
    // SAFETY: as the caller promises.
    let string = unsafe { option_string(options) }?;
    let environment = std::env::var("VTPROF_OPTS").unwrap_or_default();
    let mut options = layers::read(string, &environment)?;
    log::set_level(options.log);

    // SAFETY: `vm` is the entry point's.
    let (vm, jvmti) = unsafe {
        (
            Vm::new(raw_vm),
            Jvmti::new(raw_vm).ok_or(StartError::NoJvmti)?,
        )
    };
    let library = Library::containing(jvmti.library_address());
    let jvm = Jvm::inspect(jvmti, library)?;
    let directory = match &options.out {
        None if options.push.to.is_empty() => return Err(StartError::Nowhere),
        None => Directory::off(),
        Some(path) => Directory::open(path).map_err(|error| StartError::Directory {
            path: path.clone(),
            error,
        })?,
    };
    let mut capabilities = vec![Capability::GetSourceFileName, Capability::GetLineNumbers];
    if options.uses_signals() {
        capabilities.push(Capability::GenerateCompiledMethodLoadEvents);
    }
    if jvm.has_virtual_threads() {
        capabilities.push(Capability::SupportVirtualThreads);
    }
    jvmti.add_capabilities(&capabilities)?;
    if options.live.is_some() && options.alloc.is_none() {
        log::warn(
            "live= does nothing without alloc=: objects in use are those of sampled allocations; give alloc=512k beside it",
        );
    }
    if let Some(interval) = options.alloc
        && let Err(error) = allocations::prepare(jvmti, interval)
    {
        log::warn(&format!(
            "alloc={interval}: allocations are not profiled, this JVM does not let them be sampled ({error}): leave the option out"
        ));
        options.alloc = None;
    }
    if let Some(period) = options.lock
        && let Err(error) = contention::prepare(jvmti)
    {
        log::warn(&format!(
            "lock={}: waits for locks are not profiled, this JVM does not tell of them ({error}): leave the option out",
            spelled(period)
        ));
        options.lock = None;
    }
    // An AOT cache is given up by HotSpot where somebody asks for an early VMStart (`filemap.cpp`, JDK 24+), which is worse.
    let has_aot_cache = || {
        let structs = library.and_then(VmStructs::of);
        structs.is_some_and(|structs| structs.has_text("AOTCache"))
    };
    if options.lock.is_some() && !jvmti.is_live() && !has_aot_cache() {
        // SAFETY: `raw_vm` is the entry point's, and this is OnLoad.
        let watched = unsafe { parks::prepare(raw_vm) };
        if let Err(error) = watched {
            log::debug(&format!("Unsafe.park is not watched: {error}"));
        }
    }
    if options.blocked.is_some()
        && let Err(error) = collections::prepare(jvmti)
    {
        log::warn(&format!(
            "blocked: stops of the world are not told from other waits, this JVM does not tell of its collections ({error})"
        ));
    }
    if (options.wall.is_some() || options.blocked.is_some())
        && let Err(error) = entering::prepare(jvmti)
    {
        log::warn(&format!(
            "wall and blocked: waits for monitors may lack their stacks, this JVM does not tell of them ({error})"
        ));
    }
    let jar = if options.shim { extension::jar() } else { None };
    if options.shim && jar.is_none() {
        log::warn(&format!(
            "{} is not beside the agent's library: samples stay untagged unless it is loaded by other means (shim=off silences this)",
            extension::JAR
        ));
    }
    let prepared = PREPARED.get_or_init(|| Prepared {
        late: jvmti.is_live(),
        vm,
        jvmti,
        jvm,
        library,
        options,
        directory,
        jar,
        shims: Shims::default(),
        classes: Classes::default(),
    });
    callbacks::enable(jvmti, prepared.options.uses_signals())?;
    Ok(prepared)
}

/// # Safety
/// `options` is an agent entry point's: null or a NUL-terminated string.
unsafe fn option_string<'a>(options: *const c_char) -> Result<&'a str, StartError> {
    // SAFETY: as the caller promises.
    let string = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) });
    string
        .map_or(Ok(""), CStr::to_str)
        .map_err(|_| StartError::NotUtf8)
}

/// The VM is live: makes the session and starts it.
pub fn live(prepared: &'static Prepared, jni: Jni) -> Result<(), StartError> {
    let is_on = |kind: &Kind| prepared.options.period(*kind).is_some();
    if !Kind::ALL.iter().any(is_on) {
        if prepared.options.publish_context {
            log::warn(
                "publish_context=on does nothing where nothing is profiled: give cpu= or another kind beside it",
            );
        }
        log::info("cpu=off: nothing is profiled");
        prepared.classes.close(jni);
        return Ok(());
    }
    let session = crate::twin::claim(jni)
        .and_then(|()| Session::start(prepared, jni))
        .inspect_err(|_| prepared.classes.close(jni))?;
    if session.is_late() {
        callbacks::adopt_loaded_shims(session, jni);
    }
    Ok(())
}

/// Reports an error in one line.
pub fn report(error: &StartError) {
    let outcome = match error {
        StartError::Twice | StartError::Control(_) => "",
        _ if session::get().is_some() => "",
        _ => "; the application runs on, unprofiled",
    };
    log::error(&format!("{error}{outcome}"));
}

/// The VM ends, or the library is taken out.
pub fn stop() {
    if let Some(session) = session::get() {
        session.stop();
        if let Some(delivery) = &session.delivery {
            delivery.finish();
        }
    }
}
