package io.vtprof.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/** Many virtual threads that live for a moment. */
final class VirtualChurn implements Antagonist {
  private static final int THREADS = 300;

  private final ThreadFactory virtual;

  VirtualChurn(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    LongAdder sum = new LongAdder();
    List<Thread> threads = new ArrayList<>(THREADS);
    for (int i = 0; i < THREADS; i++) {
      long nanos = random.nextLong(200_000);
      Thread thread = virtual.newThread(() -> {
        LockSupport.parkNanos(nanos);
        sum.increment();
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    Check.same((long) THREADS, sum.sum(), "virtual threads that ran");
  }
}
