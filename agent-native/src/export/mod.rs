//! From a closed window to files.
//!
//! | module | noun |
//! |---|---|
//! | [`directory`] | the output directory: probed, written to whole files at a time |
//! | [`keep`] | what stays in it |
//! | [`file_name`] | how a window's files are called |
//! | [`window_files`] | a window's profiles, a file for each kind |
//! | [`profile`] | a window of one kind as pprof |
//! | [`rounding`] | whole numbers for sums that are fractions |
//! | [`comments`] | what a profile says of itself: losses, achieved period, own cost |

pub mod comments;
pub mod directory;
pub mod file_name;
pub mod keep;
pub mod profile;
pub mod rounding;
pub mod window_files;
