//! What sort of code a frame is, by its name: what it is coloured by.

use crate::text::NO_STACK;

/// Sorts of frames; the page has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameClass {
    /// Code of the service and of its libraries.
    Application = 0,
    /// The runtime's own library: `java.*`, Go's `runtime.*`.
    Platform = 1,
    /// Native code.
    Native = 2,
    /// Threads and states of the virtual machine.
    Machine = 3,
    /// No frame, but why there is none: `[truncated: …]`, `[failed: …]`.
    Broken = 4,
}

const BROKEN: [&str; 2] = ["[truncated", "[failed"];
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
const GO: [&str; 3] = ["runtime.", "syscall.", "internal/"];
const STATES: [&str; 3] = ["[gc pause]", "[still blocked]", NO_STACK];

impl FrameClass {
    /// The sort of the function of that name in that source file (`""` where it is not known).
    pub fn of(name: &str, file: &str) -> Self {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if begins(&BROKEN) {
            return FrameClass::Broken;
        }
        if name.starts_with('[') {
            return if STATES.contains(&name) {
                FrameClass::Machine
            } else {
                FrameClass::Native
            };
        }
        // The leaf of an allocation may be an array of a primitive type.
        if begins(&JDK) || begins(&["java/", "jdk/", "sun/"]) || name.ends_with("[]") {
            return FrameClass::Platform;
        }
        if file.ends_with(".go") {
            return if begins(&GO) {
                FrameClass::Platform
            } else {
                FrameClass::Application
            };
        }
        if file.is_empty() && (name.contains(" Thread") || name.ends_with("CompilerThread")) {
            return FrameClass::Machine;
        }
        let is_library = file.ends_with(".so") || file.contains(".so.") || file.starts_with('[');
        if is_library || name.contains("::") || !name.contains(['.', '/']) {
            return FrameClass::Native;
        }
        FrameClass::Application
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_java_of_native_code_and_of_what_failed_are_told_apart() {
        for (name, file, class) in [
            ("com.shop.Cart.total", "Cart.java", FrameClass::Application),
            ("main.handle", "/src/main.go", FrameClass::Application),
            (
                "java.util.HashMap.get",
                "HashMap.java",
                FrameClass::Platform,
            ),
            ("java/lang/Thread.run", "", FrameClass::Platform),
            ("byte[]", "", FrameClass::Platform),
            ("runtime.mallocgc", "malloc.go", FrameClass::Platform),
            ("[libzip.so]", "libzip.so", FrameClass::Native),
            ("[stub: sha256_implCompress]", "", FrameClass::Native),
            ("memcpy", "libc.so.6", FrameClass::Native),
            ("G1CollectedHeap::collect", "", FrameClass::Native),
            ("GC Thread", "", FrameClass::Machine),
            ("C2 CompilerThread", "", FrameClass::Machine),
            ("[gc pause]", "", FrameClass::Machine),
            ("[truncated: depth]", "", FrameClass::Broken),
            ("[failed: unknown_java]", "", FrameClass::Broken),
        ] {
            assert_eq!(FrameClass::of(name, file), class, "{name}");
        }
    }
}
