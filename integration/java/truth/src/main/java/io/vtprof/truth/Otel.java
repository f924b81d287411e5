package io.vtprof.truth;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.sdk.trace.samplers.SamplingResult;
import java.util.List;
import java.util.Map;

/** The real OpenTelemetry, in each of the ways in which a user meets the shim. */
final class Otel {
  /** Spans with this prefix are not sampled. */
  static final String DROPPED = "dropped";

  private Otel() {}

  static OpenTelemetry start(String way) {
    switch (way) {
      case "hand":
        return byHand();
      case "late":
        // Something asks for a context before the shim can wrap the storage: the wrapper then comes too late.
        Context.current();
        return byHand();
      case "auto":
        return autoconfigured();
      case "agent":
        return GlobalOpenTelemetry.get();
      default:
        throw new IllegalArgumentException("--otel=hand|late|auto|agent, not " + way);
    }
  }

  private static OpenTelemetry byHand() {
    // The two lines of the manual. By reflection, since the shim is built beside this program and not before it.
    SpanProcessor processor;
    try {
      Class<?> vtprof = Class.forName("io.vtprof.otel.VtProf");
      vtprof.getMethod("installContextStorage").invoke(null);
      processor = (SpanProcessor) vtprof.getMethod("spanProcessor").invoke(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("vtprof-otel.jar is not on the class path", e);
    }
    SdkTracerProvider tracers =
        SdkTracerProvider.builder().addSpanProcessor(processor).setSampler(new DropByName()).build();
    return OpenTelemetrySdk.builder().setTracerProvider(tracers).build();
  }

  private static OpenTelemetry autoconfigured() {
    return AutoConfiguredOpenTelemetrySdk.builder()
        .addPropertiesSupplier(() -> Map.of(
            "otel.traces.exporter", "none", "otel.metrics.exporter", "none", "otel.logs.exporter", "none"))
        .addSamplerCustomizer((sampler, config) -> new DropByName())
        .disableShutdownHook()
        .build()
        .getOpenTelemetrySdk();
  }

  /** Samples all but what is named {@value #DROPPED}…, whatever the parent: a child may be left out of a sampled trace. */
  private static final class DropByName implements Sampler {
    @Override
    public SamplingResult shouldSample(
        Context parent, String traceId, String name, SpanKind kind, Attributes attributes, List<LinkData> links) {
      return name.startsWith(DROPPED) ? SamplingResult.drop() : SamplingResult.recordAndSample();
    }

    @Override
    public String getDescription() {
      return "DropByName";
    }
  }
}
