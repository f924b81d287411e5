//! What the service is called when no option says so: as OpenTelemetry calls it (its own variable goes before an attribute of
//! the resource, as in the specification of SDKs), else after the main class.

use vtprof_deliver::environment;

use crate::jvm::jni::Jni;
use crate::jvm::properties;

/// Name of last resort.
const UNKNOWN: &str = "java";

/// The service's name.
pub fn name(given: Option<&str>, jni: Jni) -> String {
    let property = |name| properties::get(jni, name).ok().flatten();
    let is_name = |name: &String| !name.trim().is_empty();
    given
        .map(str::to_owned)
        .filter(is_name)
        .or_else(|| properties::otel(jni, "OTEL_SERVICE_NAME").filter(is_name))
        .or_else(|| environment::service(&properties::otel(jni, "OTEL_RESOURCE_ATTRIBUTES")?))
        .or_else(|| property("sun.java.command").and_then(|command| from_command(&command)))
        .unwrap_or_else(|| UNKNOWN.to_owned())
}

/// `com.acme.Shop --port 1` → `Shop`; `/opt/shop-1.2.jar x` → `shop-1.2`; `mod/com.acme.Shop` → `Shop`.
fn from_command(command: &str) -> Option<String> {
    let first = command.split_whitespace().next()?;
    let last = first.rsplit('/').next()?;
    let name = match last.strip_suffix(".jar") {
        Some(stem) => stem,
        None => last.rsplit('.').next()?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::from_command;

    #[test]
    fn a_command_line_gives_the_main_class_or_the_jar() {
        for (command, name) in [
            ("com.acme.Shop --port 1", Some("Shop")),
            ("/opt/shop-1.2.jar x", Some("shop-1.2")),
            ("shop.mod/com.acme.Shop", Some("Shop")),
            ("Shop", Some("Shop")),
            ("", None),
        ] {
            assert_eq!(from_command(command).as_deref(), name, "{command}");
        }
    }
}
