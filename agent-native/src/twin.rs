//! One vtprof in a JVM. A second copy of the library, from another path, has statics of its own, so the
//! mark is a system property.

use crate::jvm::jni::Jni;
use crate::jvm::properties;
use crate::start::StartError;

const PROPERTY: &str = "vtprof.agent";

/// Whether some copy has claimed the JVM.
pub fn is_claimed(jni: Jni) -> bool {
    // An exception here is no answer to anybody.
    properties::get(jni, PROPERTY).is_ok_and(|version| version.is_some())
}

/// Claims the JVM for this copy.
pub fn claim(jni: Jni) -> Result<(), StartError> {
    if properties::get(jni, PROPERTY)?.is_some() {
        return Err(StartError::Twice);
    }
    properties::set(jni, PROPERTY, env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
