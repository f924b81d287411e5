package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;

/** A real SDK with the shim's processor, and what the tests ask of it. */
final class Tracing {
    static final String REMOTE_TRACE = "0123456789abcdef02468ace13579bdf";
    static final String REMOTE_SPAN = "fedcba9876543210";

    static Tracer tracer() {
        return tracer(Sampler.alwaysOn());
    }

    static Tracer tracer(Sampler sampler) {
        return SdkTracerProvider.builder()
                .setSampler(sampler)
                .addSpanProcessor(VtProf.spanProcessor())
                .build()
                .get("test");
    }

    static Context remoteParent() {
        SpanContext remote = SpanContext.createFromRemoteParent(
                REMOTE_TRACE, REMOTE_SPAN, TraceFlags.getSampled(), TraceState.getDefault());
        return Context.root().with(Span.wrap(remote));
    }

    /** One thread, always the same. */
    static ExecutorService oneThread(String name) {
        ThreadFactory daemon = task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
        return Executors.newSingleThreadExecutor(daemon);
    }

    static void assertTagged(Span expected) {
        assertEquals(expected.getSpanContext().getSpanId(), FakeAgent.tag().span());
        assertEquals(expected.getSpanContext().getTraceId(), FakeAgent.tag().traceId());
    }

    static void assertUntagged() {
        assertEquals(FakeAgent.NO_TAG, FakeAgent.tag());
    }

    private Tracing() {}
}
