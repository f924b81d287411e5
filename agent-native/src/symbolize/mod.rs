//! From a method id to a name, a file and a line.
//!
//! | module | noun |
//! |---|---|
//! | [`symbolizer`] | methods by id, resolved on first sight |
//! | [`changes`] | methods whose class is redefined: which version a sample is of |
//! | [`class_name`] | class names as people write them, without what differs from run to run |

pub mod changes;
pub mod class_name;
pub mod symbolizer;
