//! Lists of any length, one after the other in one flat list.

use super::error::Flaw;
use super::fields::index;

/// See the module.
#[derive(Debug)]
pub(crate) struct Runs<T> {
    items: Vec<T>,
    /// End of each run in `items`.
    ends: Vec<u32>,
}

impl<T> Runs<T> {
    /// No run.
    pub const fn none() -> Self {
        Runs {
            items: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds to the run that [`close`](Self::close) will end.
    pub fn item(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends a run of the items since the last; its index.
    pub fn close(&mut self) -> Result<u32, Flaw> {
        let next = index(self.ends.len())?;
        self.ends.push(index(self.items.len())?);
        Ok(next)
    }

    /// The run of that index, which must be of these.
    pub fn get(&self, run: u32) -> &[T] {
        let run = run as usize;
        let start = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start as usize..self.ends[run] as usize]
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

impl<T> Runs<T> {
    /// All runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = &[T]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.items[start as usize..end as usize])
    }
}

#[cfg(feature = "merge")]
impl<T: Copy> Runs<T> {
    /// Adds a run; its index.
    pub fn push(&mut self, run: &[T]) -> Result<u32, Flaw> {
        self.items.extend_from_slice(run);
        self.close()
    }
}
