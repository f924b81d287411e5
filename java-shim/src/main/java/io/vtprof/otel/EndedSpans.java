package io.vtprof.otel;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The local roots of spans that ended lately, for children which start after their parent's end.
 *
 * <p>A fixed number of slots, each overwritten by the next span that falls on it: no growth, no eviction to pay for, and
 * an entry lives for about {@value #SLOTS} further ends. An entry is compared in all its ids, so a slot gives the right
 * answer or none. Keeping ended spans in {@link SpanTable} until they are collected would have no such bound.
 *
 * <p>Thread safe and lock-free: slots hold immutable entries.
 */
final class EndedSpans {
    /** Under 1 MiB when all are filled. */
    private static final int SLOT_BITS = 14;

    static final int SLOTS = 1 << SLOT_BITS;

    /** 2^64 divided by the golden ratio: spreads ids that were not drawn at random. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private final AtomicReferenceArray<Entry> slots = new AtomicReferenceArray<>(SLOTS);

    void add(SpanInfo ended) {
        // Not volatile: a child that starts on another thread this very moment finds no root rather than a wrong one.
        slots.lazySet(slot(ended.spanId), new Entry(ended));
    }

    /** @return 0 when not known (any more) */
    long localRootOf(long traceHi, long traceLo, long spanId) {
        Entry entry = slots.get(slot(spanId));
        return entry != null && entry.spanId == spanId && entry.traceHi == traceHi && entry.traceLo == traceLo
                ? entry.localRootSpanId
                : 0;
    }

    private static int slot(long spanId) {
        return (int) (spanId * SPREAD >>> Long.SIZE - SLOT_BITS);
    }

    private static final class Entry {
        final long traceHi;
        final long traceLo;
        final long spanId;
        final long localRootSpanId;

        Entry(SpanInfo ended) {
            traceHi = ended.traceHi;
            traceLo = ended.traceLo;
            spanId = ended.spanId;
            localRootSpanId = ended.localRootSpanId;
        }
    }
}
