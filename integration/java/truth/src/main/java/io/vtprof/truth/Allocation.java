package io.vtprof.truth;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code --count} rounds in requests on all threads: 256 objects of 1 KiB and one of 256 KiB, told apart by class and
 * method, with a wait behind each round. Notes how much that was.
 */
final class Allocation implements Scenario {
  private static final int SMALL = 1 << 10;
  private static final int LARGE = 256 << 10;
  private static final int ROUNDS_A_REQUEST = 8;
  /** An array's head, with compressed class pointers: the sizes above are those of whole objects. */
  private static final int HEAD = 16;

  private static volatile Object sink;

  private final LongAdder rounds = new LongAdder();

  @Override
  public void run(World world) throws Exception {
    long requests = world.count() / world.threads() / ROUNDS_A_REQUEST;
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        for (long n = 0; n < requests; n++) {
          Traced span = Traced.root(world, world.root(random), "allocation");
          span.run(() -> request());
        }
      });
    }
    world.join();
    world.log().fact("small_objects", rounds.sum() * (LARGE / SMALL));
    world.log().fact("large_objects", rounds.sum());
    world.log().fact("bytes_of_each", rounds.sum() * LARGE);
  }

  private void request() {
    for (int round = 0; round < ROUNDS_A_REQUEST; round++) {
      for (int n = 0; n < LARGE / SMALL; n++) {
        sink = small();
      }
      sink = large();
      rounds.increment();
      LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100));
    }
  }

  static byte[] small() {
    return new byte[SMALL - HEAD];
  }

  private static long[] large() {
    return new long[(LARGE - HEAD) / Long.BYTES];
  }
}
