package io.vtprof.truth;

import java.util.SplittableRandom;

/** Spans far shorter than the sampling interval, two names three to one: only the sum by name can be right. */
final class ShortSpans implements Scenario {
  private static final long MICROS = 300;
  private static final int WORKERS = 4;

  @Override
  public void run(World world) throws Exception {
    long each = world.count() / WORKERS;
    for (int i = 0; i < WORKERS; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        for (long n = 0; n < each; n++) {
          Traced span = Traced.root(world, world.root(random), n % 4 == 0 ? "rare" : "frequent");
          span.run(() -> span.work(MICROS));
          if (n % 64 == 0) {
            Thread.yield();
          }
        }
      });
    }
    world.join();
  }
}
