package io.vtprof.otel;

import static io.vtprof.otel.Tracing.assertTagged;
import static io.vtprof.otel.Tracing.assertUntagged;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** The agent comes into a running JVM. */
class RelinkTest {
    @Test
    void agent_attached_later_is_linked_and_tags_from_then_on() {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        FakeAgent.present = false;
        VtProf.installContextStorage();
        Tracer tracer = Tracing.tracer();
        Span before = tracer.spanBuilder("before").startSpan();
        try (Scope outer = before.makeCurrent()) {
            assertFalse(Native.linked);

            FakeAgent.present = true;
            Native.relink();
            Native.relink();
            assertTrue(Native.linked);
            assertEquals(Version.STRING, FakeAgent.shimVersion);
            List<String> lines = log.at(Level.INFO);
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains(Version.STRING) && lines.get(0).contains(FakeAgent.agentVersion()));

            // Its parent was never reported, yet its root is known from the parent span itself.
            Span child = tracer.spanBuilder("child").startSpan();
            try (Scope inner = child.makeCurrent()) {
                assertTagged(child);
                assertEquals(before.getSpanContext().getSpanId(), FakeAgent.tag().localRoot());
            }
            assertUntagged();
            child.end();
        }
        before.end();
        assertEquals(1, FakeAgent.ends());

        Span after = tracer.spanBuilder("after").setParent(Context.root()).startSpan();
        try (Scope scope = after.makeCurrent()) {
            assertTagged(after);
        }
        after.end();
        assertUntagged();
        assertEquals(List.of(), log.at(Level.WARNING));
    }
}
