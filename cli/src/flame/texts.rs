//! The texts of a document, each once.

use std::collections::HashMap;

use serde::Serialize;

/// A text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TextId(u32);

/// See the module.
#[derive(Debug, Default)]
pub struct Texts {
    list: Vec<String>,
    known: HashMap<String, TextId>,
}

impl Texts {
    /// The id of that text, which is new or known.
    pub fn add(&mut self, text: &str) -> TextId {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let id = TextId(self.list.len() as u32);
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), id);
        id
    }

    pub fn get(&self, id: TextId) -> &str {
        &self.list[id.0 as usize]
    }

    /// All, in the order of their ids.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}
