//! What can be said of a difference between two sides, and how surely.
//!
//! An observation is what hangs together: a request with all its samples, or a sample that belongs to none. Samples of one
//! request are not independent (one slow call has many), so their number says nothing of how other requests would do; the
//! spread between requests does, and the chance by which samples are taken is in it. What a side costs is then a mean, a
//! rate or a ratio of sums of observations, with a standard error each.

mod difference;
mod estimate;
mod percentile;
mod several;
mod sums;

pub use difference::{Difference, needed};
pub use estimate::{Exposure, Per, Side};
pub use percentile::percentile;
pub use several::benjamini_hochberg;
pub use sums::Cost;

/// What is less likely by chance than this is taken for a difference; of all that are taken for one, so many are none.
pub const CHANCE: f64 = 0.05;
