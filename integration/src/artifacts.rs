//! What is under test and what it is tested with. Paths can be set from outside, so that a packed
//! `dist/` can be tested as well as a build tree.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The root of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The agent: `VTPROF_AGENT`, else the release build.
///
/// # Errors
/// There is none; the message says how to build it.
pub fn agent() -> Result<PathBuf> {
    release("VTPROF_AGENT", "libvtprof.so")
}

/// The command line tool: `VTPROF_TOOL`, else the release build.
///
/// # Errors
/// There is none; the message says how to build it.
pub fn tool() -> Result<PathBuf> {
    release("VTPROF_TOOL", "vtprof")
}

fn release(variable: &str, name: &str) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository().join("target"), PathBuf::from);
    let file = target.join("release").join(name);
    existing(variable, file, "cargo build --release")
}

/// The shim: `VTPROF_SHIM`, else Maven's build.
///
/// # Errors
/// There is none.
pub fn shim() -> Result<PathBuf> {
    existing(
        "VTPROF_SHIM",
        repository().join("java-shim/target/vtprof-otel.jar"),
        "mvn -f java-shim package",
    )
}

/// An extension of the javaagent that is somebody else's.
///
/// # Errors
/// There is none.
pub fn other_extension() -> Result<PathBuf> {
    java_build(
        "other-extension/target/other-extension.jar",
        "mvn -f integration/java package",
    )
}

/// Copies agent and shim side by side into `dir`, as a user has them, and returns the agent's path.
///
/// # Errors
/// One of them is missing, or cannot be copied.
pub fn install(dir: &Path) -> Result<PathBuf> {
    let folder = dir.join("vtprof-dist");
    std::fs::create_dir_all(&folder)?;
    let installed = folder.join("libvtprof.so");
    std::fs::copy(agent()?, &installed)?;
    std::fs::copy(shim()?, folder.join("vtprof-otel.jar"))?;
    Ok(installed)
}

/// The program that knows the truth.
///
/// # Errors
/// There is none.
pub fn truth_program() -> Result<PathBuf> {
    java_build("truth/target/truth.jar", "mvn -f integration/java package")
}

/// A copy of it in `dir`, for a JVM that may not see where it lies.
///
/// # Errors
/// There is none, or it cannot be copied.
pub fn truth_program_in(dir: &Path) -> Result<PathBuf> {
    let copy = dir.join("truth.jar");
    fs::copy(truth_program()?, &copy)?;
    Ok(copy)
}

/// The OpenTelemetry javaagent that Maven fetched.
///
/// # Errors
/// There is none.
pub fn javaagent() -> Result<PathBuf> {
    existing(
        "VTPROF_OTEL_JAVAAGENT",
        repository().join("integration/java/truth/target/otel/opentelemetry-javaagent.jar"),
        "mvn -f integration/java package",
    )
}

/// The library of async-profiler that Maven fetched.
///
/// # Errors
/// There is none, or none for this architecture.
pub fn async_profiler() -> Result<PathBuf> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    java_build(
        &format!("truth/target/async-profiler/linux-{architecture}/libasyncProfiler.so"),
        "mvn -f integration/java package",
    )
}

/// The Helidon service.
///
/// # Errors
/// There is none.
pub fn helidon_demo() -> Result<PathBuf> {
    java_build(
        "helidon-demo/target/helidon-demo.jar",
        "mvn -f integration/java package with a JDK from 21 on",
    )
}

fn java_build(path: &str, how: &str) -> Result<PathBuf> {
    existing("", repository().join("integration/java").join(path), how)
}

/// The file an environment variable names, else the default one, when it exists. Absolute: the
/// programs run elsewhere.
fn existing(variable: &str, default: PathBuf, how: &str) -> Result<PathBuf> {
    let path = match variable {
        "" => default,
        name => std::env::var_os(name).map_or(default, PathBuf::from),
    };
    match std::path::absolute(&path) {
        Ok(absolute) if absolute.is_file() => Ok(absolute),
        _ => bail!("{} is missing; build it: {how}", path.display()),
    }
}
