package io.vtprof.truth;

import java.util.SplittableRandom;

/** Many requests at once, each blocking in every way. Half of them run in a thread of their own. */
final class Mix implements Scenario {
  @Override
  public void run(World world) throws Exception {
    world.startBackground(1);
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          if (random.nextBoolean()) {
            world.inNewThread(() -> Requests.serve(world, random));
          } else {
            Requests.serve(world, random);
          }
        }
      });
    }
    world.join();
  }
}
