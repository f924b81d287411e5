//! Where Rust and the JVM's headers meet: JVMTI bindings from the `jvmti.h` of the JDK at hand.
//!
//! Any JDK from 17 on will do. What later versions added (virtual threads: a capability bit, two events)
//! is named by number in `jvm::jvmti`, so that the library does not depend on which JDK built it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=JAVA_HOME");
    println!("cargo:rerun-if-changed=build.rs");
    export_thread_context();
    let Some(include) = find_include() else {
        panic!(
            "jvmti.h not found: set JAVA_HOME to a JDK 17 or later (looked in JAVA_HOME, the java on PATH and the usual places)"
        );
    };
    println!(
        "cargo:rerun-if-changed={}",
        include.join("jvmti.h").display()
    );
    let bindings = bindgen::Builder::default()
        .header(include.join("jvmti.h").display().to_string())
        .clang_arg(format!("-I{}", include.display()))
        .clang_arg(format!("-I{}", include.join("linux").display()))
        .allowlist_type("jvmti.*")
        .allowlist_var("JVMTI_.*")
        // The JNI types come from jni-sys.
        .blocklist_type("j(boolean|byte|char|short|int|long|float|double|size|object|class|throwable|string|array|weak|value|fieldID|methodID|objectRefType)")
        .blocklist_type("j(object|boolean|byte|char|short|int|long|float|double)Array|_j(object|fieldID|methodID)|JNI.*|JavaVM.*|.*va_list.*")
        .prepend_enum_name(false)
        .derive_default(true)
        .layout_tests(true)
        .generate_comments(false)
        .generate()
        .unwrap_or_else(|error| panic!("bindings from {}/jvmti.h: {error}", include.display()));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("jvmti.rs");
    bindings
        .write_to_file(&out)
        .unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// The thread-local that other processes find by its name. It is no item of Rust's, so rustc's own list of exports lacks
/// it; a second list takes lld, which is rustc's linker here (GNU ld takes one alone).
fn export_thread_context() {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let exports = root.join("agent-native/src/publish/exports.map");
    println!("cargo:rerun-if-changed={}", exports.display());
    println!(
        "cargo:rustc-cdylib-link-arg=-Wl,--version-script={}",
        exports.display()
    );
}

fn find_include() -> Option<PathBuf> {
    let mut homes = Vec::new();
    homes.extend(env::var_os("JAVA_HOME").map(PathBuf::from));
    homes.extend(home_of_java_on_path());
    for parent in ["/usr/lib/jvm", "/opt/java", "/usr/java"] {
        let mut found: Vec<_> = std::fs::read_dir(parent)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        found.sort();
        homes.extend(found);
    }
    homes
        .into_iter()
        .map(|home| home.join("include"))
        .find(|include| {
            include.join("jvmti.h").is_file() && include.join("linux/jni_md.h").is_file()
        })
}

fn home_of_java_on_path() -> Option<PathBuf> {
    let path = Command::new("sh")
        .args(["-c", "command -v javac || command -v java"])
        .output()
        .ok()?;
    let java = String::from_utf8(path.stdout).ok()?;
    let real = Path::new(java.trim()).canonicalize().ok()?;
    Some(real.parent()?.parent()?.to_path_buf())
}
