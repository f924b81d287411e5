package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the agent is told of each span. */
class TaggingSpanProcessorTest {
    private static Tracer tracer;

    @BeforeAll
    static void link() {
        FakeAgent.install();
        VtProf.installContextStorage();
        tracer = Tracing.tracer();
    }

    @Test
    void start_carries_all_ids_and_the_first_name() {
        Span span = tracer.spanBuilder("GET").setNoParent().startSpan();
        FakeAgent.Started started = started(span);
        assertEquals("GET", started.name());
        assertEquals(span.getSpanContext().getTraceId(), started.ids().traceId());
        assertEquals(span.getSpanContext().getSpanId(), started.ids().localRoot());
        span.end();
    }

    @Test
    void end_carries_the_final_name_the_times_and_the_parent() {
        Span parent = tracer.spanBuilder("parent").setNoParent().startSpan();
        Span span = tracer.spanBuilder("GET")
                .setParent(Context.root().with(parent))
                .setStartTimestamp(1_700_000_000_123_456_789L, TimeUnit.NANOSECONDS)
                .startSpan();
        span.updateName("GET /orders/{id}");
        span.end(1_700_000_001_123_456_790L, TimeUnit.NANOSECONDS);
        FakeAgent.Ended ended = ended(span);
        assertEquals("GET /orders/{id}", ended.name());
        assertEquals(1_700_000_000_123_456_789L, ended.startEpochNanos());
        assertEquals(1_700_000_001_123_456_790L, ended.endEpochNanos());
        assertEquals(parent.getSpanContext().getSpanId(), SpanIds.format(ended.parentSpanId()));
        assertEquals(parent.getSpanContext().getSpanId(), ended.ids().localRoot());
        assertEquals(span.getSpanContext().getTraceId(), ended.ids().traceId());
        parent.end();
        assertEquals(0, ended(parent).parentSpanId());
    }

    @Test
    void remote_parent_is_named_at_the_end() {
        Span span = tracer.spanBuilder("server").setParent(Tracing.remoteParent()).startSpan();
        span.end();
        assertEquals(Tracing.REMOTE_SPAN, SpanIds.format(ended(span).parentSpanId()));
        assertEquals(Tracing.REMOTE_TRACE, ended(span).ids().traceId());
    }

    @Test
    void kinds_and_states_are_otlps_numbers() {
        Map<SpanKind, Integer> kinds = new EnumMap<>(Map.of(
                SpanKind.INTERNAL, 1,
                SpanKind.SERVER, 2,
                SpanKind.CLIENT, 3,
                SpanKind.PRODUCER, 4,
                SpanKind.CONSUMER, 5));
        assertEquals(SpanKind.values().length, kinds.size());
        kinds.forEach((kind, number) -> {
            Span span = tracer.spanBuilder("kind").setSpanKind(kind).startSpan();
            span.end();
            assertEquals(number, ended(span).kind());
        });
        Map<StatusCode, Integer> states = Map.of(StatusCode.UNSET, 0, StatusCode.OK, 1, StatusCode.ERROR, 2);
        assertEquals(StatusCode.values().length, states.size());
        states.forEach((status, number) -> {
            Span span = tracer.spanBuilder("status").startSpan();
            span.setStatus(status);
            span.end();
            assertEquals(number, ended(span).status());
        });
    }

    @Test
    void current_name_is_the_latest_while_the_span_runs_and_unknown_afterwards() {
        Span span = tracer.spanBuilder("HTTP GET").setNoParent().startSpan();
        long id = SpanIds.parse(span.getSpanContext().getSpanId(), 0);
        assertEquals("HTTP GET", Native.currentName(id));
        span.updateName("GET /late");
        assertEquals("GET /late", Native.currentName(id));
        span.end();
        assertNull(Native.currentName(id));
        assertNull(Native.currentName(id ^ 1));
    }

    @Test
    void processor_given_twice_reports_each_span_once() {
        assertSame(VtProf.spanProcessor(), VtProf.spanProcessor());
        Tracer twice = SdkTracerProvider.builder()
                .addSpanProcessor(VtProf.spanProcessor())
                .addSpanProcessor(VtProf.spanProcessor())
                .build()
                .get("test");
        long untracked = SpanTable.SHARED.untracked();
        Span span = twice.spanBuilder("twice").startSpan();
        span.end();
        started(span);
        ended(span);
        assertEquals(untracked, SpanTable.SHARED.untracked());
    }

    @Test
    void processor_serves_on_when_one_of_two_sdks_shuts_down() {
        SdkTracerProvider first =
                SdkTracerProvider.builder().addSpanProcessor(VtProf.spanProcessor()).build();
        first.shutdown().join(10, TimeUnit.SECONDS);
        Span span = tracer.spanBuilder("after").startSpan();
        assertEquals("after", started(span).name());
        span.end();
    }

    @Test
    void live_span_of_the_same_id_in_another_trace_keeps_its_own_tag() {
        FixedIds ids = new FixedIds("00000000deadbeef");
        Tracer fixed = SdkTracerProvider.builder()
                .setIdGenerator(ids)
                .addSpanProcessor(VtProf.spanProcessor())
                .build()
                .get("test");
        long untracked = SpanTable.SHARED.untracked();
        Span first = fixed.spanBuilder("first").startSpan();
        Span second = fixed.spanBuilder("second").startSpan();
        assertNotEquals(first.getSpanContext().getTraceId(), second.getSpanContext().getTraceId());
        assertEquals(untracked + 1, SpanTable.SHARED.untracked());
        try (var scope = second.makeCurrent()) {
            Tracing.assertUntagged();
        }
        second.end();
        try (var scope = first.makeCurrent()) {
            Tracing.assertTagged(first);
        }
        first.end();
        assertEquals(List.of("first"), FakeAgent.ended().stream()
                .filter(ended -> ended.ids().spanId() == 0xdeadbeefL)
                .map(FakeAgent.Ended::name)
                .toList());
        assertTrue(FakeAgent.lost().stream().noneMatch(lost -> lost == 0xdeadbeefL));
    }

    private static FakeAgent.Started started(Span span) {
        List<FakeAgent.Started> all = FakeAgent.started().stream()
                .filter(started -> started.ids().span().equals(span.getSpanContext().getSpanId()))
                .toList();
        assertEquals(1, all.size());
        return all.get(0);
    }

    private static FakeAgent.Ended ended(Span span) {
        List<FakeAgent.Ended> all = FakeAgent.ended().stream()
                .filter(ended -> ended.ids().span().equals(span.getSpanContext().getSpanId()))
                .toList();
        assertEquals(1, all.size());
        return all.get(0);
    }
}
