package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.sdk.trace.samplers.SamplingResult;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every span knows the topmost span of its trace that this process records, or is not tagged at all. */
class LocalRootsTest {
    private static final AttributeKey<String> PROFILE_ID = AttributeKey.stringKey("pyroscope.profile.id");

    private static Tracer tracer;

    @BeforeAll
    static void link() {
        FakeAgent.install();
        VtProf.installContextStorage();
        tracer = Tracing.tracer();
    }

    @Test
    void span_without_a_parent_is_its_own_local_root() {
        Span span = tracer.spanBuilder("root").setNoParent().startSpan();
        assertEquals(id(span), reportedRoot(span));
        span.end();
    }

    @Test
    void span_with_a_remote_parent_is_its_own_local_root() {
        Span server = child(Tracing.remoteParent());
        assertEquals(Tracing.REMOTE_TRACE, server.getSpanContext().getTraceId());
        assertEquals(id(server), reportedRoot(server));
        Span inner = child(Context.root().with(server));
        assertEquals(id(server), reportedRoot(inner));
        inner.end();
        server.end();
    }

    @Test
    void depth_does_not_change_the_local_root() {
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span span = root;
        for (int depth = 0; depth < 100; depth++) {
            span = child(Context.root().with(span));
            assertEquals(id(root), reportedRoot(span));
        }
    }

    @Test
    void profile_id_is_set_on_local_roots_only() {
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span inner = child(Context.root().with(root));
        Span server = child(Tracing.remoteParent());
        assertEquals(id(root), attribute(root));
        assertEquals(id(server), attribute(server));
        assertNull(attribute(inner));
        assertTrue(attribute(root).matches("[0-9a-f]{16}"));
    }

    @Test
    void child_started_after_its_parents_end_has_the_parents_root() {
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span parent = child(Context.root().with(root));
        Span grandchild = child(Context.root().with(parent));
        parent.end();
        root.end();
        grandchild.end();
        assertEquals(id(root), reportedRoot(child(Context.root().with(parent))));
        assertEquals(id(root), reportedRoot(child(Context.root().with(grandchild))));
        assertEquals(id(root), reportedRoot(child(Context.root().with(root))));
    }

    @Test
    void root_that_ended_long_ago_is_still_found_through_its_child_the_context_holds() {
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span inner = child(Context.root().with(root));
        Span underLivingRoot = child(Context.root().with(root));
        Span second = tracer.spanBuilder("second root").setNoParent().startSpan();
        Span parent = child(Context.root().with(second));
        underLivingRoot.end();
        root.end();
        parent.end();
        forgetEndedSpans();
        // The parent is the root itself.
        assertEquals(id(root), reportedRoot(child(Context.root().with(root))));
        // The parent has ended and is forgotten, but names the grandparent, which lives.
        assertEquals(id(second), reportedRoot(child(Context.root().with(parent))));
        // The parent lives.
        assertEquals(id(root), reportedRoot(child(Context.root().with(inner))));
        inner.end();
        second.end();
    }

    @Test
    void span_whose_root_nothing_knows_any_more_goes_untagged_and_is_counted() {
        Span root = tracer.spanBuilder("root").setNoParent().startSpan();
        Span parent = child(Context.root().with(root));
        Span grandchild = child(Context.root().with(parent));
        root.end();
        parent.end();
        grandchild.end();
        forgetEndedSpans();
        long untracked = SpanTable.SHARED.untracked();
        Span orphan = child(Context.root().with(grandchild));
        assertFalse(wasReported(orphan));
        assertEquals(untracked + 1, SpanTable.SHARED.untracked());
        assertTrue(FakeAgent.lost().contains(SpanIds.parse(id(orphan), 0)));
        assertNull(attribute(orphan));
        try (Scope scope = orphan.makeCurrent()) {
            Tracing.assertUntagged();
        }
        // The same with nothing left of the parent but its ids.
        assertFalse(wasReported(child(Context.root().with(Span.wrap(grandchild.getSpanContext())))));
        assertEquals(untracked + 2, SpanTable.SHARED.untracked());
    }

    @Test
    void recorded_child_of_a_dropped_span_is_a_local_root() {
        Tracer picky = Tracing.tracer(new DropNamed("dropped"));
        Span dropped = picky.spanBuilder("dropped").setNoParent().startSpan();
        assertFalse(dropped.isRecording());
        Span kept = picky.spanBuilder("kept").setParent(Context.root().with(dropped)).startSpan();
        assertNotEquals(id(dropped), id(kept));
        assertEquals(id(kept), reportedRoot(kept));
        assertEquals(id(kept), attribute(kept));
        kept.end();
    }

    private static Span child(Context parent) {
        return tracer.spanBuilder("child").setParent(parent).startSpan();
    }

    /** Enough spans to fall on every slot, most of them several times. */
    private static void forgetEndedSpans() {
        FakeAgent.keepEvents = false;
        for (int i = 0; i < EndedSpans.SLOTS * 20; i++) {
            tracer.spanBuilder("filler").setNoParent().startSpan().end();
        }
        FakeAgent.keepEvents = true;
    }

    private static String id(Span span) {
        return span.getSpanContext().getSpanId();
    }

    private static String attribute(Span span) {
        return ((ReadableSpan) span).getAttribute(PROFILE_ID);
    }

    private static boolean wasReported(Span span) {
        return FakeAgent.started().stream().anyMatch(started -> started.ids().span().equals(id(span)));
    }

    private static String reportedRoot(Span span) {
        List<String> roots = FakeAgent.started().stream()
                .filter(started -> started.ids().span().equals(id(span)))
                .map(started -> started.ids().localRoot())
                .toList();
        assertEquals(1, roots.size());
        return roots.get(0);
    }

    private record DropNamed(String name) implements Sampler {
        @Override
        public SamplingResult shouldSample(
                Context parent, String trace, String span, SpanKind kind, Attributes attributes, List<LinkData> links) {
            return span.equals(name) ? SamplingResult.drop() : SamplingResult.recordAndSample();
        }

        @Override
        public String getDescription() {
            return "drops " + name;
        }
    }
}
