//! A tag: which trace, span and local root span a thread is in.

/// `java.lang.Thread.threadId()`: positive, never reused within a JVM
/// (`ThreadIdentifiers.next()` in `java.lang.Thread`). Zero stands for "no thread known".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct JavaThreadId(pub i64);

impl JavaThreadId {
    /// No thread known: looks up to no tag.
    pub const NONE: Self = Self(0);
}

/// The ids of one context. The span id is never zero in a tag (W3C Trace Context, section 3.2.2.4: an
/// all-zero parent-id is invalid), which is why zero can mean "empty" in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Tag {
    /// Upper half of the 128-bit trace id, big-endian order.
    pub trace_hi: u64,
    /// Lower half of the trace id.
    pub trace_lo: u64,
    /// Current span id.
    pub span: u64,
    /// Local root span id: the outermost span of this trace in this process.
    pub root: u64,
}

impl Tag {
    /// No context.
    pub const EMPTY: Self = Self {
        trace_hi: 0,
        trace_lo: 0,
        span: 0,
        root: 0,
    };

    /// Whether this stands for "no context".
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.span == 0
    }
}
