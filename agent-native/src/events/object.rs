//! The object of a sampled allocation: a reference that does not keep it.

/// A weak JNI reference to an object. No two values are of one reference: whoever has it hands it on or gives it back
/// ([`Objects::let_go`]), on whichever way.
#[derive(PartialEq, Eq, Debug)]
pub struct ObjectRef(usize);

impl ObjectRef {
    /// Of the `jobject` with that address.
    pub fn new(address: usize) -> Self {
        Self(address)
    }

    /// Its address.
    pub fn address(&self) -> usize {
        self.0
    }
}

/// What can be asked of references, on the calling thread.
pub trait Objects {
    /// Whether the collector has found that nobody uses the object. Does not keep it.
    fn is_gone(&self, object: &ObjectRef) -> bool;
    /// Gives the reference back.
    fn let_go(&self, object: ObjectRef);
}
