//! System properties, through Java: JVMTI can change one but not make one.

use jni_sys::jvalue;

use super::jni::{Jni, Result};

/// Longest value read, in UTF-16 units.
const LONGEST: usize = 65_536;

/// `System.getProperty(name)`.
pub fn get(jni: Jni, name: &str) -> Result<Option<String>> {
    let system = jni.find_class("java/lang/System")?;
    let method = jni.static_method(
        system,
        "getProperty",
        "(Ljava/lang/String;)Ljava/lang/String;",
    )?;
    let name = jni.new_string(name)?;
    // SAFETY: the method takes one string and returns one.
    let value = unsafe {
        jni.call_static_object(system, method, &[jvalue { l: name }], "System.getProperty")
    }?;
    // SAFETY: what `getProperty` returns is null or a string.
    Ok(unsafe { jni.string(value, LONGEST) })
}

/// A variable of OpenTelemetry's as its own autoconfiguration finds it: the system property of that name before the variable
/// of the environment. `name` is the variable's.
pub fn otel(jni: Jni, name: &str) -> Option<String> {
    let property = name.to_ascii_lowercase().replace('_', ".");
    let property = get(jni, &property).ok().flatten();
    property.or_else(|| std::env::var(name).ok())
}

/// `System.setProperty(name, value)`.
pub fn set(jni: Jni, name: &str, value: &str) -> Result<()> {
    let system = jni.find_class("java/lang/System")?;
    let method = jni.static_method(
        system,
        "setProperty",
        "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;",
    )?;
    let arguments = [
        jvalue {
            l: jni.new_string(name)?,
        },
        jvalue {
            l: jni.new_string(value)?,
        },
    ];
    // SAFETY: the method takes two strings and returns one or null.
    unsafe { jni.call_static_object(system, method, &arguments, "System.setProperty") }?;
    Ok(())
}
