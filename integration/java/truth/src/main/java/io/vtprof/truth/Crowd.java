package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.Phaser;

/**
 * All threads meet while each is in a span of its own, called {@code crowd}, and only then burn; in between they serve
 * requests. So as many threads are in a span at once as there are, however little CPU there is.
 */
final class Crowd implements Scenario {
  private static final long BURN_MICROS = 20_000;

  private volatile boolean more = true;

  @Override
  public void run(World world) throws Exception {
    Phaser meeting = new Phaser(world.threads()) {
      @Override
      protected boolean onAdvance(int phase, int parties) {
        more = world.running();
        if (parties > 0) {
          world.log().fact("crowds", phase + 1);
        }
        return parties == 0;
      }
    };
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        try {
          while (more) {
            Traced member = Traced.root(world, world.root(random), "crowd");
            member.run(() -> {
              meeting.arriveAndAwaitAdvance();
              member.work(BURN_MICROS);
            });
            Requests.serve(world, random);
          }
        } finally {
          // The others do not wait for one that has failed.
          meeting.arriveAndDeregister();
        }
      });
    }
    world.join();
  }
}
