package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdkBuilder;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.DoublePointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.CollectionRegistration;
import io.opentelemetry.sdk.metrics.export.MetricReader;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The agent's figures among the metrics of the application's own SDK. */
class FiguresTest {
    private static final String FIGURES = "1700000000000000000\n"
            + "counter\tvtprof.samples.taken\t1\t\t42\tSamples.\n"
            + "counter\tvtprof.dropped.ring_full\t1\t\t0\tLost.\n"
            + "counter\tvtprof.agent.thread_cpu\ts\tdrain\t0.5\tCPU time.\n"
            + "counter\tvtprof.agent.thread_cpu\ts\twall\t0.25\tCPU time.\n"
            + "gauge\tvtprof.agent.heap\tBy\t\t0\tMemory, in bytes.\n";
    private static final LogCapture LOG = LogCapture.start();

    /** Collects when it is told to. */
    private static final class Reader implements MetricReader {
        private CollectionRegistration registration = CollectionRegistration.noop();

        Map<String, MetricData> collect() {
            Collection<MetricData> all = registration.collectAllMetrics();
            // Fails where two have one name.
            return all.stream()
                    .filter(metric -> metric.getInstrumentationScopeInfo().getName().equals("io.vtprof"))
                    .collect(Collectors.toMap(MetricData::getName, metric -> metric));
        }

        @Override
        public void register(CollectionRegistration given) {
            registration = given;
        }

        @Override
        public AggregationTemporality getAggregationTemporality(InstrumentType type) {
            return AggregationTemporality.CUMULATIVE;
        }

        @Override
        public CompletableResultCode forceFlush() {
            return CompletableResultCode.ofSuccess();
        }

        @Override
        public CompletableResultCode shutdown() {
            return CompletableResultCode.ofSuccess();
        }
    }

    @BeforeAll
    static void agent() {
        FakeAgent.install();
    }

    @AfterEach
    void quiet() {
        FakeAgent.figures = null;
        Native.linked = true;
    }

    private static void assertFigures(Map<String, MetricData> metrics) {
        assertEquals(3, metrics.size(), metrics::toString);
        MetricData taken = metrics.get("vtprof.samples.taken");
        assertTrue(taken.getDoubleSumData().isMonotonic());
        assertEquals(AggregationTemporality.CUMULATIVE, taken.getDoubleSumData().getAggregationTemporality());
        DoublePointData point = taken.getDoubleSumData().getPoints().iterator().next();
        assertEquals(42, point.getValue());
        assertEquals(1_700_000_000_000_000_000L, point.getStartEpochNanos());
        assertTrue(point.getEpochNanos() > point.getStartEpochNanos());
        assertTrue(taken.toString().contains("name=vtprof.samples.taken, unit=1,"), taken::toString);
        MetricData threads = metrics.get("vtprof.agent.thread_cpu");
        assertEquals("s", threads.getUnit());
        assertEquals("CPU time.", threads.getDescription());
        Map<String, Double> byThread = threads.getDoubleSumData().getPoints().stream()
                .collect(Collectors.toMap(
                        it -> it.getAttributes().get(AttributeKey.stringKey("thread")), DoublePointData::getValue));
        assertEquals(Map.of("drain", 0.5, "wall", 0.25), byThread);
        // A gauge is told at 0, a counter is not.
        DoublePointData heap =
                metrics.get("vtprof.agent.heap").getDoubleGaugeData().getPoints().iterator().next();
        assertEquals(0, heap.getValue());
        assertEquals(Attributes.empty(), heap.getAttributes());
        assertNull(metrics.get("vtprof.dropped.ring_full"));
    }

    @Test
    void an_sdk_by_hand_reads_the_figures_as_they_are_at_each_collection() {
        Reader reader = new Reader();
        SdkMeterProvider metrics = SdkMeterProvider.builder()
                .registerMetricReader(reader)
                .registerMetricProducer(VtProfMetrics.producer())
                .build();
        assertEquals(Map.of(), reader.collect());
        FakeAgent.figures = FIGURES;
        assertFigures(reader.collect());
        FakeAgent.figures = FIGURES.replace("\t42\t", "\t43\t");
        assertEquals(
                43,
                reader.collect()
                        .get("vtprof.samples.taken")
                        .getDoubleSumData()
                        .getPoints()
                        .iterator()
                        .next()
                        .getValue());
        Native.linked = false;
        assertEquals(Map.of(), reader.collect());
        metrics.close();
    }

    @Test
    void an_autoconfigured_sdk_has_them_by_itself() {
        FakeAgent.figures = FIGURES;
        Reader reader = new Reader();
        AutoConfiguredOpenTelemetrySdkBuilder builder = autoconfigured()
                .addMeterProviderCustomizer((provider, config) -> provider.registerMetricReader(reader));
        try (OpenTelemetrySdk otel = builder.build().getOpenTelemetrySdk()) {
            assertNotNull(otel);
            assertFigures(reader.collect());
        }
        assertEquals(List.of(), LOG.at(Level.WARNING));
    }

    @Test
    void an_sdk_without_an_exporter_of_metrics_is_built_as_ever_and_asks_for_nothing() {
        FakeAgent.figures = "rubbish that nobody reads";
        try (OpenTelemetrySdk otel = autoconfigured().build().getOpenTelemetrySdk()) {
            otel.getMeter("application").counterBuilder("requests").build().add(1);
            assertTrue(otel.getSdkMeterProvider().forceFlush().join(5, TimeUnit.SECONDS).isSuccess());
        }
        assertEquals(List.of(), LOG.at(Level.WARNING));
    }

    private static AutoConfiguredOpenTelemetrySdkBuilder autoconfigured() {
        return AutoConfiguredOpenTelemetrySdk.builder()
                .disableShutdownHook()
                .addPropertiesSupplier(() -> Map.of(
                        "otel.traces.exporter", "none",
                        "otel.metrics.exporter", "none",
                        "otel.logs.exporter", "none"));
    }
}
