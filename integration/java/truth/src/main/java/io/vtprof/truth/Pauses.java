package io.vtprof.truth;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * {@code --count} collections that stop the world, while {@code --threads} of the kind under test burn in a span each.
 * What the JVM says of the pauses is noted in ms as {@code pauses}.
 */
final class Pauses implements Scenario {
  private static final int LIVE = 2_000_000;

  private volatile boolean over;

  @Override
  public void run(World world) throws Exception {
    // Many small objects, so that each collection takes its time.
    List<Object[]> live = new ArrayList<>(LIVE);
    for (int i = 0; i < LIVE; i++) {
      live.add(new Object[] {i == 0 ? null : live.get(i / 2)});
    }
    System.gc();
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        Traced span = Traced.root(world, world.root(random), "paused");
        span.run(() -> {
          while (!over) {
            span.work(500);
          }
        });
      });
    }
    Thread.sleep(200);
    long before = collected();
    for (long i = 0; i < world.count(); i++) {
      System.gc();
      Thread.sleep(20);
    }
    world.log().fact("pauses", collected() - before);
    over = true;
    world.join();
    world.keep(live.size());
  }

  private static long collected() {
    long millis = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      millis += collector.getCollectionTime();
    }
    return millis;
  }
}
