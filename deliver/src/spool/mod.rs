//! What waits for one target, oldest first, within bounds.
//!
//! | module | noun |
//! |---|---|
//! | [`disk`] | requests in files, which outlive the process |
//! | [`record`] | one of those files, inside |
//!
//! Where there is a disk, a request goes into a file at once, so a kill loses nothing; where that fails, and without one, it
//! is in memory. Each of the two has its own bound, and drops its own oldest.

pub mod disk;
pub mod record;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use crate::books::{Books, Lost, Size};
use crate::clock::Moment;
use crate::request::Request;

/// What a file takes is a multiple of that, bytes, on most file systems.
const BLOCK: u64 = 4_096;

/// Names a request within a spool; a retry has the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Number(pub u64);

/// Where a request is.
#[derive(Clone, Debug)]
pub enum Place {
    /// Here.
    Memory(Arc<Request>),
    /// In a file of that length.
    Disk {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: u64,
    },
}

impl Place {
    /// Bytes that count against the bound of where it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Memory(request) => (request.body.len() + request.path.len()) as u64,
            Self::Disk { length, .. } => length.next_multiple_of(BLOCK),
        }
    }

    /// The file, where it is in one.
    #[must_use]
    pub fn into_file(self) -> Option<PathBuf> {
        match self {
            Self::Memory(_) => None,
            Self::Disk { path, .. } => Some(path),
        }
    }

    fn is_disk(&self) -> bool {
        matches!(self, Self::Disk { .. })
    }
}

/// One that waits.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub number: Number,
    /// For the books.
    pub size: Size,
    /// Where it is.
    pub place: Place,
    /// Not to be sent before, unless the process ends.
    pub ready: Moment,
    /// Failed attempts.
    pub tries: u32,
    /// What had been taken of others when it failed last.
    pub taken_before: u64,
    /// How often it failed although others were taken in between.
    pub suspicion: u32,
}

/// Bounds, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Of what is in memory.
    pub memory: u64,
    /// Of what is in files.
    pub disk: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Spool {
    entries: VecDeque<Entry>,
    bounds: Bounds,
    /// Bytes of them in memory and in files.
    held: [u64; 2],
    next: u64,
}

impl Spool {
    /// An empty one.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            entries: VecDeque::new(),
            bounds,
            held: [0; 2],
            next: 0,
        }
    }

    /// Takes a request in; the oldest go where there is no room. It is in the books already. Returns the files of those
    /// that went.
    pub fn put(
        &mut self,
        place: Place,
        size: Size,
        ready: Moment,
        in_flight: Option<Number>,
        books: &Books,
    ) -> Vec<PathBuf> {
        let mut gone = Vec::new();
        let on_disk = place.is_disk();
        let bound = if on_disk {
            self.bounds.disk
        } else {
            self.bounds.memory
        };
        let refused = if place.bytes() > bound {
            Some(Lost::TooLarge)
        } else if self.make_room(on_disk, bound - place.bytes(), in_flight, books, &mut gone) {
            None
        } else {
            Some(Lost::SpoolFull)
        };
        if let Some(why) = refused {
            books.drop_waiting(size, why);
            gone.extend(place.into_file());
            return gone;
        }
        let number = Number(self.next);
        self.next += 1;
        self.held[usize::from(on_disk)] += place.bytes();
        self.entries.push_back(Entry {
            number,
            size,
            place,
            ready,
            tries: 0,
            taken_before: 0,
            suspicion: 0,
        });
        gone
    }

    /// Drops the oldest of one place until no more than `most` is left there; `false` where one that is on its way is more
    /// than that: it may have arrived, so it is not counted as lost.
    fn make_room(
        &mut self,
        on_disk: bool,
        most: u64,
        in_flight: Option<Number>,
        books: &Books,
        gone: &mut Vec<PathBuf>,
    ) -> bool {
        while self.held(on_disk) > most {
            let oldest = self.entries.iter().position(|entry| {
                entry.place.is_disk() == on_disk && Some(entry.number) != in_flight
            });
            let Some(oldest) = oldest.and_then(|index| self.take_out(index)) else {
                return false;
            };
            books.drop_waiting(oldest.size, Lost::SpoolFull);
            gone.extend(oldest.place.into_file());
        }
        true
    }

    /// Bytes that are in files, or in memory.
    #[must_use]
    pub fn held(&self, on_disk: bool) -> u64 {
        self.held[usize::from(on_disk)]
    }

    fn take_out(&mut self, index: usize) -> Option<Entry> {
        let entry = self.entries.remove(index)?;
        self.held[usize::from(entry.place.is_disk())] -= entry.place.bytes();
        Some(entry)
    }

    /// The next to send: of those that are ready the one that has failed least, and of those the oldest. So one that can
    /// never be taken keeps no other back.
    #[must_use]
    pub fn pick(&self, is_ready: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        self.entries
            .iter()
            .filter(|entry| is_ready(entry))
            .min_by_key(|entry| (entry.tries, entry.number))
    }

    /// When the first will be ready.
    #[must_use]
    pub fn first_ready(&self) -> Option<Moment> {
        self.entries.iter().map(|entry| entry.ready).min()
    }

    /// The one of that number, if it is still here.
    pub fn find(&mut self, number: Number) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    /// Takes it out.
    pub fn remove(&mut self, number: Number) -> Option<Entry> {
        let index = self
            .entries
            .iter()
            .position(|entry| entry.number == number)?;
        self.take_out(index)
    }

    /// Takes the oldest out that is in memory.
    pub fn pop_memory(&mut self) -> Option<(Arc<Request>, Size)> {
        let index = self.entries.iter().position(|it| !it.place.is_disk())?;
        let entry = self.take_out(index)?;
        match entry.place {
            Place::Memory(request) => Some((request, entry.size)),
            Place::Disk { .. } => None,
        }
    }

    /// Takes all out, oldest first.
    pub fn take_all(&mut self) -> Vec<Entry> {
        self.held = [0; 2];
        std::mem::take(&mut self.entries).into()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::START;

    fn request(bytes: usize) -> (Place, Size) {
        let request = Request {
            path: String::new(),
            content_type: "",
            gzip: false,
            body: vec![0; bytes],
            samples: 3,
        };
        let size = Size::of(&request);
        (Place::Memory(Arc::new(request)), size)
    }

    struct Bench {
        spool: Spool,
        books: Books,
    }

    impl Bench {
        fn of(memory: u64) -> Self {
            Self {
                spool: Spool::new(Bounds { memory, disk: 0 }),
                books: Books::default(),
            }
        }

        fn put(&mut self, bytes: usize, in_flight: Option<Number>) {
            let (place, size) = request(bytes);
            self.books.hand_over(size);
            let gone = self.spool.put(place, size, NOW, in_flight, &self.books);
            assert!(gone.is_empty(), "no files here");
            assert!(self.books.are_even());
        }

        fn numbers(&self) -> Vec<u64> {
            self.spool.entries.iter().map(|e| e.number.0).collect()
        }
    }

    #[test]
    fn the_oldest_go_when_there_is_no_room_and_are_counted_in_each_unit() {
        let mut bench = Bench::of(100);
        for _ in 0..4 {
            bench.put(40, None);
        }
        assert_eq!(bench.numbers(), [2, 3]);
        let dropped = bench.books.dropped(Lost::SpoolFull);
        let size = Size {
            requests: 2,
            samples: 6,
            bytes: 80,
        };
        assert_eq!(dropped, size);
        assert_eq!(bench.spool.held(false), 80);
    }

    #[test]
    fn one_that_is_too_large_for_all_drops_no_other() {
        let mut bench = Bench::of(100);
        bench.put(60, None);
        bench.put(101, None);
        assert_eq!(bench.numbers(), [0]);
        assert_eq!(bench.books.dropped(Lost::TooLarge).requests, 1);
    }

    #[test]
    fn one_that_is_on_its_way_is_not_dropped_for_room() {
        let mut bench = Bench::of(100);
        bench.put(40, None);
        bench.put(40, None);
        bench.put(60, Some(Number(0)));
        assert_eq!(bench.numbers(), [0, 2]);
        bench.put(70, Some(Number(0)));
        assert_eq!(bench.numbers(), [0], "the new one has no room beside it");
        assert_eq!(bench.spool.held(false), 40);
        assert_eq!(bench.books.dropped(Lost::SpoolFull).requests, 3);
    }

    #[test]
    fn one_that_fails_lets_those_behind_it_go_first() {
        let mut bench = Bench::of(100);
        bench.put(10, None);
        bench.put(10, None);
        let pick = |spool: &Spool| spool.pick(|_| true).unwrap().number.0;
        assert_eq!(pick(&bench.spool), 0);
        bench.spool.find(Number(0)).unwrap().tries += 1;
        assert_eq!(pick(&bench.spool), 1);
        bench.spool.remove(Number(1)).unwrap();
        assert_eq!(pick(&bench.spool), 0);
        assert_eq!(bench.spool.held(false), 10);
        assert_eq!(bench.spool.take_all().len(), 1);
        assert_eq!(bench.spool.held(false), 0);
    }
}
