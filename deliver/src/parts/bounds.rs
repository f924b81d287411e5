//! What a server takes at a time.

use prost::Message;
use vtprof_profile::pprof::Profile;

use super::Unfit;

/// Pyroscope's bound of a profile (`-validation.max-profile-size-bytes`), and gRPC's of a message, by which one Collector
/// sends to another. Bytes, uncompressed.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// Bounds of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most samples, equal ones added up.
    pub samples: usize,
    /// Most bytes, uncompressed.
    pub bytes: usize,
}

impl Bounds {
    /// Whether a profile is within them as pprof.
    pub fn admit(&self, profile: &Profile) -> Result<(), Unfit> {
        if profile.sample.len() > self.samples || profile.encoded_len() > self.bytes {
            return Err(Unfit::TooLarge);
        }
        Ok(())
    }

    /// What of the first part may be comments: samples need room beside them.
    pub fn most_comment_bytes(&self) -> usize {
        self.bytes / 16
    }
}
