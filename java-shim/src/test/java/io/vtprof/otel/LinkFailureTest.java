package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** An agent whose link call throws must not break the class every attach looks at. */
class LinkFailureTest {
    @Test
    void application_runs_on_unlinked_when_linking_throws() {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        FakeAgent.linkFails = new IllegalStateException("agent failed");
        VtProf.installContextStorage();
        Span span = Tracing.tracer().spanBuilder("span").startSpan();
        try (Scope scope = span.makeCurrent()) {
            assertSame(span, Span.current());
            Tracing.assertUntagged();
        }
        span.end();
        assertFalse(Native.linked);
        assertEquals(0, FakeAgent.starts());
        assertEquals(1, log.at(Level.WARNING).size());
    }
}
