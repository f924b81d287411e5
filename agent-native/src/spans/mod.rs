//! Spans as the shim reports them: which are open, what their roots are called, which ended.
//!
//! | module | noun |
//! |---|---|
//! | [`event`] | what the shim reports, through a bounded queue |
//! | [`book`] | which spans are open, so that no sample is charged to one that ended |
//! | [`names`] | names of local roots, as they were last |
//! | [`ended`] | the spans of a window, longest kept |

pub mod book;
pub mod ended;
pub mod event;
pub mod names;
