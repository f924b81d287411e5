package io.vtprof.demo.endpoint;

import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.vtprof.demo.Truth;

/**
 * An endpoint whose CPU is burnt in methods of its own class, so that a sample says whose request it belongs to. Each
 * answer carries the ids of the server span in {@code x-trace-id} and {@code x-span-id}.
 */
public abstract class Endpoint implements Handler {
  private final String path;
  private final Truth truth;

  Endpoint(String path, Truth truth) {
    this.path = path;
    this.truth = truth;
  }

  public final String path() {
    return path;
  }

  @Override
  public final void handle(ServerRequest request, ServerResponse response) throws Exception {
    SpanContext span = Span.current().getSpanContext();
    response.header("x-trace-id", span.getTraceId());
    response.header("x-span-id", span.getSpanId());
    Truth.Entry entry = truth.begin(getClass().getSimpleName(), "GET " + path, span, span);
    String body;
    try {
      body = answer();
    } finally {
      entry.end();
    }
    response.send(body);
  }

  /** Does the work of a request and returns the body of the answer. */
  abstract String answer() throws Exception;

  final Truth truth() {
    return truth;
  }
}
