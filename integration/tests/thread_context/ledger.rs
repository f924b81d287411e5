//! What the program says of its OS threads, in the file that it maps (`Ledger.java`).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Result;

const PLACE_BYTES: usize = 64;
const PLACES: usize = 1_024;

/// What a thread says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    /// Nothing.
    Nothing,
    /// It burns in that span: trace id and span id, big-endian.
    Span([u8; 24]),
    /// It burns in none.
    NoSpan,
}

/// The file.
pub struct Ledger(File);

impl Ledger {
    /// Opens it; the program has made it.
    pub fn open(path: &Path) -> Result<Ledger> {
        Ok(Ledger(File::open(path)?))
    }

    /// The threads that have a place: number of the place, and kernel id.
    pub fn threads(&self) -> Result<Vec<(usize, u32)>> {
        let mut bytes = vec![0; PLACES * PLACE_BYTES];
        self.0.read_exact_at(&mut bytes, 0)?;
        let places = bytes.chunks_exact(PLACE_BYTES).map(|place| words(place)[0]);
        let taken = places.enumerate().filter(|(_, thread)| *thread != 0);
        taken
            .map(|(place, thread)| Ok((place, u32::try_from(thread)?)))
            .collect()
    }

    /// What the thread at that place says.
    pub fn says(&self, place: usize) -> Result<Says> {
        let mut bytes = [0; PLACE_BYTES];
        self.0
            .read_exact_at(&mut bytes, (place * PLACE_BYTES) as u64)?;
        let words = words(&bytes);
        Ok(match words[1] {
            1 => {
                let mut ids = [0; 24];
                for (to, word) in ids.chunks_exact_mut(8).zip(&words[2..5]) {
                    to.copy_from_slice(&word.to_be_bytes());
                }
                Says::Span(ids)
            }
            2 => Says::NoSpan,
            _ => Says::Nothing,
        })
    }
}

fn words(place: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    place.chunks_exact(8).map(word).collect()
}
