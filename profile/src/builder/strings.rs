//! The builder's strings, each stored once.

use std::collections::HashMap;

use super::next_id;

/// Index into the builder's strings.
pub(super) type StringId = u32;

/// Interned strings; the first is empty, as pprof wants it.
pub(super) struct Strings {
    ids: HashMap<Box<str>, StringId>,
}

impl Strings {
    pub fn new() -> Self {
        Strings {
            ids: HashMap::from([("".into(), 0)]),
        }
    }

    pub fn intern(&mut self, text: &str) -> StringId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = next_id(self.ids.len());
        self.ids.insert(text.into(), id);
        id
    }

    pub fn into_table(self) -> Vec<Vec<u8>> {
        let mut table = vec![Vec::new(); self.ids.len()];
        for (text, id) in self.ids {
            table[id as usize] = text.into_string().into_bytes();
        }
        table
    }
}
