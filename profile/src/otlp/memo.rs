//! What entries of a dictionary became, by their indices.

/// What entries of a table are in the profile at hand. It is made once a message and not once a profile, of which a message
/// can have as many as the table has entries.
pub(super) struct Memo<T> {
    /// With the number of the profile.
    entries: Vec<Option<(u32, T)>>,
}

impl<T: Clone> Memo<T> {
    pub fn of(len: usize) -> Self {
        Memo {
            entries: vec![None; len],
        }
    }

    pub fn get(&self, index: i32, profile: u32) -> Option<T> {
        match of(&self.entries, index)? {
            Some((number, known)) if *number == profile => Some(known.clone()),
            _ => None,
        }
    }

    pub fn set(&mut self, index: i32, profile: u32, known: T) {
        let index = usize::try_from(index).ok();
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            *entry = Some((profile, known));
        }
    }
}

/// The entry of that index.
pub(super) fn of<T>(table: &[T], index: i32) -> Option<&T> {
    table.get(usize::try_from(index).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_known_of_one_profile() {
        let mut memo = Memo::of(2);
        memo.set(1, 7, 'a');
        memo.set(2, 7, 'b');
        memo.set(-1, 7, 'c');
        let found = [(1, 7), (1, 8), (0, 7), (2, 7), (-1, 7)];
        let found = found.map(|(index, profile)| memo.get(index, profile));
        assert_eq!(found, [Some('a'), None, None, None, None]);
    }
}
