package io.vtprof.otel;

import io.opentelemetry.sdk.metrics.export.MetricProducer;

/**
 * What the agent says of itself, by hand, for a service that builds its OpenTelemetry SDK itself:
 *
 * <pre>{@code
 * meterProviderBuilder.registerMetricProducer(VtProfMetrics.producer());
 * }</pre>
 *
 * <p>Under the OpenTelemetry javaagent or SDK autoconfiguration it is not needed. Apart from {@link VtProf}, which does
 * without OpenTelemetry's metrics SDK. Thread safe.
 */
public final class VtProfMetrics {
    /**
     * Its own CPU time, samples taken and lost, memory: metrics of the scope {@code io.vtprof}, read from the agent when a
     * reader of the SDK collects. The same producer each time; without the agent in the JVM it has nothing.
     */
    public static MetricProducer producer() {
        return Figures.producer();
    }

    private VtProfMetrics() {}
}
