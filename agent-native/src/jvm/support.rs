//! Which JVMs are supported: HotSpot from JDK 17 on. On any other one line says so.

use super::jvmti::Jvmti;
use super::library::Library;
use crate::start::StartError;
use vtprof_signal::walk::AsyncGetCallTrace;

/// Least major version.
const LEAST: u32 = 17;
/// First with virtual threads.
const VIRTUAL_THREADS: u32 = 21;

/// First with `Thread.threadId()`.
const FINAL_THREAD_IDS: u32 = 19;

/// First in which a virtual thread leaves its carrier to wait for a monitor (JEP 491).
const UNPINNED_MONITORS: u32 = 24;

/// What this JVM is.
#[derive(Clone, Debug)]
pub struct Jvm {
    /// Name and version, for people.
    pub name: String,
    /// Major version.
    pub major: u32,
    /// The stack walker.
    pub walker: AsyncGetCallTrace,
    /// See [`Jvm::has_early_identity_switch`].
    version: String,
}

impl Jvm {
    /// Looks at the JVM `jvmti` belongs to.
    ///
    /// # Errors
    /// When it is not supported.
    pub fn inspect(jvmti: Jvmti, library: Option<Library>) -> Result<Self, StartError> {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let vm_name = property("java.vm.name");
        let version = property("java.vm.version");
        let name = format!("{vm_name} {version}");
        let unsupported = |reason: &str| StartError::Unsupported {
            jvm: name.clone(),
            reason: reason.to_owned(),
        };
        if !vm_name.contains("HotSpot") && !vm_name.contains("OpenJDK") {
            return Err(unsupported("only HotSpot JVMs are"));
        }
        let major = major(&version).ok_or_else(|| unsupported("its version is not understood"))?;
        if major < LEAST {
            return Err(unsupported("JDK 17 or later is needed"));
        }
        let walker = library
            .and_then(|library| library.symbol(c"AsyncGetCallTrace"))
            .ok_or_else(|| unsupported("it exports no AsyncGetCallTrace"))?;
        // SAFETY: libjvm exports this symbol as a function of that type (forte.cpp).
        let walker: AsyncGetCallTrace = unsafe { std::mem::transmute(walker) };
        Ok(Self {
            name,
            major,
            walker,
            version,
        })
    }

    /// Whether it has virtual threads.
    #[must_use]
    pub fn has_virtual_threads(&self) -> bool {
        self.major >= VIRTUAL_THREADS
    }

    /// Whether it has `Thread.threadId()`, which nobody can override.
    #[must_use]
    pub fn has_final_thread_ids(&self) -> bool {
        self.major >= FINAL_THREAD_IDS
    }

    /// Whether a virtual thread that waits for a monitor keeps its carrier.
    #[must_use]
    pub fn pins_monitors(&self) -> bool {
        self.major < UNPINNED_MONITORS
    }

    /// 21 before 21.0.2 switches a thread's identity before it is frozen (JDK-8312777, JDK-8315373).
    #[must_use]
    pub fn has_early_identity_switch(&self) -> bool {
        let number = self.version.split(['+', '-']).next().unwrap_or("");
        matches!(number, "21" | "21.0.1")
    }
}

fn major(version: &str) -> Option<u32> {
    version.split(['.', '+', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_version_leads_whatever_follows() {
        assert_eq!(major("25.0.3+9-LTS"), Some(25));
        assert_eq!(major("17.0.15+6-Debian-1deb12u1"), Some(17));
        assert_eq!(major("27-ea+12-1"), Some(27));
        assert_eq!(major("21+35"), Some(21));
        assert_eq!(major("x"), None);
    }
}
