//! Writing and reading protobuf messages, gzipped or plain.
//!
//! Reading is bounded: a gzip stream of a kilobyte can inflate to a gigabyte, so the caller names
//! the most bytes it is ready to hold.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use prost::Message;
use thiserror::Error;

/// Most bytes of decompressed input that is read unless told otherwise: 512 MiB.
pub const DEFAULT_LIMIT: u64 = 512 << 20;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Why a file could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The source failed.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The gzip stream is cut short or corrupt.
    #[error("broken gzip stream after {offset} decompressed bytes: {reason}")]
    Gzip {
        /// Decompressed bytes before the break.
        offset: u64,
        /// What the decompressor said.
        reason: io::Error,
    },
    /// More than the caller is ready to hold.
    #[error("more than {limit} bytes when decompressed")]
    TooLarge {
        /// The limit, bytes.
        limit: u64,
    },
    /// Not that message.
    #[error("not the expected protobuf message: {0}")]
    Decode(#[from] prost::DecodeError),
}

/// Writes the message as one gzip member and returns the writer.
///
/// # Errors
/// Those of the writer.
pub fn write_gz<W: Write>(message: &impl Message, writer: W) -> io::Result<W> {
    let mut encoder = encoder(writer);
    encoder.write_all(&message.encode_to_vec())?;
    encoder.finish()
}

/// The bytes as one gzip member.
///
/// # Errors
/// None that memory does not have.
pub fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = encoder(Vec::new());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Level 1: on profiles a file is a quarter larger than at the usual level 6, for a ninth of the
/// time, and it is the profiled application's processor that is spent.
pub(crate) fn encoder<W: Write>(writer: W) -> GzEncoder<W> {
    GzEncoder::new(writer, Compression::fast())
}

/// Reads a source to its end, decompressed when it starts as gzip does.
///
/// # Errors
/// A failing source, a broken gzip stream, or more than `limit` bytes.
pub fn read_bytes(mut source: impl Read, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::with_capacity(MAGIC.len());
    source
        .by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut head)?;
    let gzipped = head == MAGIC;
    let whole = io::Cursor::new(head).chain(source);

    let mut bytes = Vec::new();
    // One byte more than allowed tells "exactly the limit" from "more".
    let cap = limit.saturating_add(1);
    if gzipped {
        MultiGzDecoder::new(whole)
            .take(cap)
            .read_to_end(&mut bytes)
            .map_err(|reason| ReadError::Gzip {
                offset: bytes.len() as u64,
                reason,
            })?;
    } else {
        whole.take(cap).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Reads one message, gzipped or plain, of at most `limit` decompressed bytes.
///
/// # Errors
/// As [`read_bytes`], and bytes that are not this message.
pub fn read<M: Message + Default>(source: impl Read, limit: u64) -> Result<M, ReadError> {
    Ok(M::decode(read_bytes(source, limit)?.as_slice())?)
}
