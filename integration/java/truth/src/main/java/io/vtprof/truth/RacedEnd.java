package io.vtprof.truth;

import io.opentelemetry.api.trace.Span;
import java.util.concurrent.locks.LockSupport;

/** A thread that ends spans at the moment their owner makes them current. */
final class RacedEnd {
  private final Thread thread;
  private volatile Span next;
  private volatile boolean ready;
  private volatile boolean go;

  RacedEnd(World world) {
    this.thread = world.start(Threads.platform("raced-end"), () -> end(world));
  }

  /** Returns once the other thread is about to end {@code span}: a few hundred nanoseconds later it has. */
  void begin(World world, Span span) {
    go = false;
    ready = false;
    next = span;
    LockSupport.unpark(thread);
    while (!ready && world.running()) {
      Thread.yield();
    }
    go = true;
  }

  /** Waits for the end of the span; whether it has ended, as it has not where time is up. */
  boolean await(World world) {
    while (next != null && world.running()) {
      Thread.yield();
    }
    return next == null;
  }

  private void end(World world) {
    while (world.running()) {
      Span span = next;
      if (span == null) {
        LockSupport.parkNanos(this, 1_000_000);
        continue;
      }
      ready = true;
      while (!go && world.running()) {
        Thread.onSpinWait();
      }
      span.end();
      next = null;
    }
  }
}
