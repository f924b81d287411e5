package io.vtprof.truth;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * {@code --count} rounds in requests on all threads that allocate objects of 1 KiB in three methods: of {@code keep} one
 * in four is kept until the end and no other is, those of {@code lend} are kept until the requests are over, those of
 * {@code waste} by nobody. Notes how many bytes of each are in use when the collector has run last.
 */
final class Retention implements Scenario {
  private static final int SIZE = 1 << 10;
  /** An array's head, with compressed class pointers. */
  private static final int HEAD = 16;
  private static final int OBJECTS_A_ROUND = 64;
  private static final int ROUNDS_A_REQUEST = 8;
  private static final int KEPT = 4;
  /** Of what is lent the same as of what is kept. */
  private static final int LENT = OBJECTS_A_ROUND / KEPT;

  private static final List<List<byte[]>> KEPT_BY_REQUEST = new ArrayList<>();
  private static volatile Object sink;

  private final List<List<byte[]>> lent = new ArrayList<>();
  private final LongAdder kept = new LongAdder();
  private final LongAdder rounds = new LongAdder();

  @Override
  public void run(World world) throws Exception {
    long requests = world.count() / world.threads() / ROUNDS_A_REQUEST;
    for (int i = 0; i < world.threads(); i++) {
      SplittableRandom random = world.random();
      world.start(() -> {
        for (long n = 0; n < requests; n++) {
          Traced span = Traced.root(world, world.root(random), "retention");
          span.run(this::request);
        }
      });
    }
    world.join();
    long ofEach = rounds.sum() * OBJECTS_A_ROUND * SIZE;
    world.log().fact("kept_bytes", kept.sum() * SIZE);
    world.log().fact("kept_objects", kept.sum());
    world.log().fact("wasted_bytes", ofEach);
    world.log().fact("lent_bytes", rounds.sum() * LENT * SIZE);
    // Until some windows have seen what is lent.
    TimeUnit.SECONDS.sleep(world.seconds());
    lent.clear();
    sink = null;
    System.gc();
    // The collector may hand on what it has found after it is done.
    System.gc();
  }

  private void request() {
    List<byte[]> mine = new ArrayList<>(ROUNDS_A_REQUEST * OBJECTS_A_ROUND / KEPT);
    List<byte[]> borrowed = new ArrayList<>(ROUNDS_A_REQUEST * LENT);
    for (int round = 0; round < ROUNDS_A_REQUEST; round++) {
      for (int n = 0; n < OBJECTS_A_ROUND; n++) {
        byte[] object = keep();
        if (n % KEPT == 0) {
          mine.add(object);
        }
        sink = object;
        sink = waste();
      }
      for (int n = 0; n < LENT; n++) {
        borrowed.add(lend());
      }
      rounds.increment();
      LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100));
    }
    kept.add(mine.size());
    synchronized (KEPT_BY_REQUEST) {
      KEPT_BY_REQUEST.add(mine);
      lent.add(borrowed);
    }
  }

  private static byte[] keep() {
    return new byte[SIZE - HEAD];
  }

  private static byte[] lend() {
    return new byte[SIZE - HEAD];
  }

  private static byte[] waste() {
    return new byte[SIZE - HEAD];
  }
}
