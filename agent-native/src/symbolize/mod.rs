//! From a method id to a name, a file and a line; from an address of native code to a symbol and a library.
//!
//! | module | noun |
//! |---|---|
//! | [`symbolizer`] | methods by id, resolved on first sight |
//! | [`changes`] | methods whose class is redefined: which version a sample is of |
//! | [`class_name`] | class names as people write them, without what differs from run to run |
//! | [`native`] | native code by address |
//! | [`loaded`] | what the dynamic loader has mapped there |

pub mod changes;
pub mod class_name;
pub mod loaded;
pub mod native;
pub mod symbolizer;
