package io.vtprof.otel;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.trace.ReadableSpan;

/**
 * Finds a starting span's local root: the topmost of its ancestors, itself included, that this process records.
 *
 * <p>That is the span itself when it has no parent, a remote one, or one the sampler dropped. Otherwise it is the root of
 * its parent: of a live one from {@link SpanTable}, of one that has ended from {@link EndedSpans}, and when that has
 * forgotten it, from the parent span which the context still holds: it names the grandparent. If nothing knows, the
 * answer is "unknown", never a guess; such a span goes untagged.
 *
 * <p>Thread safe.
 */
final class LocalRoots {
    /** No span has the id 0. */
    static final long UNKNOWN = 0;

    private final SpanTable live;
    private final EndedSpans ended;

    LocalRoots(SpanTable live, EndedSpans ended) {
        this.live = live;
        this.ended = ended;
    }

    /**
     * @param ownSpanId id of the span that starts
     * @param parentContext its parent's span context
     * @param parent the span in the context it was started with; null when there is none
     */
    long find(long ownSpanId, SpanContext parentContext, Span parent) {
        if (isAbove(parentContext)) {
            return ownSpanId;
        }
        long root = ofLocal(parentContext);
        if (root != UNKNOWN) {
            return root;
        }
        if (parent instanceof ReadableSpan) {
            SpanContext grandparent = ((ReadableSpan) parent).getParentSpanContext();
            return isAbove(grandparent) ? SpanIds.parse(parentContext.getSpanId(), 0) : ofLocal(grandparent);
        }
        return parentContext.isSampled() ? UNKNOWN : ownSpanId;
    }

    /** Whether a parent lies outside of this process, or is none. */
    private static boolean isAbove(SpanContext parent) {
        return !parent.isValid() || parent.isRemote();
    }

    private long ofLocal(SpanContext span) {
        SpanInfo info = live.get(span);
        if (info != null) {
            return info.localRootSpanId;
        }
        String trace = span.getTraceId();
        return ended.localRootOf(SpanIds.parse(trace, 0), SpanIds.parse(trace, 16), SpanIds.parse(span.getSpanId(), 0));
    }
}
