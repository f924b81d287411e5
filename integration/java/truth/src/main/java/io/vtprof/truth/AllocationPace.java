package io.vtprof.truth;

import java.util.concurrent.atomic.LongAdder;

/**
 * {@code AllocationPace THREADS SECONDS}: as many threads of the platform that allocate a little, all the time, and
 * twenty times a second a line with the bytes allocated until then.
 */
public final class AllocationPace {
  private static final int OBJECTS = 16;
  private static final int OBJECT = 1 << 10;
  private static final long PAUSE_MILLIS = 100;

  private static volatile Object sink;

  private AllocationPace() {}

  public static void main(String[] args) throws Exception {
    int threads = Integer.parseInt(args[0]);
    long deadline = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
    LongAdder bytes = new LongAdder();
    for (int i = 0; i < threads; i++) {
      Thread thread = new Thread(() -> allocate(bytes), "pace-" + i);
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("pace: begun");
    while (System.nanoTime() < deadline) {
      System.out.println("pace " + bytes.sum());
      Thread.sleep(50);
    }
  }

  private static void allocate(LongAdder bytes) {
    try {
      while (true) {
        for (int n = 0; n < OBJECTS; n++) {
          sink = Allocation.small();
        }
        bytes.add(OBJECTS * OBJECT);
        Thread.sleep(PAUSE_MILLIS);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
