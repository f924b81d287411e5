//! Whether a document is from who has the key: Ed25519 (RFC 8032) over its bytes as they come, in the header
//! `X-Vtprof-Signature`, as base64.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::signature::{ED25519, UnparsedPublicKey};

/// The header.
pub const HEADER: &str = "x-vtprof-signature";

/// With `=` at its end or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// Reads 32 bytes in base64.
    ///
    /// # Errors
    /// What it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text.trim()).ok();
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| "a public key of Ed25519: 32 bytes as base64".to_owned())
    }

    /// Whether that is its signature of those bytes.
    #[must_use]
    pub fn has_signed(&self, body: &[u8], signature: &str) -> bool {
        BASE64.decode(signature.trim()).is_ok_and(|signature| {
            UnparsedPublicKey::new(&ED25519, &self.0)
                .verify(body, &signature)
                .is_ok()
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", BASE64.encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, 7.1, TEST 2.
    const PUBLIC: [u8; 32] = [
        0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a, 0xa7, 0x4d, 0x1b, 0x7e,
        0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4,
        0x66, 0x0c,
    ];
    const SIGNATURE: [u8; 64] = [
        0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25,
        0x40, 0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76, 0x22, 0x23, 0xeb, 0xdb,
        0x69, 0xda, 0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99, 0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0,
        0xf1, 0x1d, 0x8c, 0x38, 0x7b, 0x2e, 0xae, 0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16,
        0x12, 0xbb, 0x0c, 0x00,
    ];

    #[test]
    fn the_rfc_s_own_signature_is_right_and_any_other_is_not() {
        let key = Key::parse(&BASE64.encode(PUBLIC)).unwrap();
        let text = BASE64.encode(SIGNATURE);
        assert!(key.has_signed(&[0x72], &text));
        assert!(key.has_signed(&[0x72], text.trim_end_matches('=')));
        assert!(!key.has_signed(&[0x73], &text));
        for index in 0..SIGNATURE.len() {
            let mut changed = SIGNATURE;
            changed[index] ^= 1;
            assert!(!key.has_signed(&[0x72], &BASE64.encode(changed)), "{index}");
        }
        for bad in ["", "=", "none", &text[..20]] {
            assert!(!key.has_signed(&[0x72], bad), "{bad}");
        }
        for bad in ["", "c2hvcnQ=", "?", &text] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }
}
