package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The table is bounded, forgets what ends or is lost, and counts what it cannot take. */
class SpanTableTest {
    private static final int SMALL = 1_000;

    private static LogCapture log;

    private SpanTable table;
    private Tracer tracer;

    @BeforeAll
    static void link() {
        log = LogCapture.start();
        FakeAgent.install();
        FakeAgent.keepEvents = false;
        VtProf.installContextStorage();
    }

    @BeforeEach
    void smallTable() {
        table = new SpanTable(SMALL);
        tracer = SdkTracerProvider.builder()
                .addSpanProcessor(new TaggingSpanProcessor(table))
                .build()
                .get("test");
    }

    @Test
    void a_million_spans_leave_nothing_behind() {
        long starts = FakeAgent.starts();
        long ends = FakeAgent.ends();
        Span root = tracer.spanBuilder("root").startSpan();
        Context context = Context.root().with(root);
        for (int i = 1; i < 1_000_000; i++) {
            tracer.spanBuilder("short").setParent(context).startSpan().end();
            assertEquals(1, table.size());
        }
        root.end();
        assertEquals(0, table.size());
        assertEquals(1_000_000, FakeAgent.starts() - starts);
        assertEquals(1_000_000, FakeAgent.ends() - ends);
        assertEquals(0, table.untracked());
    }

    @Test
    void spans_beyond_the_limit_are_untagged_counted_and_warned_of_once() {
        List<Span> live = new ArrayList<>();
        for (int i = 0; i < SMALL; i++) {
            live.add(tracer.spanBuilder("live").startSpan());
        }
        Set<Long> over = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            Span span = tracer.spanBuilder("over").startSpan();
            live.add(span);
            over.add(id(span));
        }
        assertEquals(SMALL, table.size());
        assertEquals(10, table.untracked());
        assertTrue(FakeAgent.lost().containsAll(over));
        List<String> warnings = log.at(Level.WARNING);
        assertEquals(1, warnings.size(), warnings::toString);
        assertTrue(warnings.get(0).contains("1000"), warnings::toString);

        TaggingStorage storage = new TaggingStorage(io.opentelemetry.context.ContextStorage.defaultStorage(), table);
        try (Scope scope = storage.attach(Context.root().with(live.get(0)))) {
            Tracing.assertTagged(live.get(0));
            try (Scope inner = storage.attach(Context.root().with(live.get(SMALL)))) {
                Tracing.assertUntagged();
            }
            Tracing.assertTagged(live.get(0));
        }

        live.forEach(Span::end);
        assertEquals(0, table.size());
        tracer.spanBuilder("room again").startSpan();
        assertEquals(1, table.size());
    }

    @Test
    void spans_never_ended_are_swept_and_reported_lost() throws InterruptedException {
        Set<Long> abandoned = new HashSet<>();
        Span kept = tracer.spanBuilder("kept").startSpan();
        for (int i = 0; i < SMALL - 1; i++) {
            abandoned.add(id(tracer.spanBuilder("abandoned").startSpan()));
        }
        assertEquals(SMALL, table.size());
        // The collector has them noticed by a thread of its own, which on a busy machine may take its time.
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (table.size() > 1 && System.nanoTime() < deadline) {
            System.gc();
            Thread.sleep(10);
            tracer.spanBuilder("next").startSpan().end();
        }
        assertEquals(1, table.size());
        List<Long> lost = FakeAgent.lost();
        assertEquals(abandoned.size(), lost.stream().filter(abandoned::contains).count());
        assertEquals("kept", table.nameOf(id(kept)));
        kept.end();
        assertEquals(0, table.size());
    }

    @Test
    void ended_span_is_not_reported_lost_when_it_is_collected_later() throws InterruptedException {
        Set<Long> ended = new HashSet<>();
        for (int i = 0; i < 500; i++) {
            Span span = tracer.spanBuilder("ended").startSpan();
            ended.add(id(span));
            span.end();
        }
        for (int i = 0; i < 10; i++) {
            System.gc();
            Thread.sleep(10);
            tracer.spanBuilder("next").startSpan().end();
        }
        assertTrue(FakeAgent.lost().stream().noneMatch(ended::contains));
    }

    private static long id(Span span) {
        return SpanIds.parse(span.getSpanContext().getSpanId(), 0);
    }
}
