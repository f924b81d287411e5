package io.vtprof.truth;

import java.util.concurrent.atomic.LongAdder;

/** What really happened in one span: whose class burnt, for how long, under which ids. Safe for any thread. */
final class SpanTruth {
  final String burner;
  final String traceId;
  final String spanId;
  final String parentId;
  final String localRootId;
  /** By the monotonic clock, before the span itself read one, as {@link #endNanos} is after. */
  final long startNanos;
  /** By the same clock once the span had begun, as {@link #endingNanos} is before it ends. */
  private final long begunNanos = System.nanoTime();
  final LongAdder iterations = new LongAdder();
  /** The name the span has in the end. */
  volatile String name;
  /** The name the span had at first, empty where it was never renamed. */
  volatile String firstName = "";
  /** Work of this span ran on several threads at once. */
  volatile boolean parallel;
  /** 0 while it goes on. */
  volatile long endNanos;
  private volatile long endingNanos;

  SpanTruth(
      long startNanos, String burner, String name, String traceId, String spanId, String parentId, String localRootId) {
    this.startNanos = startNanos;
    this.burner = burner;
    this.name = name;
    this.traceId = traceId;
    this.spanId = spanId;
    this.parentId = parentId;
    this.localRootId = localRootId;
  }

  /** To be called right before the span is ended. */
  void ending() {
    endingNanos = System.nanoTime();
  }

  void ended() {
    endNanos = System.nanoTime();
  }

  String line() {
    return String.join("\t", burner, name, firstName, traceId, spanId, parentId, localRootId,
        Long.toString(startNanos), Long.toString(endNanos), Long.toString(iterations.sum()), parallel ? "parallel" : "serial",
        Long.toString(endNanos == 0 ? 0 : endingNanos - begunNanos));
  }
}
