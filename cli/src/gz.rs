//! Compressing while more is made: one core writes the profile, the others compress it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZero;
use std::thread::{self, Scope, ScopedJoinHandle};

use vtprof_profile::gzip;

/// Bytes that are compressed at a time. Each such block is a gzip member, of which a file may have many; that costs less
/// than a thousandth of the size.
const BLOCK: usize = 1 << 20;
/// Most blocks at work: more would wait for the one that makes them.
const MOST: usize = 8;

/// Writes to `out`, gzipped, what `write` writes. It is the same on any number of cores.
///
/// # Errors
/// Those of `write` and of `out`.
pub fn compress<W: Write + ?Sized>(
    out: &mut W,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let mut blocks = Blocks {
            out,
            scope,
            at_work: VecDeque::new(),
            most: cores.min(MOST),
            block: Vec::with_capacity(BLOCK),
            has_member: false,
        };
        write(&mut blocks)?;
        blocks.finish()
    })
}

/// Takes what is to be compressed.
struct Blocks<'scope, 'env, 'out, W: ?Sized> {
    out: &'out mut W,
    scope: &'scope Scope<'scope, 'env>,
    /// In the order in which they are written.
    at_work: VecDeque<ScopedJoinHandle<'scope, io::Result<Vec<u8>>>>,
    most: usize,
    block: Vec<u8>,
    has_member: bool,
}

impl<W: Write + ?Sized> Blocks<'_, '_, '_, W> {
    fn begin(&mut self) -> io::Result<()> {
        if self.at_work.len() == self.most {
            self.take()?;
        }
        self.has_member = true;
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        let compress = move || gzip::compress(&block);
        self.at_work.push_back(self.scope.spawn(compress));
        Ok(())
    }

    /// Writes the block that was begun first.
    fn take(&mut self) -> io::Result<()> {
        if let Some(first) = self.at_work.pop_front() {
            let panicked = |_| io::Error::other("a thread that compresses has ended");
            let member = first.join().map_err(panicked)??;
            self.out.write_all(&member)?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        // Of nothing, too, there is a member: a file without a byte is none.
        if !self.block.is_empty() || !self.has_member {
            self.begin()?;
        }
        while !self.at_work.is_empty() {
            self.take()?;
        }
        Ok(())
    }
}

impl<W: Write + ?Sized> Write for Blocks<'_, '_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK - self.block.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.block.extend_from_slice(taken);
        if self.block.len() == BLOCK {
            self.begin()?;
        }
        Ok(taken.len())
    }

    /// Nothing: a block ends where it is full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_out_is_what_went_in_whatever_its_size() {
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let bytes: Vec<u8> = (0..size).map(|i| (i / 3 + i * i / 1000) as u8).collect();
            let mut gzipped = Vec::new();
            compress(&mut gzipped, |gz| {
                bytes
                    .chunks(100_003)
                    .try_for_each(|part| gz.write_all(part))
            })
            .expect("memory");
            assert!(!gzipped.is_empty());
            let read = gzip::read_bytes(gzipped.as_slice(), u64::MAX).expect("just written");
            assert!(read == bytes, "{size}");
        }
    }

    #[test]
    fn a_failure_of_either_side_ends_it() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut written = 0;
        let error = compress(&mut Full, |gz| {
            (0..1000).try_for_each(|_| {
                written += 1;
                gz.write_all(&vec![0; BLOCK])
            })
        });
        assert_eq!(error.expect_err("full").kind(), io::ErrorKind::StorageFull);
        assert!(
            written <= 2 * MOST,
            "{written} blocks before it was noticed"
        );
        let error = compress(&mut Vec::new(), |_| Err(io::ErrorKind::TimedOut.into()));
        assert_eq!(
            error.expect_err("of the writer").kind(),
            io::ErrorKind::TimedOut
        );
    }
}
