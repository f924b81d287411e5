//! What other processes may read of a thread: a Thread-Local Context Record of OTEP 4947 ("Thread Context", as of
//! 17 July 2026), as it lies in the slot of the thread in the context table.
//!
//! So it costs nothing that is not paid for the tag: the ids are kept in the byte order that others read them in, and the
//! number of the rewrite is where they would look for attributes, of which the record says that it has none.
//!
//! | bytes | what |
//! |---|---|
//! | 0–15 | trace id, in W3C order |
//! | 16–23 | span id, in W3C order |
//! | 24 | 1 where the record is whole and its span open |
//! | 25 | W3C trace flags |
//! | 26–27 | length of the attributes: 0 |
//! | 28–31 | ours: number of the rewrite, odd in the middle of one |
//!
//! Others read it only while its thread is stopped (OTEP 4947, "Concurrency model"), so they see what a handler on it
//! would. It is written by its thread alone, but for one bit: any thread may withdraw it, by an exchange that fails
//! where it was rewritten meanwhile.

use crate::primitive::{AtomicU64, Ordering};
use crate::tag::Tag;

/// The last eight bytes as one number: the record is little-endian, as x86-64 is.
const VALID: u64 = 1;
const FLAGS_SHIFT: u32 = 8;
const SEQUENCE_SHIFT: u32 = 32;

#[cfg(not(target_endian = "little"))]
compile_error!("the record is laid out for little-endian machines");

/// W3C trace flags of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceFlags(pub u8);

impl TraceFlags {
    /// Of no span.
    pub const NONE: Self = Self(0);
    /// Of one that the sampler has taken.
    pub const SAMPLED: Self = Self(1);
}

/// Number of a rewrite; odd in the middle of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence(u32);

impl Sequence {
    /// Whether the record is being rewritten.
    #[must_use]
    pub const fn is_odd(self) -> bool {
        self.0 % 2 == 1
    }

    const fn word(self) -> u64 {
        (self.0 as u64) << SEQUENCE_SHIFT
    }

    const fn of(word: u64) -> Self {
        Self((word >> SEQUENCE_SHIFT) as u32)
    }
}

/// That a record, as it was at one moment, is believed to be of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The record's word of then, which no other rewrite of it has.
    word: u64,
    /// The span.
    pub span: u64,
}

/// See the module.
#[repr(C)]
pub struct Record {
    /// Big-endian, as the next two.
    trace_hi: AtomicU64,
    trace_lo: AtomicU64,
    span: AtomicU64,
    /// Validity, flags, length, sequence. Pairs: see `Slot::record`; Release in `end` with Acquire in `claim`: who sees the
    /// record sees what its thread has reported before it wrote it. `withdraw` needs no order but that of this one word,
    /// since each rewrite gives it another number.
    word: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Record>() == 32);
    assert!(core::mem::offset_of!(Record, trace_hi) == 0);
    assert!(core::mem::offset_of!(Record, span) == 16);
    assert!(core::mem::offset_of!(Record, word) == 24);
};

impl Record {
    /// Of no span.
    #[must_use]
    pub fn new() -> Self {
        Self {
            trace_hi: AtomicU64::new(0),
            trace_lo: AtomicU64::new(0),
            span: AtomicU64::new(0),
            word: AtomicU64::new(0),
        }
    }

    /// Number of the last rewrite, or of the one under way. Relaxed: a fence of the caller's orders it.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        Sequence::of(self.word.load(Ordering::Relaxed))
    }

    /// The same, and what is read afterwards is no older. Pair: the store that ends a rewrite. Not by a parameter: an
    /// ordering that a load cannot have is a panic, and this runs in the handler.
    #[must_use]
    pub fn sequence_acquired(&self) -> Sequence {
        Sequence::of(self.word.load(Ordering::Acquire))
    }

    /// Upper and lower half of the trace id, and the span id.
    #[must_use]
    pub fn ids(&self) -> (u64, u64, u64) {
        let id = |word: &AtomicU64| u64::from_be(word.load(Ordering::Relaxed));
        (id(&self.trace_hi), id(&self.trace_lo), id(&self.span))
    }

    /// Begins a rewrite, by the record's thread; a fence follows. Nobody believes the record from now on.
    pub fn begin(&self) -> Sequence {
        let sequence = Sequence::of(self.word.load(Ordering::Relaxed));
        let odd = Sequence(sequence.0.wrapping_add(1));
        self.word.store(odd.word(), Ordering::Relaxed);
        odd
    }

    /// Writes the ids of `tag`.
    pub fn put(&self, tag: &Tag) {
        self.trace_hi.store(tag.trace_hi.to_be(), Ordering::Relaxed);
        self.trace_lo.store(tag.trace_lo.to_be(), Ordering::Relaxed);
        self.span.store(tag.span.to_be(), Ordering::Relaxed);
    }

    /// Ends the rewrite `odd`. An empty tag leaves a record that nobody believes.
    pub fn end(&self, odd: Sequence, tag: &Tag, flags: TraceFlags) {
        let even = Sequence(odd.0.wrapping_add(1)).word();
        let head = if tag.is_empty() {
            0
        } else {
            VALID | u64::from(flags.0) << FLAGS_SHIFT
        };
        self.word.store(even | head, Ordering::Release);
    }

    /// What the record says now, from any thread; `None` where nobody believes it. The span is that of the claim, or that
    /// of a rewrite under way, which makes [`withdraw`](Self::withdraw) fail.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        let word = self.word.load(Ordering::Acquire);
        let (_, _, span) = self.ids();
        (word & VALID != 0).then_some(Claim { word, span })
    }

    /// Withdraws the record, from any thread, where it still is as it was claimed. Its thread's own next rewrite makes it
    /// good again. Whether it was.
    pub fn withdraw(&self, claim: &Claim) -> bool {
        let (word, withdrawn) = (claim.word, claim.word & !VALID);
        self.word
            .compare_exchange(word, withdrawn, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const TAG: Tag = Tag {
        trace_hi: 0x0123_4567_89ab_cdef,
        trace_lo: 0xfedc_ba98_7654_3210,
        span: 0x00f0_67aa_0ba9_02b7,
        root: 7,
    };

    fn rewrite(record: &Record, tag: &Tag, flags: TraceFlags) {
        let odd = record.begin();
        record.put(tag);
        record.end(odd, tag, flags);
    }

    fn bytes(record: &Record) -> [u8; 32] {
        // SAFETY: 32 bytes without padding (asserted above), which nobody else writes.
        unsafe { core::ptr::from_ref(record).cast::<[u8; 32]>().read() }
    }

    #[test]
    fn a_record_is_byte_by_byte_what_the_otep_says() {
        let record = Record::new();
        assert_eq!(bytes(&record), [0; 32]);
        rewrite(&record, &TAG, TraceFlags(3));
        let read = bytes(&record);
        assert_eq!(
            read[..16],
            [
                0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54,
                0x32, 0x10
            ]
        );
        assert_eq!(
            read[16..24],
            [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]
        );
        // Valid, flags, two bytes of length.
        assert_eq!(read[24..28], [1, 3, 0, 0]);
        assert_eq!(record.ids(), (TAG.trace_hi, TAG.trace_lo, TAG.span));
    }

    #[test]
    fn a_record_is_valid_neither_in_the_middle_of_a_rewrite_nor_once_it_is_empty() {
        let record = Record::new();
        rewrite(&record, &TAG, TraceFlags::SAMPLED);
        let odd = record.begin();
        assert!(record.sequence().is_odd());
        assert_eq!(bytes(&record)[24..28], [0; 4]);
        record.put(&TAG);
        assert_eq!(bytes(&record)[24..28], [0; 4]);
        record.end(odd, &TAG, TraceFlags::SAMPLED);
        assert_eq!(bytes(&record)[24..28], [1, 1, 0, 0]);
        rewrite(&record, &Tag::EMPTY, TraceFlags::SAMPLED);
        assert_eq!(bytes(&record)[..28], [0; 28]);
    }

    #[test]
    fn a_record_is_claimed_for_its_span_and_withdrawn_once() {
        let record = Record::new();
        assert_eq!(record.claim(), None, "there is none yet");
        rewrite(&record, &TAG, TraceFlags::SAMPLED);
        let claim = record.claim().unwrap();
        assert_eq!(claim.span, TAG.span);
        assert_eq!(bytes(&record)[24], 1);
        let before = record.sequence();
        assert!(record.withdraw(&claim));
        assert_eq!(bytes(&record)[24], 0);
        assert_eq!(record.claim(), None);
        assert!(!record.withdraw(&claim), "it is withdrawn already");
        // Nothing was rewritten: whoever looks for the tag itself finds it still.
        assert_eq!(record.sequence(), before);
        assert_eq!(record.ids().2, TAG.span);
        rewrite(&record, &TAG, TraceFlags::SAMPLED);
        assert_eq!(bytes(&record)[24], 1);
    }

    #[test]
    fn a_record_that_is_rewritten_while_somebody_thinks_about_its_span_stays() {
        let record = Record::new();
        rewrite(&record, &TAG, TraceFlags::SAMPLED);
        let claim = record.claim().unwrap();
        // The same span again, as far as its ids tell.
        rewrite(&record, &TAG, TraceFlags::SAMPLED);
        assert!(!record.withdraw(&claim));
        assert_eq!(bytes(&record)[24], 1);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::primitive::fence;
    use loom::{sync::Arc, thread};

    fn tag(span: u64) -> Tag {
        Tag {
            trace_hi: span,
            trace_lo: span,
            span,
            root: span,
        }
    }

    /// A thread goes on to its next span while another withdraws the one before.
    #[test]
    fn loom_the_end_of_one_span_never_withdraws_the_next() {
        loom::model(|| {
            let record = Arc::new(Record::new());
            let write = |record: &Record, span| {
                let odd = record.begin();
                fence(Ordering::Release);
                record.put(&tag(span));
                record.end(odd, &tag(span), TraceFlags::SAMPLED);
            };
            write(&record, 1);
            let drain = {
                let record = Arc::clone(&record);
                thread::spawn(move || {
                    let claim = record.claim().filter(|claim| claim.span == 1);
                    claim.filter(|claim| record.withdraw(claim))
                })
            };
            write(&record, 2);
            // An exchange stands in the word's order right behind what it has read, so before all of the next rewrite. Loom
            // does not conclude that, and would let the word be read as the exchange has left it.
            match drain.join().unwrap() {
                Some(claim) => assert_eq!(Sequence::of(claim.word), Sequence(2)),
                None => assert_eq!(record.word.load(Ordering::Relaxed) & VALID, VALID),
            }
            assert_eq!(record.ids().2, 2);
        });
    }

    /// A thread reports the start of a span, then shows it; the drain looks at the record first and at the reports second.
    #[test]
    fn loom_a_span_that_a_record_claims_was_reported_before() {
        loom::model(|| {
            let shared = Arc::new((AtomicU64::new(0), Record::new()));
            let drain = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (reported, record) = &*shared;
                    if let Some(claim) = record.claim() {
                        // What is not known to be open is withdrawn.
                        let is_open = claim.span <= reported.load(Ordering::Relaxed);
                        assert!(is_open || !record.withdraw(&claim));
                    }
                })
            };
            let (reported, record) = &*shared;
            for span in 1..=2 {
                reported.store(span, Ordering::Relaxed);
                let odd = record.begin();
                fence(Ordering::Release);
                record.put(&tag(span));
                record.end(odd, &tag(span), TraceFlags::SAMPLED);
            }
            drain.join().unwrap();
            assert_eq!(record.word.load(Ordering::Relaxed) & VALID, VALID);
            assert_eq!(record.ids().2, 2);
        });
    }
}
