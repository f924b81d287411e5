package io.vtprof.otel;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;

/**
 * Learns of every recording span: its ids, its local root, its start, its end and final name.
 *
 * <p>Puts the attribute {@code pyroscope.profile.id} on local roots, by which trace views ask for a span's profile. Spans
 * the sampler drops never come by here and so never tag a sample.
 *
 * <p>One instance may serve several SDKs, and be given to one SDK twice. Thread safe; nothing is thrown into the
 * application.
 */
final class TaggingSpanProcessor implements SpanProcessor {
    private static final AttributeKey<String> PROFILE_ID = AttributeKey.stringKey("pyroscope.profile.id");

    private final SpanTable spans;
    private final EndedSpans ended;
    private final LocalRoots roots;
    private final StartEndTags startEndTags;

    TaggingSpanProcessor(SpanTable spans) {
        this.spans = spans;
        this.ended = new EndedSpans();
        this.roots = new LocalRoots(spans, ended);
        this.startEndTags = new StartEndTags(spans);
    }

    /** Always: the SDK asks only once, and an agent may be attached later. */
    @Override
    public boolean isStartRequired() {
        return true;
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public void onStart(Context parentContext, ReadWriteSpan span) {
        if (!Native.linked) {
            return;
        }
        try {
            StorageHook.Mode mode = StorageHook.mode();
            if (mode == StorageHook.Mode.SECOND_COPY || spans.has(span.getSpanContext())) {
                return;
            }
            SpanInfo info = track(parentContext, span);
            if (mode == StorageHook.Mode.TOO_LATE) {
                if (info == null) {
                    startEndTags.startedUntracked();
                } else {
                    startEndTags.started(parentContext, span, info);
                }
            }
        } catch (Throwable failed) {
            Log.failed(failed);
        }
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (!Native.linked) {
            return;
        }
        SpanInfo untold = null;
        try {
            // First of all: from here on no attach tags a thread with this span.
            SpanInfo info = spans.remove(span.getSpanContext());
            if (info == null) {
                return;
            }
            untold = info;
            info.ended = true;
            try {
                // A child may start this very moment.
                ended.add(info);
            } finally {
                report(span, info);
                untold = null;
            }
            if (StorageHook.mode() == StorageHook.Mode.TOO_LATE) {
                startEndTags.ended(span, info);
            }
        } catch (Throwable failed) {
            if (untold != null) {
                lost(untold);
            }
            Log.failed(failed);
        }
    }

    @Override
    public CompletableResultCode shutdown() {
        return CompletableResultCode.ofSuccess();
    }

    @Override
    public CompletableResultCode forceFlush() {
        return CompletableResultCode.ofSuccess();
    }

    /** @return null when the span is not tracked */
    private SpanInfo track(Context parentContext, ReadWriteSpan span) {
        SpanContext context = span.getSpanContext();
        SpanContext parent = span.getParentSpanContext();
        long spanId = SpanIds.parse(context.getSpanId(), 0);
        long root = roots.find(spanId, parent, Span.fromContextOrNull(parentContext));
        if (root == LocalRoots.UNKNOWN) {
            spans.refuse(spanId);
            return null;
        }
        long parentSpanId = parent.isValid() ? SpanIds.parse(parent.getSpanId(), 0) : 0;
        SpanInfo info = new SpanInfo(span, spans.queue(), context, spanId, parentSpanId, root);
        if (!spans.add(info)) {
            return null;
        }
        Native.spanStarted(info.traceHi, info.traceLo, spanId, root, span.getName());
        if (info.isLocalRoot()) {
            span.setAttribute(PROFILE_ID, context.getSpanId());
        }
        return info;
    }

    private static void report(ReadableSpan span, SpanInfo info) {
        try {
            SpanData data = span.toSpanData();
            Native.spanEnded(
                    info.traceHi,
                    info.traceLo,
                    info.spanId,
                    info.parentSpanId,
                    info.localRootSpanId,
                    data.getName(),
                    otlpKind(data.getKind()),
                    data.getStartEpochNanos(),
                    data.getEndEpochNanos(),
                    otlpStatus(data.getStatus().getStatusCode()),
                    info.taggedThread);
        } catch (Throwable failed) {
            lost(info);
            Log.failed(failed);
        }
    }

    /** Whatever could not be told of a span, it has ended. One whose end was told stays as it is. */
    private static void lost(SpanInfo info) {
        try {
            Native.spanLost(info.spanId);
        } catch (Throwable failed) {
            Log.failed(failed);
        }
    }

    private static int otlpKind(SpanKind kind) {
        switch (kind) {
            case SERVER:
                return 2;
            case CLIENT:
                return 3;
            case PRODUCER:
                return 4;
            case CONSUMER:
                return 5;
            default:
                return 1;
        }
    }

    private static int otlpStatus(StatusCode status) {
        switch (status) {
            case OK:
                return 1;
            case ERROR:
                return 2;
            default:
                return 0;
        }
    }
}
