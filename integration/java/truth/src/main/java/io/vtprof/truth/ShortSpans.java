package io.vtprof.truth;

import java.util.SplittableRandom;

/** Spans far shorter than the sampling interval, two names, one drawn three times as often: only the sum by name can be right. */
final class ShortSpans implements Scenario {
  private static final long LEAST_MICROS = 200;
  private static final long MOST_MICROS = 400;
  private static final int WORKERS = 4;

  @Override
  public void run(World world) throws Exception {
    long each = world.count() / WORKERS;
    for (int i = 0; i < WORKERS; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        for (long n = 0; n < each; n++) {
          Traced span = Traced.root(world, world.root(random), random.nextInt(4) == 0 ? "rare" : "frequent");
          // Drawn, since spans of one length could keep step with the sampling.
          long micros = random.nextLong(LEAST_MICROS, MOST_MICROS);
          span.run(() -> span.work(micros));
          if (n % 64 == 0) {
            Thread.yield();
          }
        }
      });
    }
    world.join();
  }
}
