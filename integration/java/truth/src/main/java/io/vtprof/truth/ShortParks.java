package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code --count} parks of 20 µs in spans; how long they took is measured around each and noted in ns, of a span as
 * {@code waited.SPAN} and of all as {@code blocked.parks}.
 */
final class ShortParks implements Scenario {
  private static final int THREADS = 4;
  private static final int PARKS = 500;
  private static final long NANOS = 20_000;

  private final LongAdder truth = new LongAdder();

  @Override
  public void run(World world) throws Exception {
    long spans = world.count() / THREADS / PARKS;
    for (int i = 0; i < THREADS; i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        for (long span = 0; span < spans; span++) {
          Traced root = Traced.root(world, world.root(random), "short-parks");
          LongAdder nanos = new LongAdder();
          root.run(() -> parks(nanos));
          truth.add(nanos.sum());
          world.log().fact("waited." + root.span().getSpanContext().getSpanId(), nanos.sum());
        }
      });
    }
    world.join();
    world.log().fact("parks", spans * THREADS * PARKS);
    world.log().fact("blocked.parks", truth.sum());
  }

  private void parks(LongAdder nanos) {
    for (int i = 0; i < PARKS; i++) {
      long begun = System.nanoTime();
      LockSupport.parkNanos(this, NANOS);
      nanos.add(System.nanoTime() - begun);
    }
  }
}
