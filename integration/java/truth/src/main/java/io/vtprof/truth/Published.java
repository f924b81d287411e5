package io.vtprof.truth;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Scope;
import io.vtprof.truth.burn.Background;
import java.io.IOException;
import java.util.SplittableRandom;

/**
 * Requests that write down, in memory which another process can read, what their OS thread is about to do, and then burn
 * without blocking: so nothing else runs there until they say so. For a reader outside, of what the agent publishes.
 */
final class Published implements Scenario {
  private static final int PLATFORM_THREADS = 2;

  @Override
  public void run(World world) throws Exception {
    Ledger ledger = new Ledger(System.getProperty("truth.ledger"));
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> serve(world, ledger, random));
    }
    for (int i = 0; i < PLATFORM_THREADS; i++) {
      SplittableRandom random = world.random();
      world.start(Threads.platform("outside"), () -> serve(world, ledger, random));
    }
    world.join();
  }

  private static void serve(World world, Ledger ledger, SplittableRandom random) throws Exception {
    while (world.running()) {
      Span root = world.tracer().spanBuilder("root").startSpan();
      try (Scope scope = root.makeCurrent()) {
        burn(world, ledger, random, root);
        for (int children = random.nextInt(3); children > 0; children--) {
          world.waits().block(random);
          Span child = world.tracer().spanBuilder("child").startSpan();
          try (Scope inner = child.makeCurrent()) {
            burn(world, ledger, random, child);
            world.waits().block(random);
            burn(world, ledger, random, child);
          }
          child.end();
          burn(world, ledger, random, root);
        }
        // Sooner than its scope is closed, here or by another thread: what comes then is in no span.
        if (random.nextBoolean()) {
          root.end();
        } else {
          world.inNewThread(root::end);
        }
        burn(world, ledger, random, null);
      }
      burn(world, ledger, random, null);
      world.waits().block(random);
    }
  }

  private static void burn(World world, Ledger ledger, SplittableRandom random, Span span) throws IOException {
    int place = ledger.placeOfOsThread();
    if (span == null) {
      ledger.beginWithout(place);
    } else {
      SpanContext context = span.getSpanContext();
      ledger.begin(place, context.getTraceId(), context.getSpanId());
    }
    world.burn(Background.INSTANCE, random.nextLong(50, 500));
    ledger.end(place);
  }
}
