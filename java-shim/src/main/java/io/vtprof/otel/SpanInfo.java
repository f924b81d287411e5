package io.vtprof.otel;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.trace.ReadableSpan;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * What is known of one live span, its ids parsed once when it starts: an attach only hands numbers on.
 *
 * <p>Is itself the weak reference to the span, so a span that nobody ends can be collected and its entry found through
 * the queue. Immutable but for
 * one hint and its end.
 */
final class SpanInfo extends WeakReference<ReadableSpan> {
    /** The context object the SDK's span gives away: the same object each time, so identity tells most look-ups right. */
    final SpanContext spanContext;

    final long traceHi;
    final long traceLo;
    final long spanId;
    /** 0 without a parent. */
    final long parentSpanId;
    final long localRootSpanId;
    /** W3C trace flags: a span that is recorded need not be sampled. */
    final int traceFlags;

    /** Id of the thread that started the span. */
    final long startThread;

    /**
     * Id of the thread that was tagged with the span last; 0 for none. Plain: the agent holds it against that thread's own
     * tag.
     */
    long taggedThread;

    /**
     * Written before the agent is told of the end, which turns away those who read the tag of {@link #taggedThread} from
     * outside; read after a thread was tagged: either that end finds the tag, or the thread finds the end.
     */
    volatile boolean ended;

    SpanInfo(
            ReadableSpan span,
            ReferenceQueue<ReadableSpan> queue,
            SpanContext spanContext,
            long spanId,
            long parentSpanId,
            long localRootSpanId) {
        super(span, queue);
        this.spanContext = spanContext;
        this.traceHi = SpanIds.parse(spanContext.getTraceId(), 0);
        this.traceLo = SpanIds.parse(spanContext.getTraceId(), 16);
        this.spanId = spanId;
        this.parentSpanId = parentSpanId;
        this.localRootSpanId = localRootSpanId;
        this.traceFlags = spanContext.getTraceFlags().asByte() & 0xff;
        this.startThread = ThreadIds.current();
    }

    boolean isLocalRoot() {
        return spanId == localRootSpanId;
    }

    /** Tags the calling thread with a span, or takes its tag away when that is null. */
    static void tagThread(SpanInfo info) {
        long thread = ThreadIds.current();
        if (info == null) {
            Native.set(thread, 0, 0, 0, 0, 0);
        } else {
            info.taggedThread = thread;
            Native.set(thread, info.traceHi, info.traceLo, info.spanId, info.localRootSpanId, info.traceFlags);
            if (info.ended) {
                Native.set(thread, 0, 0, 0, 0, 0);
            }
        }
    }
}
