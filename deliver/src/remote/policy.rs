//! What follows from one poll after the other. It is off until a document says otherwise, and off again when documents
//! cannot be read three times in a row, or one is invalid, unsigned, somebody else's or older than one before.

use super::document::Document;
use super::signature::Key;
use super::wanted::Wanted;

/// So many polls in a row that cannot be read are one too many.
pub const UNREADABLE: u32 = 3;

/// What a poll brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Poll {
    /// An answer with a document.
    Document {
        /// Its bytes.
        body: Vec<u8>,
        /// What the header of that name says.
        signature: Option<String>,
        /// `ETag`, to ask whether there is another.
        etag: Option<String>,
    },
    /// There is no other than the one that was named by its `ETag`. Not signed, so with a key it says nothing.
    Unchanged,
    /// Anything else; why.
    Unreadable(String),
}

/// See the module.
#[derive(Debug)]
pub struct Policy {
    service: String,
    key: Option<Key>,
    /// Of the document in force.
    etag: Option<String>,
    /// Whether there is one in force.
    has_document: bool,
    unreadable: u32,
    highest: Option<u64>,
    wanted: Wanted,
}

/// What a poll came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What is wanted now.
    pub wanted: Wanted,
    /// Why it is off, or stays as it is although nothing could be read; not where all is well.
    pub why: Option<String>,
}

impl Policy {
    /// Off. `key` is whose documents are obeyed; `None`: whoever answers.
    #[must_use]
    pub fn new(service: &str, key: Option<Key>) -> Self {
        Self {
            service: service.to_owned(),
            key,
            etag: None,
            has_document: false,
            unreadable: 0,
            highest: None,
            wanted: Wanted::off(),
        }
    }

    /// What to name when asking: the document in force, if it has a name; nothing where documents are signed.
    #[must_use]
    pub fn etag(&self) -> Option<&str> {
        self.etag.as_deref()
    }

    /// What is wanted now.
    #[must_use]
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// What follows from that poll.
    pub fn after(&mut self, poll: Poll) -> Outcome {
        let why = match poll {
            // Nobody was asked so where no document is in force.
            Poll::Unchanged if self.has_document && self.etag.is_some() => {
                self.unreadable = 0;
                None
            }
            Poll::Unchanged => self.unreadable("says that nothing has changed, which nobody asked"),
            Poll::Unreadable(why) => self.unreadable(&why),
            Poll::Document {
                body,
                signature,
                etag,
            } => match self.check(&body, signature.as_deref()) {
                Ok(document) => {
                    self.unreadable = 0;
                    self.has_document = true;
                    // A 304 is signed by nobody: with a key nothing is asked for that it could be the answer to.
                    self.etag = etag.filter(|_| self.key.is_none());
                    self.highest = document.serial.max(self.highest);
                    self.wanted = document.wanted;
                    None
                }
                Err(why) => {
                    self.fall_off();
                    Some(format!("has a document that is not obeyed: {why}"))
                }
            },
        };
        Outcome {
            wanted: self.wanted.clone(),
            why,
        }
    }

    fn unreadable(&mut self, why: &str) -> Option<String> {
        self.unreadable = self.unreadable.saturating_add(1);
        if self.unreadable >= UNREADABLE {
            self.fall_off();
        }
        Some(why.to_owned())
    }

    /// Off, and nothing is remembered of what was in force but its number.
    fn fall_off(&mut self) {
        self.wanted = Wanted::off();
        self.etag = None;
        self.has_document = false;
    }

    fn check(&self, body: &[u8], signature: Option<&str>) -> Result<Document, String> {
        if body.len() > super::LARGEST {
            return Err(format!("it is larger than {} bytes", super::LARGEST));
        }
        if let Some(key) = &self.key {
            let signature = signature.ok_or("it is not signed")?;
            if !key.has_signed(body, signature) {
                return Err("its signature is not that of config_key".to_owned());
            }
        }
        let document = Document::read(body)?;
        if self.key.is_some() && document.serial.is_none() {
            return Err("it is signed and has no serial, so it could be an old one".to_owned());
        }
        if document
            .service
            .as_ref()
            .is_some_and(|service| *service != self.service)
        {
            return Err("it is for another service".to_owned());
        }
        if self.highest.is_some() && document.serial < self.highest {
            return Err("it is older than one before".to_owned());
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests;
