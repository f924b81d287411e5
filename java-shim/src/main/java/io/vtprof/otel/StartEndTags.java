package io.vtprof.otel;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadableSpan;

/**
 * Tags from the start and end of spans alone: what is left when {@link TaggingStorage} came too late.
 *
 * <p>A start does not say that the span is made current. It tags its thread when that is likely: the span is of a kind
 * that runs where it starts (INTERNAL, SERVER, CONSUMER), and is a local root or the child of what is current there.
 * Any other start or end on the starting thread sets the tag to what is current on it then; {@link Context#current()} can
 * be asked without the wrapper. So no stack of earlier tags is kept that could go out of step. An end on another thread
 * leaves that one's tag alone.
 *
 * <p>Limits: work handed to another thread is untagged there unless it starts a span; a thread that starts a span, does
 * not make it current and turns to other work carries it until its next start or end of a span, or the span's end;
 * between the close of a scope and the next start or end the tag lags behind.
 *
 * <p>Thread safe. Callers keep what is thrown away from the application.
 */
final class StartEndTags {
    private final SpanTable spans;

    StartEndTags(SpanTable spans) {
        this.spans = spans;
    }

    /** On the thread that starts the span, which is in the table. */
    void started(Context parentContext, ReadableSpan span, SpanInfo info) {
        Context current = Context.current();
        if (runsHere(parentContext, current, span.getKind(), info)) {
            SpanInfo.tagThread(info);
        } else {
            SpanInfo.tagThread(spans.in(current));
        }
    }

    /** A recording span that is not tracked starts: the parent's tag would be wrong for it. */
    void startedUntracked() {
        SpanInfo.tagThread(null);
    }

    /** On the thread that ends the span, which is no longer in the table. */
    void ended(ReadableSpan span, SpanInfo info) {
        if (ThreadIds.current() != info.startThread) {
            // The starting thread may still carry it: the agent tags no sample with a span that has ended.
            return;
        }
        Context current = Context.current();
        SpanInfo next = spans.in(current);
        if (next == null && isCurrent(info, current)) {
            // Ended inside of its own scope: what comes back when that closes is the span around it.
            next = spans.get(span.getParentSpanContext());
        }
        SpanInfo.tagThread(next);
    }

    private boolean runsHere(Context parentContext, Context current, SpanKind kind, SpanInfo info) {
        if (kind == SpanKind.CLIENT || kind == SpanKind.PRODUCER) {
            return false;
        }
        return info.isLocalRoot() || spans.in(parentContext) == spans.in(current);
    }

    private static boolean isCurrent(SpanInfo info, Context current) {
        Span span = Span.fromContextOrNull(current);
        SpanContext context = span == null ? null : span.getSpanContext();
        return context == info.spanContext;
    }
}
