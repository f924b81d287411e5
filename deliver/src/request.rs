//! A window, or part of one, as one server wants it.

/// What is sent by one POST, and sent again unchanged where that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What comes after the target's address: a path, with its query where it has one.
    pub path: String,
    /// `Content-Type`; an empty one is not sent.
    pub content_type: &'static str,
    /// `Content-Encoding: gzip` of the body as it is here.
    pub gzip: bool,
    /// The body, encoded.
    pub body: Vec<u8>,
    /// Samples in it, for the books: what is lost with it.
    pub samples: u64,
}
