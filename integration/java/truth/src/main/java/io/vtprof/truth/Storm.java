package io.vtprof.truth;

import java.util.SplittableRandom;

/** A switch every 50 µs or so: park, yield and contended monitors with hardly any work between. */
final class Storm implements Scenario {
  private static final int SWITCHES = 400;

  @Override
  public void run(World world) throws Exception {
    world.startBackground(1);
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        while (world.running()) {
          request(world, random);
        }
      });
    }
    world.join();
  }

  private static void request(World world, SplittableRandom random) {
    Traced root = Traced.root(world, world.root(random), "storm");
    root.run(() -> {
      for (int i = 0; i < SWITCHES && world.running(); i++) {
        root.work(random.nextLong(5, 100));
        switchAway(world, random, root);
        if (random.nextInt(8) == 0) {
          Traced child = root.childOfCurrent(world.child(random));
          child.run(() -> {
            child.work(random.nextLong(5, 100));
            switchAway(world, random, child);
            child.work(random.nextLong(5, 100));
          });
        }
      }
    });
  }

  private static void switchAway(World world, SplittableRandom random, Traced span) {
    Wait[] kinds = {Wait.PARK, Wait.YIELD, Wait.MONITOR};
    try {
      world.waits().block(kinds[random.nextInt(kinds.length)], random, () -> span.work(20));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
