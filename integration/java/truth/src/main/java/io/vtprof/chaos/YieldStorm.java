package io.vtprof.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.LongAdder;

/** Virtual threads that do nothing but switch. */
final class YieldStorm implements Antagonist {
  private static final int THREADS = 20;
  private static final int SWITCHES = 200;

  private final ThreadFactory virtual;

  YieldStorm(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    LongAdder switches = new LongAdder();
    List<Thread> threads = new ArrayList<>(THREADS);
    for (int i = 0; i < THREADS; i++) {
      Thread thread = virtual.newThread(() -> {
        for (int n = 0; n < SWITCHES; n++) {
          Thread.yield();
          switches.increment();
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    Check.same((long) THREADS * SWITCHES, switches.sum(), "yields");
  }
}
