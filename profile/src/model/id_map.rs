//! From the ids of a file to table indices.
//!
//! Nearly every writer numbers its entries 1, 2, 3…; for those no map is filled and a look-up is
//! one comparison. Reading is bound by these look-ups: one for each frame of each sample.

use std::collections::HashMap;

use super::error::Flaw;
use super::fields::index;

#[derive(Debug, Default)]
pub(super) struct IdMap {
    len: usize,
    /// Ids up to here are their index plus one.
    dense: u64,
    others: HashMap<u64, u32>,
}

impl IdMap {
    /// Notes the id of the next entry of the table.
    pub fn push(&mut self, id: u64) -> Result<u32, Flaw> {
        if id == 0 {
            return Err(Flaw::ZeroId);
        }
        if self.get(id).is_some() {
            return Err(Flaw::DuplicateId(id));
        }
        let next = index(self.len)?;
        if u64::from(next) == self.dense && id == self.dense + 1 {
            self.dense = id;
        } else {
            self.others.insert(id, next);
        }
        self.len += 1;
        Ok(next)
    }

    pub fn get(&self, id: u64) -> Option<u32> {
        if (1..=self.dense).contains(&id) {
            return u32::try_from(id - 1).ok();
        }
        self.others.get(&id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_any_order_map_to_the_order_of_the_table() {
        let ids = [1, 2, 9, 3, u64::MAX, 4];
        let mut map = IdMap::default();
        for id in ids {
            map.push(id).expect("new id");
        }
        let found: Vec<_> = ids.iter().map(|&id| map.get(id)).collect();
        assert_eq!(
            found,
            [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)]
        );
        assert_eq!(map.get(0), None);
        assert_eq!(map.get(5), None);
    }

    #[test]
    fn zero_and_repeated_ids_are_refused() {
        let mut map = IdMap::default();
        assert_eq!(map.push(0), Err(Flaw::ZeroId));
        assert_eq!(map.push(7), Ok(0));
        assert_eq!(map.push(7), Err(Flaw::DuplicateId(7)));
        assert_eq!(map.push(1), Ok(1));
        assert_eq!(map.push(1), Err(Flaw::DuplicateId(1)));
    }
}
