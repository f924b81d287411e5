package io.vtprof.demo.endpoint;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.vtprof.demo.Truth;

/** {@code /slow}: bursts of CPU between waits, with a child span in the middle. The request one wants explained. */
public final class Slow extends Endpoint {
  private static final int BURSTS = 6;

  public Slow(Truth truth) {
    super("/slow", truth);
  }

  @Override
  String answer() throws InterruptedException {
    long sum = 0;
    for (int i = 0; i < BURSTS; i++) {
      sum += burn(10_000);
      Thread.sleep(5);
      if (i == BURSTS / 2) {
        sum += lookUp();
        sum += burn(5_000);
      }
    }
    return Long.toHexString(sum);
  }

  private static long burn(int micros) {
    return Hash.spin(2, micros);
  }

  private long lookUp() throws InterruptedException {
    Span server = Span.current();
    Span child = GlobalOpenTelemetry.getTracer("io.vtprof.demo").spanBuilder("look up stock").startSpan();
    Truth.Entry entry = truth().begin(Stock.class.getSimpleName(), "look up stock", child.getSpanContext(), server.getSpanContext());
    try (Scope scope = child.makeCurrent()) {
      return Stock.count(10_000);
    } finally {
      child.end();
      entry.end();
    }
  }
}
