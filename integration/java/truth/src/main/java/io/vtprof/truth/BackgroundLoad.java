package io.vtprof.truth;

import java.util.SplittableRandom;

/** As many threads without a span as with one, sharing the carriers. */
final class BackgroundLoad implements Scenario {
  @Override
  public void run(World world) throws Exception {
    int half = Math.max(2, world.threads() / 2);
    world.startBackground(half / 2);
    for (int i = 0; i < half; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          Requests.serve(world, random);
        }
      });
    }
    world.join();
  }
}
