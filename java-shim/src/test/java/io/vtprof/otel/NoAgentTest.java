package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.trace.ReadableSpan;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** No agent in the JVM: nothing is said, nothing is kept, spans and contexts are as without the shim. */
class NoAgentTest {
    @Test
    void shim_without_an_agent_is_a_silent_no_op() {
        LogCapture log = LogCapture.start();
        VtProf.installContextStorage();
        Span span = Tracing.tracer().spanBuilder("span").startSpan();
        try (Scope scope = span.makeCurrent()) {
            assertSame(span, Span.current());
            assertNotEquals(TaggingScope.class, scope.getClass());
        }
        assertNull(((ReadableSpan) span).getAttribute(AttributeKey.stringKey("pyroscope.profile.id")));
        span.end();
        Native.relink();
        assertFalse(Native.linked);
        for (Answer answer : List.of(VtProf.start(), VtProf.stop(), VtProf.dump(), VtProf.status())) {
            assertFalse(answer.isOk());
            assertTrue(answer.error().contains("nothing was done"), answer::error);
        }
        assertFalse(Native.manage(true));
        assertEquals(0, SpanTable.SHARED.size());
        assertEquals(List.of(), log.above(Level.FINE));
        assertEquals(1, log.at(Level.FINE).size());
        // The natives really were without an implementation.
        assertThrows(UnsatisfiedLinkError.class, () -> Native.spanLost(1));
    }
}
