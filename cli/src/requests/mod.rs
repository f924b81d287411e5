//! Requests, that is local root spans that ended: which they are, which of them were slow, and what of a profile is
//! theirs.

mod list;
mod members;
mod names;
mod speed;
mod tally;

pub use list::{Requests, Which};
pub use members::{Left, Member, Members};
pub use names::{NameId, Names};
pub use speed::{Fast, Slow, Speeds};
pub use tally::{Tally, tally};
