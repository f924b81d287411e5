package io.vtprof.otel;

import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;

/**
 * Brings the shim into an SDK that configures itself: as an extension of the OpenTelemetry javaagent, or from the class
 * path under autoconfiguration. Found as a service, therefore public.
 *
 * <p>{@link #customize} is the earliest call an extension gets, and in javaagent 2.31.1 the context storage is set up
 * later than that. Each SDK gets the processor once; the wrapper is installed once per class loader.
 */
public final class VtProfCustomizer implements AutoConfigurationCustomizerProvider {
    @Override
    public void customize(AutoConfigurationCustomizer autoConfiguration) {
        VtProf.installContextStorage();
        autoConfiguration.addTracerProviderCustomizer(
                (builder, config) -> builder.addSpanProcessor(VtProf.spanProcessor()));
        addMetrics(autoConfiguration);
    }

    /** Where there is no metrics SDK, spans are still tagged. */
    private static void addMetrics(AutoConfigurationCustomizer autoConfiguration) {
        try {
            Figures.addTo(autoConfiguration);
        } catch (LinkageError noMetrics) {
            Log.fine("vtprof: no metrics SDK here, the agent's figures are not among the metrics: " + noMetrics);
        }
    }

    /** Before other customizers, which may ask for a context. */
    @Override
    public int order() {
        return Integer.MIN_VALUE;
    }
}
