package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** An agent of another version: one warning with both versions, and no tags. */
class VersionMismatchTest {
    @Test
    void shim_of_another_version_runs_unlinked_with_one_warning_naming_both() {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        FakeAgent.linkAnswer = -1;
        VtProf.installContextStorage();
        Span span = Tracing.tracer().spanBuilder("span").startSpan();
        try (Scope scope = span.makeCurrent()) {
            Tracing.assertUntagged();
        }
        span.end();
        VtProf.installContextStorage();
        Native.relink();

        assertFalse(Native.linked);
        assertEquals(0, FakeAgent.sets());
        assertEquals(0, FakeAgent.starts());
        List<String> warnings = log.at(Level.WARNING);
        assertEquals(1, warnings.size(), warnings::toString);
        assertTrue(warnings.get(0).contains(Version.STRING), warnings::toString);
        assertTrue(warnings.get(0).contains(FakeAgent.agentVersion()), warnings::toString);
    }
}
