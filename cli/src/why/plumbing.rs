//! Which frames say nothing of what the application did: those by which any program waits, reads, copies and is traced.
//! The first frame from the leaf that is none of these is the one to name.

/// Beginnings of names.
const TABLE: &[&str] = &[
    // The JDK.
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    // Runtime libraries of other languages on the JVM.
    "kotlin.",
    "kotlinx.coroutines.",
    "scala.",
    "clojure.lang.",
    "groovy.lang.",
    "org.codehaus.groovy.runtime.",
    // What traces requests.
    "io.opentelemetry.",
    "io.vtprof.otel.",
    // Go's, in profiles of others.
    "runtime.",
    "syscall.",
    "internal/poll.",
    "sync.",
    // Stubs, libraries without symbols, what vtprof says of stacks.
    "[",
];

/// Threads of the VM, which are a single frame.
const THREADS: &[&str] = &["GC Thread", "G1 ", "ZWorker", "VM Thread", "C1 ", "C2 "];

/// Names the application's frames.
#[derive(Debug, Clone, Copy)]
pub struct Plumbing<'a> {
    /// Beginnings of the application's own names, where the user has said them.
    pub app: &'a [String],
}

impl Plumbing<'_> {
    /// Whether a frame is plumbing.
    pub fn is(self, name: &str) -> bool {
        if !self.app.is_empty() {
            return !self.app.iter().any(|begin| name.starts_with(begin));
        }
        // A C function, as native code has it: a Java method stands in a class.
        let is_native = !name.contains(['.', '/']);
        let mut begins = TABLE.iter().chain(THREADS);
        is_native || begins.any(|begin| name.starts_with(begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jdk_and_native_code_are_plumbing_and_what_is_named_alike_is_not() {
        let all = Plumbing { app: &[] };
        for name in [
            "java.util.concurrent.locks.LockSupport.park",
            "jdk.internal.misc.Unsafe.park",
            "sun.nio.ch.Net.poll",
            "[stub: sha]",
            "[libzip.so]",
            "deflate",
            "GC Thread",
            "io.vtprof.otel.Storage.attach",
        ] {
            assert!(all.is(name), "{name}");
        }
        for name in [
            "com.acme.Store.update",
            "javassist.Loader.load",
            "io.vtprof.truth.SlowFor.serialize",
            "sunny.Day.shine",
            "main.handle",
        ] {
            assert!(!all.is(name), "{name}");
        }
    }

    #[test]
    fn where_the_user_names_the_application_all_else_is_plumbing() {
        let app = ["com.acme.".to_owned()];
        let own = Plumbing { app: &app };
        assert!(own.is("com.fasterxml.jackson.databind.ObjectMapper.writeValue"));
        assert!(!own.is("com.acme.Store.update"));
    }
}
