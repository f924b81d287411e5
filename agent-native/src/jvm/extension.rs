//! Handing the shim to the OTel javaagent: its setting `otel.javaagent.extensions`, without the user's doing.
//!
//! As a system property set at VM_START: Java's properties exist by then and no `premain` has run, whatever
//! the order of the flags (`Threads::create_vm` in `src/hotspot/share/runtime/threads.cpp` posts VM_START
//! after `initPhase1` and VM_INIT, on which `premain` hangs, after `initPhase3`). Not through the
//! environment: child processes would inherit it, also by way of Java's own copy.

use std::path::{Path, PathBuf};

use super::jni::Jni;
use super::{library, properties};
use crate::log;

const PROPERTY: &str = "otel.javaagent.extensions";
const VARIABLE: &str = "OTEL_JAVAAGENT_EXTENSIONS";
const FILE_PROPERTY: &str = "otel.javaagent.configuration-file";
const FILE_VARIABLE: &str = "OTEL_JAVAAGENT_CONFIGURATION_FILE";
/// File name of the shim.
pub const JAR: &str = "vtprof-otel.jar";

/// `vtprof-otel.jar` beside the library this code is in.
pub fn jar() -> Option<PathBuf> {
    let library = library::path_of(jar as *const () as *const _)?;
    let jar = library.canonicalize().ok()?.with_file_name(JAR);
    jar.is_file().then_some(jar)
}

/// Adds the jar to the setting, keeping what the user set, wherever they set it.
pub fn install(jni: Jni, jar: &Path) {
    let property = |name| {
        properties::get(jni, name).unwrap_or_else(|error| {
            log::debug(&format!("system property {name}: {error}"));
            None
        })
    };
    let given = property(PROPERTY)
        .or_else(|| std::env::var(VARIABLE).ok())
        .or_else(|| {
            let file = property(FILE_PROPERTY).or_else(|| std::env::var(FILE_VARIABLE).ok())?;
            from_properties(&std::fs::read_to_string(file).ok()?)
        });
    let Some(value) = with_jar(given.as_deref(), jar) else {
        log::debug(&format!("{JAR} is in {PROPERTY} already"));
        return;
    };
    match properties::set(jni, PROPERTY, &value) {
        Ok(()) => log::debug(&format!("{PROPERTY}={value}")),
        Err(error) => log::warn(&format!(
            "{PROPERTY} could not be set ({error}): spans stay unknown unless -D{PROPERTY}={} is given",
            jar.display()
        )),
    }
}

/// The new value, or `None` when the jar is named already.
fn with_jar(given: Option<&str>, jar: &Path) -> Option<String> {
    let given: Vec<_> = given
        .unwrap_or("")
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .collect();
    let named = given.iter().any(|entry| {
        let entry = Path::new(entry);
        // A whole folder of extensions may hold it too.
        entry.file_name().is_some_and(|name| name == JAR) || entry.join(JAR).is_file()
    });
    if named {
        return None;
    }
    let jar = jar.display().to_string();
    Some(
        given
            .into_iter()
            .chain([jar.as_str()])
            .collect::<Vec<_>>()
            .join(","),
    )
}

/// The setting in a `.properties` file (`java.util.Properties`): a path needs neither escapes nor
/// continuation lines there, so a line is looked for, and no more.
fn from_properties(text: &str) -> Option<String> {
    text.lines().rev().find_map(|line| {
        let rest = line.trim_start().strip_prefix(PROPERTY)?;
        let value = rest.trim_start().strip_prefix(['=', ':'])?;
        Some(value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_set_is_kept_and_the_jar_is_added_once() {
        let jar = Path::new("/opt/vtprof/vtprof-otel.jar");
        assert_eq!(
            with_jar(None, jar).as_deref(),
            Some("/opt/vtprof/vtprof-otel.jar")
        );
        assert_eq!(
            with_jar(Some(" /a/x.jar , /b/"), jar).as_deref(),
            Some("/a/x.jar,/b/,/opt/vtprof/vtprof-otel.jar")
        );
        assert_eq!(
            with_jar(Some("/a/x.jar,/elsewhere/vtprof-otel.jar"), jar),
            None
        );
    }

    #[test]
    fn a_configuration_file_is_read_as_properties_are() {
        let text = "# otel.javaagent.extensions=/no.jar\notel.service.name=x\n otel.javaagent.extensions : /a.jar \n";
        assert_eq!(from_properties(text).as_deref(), Some("/a.jar"));
        assert_eq!(from_properties("otel.javaagent.extensions.more=1"), None);
    }
}
