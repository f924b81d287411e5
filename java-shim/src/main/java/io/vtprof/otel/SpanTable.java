package io.vtprof.otel;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadableSpan;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/**
 * The recording spans that have started and not ended, found by span id.
 *
 * <p>By id and not by span object: what a context holds may be another object for the same span (a wrapper, or the
 * OpenTelemetry javaagent's bridge between the application's API and its own). The key is the id as a string, because
 * that is what a context has at hand with its hash already known; parsing it on every attach would cost more than the
 * look-up. The same id alone is not enough for a tag, the trace must be the same too and the context not remote.
 *
 * <p>Bounded: what comes when the table is full stays untagged and is counted. Spans are held weakly; one that nobody
 * ends is noticed through a reference queue after the collector took it, a few at each start of a span. A look through
 * the whole table would find no more, and would stop a request for its length. (A span processor that hands a short-lived
 * wrapper of the span to this one makes the span look lost: it goes untagged.)
 *
 * <p>Thread safe, reads take no lock.
 */
final class SpanTable {
    /** More live spans than any healthy service has; about 8 MiB when full, beside the spans themselves. */
    static final int DEFAULT_LIMIT = 65_536;

    /** The one table of this class loader: what {@link VtProf} hands out and the agent asks for names. */
    static final SpanTable SHARED = new SpanTable(DEFAULT_LIMIT);

    /** Lost spans are cleared away in the thread of a request: so many at once, more than a start can add. */
    private static final int LOST_AT_ONCE = 64;

    private final int limit;
    private final ConcurrentHashMap<String, SpanInfo> live = new ConcurrentHashMap<>();
    private final ReferenceQueue<ReadableSpan> collected = new ReferenceQueue<>();
    private final LongAdder untracked = new LongAdder();
    private final AtomicBoolean saidFull = new AtomicBoolean();

    /** Plain like {@link Native#linked}: set before the first span can be attached anywhere, read on every attach. */
    private boolean inUse;

    SpanTable(int limit) {
        this.limit = limit;
    }

    /**
     * Whether any span was ever added. While none was, this copy of the shim has tagged nothing and has nothing to take
     * away; tags on the thread are those of another copy, such as the javaagent's below the application's.
     */
    boolean inUse() {
        return inUse;
    }

    ReferenceQueue<ReadableSpan> queue() {
        return collected;
    }

    /** Whether this very span is in the table: its processor may have been given to an SDK twice. */
    boolean has(SpanContext spanContext) {
        SpanInfo known = live.get(spanContext.getSpanId());
        return known != null && known.spanContext == spanContext;
    }

    /**
     * Adds a span that has started. The bound may be passed by as many entries as there are threads adding at once.
     *
     * @return false when it cannot be tracked: no room, or the id of another live span
     */
    boolean add(SpanInfo info) {
        sweep();
        if (live.mappingCount() >= limit) {
            refuse(info.spanId);
            if (saidFull.compareAndSet(false, true)) {
                Log.warn("vtprof: " + limit + " spans are live at once, further ones stay untagged until some have ended; "
                        + "look for spans that are never ended");
            }
            return false;
        }
        inUse = true;
        if (live.putIfAbsent(info.spanContext.getSpanId(), info) != null) {
            // Two live spans of one id. The agent knows spans by their id: reporting this one lost would take the other's.
            untracked.increment();
            return false;
        }
        return true;
    }

    /** Counts a span that cannot be tracked, and tells the agent. */
    void refuse(long spanId) {
        untracked.increment();
        Native.spanLost(spanId);
    }

    /**
     * Takes a span out that has ended.
     *
     * @return null when it was not tracked
     */
    SpanInfo remove(SpanContext spanContext) {
        SpanInfo info = live.get(spanContext.getSpanId());
        if (info == null || info.spanContext != spanContext || !live.remove(spanContext.getSpanId(), info)) {
            return null;
        }
        // Its collection is no loss any more: nothing to queue.
        info.clear();
        return info;
    }

    /** The live span that runs in a context; null when there is none, or none that may tag a sample. */
    SpanInfo in(Context context) {
        if (context == null) {
            return null;
        }
        Span span = Span.fromContextOrNull(context);
        return span == null ? null : get(span.getSpanContext());
    }

    /** The live span of a local span context; null when it is remote, not recording, ended or not tracked. */
    SpanInfo get(SpanContext spanContext) {
        SpanInfo info = live.get(spanContext.getSpanId());
        if (info == null || info.spanContext == spanContext) {
            return info;
        }
        return isSame(info.spanContext, spanContext) ? info : null;
    }

    private static boolean isSame(SpanContext known, SpanContext asked) {
        return !asked.isRemote() && known.getTraceId().equals(asked.getTraceId());
    }

    /** The present name of a live span; null when it is not tracked or was collected. */
    String nameOf(long spanId) {
        SpanInfo info = live.get(SpanIds.format(spanId));
        ReadableSpan span = info == null ? null : info.get();
        return span == null ? null : span.getName();
    }

    int size() {
        return live.size();
    }

    /** Spans that were not tracked, since the start. */
    long untracked() {
        return untracked.sum();
    }

    private void sweep() {
        for (int i = 0; i < LOST_AT_ONCE; i++) {
            Reference<? extends ReadableSpan> reference = collected.poll();
            if (reference == null) {
                return;
            }
            SpanInfo info = (SpanInfo) reference;
            if (live.remove(info.spanContext.getSpanId(), info)) {
                Native.spanLost(info.spanId);
            }
        }
    }
}
