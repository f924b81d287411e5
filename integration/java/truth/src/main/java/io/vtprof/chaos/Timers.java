package io.vtprof.chaos;

import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Many timers that are due at once. */
final class Timers implements Antagonist {
  private static final int TIMERS = 300;
  private static final long LONGEST_US = 5_000;

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    CountDownLatch due = new CountDownLatch(TIMERS);
    ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(2);
    try {
      for (int i = 0; i < TIMERS; i++) {
        timers.schedule(due::countDown, random.nextLong(LONGEST_US), TimeUnit.MICROSECONDS);
      }
      due.await();
    } finally {
      timers.shutdownNow();
    }
  }
}
