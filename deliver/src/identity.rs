//! Names of things that are sent, the same whenever the same is made again.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use vtprof_profile::kind::Kind;

use crate::origin::Origin;

/// What tells a part of a window from all others of all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub window_start_unix_ns: u64,
    pub kind: Kind,
    /// Which of the kind's, from 0 on.
    pub number: u32,
    /// Which sample type, where each is sent for itself.
    pub sample_type: usize,
}

/// 128 bits as a UUID of version 8 (RFC 9562: a hash of one's own). Not a secret, and no protection against who wants two
/// to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity([u8; 16]);

impl Identity {
    pub fn of(origin: &Origin, part: Part) -> Self {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, &origin.service, &origin.host, origin.pid, part).hash(&mut hasher);
            hasher.finish()
        };
        let mut bytes = [0; 16];
        let (first, second) = bytes.split_at_mut(8);
        first.copy_from_slice(&half(0).to_be_bytes());
        second.copy_from_slice(&half(1).to_be_bytes());
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Identity(bytes)
    }

    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(at, 4 | 6 | 8 | 10) {
                "-"
            } else {
                ""
            };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn an_identity_is_the_same_for_the_same_part_and_no_other_has_it() {
        let mut all = HashSet::new();
        let mut made = 0;
        for pid in 0..20 {
            let origin = Origin {
                service: "shop".to_owned(),
                pid,
                ..Origin::default()
            };
            for window_start_unix_ns in 0..20 {
                for kind in Kind::ALL {
                    for number in 0..3 {
                        let part = Part {
                            window_start_unix_ns,
                            kind,
                            number,
                            sample_type: 0,
                        };
                        let id = Identity::of(&origin, part);
                        assert_eq!(id, Identity::of(&origin.clone(), part));
                        all.insert(id.to_string());
                        made += 1;
                    }
                }
            }
        }
        assert_eq!(all.len(), made);
        for id in &all {
            let parts: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert_eq!(&id[14..15], "8", "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
        }
    }
}
