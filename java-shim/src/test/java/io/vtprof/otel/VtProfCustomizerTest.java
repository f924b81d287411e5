package io.vtprof.otel;

import static io.vtprof.otel.Tracing.assertTagged;
import static io.vtprof.otel.Tracing.assertUntagged;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdkBuilder;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** SDK autoconfiguration finds the shim by itself. */
class VtProfCustomizerTest {
    @Test
    void autoconfigured_sdks_tag_and_report_each_span_once() {
        LogCapture log = LogCapture.start();
        FakeAgent.install();
        for (int sdk = 1; sdk <= 2; sdk++) {
            AutoConfiguredOpenTelemetrySdkBuilder builder = AutoConfiguredOpenTelemetrySdk.builder()
                    .disableShutdownHook()
                    .addPropertiesSupplier(() -> Map.of(
                            "otel.traces.exporter", "none",
                            "otel.metrics.exporter", "none",
                            "otel.logs.exporter", "none"));
            try (OpenTelemetrySdk otel = builder.build().getOpenTelemetrySdk()) {
                Span span = otel.getTracer("test").spanBuilder("auto").startSpan();
                try (Scope scope = span.makeCurrent()) {
                    assertTagged(span);
                }
                assertUntagged();
                span.end();
            }
            assertEquals(sdk, FakeAgent.starts());
            assertEquals(sdk, FakeAgent.ends());
        }
        assertEquals(List.of(), log.at(Level.WARNING));
        assertTrue(log.at(Level.INFO).get(0).contains("linked"));
    }
}
