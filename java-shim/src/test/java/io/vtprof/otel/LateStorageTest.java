package io.vtprof.otel;

import static io.vtprof.otel.Tracing.assertTagged;
import static io.vtprof.otel.Tracing.assertUntagged;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Something asked for a context before the shim came: tags follow the start and end of spans, and one warning says so. */
class LateStorageTest {
    private static LogCapture log;
    private static Tracer tracer;

    private ExecutorService other;

    @BeforeAll
    static void link() {
        Context.current();
        log = LogCapture.start();
        FakeAgent.install();
        tracer = Tracing.tracer();
    }

    @BeforeEach
    void startThread() {
        other = Tracing.oneThread("other");
    }

    @AfterEach
    void one_warning_in_all_and_no_tag_left() {
        other.shutdownNow();
        assertUntagged();
        List<String> warnings = log.at(Level.WARNING);
        assertEquals(1, warnings.size(), warnings::toString);
        assertTrue(warnings.get(0).contains("VtProf.installContextStorage()"), warnings::toString);
    }

    @Test
    void parent_is_back_when_a_child_ends_after_its_scope() {
        Span parent = tracer.spanBuilder("parent").startSpan();
        assertTagged(parent);
        try (Scope outer = parent.makeCurrent()) {
            Span child = tracer.spanBuilder("child").startSpan();
            assertTagged(child);
            assertEquals(parent.getSpanContext().getSpanId(), FakeAgent.tag().localRoot());
            try (Scope inner = child.makeCurrent()) {
                assertTagged(child);
            }
            child.end();
            assertTagged(parent);
        }
        parent.end();
        assertUntagged();
    }

    @Test
    void parent_is_back_when_a_child_ends_inside_of_its_scope() {
        Span parent = tracer.spanBuilder("parent").startSpan();
        try (Scope outer = parent.makeCurrent()) {
            Span child = tracer.spanBuilder("child").startSpan();
            try (Scope inner = child.makeCurrent()) {
                child.end();
                assertTagged(parent);
            }
            assertTagged(parent);
            parent.end();
            assertUntagged();
        }
    }

    @Test
    void end_on_another_thread_reaches_the_agent_and_leaves_that_threads_own_tag() throws Exception {
        Span span = tracer.spanBuilder("async").startSpan();
        assertTagged(span);
        other.submit(() -> {
            Span theirs = tracer.spanBuilder("theirs").startSpan();
            span.end();
            assertTagged(theirs);
            theirs.end();
            assertUntagged();
        }).get();
        long id = SpanIds.parse(span.getSpanContext().getSpanId(), 0);
        assertTrue(FakeAgent.ended().stream().anyMatch(ended -> ended.ids().spanId() == id));
        tracer.spanBuilder("next").startSpan().end();
        assertUntagged();
    }

    @Test
    void end_on_another_thread_spares_a_later_tag_of_the_starter() throws Exception {
        Span first = tracer.spanBuilder("first").startSpan();
        Span second = tracer.spanBuilder("second").setNoParent().startSpan();
        assertTagged(second);
        other.submit(() -> first.end()).get();
        assertTagged(second);
        second.end();
    }

    @Test
    void out_of_order_ends_never_leave_an_ended_span_behind() {
        Span first = tracer.spanBuilder("first").startSpan();
        Scope outer = first.makeCurrent();
        Span second = tracer.spanBuilder("second").startSpan();
        Scope inner = second.makeCurrent();
        first.end();
        assertTagged(second);
        second.end();
        assertUntagged();
        inner.close();
        outer.close();
    }

    @Test
    void client_span_leaves_its_callers_tag_in_place() {
        Span server = tracer.spanBuilder("server").setSpanKind(SpanKind.SERVER).startSpan();
        try (Scope scope = server.makeCurrent()) {
            Span client = tracer.spanBuilder("client").setSpanKind(SpanKind.CLIENT).startSpan();
            assertTagged(server);
            client.end();
            assertTagged(server);
        }
        server.end();
    }

    @Test
    void server_span_with_a_remote_parent_is_tagged() {
        Span server = tracer.spanBuilder("server")
                .setSpanKind(SpanKind.SERVER)
                .setParent(Tracing.remoteParent())
                .startSpan();
        assertTagged(server);
        server.end();
    }

    @Test
    void span_started_on_behalf_of_another_context_does_not_tag_the_starter() {
        Span elsewhere = tracer.spanBuilder("elsewhere").startSpan();
        elsewhere.end();
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span here = tracer.spanBuilder("here").setNoParent().startSpan();
        try (Scope scope = here.makeCurrent()) {
            Span child = tracer.spanBuilder("child").setParent(Context.root().with(root)).startSpan();
            assertTagged(here);
            child.end();
            assertTagged(here);
        }
        here.end();
        root.end();
    }

    @Test
    void span_that_is_still_open_on_an_event_loop_does_not_mark_the_next_request_or_what_follows() {
        Span pending = tracer.spanBuilder("pending").setSpanKind(SpanKind.SERVER).startSpan();
        Span next = tracer.spanBuilder("next").setSpanKind(SpanKind.SERVER).startSpan();
        assertTagged(next);
        next.end();
        assertUntagged();
        pending.end();
    }

    @Test
    void processor_given_twice_tags_all_the_same() {
        Tracer twice = SdkTracerProvider.builder()
                .addSpanProcessor(VtProf.spanProcessor())
                .addSpanProcessor(VtProf.spanProcessor())
                .build()
                .get("test");
        Span span = twice.spanBuilder("twice").startSpan();
        assertTagged(span);
        span.end();
    }

    @Test
    void ended_spans_have_no_name_and_no_entry() {
        Span span = tracer.spanBuilder("span").startSpan();
        long id = SpanIds.parse(span.getSpanContext().getSpanId(), 0);
        assertEquals("span", Native.currentName(id));
        span.end();
        assertNull(Native.currentName(id));
    }
}
