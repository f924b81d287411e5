package io.vtprof.otel;

import static io.vtprof.otel.Tracing.assertTagged;
import static io.vtprof.otel.Tracing.assertUntagged;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextKey;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The tag of a thread is the live span of the context that is current on it, at every moment. */
class TaggingStorageTest {
    private static LogCapture log;
    private static Tracer tracer;

    private ExecutorService other;

    @BeforeAll
    static void link() {
        log = LogCapture.start();
        FakeAgent.install();
        VtProf.installContextStorage();
        tracer = Tracing.tracer();
    }

    @BeforeEach
    void startThread() {
        other = Tracing.oneThread("other");
    }

    @AfterEach
    void leaveNothingBehind() {
        other.shutdownNow();
        assertEquals(Context.root(), Context.current());
        assertUntagged();
    }

    @Test
    void parent_is_back_when_its_childs_scope_closes() {
        Span parent = tracer.spanBuilder("parent").startSpan();
        assertUntagged();
        try (Scope outer = parent.makeCurrent()) {
            assertTagged(parent);
            Span child = tracer.spanBuilder("child").startSpan();
            assertTagged(parent);
            try (Scope inner = child.makeCurrent()) {
                assertTagged(child);
                assertEquals(parent.getSpanContext().getSpanId(), FakeAgent.tag().localRoot());
            }
            child.end();
            assertTagged(parent);
        }
        assertUntagged();
        parent.end();
    }

    @Test
    void a_span_that_ends_while_a_scope_of_it_opens_or_comes_back_tags_no_thread() {
        Span opened = tracer.spanBuilder("ends while it is made current").startSpan();
        FakeAgent.meanwhile = opened::end;
        try (Scope scope = opened.makeCurrent()) {
            assertUntagged();
        }
        Span back = tracer.spanBuilder("ends while a child's scope closes").startSpan();
        try (Scope outer = back.makeCurrent()) {
            try (Scope inner = tracer.spanBuilder("child").startSpan().makeCurrent()) {
                FakeAgent.meanwhile = back::end;
            }
            assertUntagged();
        }
    }

    @Test
    void pool_task_with_wrapped_context_carries_its_own_span_and_the_worker_none_afterwards() throws Exception {
        Span span = tracer.spanBuilder("fan out").startSpan();
        ExecutorService pool = Context.current().with(span).wrap(other);
        pool.submit(() -> assertTagged(span)).get();
        other.submit(Tracing::assertUntagged).get();
        assertUntagged();
        span.end();
    }

    @Test
    void tag_follows_the_current_context_when_scopes_close_out_of_order() {
        Span first = tracer.spanBuilder("first").startSpan();
        Span second = tracer.spanBuilder("second").startSpan();
        Scope outer = first.makeCurrent();
        Scope inner = second.makeCurrent();
        outer.close();
        assertSame(second, Span.current());
        assertTagged(second);
        inner.close();
        assertSame(first, Span.current());
        assertTagged(first);
        outer.close();
        assertUntagged();
        first.end();
        second.end();
    }

    @Test
    void closing_a_scope_on_another_thread_leaves_that_threads_tag_alone() throws Exception {
        Span mine = tracer.spanBuilder("mine").startSpan();
        Span theirs = tracer.spanBuilder("theirs").startSpan();
        Scope scope = mine.makeCurrent();
        other.submit(() -> {
            try (Scope their = theirs.makeCurrent()) {
                scope.close();
                assertTagged(theirs);
            }
        }).get();
        assertTagged(mine);
        scope.close();
        mine.end();
        theirs.end();
    }

    @Test
    void attaching_the_current_context_again_reports_nothing() {
        Span span = tracer.spanBuilder("again").startSpan();
        Context context = Context.current().with(span);
        try (Scope first = context.makeCurrent()) {
            long sets = FakeAgent.sets();
            Scope again = context.makeCurrent();
            assertSame(Scope.noop(), again);
            again.close();
            assertEquals(sets, FakeAgent.sets());
            assertTagged(span);
        }
        span.end();
    }

    @Test
    void each_attach_and_each_close_is_one_call_of_the_agent() {
        Span span = tracer.spanBuilder("counted").startSpan();
        long sets = FakeAgent.sets();
        span.makeCurrent().close();
        assertEquals(2, FakeAgent.sets() - sets);
        span.end();
    }

    @Test
    void context_of_a_span_that_ended_elsewhere_tags_no_more() throws Exception {
        Span span = tracer.spanBuilder("ends elsewhere").startSpan();
        Context context = Context.current().with(span);
        try (Scope scope = context.makeCurrent()) {
            assertTagged(span);
        }
        other.submit(() -> {
            span.end();
            assertUntagged();
        }).get();
        try (Scope scope = context.makeCurrent()) {
            assertUntagged();
        }
    }

    @Test
    void span_that_ended_in_between_is_not_restored() {
        Span parent = tracer.spanBuilder("parent").startSpan();
        Span child = tracer.spanBuilder("child").startSpan();
        try (Scope outer = parent.makeCurrent()) {
            try (Scope inner = child.makeCurrent()) {
                parent.end();
                assertTagged(child);
            }
            assertUntagged();
        }
        child.end();
    }

    @Test
    void unsampled_span_takes_the_tag_away_for_as_long_as_it_is_current() {
        Span sampled = tracer.spanBuilder("sampled").startSpan();
        Tracer dropping = Tracing.tracer(Sampler.alwaysOff());
        try (Scope outer = sampled.makeCurrent()) {
            Span dropped = dropping.spanBuilder("dropped").startSpan();
            try (Scope inner = dropped.makeCurrent()) {
                assertUntagged();
            }
            assertTagged(sampled);
        }
        sampled.end();
    }

    @Test
    void remote_parent_tags_nothing() {
        try (Scope scope = Tracing.remoteParent().makeCurrent()) {
            assertUntagged();
        }
    }

    @Test
    void remote_parent_that_is_a_live_span_of_this_very_process_tags_nothing() {
        Span client = tracer.spanBuilder("client").startSpan();
        SpanContext sent = client.getSpanContext();
        SpanContext received = SpanContext.createFromRemoteParent(
                sent.getTraceId(), sent.getSpanId(), sent.getTraceFlags(), sent.getTraceState());
        try (Scope scope = Context.root().with(Span.wrap(received)).makeCurrent()) {
            assertUntagged();
        }
        client.end();
    }

    @Test
    void another_object_for_the_same_span_tags_it() {
        Span span = tracer.spanBuilder("bridged").startSpan();
        SpanContext own = span.getSpanContext();
        SpanContext copy = SpanContext.create(
                new StringBuilder(own.getTraceId()).toString(),
                new StringBuilder(own.getSpanId()).toString(),
                own.getTraceFlags(),
                own.getTraceState());
        try (Scope scope = Context.root().with(Span.wrap(copy)).makeCurrent()) {
            assertTagged(span);
        }
        span.end();
    }

    @Test
    void same_span_id_in_another_trace_tags_nothing() {
        Span span = tracer.spanBuilder("span").startSpan();
        SpanContext own = span.getSpanContext();
        SpanContext foreign = SpanContext.create(
                Tracing.REMOTE_TRACE, own.getSpanId(), own.getTraceFlags(), own.getTraceState());
        try (Scope scope = Context.root().with(Span.wrap(foreign)).makeCurrent()) {
            assertUntagged();
        }
        span.end();
    }

    @Test
    void closing_twice_changes_nothing() {
        Span outer = tracer.spanBuilder("outer").startSpan();
        Span inner = tracer.spanBuilder("inner").startSpan();
        try (Scope scope = outer.makeCurrent()) {
            Scope twice = inner.makeCurrent();
            twice.close();
            twice.close();
            assertTagged(outer);
        }
        outer.end();
        inner.end();
    }

    @Test
    void current_and_root_are_those_of_the_wrapped_storage() {
        assertSame(ContextStorage.defaultStorage().root(), Context.root());
        Context context = Context.root().with(ContextKey.named("key"), "value");
        try (Scope scope = context.makeCurrent()) {
            assertSame(context, ContextStorage.defaultStorage().current());
            assertSame(context, Context.current());
        }
    }

    @Test
    void failure_inside_the_shim_never_reaches_the_application_and_is_logged_once() {
        Span span = tracer.spanBuilder("fails").startSpan();
        Span around = tracer.spanBuilder("around").startSpan();
        try (Scope outer = around.makeCurrent()) {
            FakeAgent.setFails = new IllegalStateException("agent failed");
            for (int i = 0; i < 3; i++) {
                try (Scope scope = span.makeCurrent()) {
                    assertSame(span, Span.current());
                    assertUntagged();
                }
                assertSame(around, Span.current());
                assertUntagged();
            }
        } finally {
            FakeAgent.setFails = null;
        }
        assertEquals(1, log.at(Level.WARNING).size(), log.at(Level.WARNING)::toString);
        assertTrue(log.at(Level.WARNING).get(0).contains("shim failed"));
        span.end();
        around.end();
    }

    @Test
    void tag_equals_the_live_current_span_after_any_sequence_of_attaches_closes_and_ends() throws Exception {
        Random random = new Random(20240607);
        List<ExecutorService> threads =
                List.of(Tracing.oneThread("a"), Tracing.oneThread("b"), Tracing.oneThread("c"));
        List<Scope> open = new ArrayList<>();
        List<Span> live = new ArrayList<>();
        List<Span> all = new ArrayList<>();
        int compared = 0;
        int tagged = 0;
        for (int step = 0; step < 20_000; step++) {
            Callable<Boolean> action;
            switch (random.nextInt(8)) {
                case 0, 1 -> action = () -> live.add(startRandom(random, live, all));
                case 2, 3, 4 -> action = () -> {
                    Span span = all.isEmpty() ? Span.getInvalid() : all.get(random.nextInt(all.size()));
                    return open.add(Context.current().with(span).makeCurrent());
                };
                case 5, 6 -> action = () -> {
                    if (!open.isEmpty()) {
                        open.remove(open.size() - 1 - random.nextInt(Math.min(4, open.size()))).close();
                    }
                    return true;
                };
                default -> action = () -> {
                    if (!live.isEmpty()) {
                        live.remove(random.nextInt(live.size())).end();
                    }
                    return false;
                };
            }
            // What an end leaves on the threads is the agent's to drop: it compares times.
            if (threads.get(random.nextInt(threads.size())).submit(action).get()) {
                for (ExecutorService thread : threads) {
                    FakeAgent.Tag tag = thread.submit(() -> {
                        FakeAgent.Tag now = FakeAgent.tag();
                        assertTrue(isCurrentOrEnded(now, live), "tag " + now.span() + " on a thread that runs another span");
                        return now;
                    }).get();
                    compared++;
                    tagged += tag == FakeAgent.NO_TAG ? 0 : 1;
                }
            }
        }
        assertTrue(compared > 10_000 && tagged > compared / 10, compared + " compared, " + tagged + " tagged");
        live.forEach(Span::end);
        threads.forEach(ExecutorService::shutdownNow);
    }

    private static Span startRandom(Random random, List<Span> live, List<Span> all) {
        Context parent = live.isEmpty() || random.nextInt(3) == 0
                ? Context.root()
                : Context.root().with(live.get(random.nextInt(live.size())));
        Span span = tracer.spanBuilder("random").setParent(parent).startSpan();
        all.add(span);
        return span;
    }

    private static boolean isCurrentOrEnded(FakeAgent.Tag tag, List<Span> live) {
        Span current = Span.current();
        boolean currentIsLive = live.contains(current);
        String expected = currentIsLive ? current.getSpanContext().getSpanId() : FakeAgent.NO_TAG.span();
        if (tag.span().equals(expected)) {
            return true;
        }
        // Attached while it ran, ended since: still the context that is current.
        return !currentIsLive && tag.span().equals(current.getSpanContext().getSpanId());
    }
}
