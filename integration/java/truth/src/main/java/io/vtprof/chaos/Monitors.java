package io.vtprof.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadFactory;

/** One monitor, many threads of both kinds. */
final class Monitors implements Antagonist {
  private static final int THREADS = 8;
  private static final int ENTRIES = 500;

  private final ThreadFactory virtual;

  Monitors(ThreadFactory virtual) {
    this.virtual = virtual;
  }

  @Override
  public void round(SplittableRandom random) throws InterruptedException {
    Object monitor = new Object();
    int[] entered = new int[1];
    Runnable body = () -> {
      for (int i = 0; i < ENTRIES; i++) {
        synchronized (monitor) {
          entered[0]++;
        }
      }
    };
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      threads.add(i % 2 == 0 ? virtual.newThread(body) : new Thread(body, "monitor"));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    synchronized (monitor) {
      Check.same(THREADS * ENTRIES, entered[0], "entries of a monitor");
    }
  }
}
