//! A request as a file: what is sent, how many samples that is, and a checksum over both. No address, no credential.

use std::fmt;

use flate2::Crc;

use crate::request::Request;

/// Begins each file; the digit is the format's version.
const MAGIC: &[u8; 8] = b"vtpush1\n";
/// What may stand as `Content-Type`. A file has the place in this list, so it is only ever added to.
const TYPES: [&str; 5] = [
    "",
    "application/x-protobuf",
    "application/proto",
    "application/json",
    "application/octet-stream",
];

/// Why bytes are no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a whole file of a spool")
    }
}

/// The bytes of a file; `None` for a request of a type that is not in the list, or a path of 4 GiB.
#[must_use]
pub fn encode(request: &Request) -> Option<Vec<u8>> {
    let content_type = TYPES.iter().position(|it| *it == request.content_type)?;
    let mut bytes = Vec::with_capacity(request.body.len() + request.path.len() + 40);
    bytes.extend_from_slice(MAGIC);
    bytes.push(u8::try_from(content_type).ok()?);
    bytes.push(u8::from(request.gzip));
    bytes.extend_from_slice(&request.samples.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(request.path.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(request.path.as_bytes());
    bytes.extend_from_slice(&request.body);
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    Some(bytes)
}

/// The request in a file.
///
/// # Errors
/// It is not whole, or somebody else's.
pub fn decode(bytes: &[u8]) -> Result<Request, Damaged> {
    let (bytes, sum) = bytes.split_last_chunk::<4>().ok_or(Damaged)?;
    if checksum(bytes) != u32::from_le_bytes(*sum) {
        return Err(Damaged);
    }
    let rest = bytes.strip_prefix(MAGIC).ok_or(Damaged)?;
    let (&[content_type, gzip], rest) = rest.split_first_chunk::<2>().ok_or(Damaged)?;
    let (samples, rest) = rest.split_first_chunk::<8>().ok_or(Damaged)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(Damaged)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| Damaged)?;
    let (path, body) = rest.split_at_checked(length).ok_or(Damaged)?;
    Ok(Request {
        path: String::from_utf8(path.to_vec()).map_err(|_| Damaged)?,
        content_type: TYPES.get(usize::from(content_type)).ok_or(Damaged)?,
        gzip: gzip == 1,
        body: body.to_vec(),
        samples: u64::from_le_bytes(*samples),
    })
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            path: "/push?a=b".to_owned(),
            content_type: "application/proto",
            gzip: true,
            body: vec![1, 2, 3, 0, 255],
            samples: 77,
        }
    }

    #[test]
    fn a_request_comes_back_as_it_was_and_no_cut_or_changed_file_does() {
        let bytes = encode(&request()).unwrap();
        assert_eq!(decode(&bytes), Ok(request()));
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), Err(Damaged), "{length}");
        }
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 4;
            assert_eq!(decode(&changed), Err(Damaged), "{index}");
        }
    }

    #[test]
    fn each_type_has_its_place_and_another_has_none() {
        for content_type in TYPES {
            let request = Request {
                content_type,
                ..request()
            };
            assert_eq!(decode(&encode(&request).unwrap()), Ok(request));
        }
        let foreign = Request {
            content_type: "text/html",
            ..request()
        };
        assert_eq!(encode(&foreign), None);
    }
}
